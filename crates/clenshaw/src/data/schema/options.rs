//! The options that users set for their tables; everything else is inferred.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The user's choices for a node table and the weights of edges.
///
/// ```
/// use clenshaw::data::TableOptions;
/// let text = "label = \"diagnosis\"\nignore = [\"notes\"]\nfill = \"mean\"\n";
/// let options = TableOptions::from_toml("schema.toml", text)?;
/// assert_eq!(options.label.as_deref(), Some("diagnosis"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TableOptions {
    /// The column with the names of the nodes; `None` to infer it, for example from the name `id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The column with the classes; `None` to use a column with a usual name, such as `label`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The column with the part of the split; `None` to use those of the columns `split`, `train_mask`,
    /// `val_mask` and `test_mask` that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// The only columns that may be features; if empty, all columns without another role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Columns that are not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Columns whose values are categories even if they are numbers; a column with more than 100 different values is
    /// not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub category: Vec<String>,
    /// How missing numbers are filled; `None` for the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// The column of the edge table, or the attribute of edges, with their weights; the text `none` gives all
    /// edges the weight 1. If unset, a column with a usual name is used, such as `weight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
}

/// Where the weights of edges come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeightChoice<'a> {
    /// The column or attribute with a usual name, such as `weight`, if there is one.
    ByName,
    /// This column or attribute.
    Column(&'a str),
    /// All edges have the weight 1.
    Unused,
}

impl<'a> WeightChoice<'a> {
    /// The choice in [`TableOptions::weight`].
    pub fn new(weight: Option<&'a str>) -> Self {
        match weight {
            None => Self::ByName,
            Some("none") => Self::Unused,
            Some(column) => Self::Column(column),
        }
    }
}

/// What missing numbers are filled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// The median of the column.
    #[default]
    Median,
    /// The mean of the column.
    Mean,
    /// Zero.
    Zero,
}

impl TableOptions {
    /// Creates options in which nothing is set.
    pub const fn new() -> Self {
        Self {
            id: None,
            label: None,
            split: None,
            features: vec![],
            ignore: vec![],
            category: vec![],
            fill: None,
            weight: None,
        }
    }

    /// Parses TOML; an error if it is malformed, a key is unknown or a value has the wrong type. `place` names the
    /// file in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| Error::Data {
            place: place.into(),
            problem: error.message().replace('\n', " "),
        })
    }

    /// Returns these options; those that are not set, and empty lists, are taken from `other`.
    pub fn or(self, other: Self) -> Self {
        let or = |ours: Vec<String>, theirs| if ours.is_empty() { theirs } else { ours };
        Self {
            id: self.id.or(other.id),
            label: self.label.or(other.label),
            split: self.split.or(other.split),
            features: or(self.features, other.features),
            ignore: or(self.ignore, other.ignore),
            category: or(self.category, other.category),
            fill: self.fill.or(other.fill),
            weight: self.weight.or(other.weight),
        }
    }

    /// All columns of the node table that occur in these options.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        let single = [&self.id, &self.label, &self.split].into_iter().flatten();
        single.chain(&self.features).chain(&self.ignore).chain(&self.category)
    }
}
