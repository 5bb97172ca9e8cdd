//! What a user should know about a graph before training on it.
//!
//! ```
//! use clenshaw::data::{Store, check::check};
//! let cora = check(&Store::only("nowhere"), "cora")?;
//! assert_eq!(cora.format, "embedded");
//! let kinds: Vec<&str> = cora.findings.iter().map(|finding| finding.kind).collect();
//! // No paper has word 444.
//! assert_eq!(kinds, ["duplicate-nodes", "components", "constant-features"]);
//! # Ok::<(), clenshaw::Error>(())
//! ```

use super::fetch::{self, Options};
use super::{
    Dataset, Description, Features, FixedSplit, Named, Origin, Store, load_from, named, read,
};
use crate::error::Result;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A graph that can be trained on, and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Checkup {
    /// In what form it came: `tables`, `npz`, `graphml`, `graph file`, `embedded`, ...
    pub format: &'static str,
    /// What is known of its files, if they are published.
    pub files: Option<FilesCheck>,
    /// What is worth knowing, worst first.
    pub findings: Vec<Finding>,
    /// Its numbers.
    pub description: Description,
}

/// Published files against the list of checksums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilesCheck {
    /// How many there should be.
    pub listed: usize,
    /// How many are those that were published.
    pub good: usize,
    /// How many nobody knows a checksum for.
    pub unknown: usize,
}

/// One thing worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What sort of thing, in a word that stays the same.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// How many there are.
    pub count: usize,
    /// What it is, in a sentence.
    pub text: String,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It may spoil results.
    Warning,
    /// It is good to know.
    Note,
}

/// Reads everything anew, whatever the cache has; an error says why it cannot be trained on.
pub fn check(store: &Store, text: &str) -> Result<Checkup> {
    let fresh = store.clone().with_cache(None);
    let dataset = load_from(&fresh, text)?;
    let description = Description::of(&dataset);
    let mut findings = findings(&dataset, &description);
    let (format, files) = match named(&fresh, text)? {
        Named::Imported(_) => ("graph file", None),
        Named::Path => (read::format(Path::new(text)), None),
        Named::Known(info) => {
            let folder = info.files().and_then(|files| Some((files, fresh.find(files.folder)?)));
            let files = folder.map(|(files, folder)| check_files(files.folder, &folder));
            let (files, troubles) = files.transpose()?.unzip();
            findings.extend(troubles.into_iter().flatten());
            match info.origin {
                Origin::Files(_) => ("published files", files),
                _ => (info.kind(), files),
            }
        }
    };
    findings.sort_by_key(|finding| finding.severity);
    Ok(Checkup { format, files, findings, description })
}

/// Compares a folder's files with the list; what is not good is a finding.
fn check_files(name: &str, folder: &Path) -> Result<(FilesCheck, Option<Finding>)> {
    let set = fetch::find(name)?;
    let root = folder.parent().unwrap_or(folder);
    let (held, never) = (RefCell::new(vec![]), AtomicBool::new(false));
    let watch = |event: fetch::Progress<'_>| {
        if let fetch::Progress::Done(file) = event {
            held.borrow_mut().push(file.checked);
        }
    };
    let options = Options { offline: true, watch: &watch, ..Options::new(root, &never) };
    let trouble = fetch::fetch(set, &options).err();
    let held = held.into_inner();
    let good = held.iter().filter(|checked| **checked).count();
    let (listed, unknown) = (set.files.len(), held.len() - good);
    let finding = trouble.map(|error| {
        finding("files", Severity::Warning, listed - held.len(), |_| error.to_string())
    });
    Ok((FilesCheck { listed, good, unknown }, finding))
}

fn finding(
    kind: &'static str,
    severity: Severity,
    count: usize,
    text: impl FnOnce(usize) -> String,
) -> Finding {
    Finding { kind, severity, count, text: text(count) }
}

/// Everything but the files.
fn findings(dataset: &Dataset, d: &Description) -> Vec<Finding> {
    use Severity::{Note, Warning};
    let told = |text: &String| finding("reader", Warning, 1, |_| text.clone());
    let mut findings: Vec<Finding> = dataset.warnings.iter().map(told).collect();
    let mut add = |kind, severity, count: usize, text: &dyn Fn(usize) -> String| {
        if count > 0 {
            findings.push(finding(kind, severity, count, text));
        }
    };
    let sizes = &d.class_sizes;
    let classes = |size: usize| {
        let named = sizes.iter().zip(&d.class_names).filter(move |(found, _)| **found == size);
        named.map(|(_, name)| format!("`{name}`")).collect::<Vec<String>>()
    };
    add("one-node-classes", Warning, classes(1).len(), &|n| {
        format!("{} a single node: {}", count(n, "class has", "classes have"), some(&classes(1)))
    });
    add("empty-classes", Warning, classes(0).len(), &|n| {
        format!("{} no node: {}", count(n, "class has", "classes have"), some(&classes(0)))
    });
    add("duplicate-nodes", Warning, d.duplicates, &|n| {
        let nodes = count(n, "node has", "nodes have");
        format!("{nodes} the neighbours and the class of an earlier one")
    });
    let [empty, missing, incomplete] = split_problems(dataset);
    let of = d.splits.len();
    add("empty-parts", Warning, empty.len(), &|n| {
        format!("a part is empty in {n} of {of} published splits: {}", some(&empty))
    });
    add("class-not-in-train", Warning, missing.len(), &|n| {
        format!(
            "a class is missing in training in {n} of {of} published splits: {}",
            some(&missing)
        )
    });
    add("incomplete-splits", Note, incomplete.len(), &|n| {
        format!(
            "labelled nodes are in no part in {n} of {of} published splits: {}",
            some(&incomplete)
        )
    });
    add("unlabelled-nodes", Note, d.unlabelled, &|n| {
        format!("{} no label", count(n, "node has", "nodes have"))
    });
    add("isolated-nodes", Note, d.isolated, &|n| {
        format!("{} no neighbour", count(n, "node has", "nodes have"))
    });
    add("components", Note, if d.components > 1 { d.components } else { 0 }, &|n| {
        format!("the graph falls into {n} parts; the largest has {} nodes", d.largest_component)
    });
    add("zero-features", Note, zero_rows(&dataset.x), &|n| {
        format!("{} zero for every feature", count(n, "node has", "nodes have"))
    });
    add("constant-features", Note, constant_columns(&dataset.x), &|n| {
        format!("{} the same for every node", count(n, "feature is", "features are"))
    });
    findings
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The first few names.
fn some(names: &[String]) -> String {
    match names {
        [a, b, c, _, ..] => format!("{a}, {b}, {c}, ..."),
        names => names.join(", "),
    }
}

/// The names of splits with an empty part, without a class in training, and with nodes in no part.
fn split_problems(dataset: &Dataset) -> [Vec<String>; 3] {
    let labelled = dataset.labelled();
    let classes = |nodes: &[u32]| {
        let classes = nodes.iter().filter_map(|&node| dataset.y[node as usize]);
        classes.collect::<BTreeSet<u32>>().len()
    };
    let all = classes(&labelled);
    let is_empty =
        |FixedSplit { split, .. }: &FixedSplit| split.parts().iter().any(|part| part.is_empty());
    let lacks_class = |fixed: &FixedSplit| classes(fixed.split.train()) < all;
    let is_incomplete = |FixedSplit { split, .. }: &FixedSplit| {
        let parts = split.parts().into_iter().flatten();
        parts.filter(|node| dataset.y[**node as usize].is_some()).count() < labelled.len()
    };
    let names = |is_bad: &dyn Fn(&FixedSplit) -> bool| {
        let bad = dataset.splits.iter().filter(|fixed| is_bad(fixed));
        bad.map(|fixed| fixed.name.clone()).collect()
    };
    [names(&is_empty), names(&lacks_class), names(&is_incomplete)]
}

/// Nodes all of whose features are zero.
fn zero_rows(x: &Features) -> usize {
    let is_zero = |row: &[f32]| row.iter().all(|&value| value == 0.0);
    match x {
        Features::Dense(x) => (0..x.rows()).filter(|&i| is_zero(x.row(i))).count(),
        Features::Sparse { pattern, values } => {
            let rows = pattern.offsets().windows(2);
            rows.filter(|row| is_zero(&values[row[0]..row[1]])).count()
        }
    }
}

/// Columns with one and the same value for every node.
fn constant_columns(x: &Features) -> usize {
    match x {
        Features::Dense(x) => {
            let first = |j: &usize| (1..x.rows()).all(|i| x[(i, *j)] == x[(0, *j)]);
            (0..x.cols()).filter(first).count()
        }
        Features::Sparse { pattern, values } => {
            let mut entries: Vec<(u32, f32)> =
                pattern.indices().iter().copied().zip(values.iter().copied()).collect();
            entries.sort_unstable_by_key(|&(column, _)| column);
            let columns = entries.chunk_by(|a, b| a.0 == b.0);
            let varies = |column: &&[(u32, f32)]| {
                let zero = (0, 0.0);
                // Where an entry is not stored it is zero.
                let first = if column.len() < pattern.n_rows() { zero } else { column[0] };
                column.iter().any(|&(_, value)| value != first.1)
            };
            pattern.n_cols() - columns.filter(varies).count()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Split;
    use crate::graph::Graph;
    use crate::tensor::{Mat, Pattern};

    /// 0 - 1 - 2 and 3 alone; one column varies, one does not.
    fn path(x: Features) -> Dataset {
        let graph = Graph::from_edges("path", 4, &[(0, 1), (1, 2)]).unwrap();
        let classes = ["a", "b", "c"].map(String::from).to_vec();
        let y = vec![Some(0), Some(1), Some(0), None];
        let parts = [vec![0], vec![2], vec![]];
        let split = Split::new("own", parts).unwrap();
        let splits = vec![FixedSplit { name: "own".into(), split }];
        Dataset { splits, ..Dataset::new("path", graph, x, y, classes) }
    }

    fn dense() -> Features {
        let values = vec![1.0, 7.0, 0.0, 2.0, 7.0, 0.0, 3.0, 7.0, 0.0, 0.0, 7.0, 0.0];
        Features::Dense(Mat::from_vec(4, 3, values))
    }

    #[test]
    fn everything_odd_is_told() {
        let dataset = path(dense());
        let told = findings(&dataset, &Description::of(&dataset));
        let told: Vec<(&str, usize, &str)> =
            told.iter().map(|finding| (finding.kind, finding.count, &*finding.text)).collect();
        let expected = [
            ("one-node-classes", 1, "1 class has a single node: `b`"),
            ("empty-classes", 1, "1 class has no node: `c`"),
            ("duplicate-nodes", 1, "1 node has the neighbours and the class of an earlier one"),
            ("empty-parts", 1, "a part is empty in 1 of 1 published splits: own"),
            (
                "class-not-in-train",
                1,
                "a class is missing in training in 1 of 1 published splits: own",
            ),
            (
                "incomplete-splits",
                1,
                "labelled nodes are in no part in 1 of 1 published splits: own",
            ),
            ("unlabelled-nodes", 1, "1 node has no label"),
            ("isolated-nodes", 1, "1 node has no neighbour"),
            ("components", 2, "the graph falls into 2 parts; the largest has 3 nodes"),
            ("constant-features", 2, "2 features are the same for every node"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn sparse_and_dense_features_are_counted_alike() {
        // 1 7 0 0    2 7 0 0    0 0 0 0    with a zero that is stored
        let pattern = Pattern::new(4, vec![0, 3, 5, 5], vec![0, 1, 2, 0, 1]);
        let x = Features::Sparse { pattern, values: vec![1.0, 7.0, 0.0, 2.0, 7.0] };
        assert_eq!((zero_rows(&x), constant_columns(&x)), (1, 2));
        let x = Features::Dense(x.to_dense());
        assert_eq!((zero_rows(&x), constant_columns(&x)), (1, 2));
        let full = Pattern::new(1, vec![0, 1, 2], vec![0, 0]);
        let full = |values| Features::Sparse { pattern: full.clone(), values };
        assert_eq!(constant_columns(&full(vec![3.0, 3.0])), 1);
        assert_eq!(constant_columns(&full(vec![3.0, 4.0])), 0);
    }
}
