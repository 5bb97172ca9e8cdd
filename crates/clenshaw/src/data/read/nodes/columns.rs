//! What each column of a node table is for, told from its name and from all its fields.

use super::{ID, LABEL, Outcome, SPLIT, Table};
use crate::data::read::fields::ragged;
use crate::data::read::text;
use crate::error::Result;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// How many different texts a column of features may have.
pub(super) const MOST_TEXTS: usize = 100;

/// How to read the table.
pub(super) struct Plan<'a> {
    /// One a column.
    pub roles: Vec<Role<'a>>,
    pub n_nodes: usize,
    pub n_features: usize,
    /// How many features are not zero.
    pub n_entries: usize,
    pub warnings: Vec<String>,
}

/// What a column is for.
pub(super) enum Role<'a> {
    Id,
    Label,
    Split,
    /// The feature with this number.
    Number(usize),
    /// A feature for each text, ascending, from this number on.
    Texts(usize, Vec<Cow<'a, str>>),
    Ignored,
}

/// What a column holds.
#[derive(Default)]
struct Column<'a> {
    /// The first line with a number, with a text, and without anything; 0 if there is none.
    number_line: usize,
    text_line: usize,
    empty_line: usize,
    /// How many fields are neither empty nor zero.
    n_entries: usize,
    /// The first few different texts.
    texts: BTreeSet<Cow<'a, str>>,
}

impl<'a> Column<'a> {
    fn see(&mut self, line: usize, field: Cow<'a, str>) {
        let seen = match field.parse::<f32>() {
            _ if field.is_empty() => &mut self.empty_line,
            Ok(number) => {
                self.n_entries += usize::from(number != 0.0);
                &mut self.number_line
            }
            Err(_) => {
                self.n_entries += 1;
                if self.texts.len() <= MOST_TEXTS && !self.texts.contains(&field) {
                    self.texts.insert(field);
                }
                &mut self.text_line
            }
        };
        if *seen == 0 {
            *seen = line;
        }
    }

    /// The role of a column of features, of which there are `n` already.
    fn feature(self, table: &Table, column: usize, n: usize) -> Result<Role<'a>> {
        let title = table.title(column);
        let bad = |line, problem| Err(text::at(table.place, line, problem));
        let (number, text, empty) = (self.number_line, self.text_line, self.empty_line);
        match (number > 0, text > 0, empty > 0) {
            (true, true, _) => {
                let (line, other) = (number.max(text), number.min(text));
                let (here, there) = match number > text {
                    true => ("a number", "a text"),
                    false => ("a text", "a number"),
                };
                bad(line, format!("{title} holds {here}, but line {other} holds {there}"))
            }
            (true, false, true) => bad(empty, format!("{title} is empty; expected a number")),
            (true, false, false) => Ok(Role::Number(n)),
            (false, true, _) if self.texts.len() > MOST_TEXTS => Err(table.error(format!(
                "{title} holds more than {MOST_TEXTS} different texts; \
                 turn it into numbers, or remove it"
            ))),
            (false, true, _) => Ok(Role::Texts(n, self.texts.into_iter().collect())),
            (false, false, _) => Ok(Role::Ignored),
        }
    }
}

/// Looks at every field once.
pub(super) fn plan<'a>(table: &Table<'a>) -> Result<Plan<'a>> {
    let (columns, n_nodes) = scan(table)?;
    if n_nodes == 0 {
        return Err(table.error("there are no nodes; expected a line a node"));
    }
    let id = table.called(ID).unwrap_or(0);
    let split = table.called(SPLIT);
    let is_left = |column: &usize| *column != id && Some(*column) != split;
    let label = table.called(LABEL).filter(is_left);
    let last = || (0..columns.len()).rfind(is_left).filter(|&last| columns[last].text_line > 0);
    let label = label.or_else(last).ok_or_else(|| {
        table.error(format!(
            "no column of labels; expected one called {}, or a last one of texts",
            LABEL.join(", ")
        ))
    })?;
    let mut plan = Plan { roles: vec![], n_nodes, n_features: 0, n_entries: 0, warnings: vec![] };
    for (i, column) in columns.into_iter().enumerate() {
        let role = match i {
            _ if i == id => Role::Id,
            _ if i == label => Role::Label,
            _ if Some(i) == split => Role::Split,
            _ if table.names[i].is_empty() => Role::Ignored,
            _ => {
                plan.n_entries += column.n_entries;
                column.feature(table, i, plan.n_features)?
            }
        };
        plan.add(table, i, role);
    }
    match plan.n_features {
        0 => Err(table.error("no column of features; expected one besides id, label and split")),
        _ => Ok(plan),
    }
}

impl<'a> Plan<'a> {
    fn add(&mut self, table: &Table, column: usize, role: Role<'a>) {
        match &role {
            Role::Number(_) => self.n_features += 1,
            Role::Texts(_, texts) => self.n_features += texts.len(),
            Role::Ignored => {
                let why = match table.names[column].is_empty() {
                    true => format!("column {}, which has no name", column + 1),
                    false => format!("{}, which is empty", table.title(column)),
                };
                self.warnings.push(format!("{}: ignored {why}", table.place));
            }
            Role::Id | Role::Label | Role::Split => {}
        }
        self.roles.push(role);
    }
}

/// What the columns hold, and how many lines there are.
fn scan<'a>(table: &Table<'a>) -> Result<(Vec<Column<'a>>, usize)> {
    let mut columns: Vec<Column> = table.names.iter().map(|_| Column::default()).collect();
    let mut n_rows = 0;
    for (line, fields) in table.rows() {
        let bad = |problem| text::at(table.place, line, problem);
        let n = see(&mut columns, line, fields).map_err(bad)?;
        if n != columns.len() {
            return Err(bad(ragged(n, columns.len(), table.first_line)));
        }
        n_rows += 1;
    }
    Ok((columns, n_rows))
}

/// Shows the fields of a line to their columns; returns how many there are.
fn see<'a>(
    columns: &mut [Column<'a>],
    line: usize,
    fields: impl Iterator<Item = Outcome<Cow<'a, str>>>,
) -> Outcome<usize> {
    let mut n = 0;
    for field in fields {
        let field = field?;
        if let Some(column) = columns.get_mut(n) {
            column.see(line, field);
        }
        n += 1;
    }
    Ok(n)
}
