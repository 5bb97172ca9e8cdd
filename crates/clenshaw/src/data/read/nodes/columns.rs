//! Determines the role of each column of a node table from its name and content.

use super::{ID, LABEL, NodeTable, SPLIT};
use crate::data::check_node_count;
use crate::data::read::fields::{LineResult, field_count_error};
use crate::data::read::text;
use crate::error::Result;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Maximum number of categories of a feature column.
pub(super) const MAX_CATEGORIES: usize = 100;

/// The roles of the columns and the size of the feature matrix.
pub(super) struct ColumnPlan<'a> {
    /// One role per column.
    pub roles: Vec<ColumnRole<'a>>,
    pub n_nodes: usize,
    pub n_features: usize,
    /// Number of non-zero feature values.
    pub n_entries: usize,
    pub warnings: Vec<String>,
}

/// The role of a column.
pub(super) enum ColumnRole<'a> {
    Id,
    Label,
    Split,
    /// A numeric feature with this index.
    Number(usize),
    /// One-hot features of the sorted categories, starting at this index.
    Categories(usize, Vec<Cow<'a, str>>),
    Ignored,
}

/// The kinds of values found in a column.
#[derive(Default)]
struct ColumnScan<'a> {
    /// The first lines with a number, text and an empty field; 0 if there are none.
    number_line: usize,
    text_line: usize,
    empty_line: usize,
    /// Number of fields that are neither empty nor zero.
    n_entries: usize,
    /// Distinct strings, up to one more than the limit.
    texts: BTreeSet<Cow<'a, str>>,
}

impl<'a> ColumnScan<'a> {
    fn add_field(&mut self, line: usize, field: Cow<'a, str>) {
        let seen = match field.parse::<f32>() {
            _ if field.is_empty() => &mut self.empty_line,
            Ok(number) => {
                self.n_entries += usize::from(number != 0.0);
                &mut self.number_line
            }
            Err(_) => {
                self.n_entries += 1;
                if self.texts.len() <= MAX_CATEGORIES && !self.texts.contains(&field) {
                    self.texts.insert(field);
                }
                &mut self.text_line
            }
        };
        if *seen == 0 {
            *seen = line;
        }
    }

    /// Returns the role of a feature column whose first feature has index `n`.
    fn feature(self, table: &NodeTable, column: usize, n: usize) -> Result<ColumnRole<'a>> {
        let title = table.title(column);
        let bad = |line, problem| Err(text::line_error(table.place, line, problem));
        let (number, text, empty) = (self.number_line, self.text_line, self.empty_line);
        match (number > 0, text > 0, empty > 0) {
            (true, true, _) => {
                let (line, other) = (number.max(text), number.min(text));
                let (here, there) = match number > text {
                    true => ("a number", "text"),
                    false => ("text", "a number"),
                };
                bad(
                    line,
                    format!("{title} has {here}, but line {other} has {there}; expected one kind"),
                )
            }
            (true, false, true) => bad(empty, format!("{title} is empty; expected a number")),
            (true, false, false) => Ok(ColumnRole::Number(n)),
            (false, true, _) if self.texts.len() > MAX_CATEGORIES => Err(table.error(format!(
                "{title} has more than {MAX_CATEGORIES} categories; \
                 convert it to numbers, or remove it"
            ))),
            (false, true, _) => Ok(ColumnRole::Categories(n, self.texts.into_iter().collect())),
            (false, false, _) => Ok(ColumnRole::Ignored),
        }
    }
}

/// Scans the table and assigns a role to each column.
pub(super) fn plan<'a>(table: &NodeTable<'a>) -> Result<ColumnPlan<'a>> {
    let (columns, n_nodes) = scan(table)?;
    if n_nodes == 0 {
        return Err(table.error("the table has no rows; expected one row per node"));
    }
    check_node_count(table.place, n_nodes)?;
    let id = table.find_column(ID).unwrap_or(0);
    let split = table.find_column(SPLIT);
    let is_unassigned = |column: &usize| *column != id && Some(*column) != split;
    let label = table.find_column(LABEL).filter(is_unassigned);
    let last =
        || (0..columns.len()).rfind(is_unassigned).filter(|&last| columns[last].text_line > 0);
    let label = label.or_else(last).ok_or_else(|| {
        table.error(format!(
            "no label column; expected a column named {}, or text in the last column",
            LABEL.join(", ")
        ))
    })?;
    let mut plan =
        ColumnPlan { roles: vec![], n_nodes, n_features: 0, n_entries: 0, warnings: vec![] };
    for (i, column) in columns.into_iter().enumerate() {
        let role = match i {
            _ if i == id => ColumnRole::Id,
            _ if i == label => ColumnRole::Label,
            _ if Some(i) == split => ColumnRole::Split,
            _ if table.names[i].is_empty() => ColumnRole::Ignored,
            _ => {
                plan.n_entries += column.n_entries;
                column.feature(table, i, plan.n_features)?
            }
        };
        plan.add(table, i, role);
    }
    match plan.n_features {
        0 => Err(table.error("no feature column; expected one besides id, label and split")),
        _ => Ok(plan),
    }
}

impl<'a> ColumnPlan<'a> {
    fn add(&mut self, table: &NodeTable, column: usize, role: ColumnRole<'a>) {
        match &role {
            ColumnRole::Number(_) => self.n_features += 1,
            ColumnRole::Categories(_, texts) => self.n_features += texts.len(),
            ColumnRole::Ignored => {
                let why = match table.names[column].is_empty() {
                    true => format!("column {}, which has no name", column + 1),
                    false => format!("{}, which is empty", table.title(column)),
                };
                self.warnings.push(format!("{}: ignored {why}", table.place));
            }
            ColumnRole::Id | ColumnRole::Label | ColumnRole::Split => {}
        }
        self.roles.push(role);
    }
}

/// Scans all fields; returns the columns and the number of rows.
fn scan<'a>(table: &NodeTable<'a>) -> Result<(Vec<ColumnScan<'a>>, usize)> {
    let mut columns: Vec<ColumnScan> = table.names.iter().map(|_| ColumnScan::default()).collect();
    let mut n_rows = 0;
    for (line, fields) in table.rows() {
        let bad = |problem| text::line_error(table.place, line, problem);
        let n = scan_line(&mut columns, line, fields).map_err(bad)?;
        if n != columns.len() {
            return Err(bad(field_count_error(n, columns.len(), table.first_line)));
        }
        n_rows += 1;
    }
    Ok((columns, n_rows))
}

/// Adds the fields of a line to their columns; returns the number of fields.
fn scan_line<'a>(
    columns: &mut [ColumnScan<'a>],
    line: usize,
    fields: impl Iterator<Item = LineResult<Cow<'a, str>>>,
) -> LineResult<usize> {
    let mut n = 0;
    for field in fields {
        let field = field?;
        if let Some(column) = columns.get_mut(n) {
            column.add_field(line, field);
        }
        n += 1;
    }
    Ok(n)
}
