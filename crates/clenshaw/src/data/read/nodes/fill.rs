//! The second pass over a node table, which reads the values.

use super::columns::{ColumnPlan, ColumnRole};
use super::{NodeData, NodeTable};
use crate::data::read::fields::LineResult;
use crate::data::read::labels::LabelEncoder;
use crate::data::read::text;
use crate::data::{Features, FixedSplit, Split};
use crate::error::Result;
use crate::tensor::{Mat, Pattern};
use std::borrow::Cow;
use std::collections::HashMap;

/// The names of each part of a split.
const PARTS: [&[&str]; 3] = [&["train"], &["val", "valid", "validation"], &["test"]];
/// The name of the split of a node table.
const OWN: &str = "own";

pub(super) fn fill<'a>(table: &NodeTable<'a>, plan: ColumnPlan<'a>) -> Result<NodeData> {
    let mut rows = NodeRows::new(&plan);
    for (node, (line, fields)) in (0..).zip(table.rows()) {
        let read = rows.read(table, &plan.roles, node, fields);
        read.map_err(|problem| text::line_error(table.place, line, problem))?;
    }
    rows.finish(table, plan)
}

/// The rows read so far.
struct NodeRows<'a> {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    labels: LabelEncoder<'a>,
    parts: [Vec<u32>; 3],
    features: FeatureBuilder,
}

impl<'a> NodeRows<'a> {
    fn new(plan: &ColumnPlan) -> Self {
        Self {
            names: vec![],
            numbers: HashMap::new(),
            labels: LabelEncoder::default(),
            parts: Default::default(),
            features: FeatureBuilder::new(plan),
        }
    }

    fn read(
        &mut self,
        table: &NodeTable,
        roles: &[ColumnRole],
        node: u32,
        fields: impl Iterator<Item = LineResult<Cow<'a, str>>>,
    ) -> LineResult<()> {
        for (column, (field, role)) in fields.zip(roles).enumerate() {
            let field = field?;
            match role {
                ColumnRole::Id => self.id(table, node, field)?,
                ColumnRole::Label => self.labels.push(field),
                ColumnRole::Split => self.part(node, &field)?,
                ColumnRole::Number(feature) => {
                    let title = || table.title(column);
                    self.features.put(*feature, finite(&field, title)?);
                }
                ColumnRole::Categories(first, texts) => {
                    if let Ok(at) = texts.binary_search(&field) {
                        self.features.put(first + at, 1.0);
                    }
                }
                ColumnRole::Ignored => {}
            }
        }
        self.features.end_row();
        Ok(())
    }

    fn id(&mut self, table: &NodeTable, node: u32, id: Cow<str>) -> LineResult<()> {
        if id.is_empty() {
            return Err("the id is empty".into());
        }
        let id = id.into_owned();
        if let Some(&other) = self.numbers.get(&id) {
            let line = table.rows().nth(other as usize).map_or(0, |(line, _)| line);
            return Err(format!("duplicate id `{id}`; it is also on line {line}"));
        }
        self.names.push(id.clone());
        self.numbers.insert(id, node);
        Ok(())
    }

    fn part(&mut self, node: u32, word: &str) -> LineResult<()> {
        let part = PARTS.iter().position(|words| words.contains(&word));
        match part.map(|part| &mut self.parts[part]) {
            Some(part) => part.push(node),
            None if word.is_empty() => {}
            None => {
                return Err(format!(
                    "split value `{word}`; expected train, val, test or an empty field"
                ));
            }
        }
        Ok(())
    }

    fn finish(mut self, table: &NodeTable, plan: ColumnPlan) -> Result<NodeData> {
        let (class_names, y) = self.labels.classes();
        if class_names.is_empty() {
            return Err(table.error("no node has a label; expected labels of at least two classes"));
        }
        let mut warnings = plan.warnings;
        let assigned: usize = self.parts.iter().map(Vec::len).sum();
        self.parts.iter_mut().for_each(|part| part.retain(|&node| y[node as usize].is_some()));
        let kept: usize = self.parts.iter().map(Vec::len).sum();
        if kept < assigned {
            let place = table.place;
            let n = assigned - kept;
            warnings.push(format!("{place}: left out {n} nodes of the split that have no label"));
        }
        let has_split = plan.roles.iter().any(|role| matches!(role, ColumnRole::Split));
        let split = match has_split {
            true => Some(FixedSplit { name: OWN.into(), split: Split::new(OWN, self.parts)? }),
            false => None,
        };
        let (names, numbers, x) = (self.names, self.numbers, self.features.finish());
        Ok(NodeData { names, numbers, x, y, class_names, split, warnings })
    }
}

fn finite(field: &str, title: impl Fn() -> String) -> LineResult<f32> {
    let number = field.parse::<f32>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{} is `{field}`; expected a finite number", title()))
}

/// Builds the feature matrix row by row, with ascending columns.
enum FeatureBuilder {
    Dense { n_cols: usize, values: Vec<f32>, row: usize },
    Sparse { n_cols: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f32> },
}

impl FeatureBuilder {
    /// Sparse if at most a quarter of the values are non-zero.
    fn new(plan: &ColumnPlan) -> Self {
        let (n_cols, n_entries) = (plan.n_features, plan.n_entries);
        let size = plan.n_nodes.saturating_mul(n_cols);
        match n_entries <= size / 4 {
            true => Self::Sparse {
                n_cols,
                offsets: vec![0],
                indices: Vec::with_capacity(n_entries),
                values: Vec::with_capacity(n_entries),
            },
            false => Self::Dense { n_cols, values: vec![0.0; size], row: 0 },
        }
    }

    fn put(&mut self, column: usize, value: f32) {
        match self {
            Self::Dense { n_cols, values, row } => values[*row * *n_cols + column] = value,
            Self::Sparse { indices, values, .. } if value != 0.0 => {
                indices.push(column as u32);
                values.push(value);
            }
            Self::Sparse { .. } => {}
        }
    }

    fn end_row(&mut self) {
        match self {
            Self::Dense { row, .. } => *row += 1,
            Self::Sparse { offsets, indices, .. } => offsets.push(indices.len()),
        }
    }

    fn finish(self) -> Features {
        match self {
            Self::Dense { n_cols, values, row } => {
                Features::Dense(Mat::from_vec(row, n_cols, values))
            }
            Self::Sparse { n_cols, offsets, indices, values } => {
                Features::Sparse { pattern: Pattern::new(n_cols, offsets, indices), values }
            }
        }
    }
}
