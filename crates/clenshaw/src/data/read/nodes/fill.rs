//! The second look at a node table, when it is known what each column is for.

use super::columns::{Plan, Role};
use super::{Nodes, Outcome, Table};
use crate::data::read::text;
use crate::data::{Features, FixedSplit, Split};
use crate::error::Result;
use crate::tensor::{Mat, Pattern};
use std::borrow::Cow;
use std::collections::HashMap;

/// The words for each part of a split.
const PARTS: [&[&str]; 3] = [&["train"], &["val", "valid", "validation"], &["test"]];
/// What to type to get the split of a table.
const OWN: &str = "own";

pub(super) fn fill<'a>(table: &Table<'a>, plan: Plan<'a>) -> Result<Nodes> {
    let mut rows = Rows::new(&plan);
    for (line, fields) in table.rows() {
        let read = rows.read(table, &plan.roles, fields);
        read.map_err(|problem| text::at(table.place, line, problem))?;
    }
    rows.finish(table, plan)
}

/// What was read so far.
struct Rows<'a> {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Labels in the order in which they turn up, and which of them each node has.
    labels: HashMap<Cow<'a, str>, u32>,
    y: Vec<Option<u32>>,
    parts: [Vec<u32>; 3],
    matrix: Matrix,
}

impl<'a> Rows<'a> {
    fn new(plan: &Plan) -> Self {
        Self {
            names: vec![],
            numbers: HashMap::new(),
            labels: HashMap::new(),
            y: vec![],
            parts: Default::default(),
            matrix: Matrix::new(plan),
        }
    }

    fn read(
        &mut self,
        table: &Table,
        roles: &[Role],
        fields: impl Iterator<Item = Outcome<Cow<'a, str>>>,
    ) -> Outcome<()> {
        let node = self.y.len() as u32;
        for (column, (field, role)) in fields.zip(roles).enumerate() {
            let field = field?;
            match role {
                Role::Id => self.id(table, node, field)?,
                Role::Label => self.label(field),
                Role::Split => self.part(node, &field)?,
                Role::Number(feature) => {
                    let title = || table.title(column);
                    self.matrix.put(*feature, finite(&field, title)?);
                }
                Role::Texts(first, texts) => {
                    if let Ok(at) = texts.binary_search(&field) {
                        self.matrix.put(first + at, 1.0);
                    }
                }
                Role::Ignored => {}
            }
        }
        self.matrix.end_row();
        Ok(())
    }

    fn id(&mut self, table: &Table, node: u32, id: Cow<str>) -> Outcome<()> {
        if id.is_empty() {
            return Err("the id is missing".into());
        }
        let id = id.into_owned();
        if let Some(&other) = self.numbers.get(&id) {
            let line = table.rows().nth(other as usize).map_or(0, |(line, _)| line);
            return Err(format!("id `{id}` again; it stood in line {line}"));
        }
        self.names.push(id.clone());
        self.numbers.insert(id, node);
        Ok(())
    }

    fn label(&mut self, label: Cow<'a, str>) {
        let next = self.labels.len() as u32;
        let label = (!label.is_empty()).then(|| *self.labels.entry(label).or_insert(next));
        self.y.push(label);
    }

    fn part(&mut self, node: u32, word: &str) -> Outcome<()> {
        let part = PARTS.iter().position(|words| words.contains(&word));
        match part.map(|part| &mut self.parts[part]) {
            Some(part) => part.push(node),
            None if word.is_empty() => {}
            None => return Err(format!("part `{word}`; expected train, val, test or nothing")),
        }
        Ok(())
    }

    fn finish(mut self, table: &Table, plan: Plan) -> Result<Nodes> {
        if self.labels.is_empty() {
            return Err(table.error("no node has a label; expected labels of at least two classes"));
        }
        let (class_names, class_of) = classes(self.labels);
        let y: Vec<_> = self.y.iter().map(|y| y.map(|label| class_of[label as usize])).collect();
        let mut warnings = plan.warnings;
        let dealt: usize = self.parts.iter().map(Vec::len).sum();
        self.parts.iter_mut().for_each(|part| part.retain(|&node| y[node as usize].is_some()));
        let left: usize = self.parts.iter().map(Vec::len).sum();
        if left < dealt {
            let place = table.place;
            let n = dealt - left;
            warnings.push(format!("{place}: {n} nodes of the split have no label; left out"));
        }
        let has_split = plan.roles.iter().any(|role| matches!(role, Role::Split));
        let split = match has_split {
            true => Some(FixedSplit { name: OWN.into(), split: Split::new(OWN, self.parts)? }),
            false => None,
        };
        let (names, numbers, x) = (self.names, self.numbers, self.matrix.finish());
        Ok(Nodes { names, numbers, x, y, class_names, split, warnings })
    }
}

/// Names in order, as numbers if all are, and the class of each label in the order of turning up.
fn classes(labels: HashMap<Cow<str>, u32>) -> (Vec<String>, Vec<u32>) {
    let mut labels: Vec<(Option<f64>, Cow<str>, u32)> = labels
        .into_iter()
        .map(|(name, label)| (name.parse().ok().filter(|x: &f64| !x.is_nan()), name, label))
        .collect();
    let all_numbers = labels.iter().all(|(number, ..)| number.is_some());
    labels.sort_by(|(x, a, _), (y, b, _)| match (x, y) {
        (Some(x), Some(y)) if all_numbers => x.total_cmp(y).then_with(|| a.cmp(b)),
        _ => a.cmp(b),
    });
    let mut class_of = vec![0; labels.len()];
    for (class, (_, _, label)) in labels.iter().enumerate() {
        class_of[*label as usize] = class as u32;
    }
    (labels.into_iter().map(|(_, name, _)| name.into_owned()).collect(), class_of)
}

fn finite(field: &str, title: impl Fn() -> String) -> Outcome<f32> {
    let number = field.parse::<f32>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{} is `{field}`; expected a finite number", title()))
}

/// Features as they come, row by row with ascending columns.
enum Matrix {
    Dense { n_cols: usize, values: Vec<f32>, row: usize },
    Sparse { n_cols: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f32> },
}

impl Matrix {
    /// Sparse if at most a quarter is not zero.
    fn new(plan: &Plan) -> Self {
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
