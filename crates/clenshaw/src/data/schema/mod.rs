//! The meaning of the columns of a node table: which one is the label, which are features, and how
//! their cells become numbers.
//!
//! A schema is inferred once, from the table that a model is trained on, by the rules in `infer.rs`.
//! It is stored with the data set and with the trained model, and applied unchanged to other tables:
//! columns are matched by name, missing values are filled with the stored value, and categories that
//! were not in the training table are encoded as zeros.

mod cell;
mod encode;
mod infer;
mod options;

pub(crate) use cell::is_missing;
pub(crate) use encode::{EncodedNodes, encode, encode_features, encode_with_schema};
pub(crate) use infer::{is_id_name, is_known_name};
pub(crate) use options::WeightChoice;
pub use options::{Fill, TableOptions};

use super::count;
use serde::{Deserialize, Serialize};

/// How the features of nodes, their labels and the weights of edges are read from a user's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// One entry per column of the node table, in the order of the table; empty if there is no table.
    pub columns: Vec<ColumnSchema>,
    /// The features that are computed from the graph, if the table has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structural: Option<StructuralFeatures>,
    /// The column or attribute with the edge weights, or `none`, if the user chose one; see
    /// [`TableOptions::weight`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
}

/// Features that are computed from the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StructuralFeatures {
    /// One feature per node.
    Identity,
    /// One 0/1 feature per range of degrees: 0, 1, 2-3, 4-7, ...
    Degree,
}

/// The meaning of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnSchema {
    /// Its name, or its number from 1 if the table has no header.
    pub name: String,
    /// How it is used.
    #[serde(flatten)]
    pub role: ColumnRole,
    /// Why it is used in this way, for the user.
    pub reason: String,
}

/// How a column is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum ColumnRole {
    /// The name of the node.
    Id,
    /// The class of the node.
    Label,
    /// The part of the split the node is in: `train`, `val` or `test`.
    Split,
    /// Whether the node is in this part of the split.
    Mask {
        /// 0 for training, 1 for validation, 2 for test.
        part: usize,
    },
    /// One feature, or two with `indicator`.
    Number {
        /// How cells are written.
        format: NumberFormat,
        /// The value of missing cells.
        fill: f32,
        /// Whether a second feature marks missing cells.
        indicator: bool,
    },
    /// One 0/1 feature per value.
    Category {
        /// The values, sorted.
        values: Vec<String>,
    },
    /// Not used.
    Ignored,
}

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumberFormat {
    /// `1.5` or `2e3`.
    Number,
    /// `1,5`.
    DecimalComma,
    /// `true` and `false`, or `yes` and `no`; 1 and 0 as features.
    Flag,
    /// `2023-08-06`, optionally with a time; days since 1970 as a feature.
    Date,
}

impl Schema {
    /// Returns the names of the features that come from the node table, such as `age`, `age missing` and
    /// `town=York`; other features have no names.
    ///
    /// Features are ordered by the name of their column, so that the order of columns in a file does
    /// not matter.
    pub fn feature_names(&self) -> Vec<String> {
        self.features().flat_map(|column| column.feature_names()).collect()
    }

    /// Returns the feature columns, ordered by name.
    fn features(&self) -> impl Iterator<Item = &ColumnSchema> {
        let mut features: Vec<&ColumnSchema> =
            self.columns.iter().filter(|column| column.n_features() > 0).collect();
        features.sort_by(|a, b| a.name.cmp(&b.name));
        features.into_iter()
    }

    /// Returns the first column with this role, if there is one.
    pub fn column(&self, role: &ColumnRole) -> Option<&ColumnSchema> {
        self.columns.iter().find(|column| column.role == *role)
    }

    /// Describes the use of the columns in a few lines; long lists are shortened.
    pub fn summary(&self) -> Vec<String> {
        let names = |selected: &dyn Fn(&ColumnRole) -> bool| -> Vec<String> {
            let columns = self.columns.iter().filter(|column| selected(&column.role));
            columns.map(ColumnSchema::title).collect()
        };
        let numbers = names(&|role| matches!(role, ColumnRole::Number { .. }));
        let categories = names(&|role| matches!(role, ColumnRole::Category { .. }));
        let other = |role: ColumnRole| names(&move |found| *found == role);
        let masks = names(&|role| matches!(role, ColumnRole::Mask { .. }));
        let mut lines: Vec<String> = [
            ("id", other(ColumnRole::Id)),
            ("label", other(ColumnRole::Label)),
            ("split", [other(ColumnRole::Split), masks].concat()),
            ("numbers", numbers),
            ("categories", categories),
        ]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", shortened(&names)))
        .collect();
        let ignored = self.columns.iter().filter(|column| column.role == ColumnRole::Ignored);
        let ignored: Vec<String> =
            ignored.map(|column| format!("{} ({})", column.title(), column.reason)).collect();
        if !ignored.is_empty() {
            lines.push(format!("ignored: {}", shortened(&ignored)));
        }
        lines
    }
}

impl ColumnSchema {
    /// The number of features that the column becomes.
    pub fn n_features(&self) -> usize {
        match &self.role {
            ColumnRole::Number { indicator, .. } => 1 + usize::from(*indicator),
            ColumnRole::Category { values } => values.len(),
            _ => 0,
        }
    }

    fn feature_names(&self) -> Vec<String> {
        let name = &self.name;
        match &self.role {
            ColumnRole::Number { indicator: false, .. } => vec![name.clone()],
            ColumnRole::Number { indicator: true, .. } => {
                vec![name.clone(), format!("{name} missing")]
            }
            ColumnRole::Category { values } => {
                values.iter().map(|value| format!("{name}={value}")).collect()
            }
            _ => vec![],
        }
    }

    /// The name, followed in brackets by the number of values of a categorical column, the format of numbers
    /// that are not plain, and, if the column has an indicator, the value of missing cells.
    fn title(&self) -> String {
        let mut details: Vec<String> = vec![];
        match &self.role {
            ColumnRole::Category { values } => details.push(count(values.len(), "value", "values")),
            ColumnRole::Number { format, fill, indicator } => {
                details.extend(match format {
                    NumberFormat::Number => None,
                    NumberFormat::DecimalComma => Some("decimal comma".into()),
                    NumberFormat::Flag => Some("flag".into()),
                    NumberFormat::Date => Some("date".into()),
                });
                details.extend(indicator.then(|| format!("missing: {fill}")));
            }
            _ => {}
        }
        match &details[..] {
            [] => self.name.clone(),
            details => format!("{} ({})", self.name, details.join(", ")),
        }
    }

    /// The kind of column, as `clenshaw data check` lists it.
    pub fn kind(&self) -> &'static str {
        match &self.role {
            ColumnRole::Id => "id",
            ColumnRole::Label => "label",
            ColumnRole::Split | ColumnRole::Mask { .. } => "split",
            ColumnRole::Number { format: NumberFormat::Flag, .. } => "flag",
            ColumnRole::Number { format: NumberFormat::Date, .. } => "date",
            ColumnRole::Number { .. } => "number",
            ColumnRole::Category { .. } => "category",
            ColumnRole::Ignored => "ignored",
        }
    }
}

/// Joins names; of more than eight, only the first six.
fn shortened(names: &[String]) -> String {
    match names.len() {
        0..=8 => names.join(", "),
        n => format!("{}, ... ({n} in total)", names[..6].join(", ")),
    }
}

#[cfg(test)]
mod tests;
