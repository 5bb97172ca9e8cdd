//! The part of an experiment to run, as in `graph=texas,cora,model=gcn`.

use crate::error::{Error, Result};
use std::str::FromStr;

/// The selected values of each key; a key that is not listed selects all of its values.
///
/// ```
/// use clenshaw::experiment::Selection;
/// let selection: Selection = "graph=texas,cora".parse()?;
/// assert!(selection.includes("graph", "cora") && !selection.includes("graph", "pubmed"));
/// assert!(selection.includes("model", "gcn"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Pairs of a key and a selected value.
    entries: Vec<(String, String)>,
}

impl FromStr for Selection {
    type Err = Error;

    /// Parses `key=value,value,key=value`.
    fn from_str(text: &str) -> Result<Self> {
        let mut entries: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let last = entries.last().map(|(key, _)| key.as_str());
            let (key, value) = part.split_once('=').or(last.zip(Some(part))).ok_or_else(|| {
                let expected = "`key=value,value`".into();
                Error::BadValue { key: "only".into(), value: text.into(), expected }
            })?;
            entries.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(Self { entries })
    }
}

impl Selection {
    /// Whether this value of this key is selected.
    pub fn includes(&self, key: &str, value: &str) -> bool {
        let mut listed = self.entries.iter().filter(|(name, _)| name == key).peekable();
        listed.peek().is_none() || listed.any(|(_, listed)| listed == value)
    }

    /// Fails if the experiment does not have a selected key or value; `axes` lists its keys, each with all of its
    /// values.
    pub(super) fn check(&self, axes: &[(&'static str, &[&str])]) -> Result<()> {
        for (key, value) in &self.entries {
            let axis = axes.iter().find(|(name, _)| name == key);
            let keys = axes.iter().map(|(name, _)| *name);
            let (name, values) = axis.ok_or_else(|| Error::unknown("key", key, keys))?;
            if !values.contains(&value.as_str()) {
                return Err(Error::unknown(name, value, values.iter().copied()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_without_key_belongs_to_the_previous_key() {
        let selection: Selection = "graph=texas, cora,model=gcn".parse().unwrap();
        assert!(selection.includes("graph", "cora") && selection.includes("graph", "texas"));
        assert!(selection.includes("model", "gcn") && !selection.includes("model", "cora"));
        assert!(Selection::default().includes("graph", "anything"));
    }

    #[test]
    fn rejects_unknown_keys_and_values() {
        let axes: [(&str, &[&str]); 1] = [("graph", &["cora", "texas"])];
        let parse_error = |text: &str| match text.parse::<Selection>() {
            Ok(selection) => selection.check(&axes).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(parse_error("texas"), "`only` is `texas`; expected `key=value,value`");
        assert_eq!(
            parse_error("grahp=texas"),
            "unknown key `grahp`; did you mean `graph`? known: graph"
        );
        assert_eq!(
            parse_error("graph=cora,texsa"),
            "unknown graph `texsa`; did you mean `texas`? known: cora, texas"
        );
    }
}
