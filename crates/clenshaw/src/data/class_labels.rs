//! Class labels in text form: which are unknown, and how the others are numbered.

use super::count;
use super::schema::is_missing;
use std::collections::HashMap;

/// The label that many tools write for an unlabelled node.
const MINUS_ONE: &str = "-1";

/// The end of the warning about a label that is not used.
pub(crate) const COUNTS_AS_MISSING: &str = ", which counts as missing";

/// The classes of all nodes.
#[derive(Debug, PartialEq)]
pub(crate) struct ClassLabels {
    /// The class of each node; `None` if it is unlabelled.
    pub y: Vec<Option<u32>>,
    /// The label of each class.
    pub class_names: Vec<String>,
    /// One warning per distinct non-empty label that is treated as missing, and one if `-1` is treated as a
    /// class.
    pub warnings: Vec<String>,
}

/// Assigns class numbers to the labels of all nodes.
///
/// A node is unlabelled if its label is [missing](is_missing). Of the remaining labels, `-1` means
/// unlabelled if all others are non-negative integers, unless the only other one is `1` or `+1`: then both are classes.
/// Classes are sorted by value if all of them are numbers, otherwise alphabetically.
pub(crate) fn encode_labels<'a>(labels: impl Iterator<Item = &'a str> + Clone) -> ClassLabels {
    let known = |label: &&str| !is_missing(label) && *label != MINUS_ONE;
    let mut names: Vec<&str> = labels.clone().filter(known).collect();
    names.sort_unstable();
    names.dedup();
    let is_sign = matches!(names[..], ["1" | "+1"]);
    let minus_one_is_missing = !is_sign && names.iter().all(|name| name.parse::<u64>().is_ok());
    if !minus_one_is_missing && labels.clone().any(|label| label == MINUS_ONE) {
        names.push(MINUS_ONE);
    }
    let number = |name: &str| name.parse().ok().filter(|x: &f64| !x.is_nan());
    match names.iter().all(|name| number(name).is_some()) {
        true => names.sort_by(|a, b| {
            number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)).then_with(|| a.cmp(b))
        }),
        false => names.sort_unstable(),
    }
    let classes: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let y: Vec<Option<u32>> = labels.clone().map(|label| classes.get(label).copied()).collect();
    let mut unlabelled: Vec<(&str, usize)> = vec![];
    for label in labels.zip(&y).filter(|(_, class)| class.is_none()).map(|(label, _)| label) {
        match unlabelled.iter_mut().find(|(other, _)| *other == label) {
            Some((_, n)) => *n += 1,
            None => unlabelled.push((label, 1)),
        }
    }
    // An empty cell is the usual way to leave out a label; other spellings are reported.
    let unusual = unlabelled.iter().filter(|(label, _)| !label.is_empty());
    let n_minus_one =
        y.iter().flatten().filter(|&&class| names[class as usize] == MINUS_ONE).count();
    let class_minus_one = (n_minus_one > 0).then(|| {
        let nodes = count(n_minus_one, "node has", "nodes have");
        let reason = match is_sign {
            true => {
                let other = names.iter().find(|name| **name != MINUS_ONE).unwrap_or(&MINUS_ONE);
                format!("`{other}` is the only other label")
            }
            false => "not all other labels are non-negative integers".to_owned(),
        };
        format!("{nodes} the label `-1`, which is treated as a class because {reason}")
    });
    let warnings = unusual
        .map(|(label, n)| {
            let nodes = count(*n, "node has", "nodes have");
            format!("{nodes} the label `{label}`{COUNTS_AS_MISSING}")
        })
        .chain(class_minus_one)
        .collect();
    ClassLabels { y, class_names: names.into_iter().map(str::to_owned).collect(), warnings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[&str]) -> (Vec<Option<u32>>, Vec<String>, usize) {
        let ClassLabels { y, class_names, warnings } = encode_labels(labels.iter().copied());
        (y, class_names, warnings.len())
    }

    #[test]
    fn missing_labels_are_unknown() {
        let (y, names, n_warnings) = read(&["tea", "", "nan", "?", "NA", "coffee", "tea"]);
        assert_eq!(y, [Some(1), None, None, None, None, Some(0), Some(1)]);
        assert_eq!((names, n_warnings), (vec!["coffee".into(), "tea".into()], 3));
    }

    #[test]
    fn minus_one_is_unknown_among_whole_numbers_only() {
        assert_eq!(read(&["-1", "10", "9"]).0, [None, Some(1), Some(0)]);
        assert_eq!(read(&["-1", "0", "1"]).0, [None, Some(0), Some(1)]);
        assert_eq!(read(&["-1", "0", "0"]).1, ["0"]);
        let (y, names, n_warnings) = read(&["-1", "1.5", "-1"]);
        assert_eq!((y, n_warnings), (vec![Some(0), Some(1), Some(0)], 1));
        assert_eq!(names, ["-1", "1.5"]);
    }

    #[test]
    fn signs_are_two_classes() {
        for one in ["1", "+1"] {
            let labels = ["-1", one, "", one];
            let (y, names, _) = read(&labels);
            assert_eq!(y, [Some(0), Some(1), None, Some(1)]);
            assert_eq!(names, ["-1", one]);
            let expected = format!(
                "1 node has the label `-1`, which is treated as a class because `{one}` is the only other label"
            );
            assert_eq!(encode_labels(labels.into_iter()).warnings, [expected]);
        }
    }
}
