//! A part of an experiment: `graph=texas,cora,model=gcn`.

use crate::error::{Error, Result};
use std::str::FromStr;

/// Which values of which keys are wanted; a key that is not named is wanted whole.
///
/// ```
/// use clenshaw::experiment::Only;
/// let only: Only = "graph=texas,cora".parse()?;
/// assert!(only.wants("graph", "cora") && !only.wants("graph", "pubmed"));
/// assert!(only.wants("model", "gcn"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    wanted: Vec<(String, String)>,
}

impl FromStr for Only {
    type Err = Error;

    /// `key=value,value,key=value`.
    fn from_str(text: &str) -> Result<Self> {
        let mut wanted: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let last = wanted.last().map(|(key, _)| key.as_str());
            let (key, value) = part.split_once('=').or(last.zip(Some(part))).ok_or_else(|| {
                let expected = "`key=value,value`".into();
                Error::BadValue { key: "only".into(), value: text.into(), expected }
            })?;
            wanted.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(Self { wanted })
    }
}

impl Only {
    /// Whether this value of this key is wanted.
    pub fn wants(&self, key: &str, value: &str) -> bool {
        let mut named = self.wanted.iter().filter(|(named, _)| named == key).peekable();
        named.peek().is_none() || named.any(|(_, named)| named == value)
    }

    /// Refuses keys and values that the experiment does not have.
    pub(super) fn check(&self, axes: &[(&'static str, &[&str])]) -> Result<()> {
        for (key, value) in &self.wanted {
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
    fn a_value_without_a_key_belongs_to_the_last_one() {
        let only: Only = "graph=texas, cora,model=gcn".parse().unwrap();
        assert!(only.wants("graph", "cora") && only.wants("graph", "texas"));
        assert!(only.wants("model", "gcn") && !only.wants("model", "cora"));
        assert!(Only::default().wants("graph", "anything"));
    }

    #[test]
    fn wrong_words_are_answered() {
        let axes: [(&str, &[&str]); 1] = [("graph", &["cora", "texas"])];
        let refused = |text: &str| match text.parse::<Only>() {
            Ok(only) => only.check(&axes).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(refused("texas"), "`only` is `texas`; expected `key=value,value`");
        assert_eq!(
            refused("grahp=texas"),
            "unknown key `grahp`; did you mean `graph`? known: graph"
        );
        assert_eq!(
            refused("graph=cora,texsa"),
            "unknown graph `texsa`; did you mean `texas`? known: cora, texas"
        );
    }
}
