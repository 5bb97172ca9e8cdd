//! Encodes the rows of a table as features, labels and a split, according to a schema.

use super::cell::{self, is_missing};
use super::infer::{Labels, identifies_rows, infer};
use super::{ColumnRole, NumberFormat, Schema, TableOptions};
use crate::data::class_labels::{ClassLabels, encode_labels};
use crate::data::split::part_named;
use crate::data::table::{TextColumn, TextTable};
use crate::data::{Features, FixedSplit, Split, check_node_count, count};
use crate::error::Result;
use crate::memory;
use crate::tensor::{Mat, Pattern};
use std::collections::HashMap;

/// The name of the split of a node table.
pub(crate) const OWN_SPLIT: &str = "own";

/// A node table after encoding.
#[derive(Debug)]
pub(crate) struct EncodedNodes {
    /// Node names in table order.
    pub names: Vec<String>,
    /// The number of each node, by name.
    pub numbers: HashMap<String, u32>,
    pub x: Features,
    /// The class of each node; `None` if it is unlabelled.
    pub y: Vec<Option<u32>>,
    pub class_names: Vec<String>,
    /// `None` if the table has no split, or if it was encoded with a stored schema.
    pub split: Option<FixedSplit>,
    pub warnings: Vec<String>,
    pub schema: Schema,
}

/// Infers the schema of a table and encodes its rows; an error if there are no rows or too many, if [`infer`]
/// fails, for example without a label column, if an id or the split is invalid, or if memory does not suffice.
pub(crate) fn encode(table: &TextTable, options: &TableOptions) -> Result<EncodedNodes> {
    check_rows(table)?;
    let (schema, mut warnings) = infer(table, options, Labels::Required)?;
    let find = |role: &ColumnRole| {
        schema.columns.iter().position(|column| column.role == *role).map(|i| &table.columns[i])
    };
    let (names, numbers) = node_names(table, &schema, find(&ColumnRole::Id), &mut warnings)?;
    let labels = encode_labels(find(&ColumnRole::Label).expect("the label is required").cells());
    let ClassLabels { y, class_names, warnings: label_warnings } = labels;
    warnings
        .extend(label_warnings.into_iter().map(|warning| format!("{}: {warning}", table.place)));
    for (column, cells) in schema.columns.iter().zip(&table.columns) {
        if let ColumnRole::Category { values } = &column.role
            && determines_labels(cells, values, &y)
        {
            warnings.push(format!(
                "{}: column `{}` determines every known label; if it is the label under another name, \
                 exclude it with --ignore",
                table.place, column.name
            ));
        }
    }
    let split = split(table, &schema, &y, &mut warnings)?;
    let columns: Vec<Option<&TextColumn>> = schema
        .features()
        .map(|column| table.find(&column.name).map(|i| &table.columns[i]))
        .collect();
    let (x, _) = features(table, &schema, &columns, cell::parse_number)?;
    Ok(EncodedNodes { names, numbers, x, y, class_names, split, warnings, schema })
}

/// Infers the schema of a table in which every column may be a feature, and encodes it; also returns
/// warnings. An error if there are no rows or too many, if `options` names an unknown column, or if memory does
/// not suffice.
pub(crate) fn encode_features(
    table: &TextTable,
    options: &TableOptions,
) -> Result<(Features, Schema, Vec<String>)> {
    check_rows(table)?;
    let (schema, warnings) = infer(table, options, Labels::FeaturesOnly)?;
    let columns: Vec<Option<&TextColumn>> = schema
        .features()
        .map(|column| table.find(&column.name).map(|i| &table.columns[i]))
        .collect();
    let (x, _) = features(table, &schema, &columns, cell::parse_number)?;
    Ok((x, schema, warnings))
}

/// Encodes a table with the schema of the training table: columns are matched by name, and the classes
/// are those of the training table. An error if the table has no rows or too many, none of the feature columns,
/// or invalid ids, or if memory does not suffice.
pub(crate) fn encode_with_schema(
    table: &TextTable,
    schema: &Schema,
    class_names: &[String],
) -> Result<EncodedNodes> {
    check_rows(table)?;
    let mut warnings = vec![];
    let mut warn = |text: String| warnings.push(format!("{}: {text}", table.place));
    let named = |role: &ColumnRole| {
        schema.column(role).and_then(|column| table.find(&column.name)).map(|i| &table.columns[i])
    };
    let columns: Vec<Option<&TextColumn>> = schema
        .features()
        .map(|column| table.find(&column.name).map(|i| &table.columns[i]))
        .collect();
    let list = |names: Vec<&str>| names.join(", ");
    let missing = schema.features().zip(&columns).filter(|(_, found)| found.is_none());
    let missing: Vec<&str> = missing.map(|(column, _)| column.name.as_str()).collect();
    if missing.len() == columns.len() && !columns.is_empty() {
        return Err(table.error(format!(
            "none of the feature columns of the model is in this table; expected {}",
            list(missing)
        )));
    }
    if !missing.is_empty() {
        let missing = list(missing);
        warn(format!("columns of the model missing from this table are filled: {missing}"));
    }
    let inferred = infer(table, &TableOptions::default(), Labels::Optional)?.0;
    let id = named(&ColumnRole::Id).or_else(|| {
        let id = inferred.columns.iter().position(|column| column.role == ColumnRole::Id);
        id.map(|i| &table.columns[i])
    });
    let is_known =
        |name: &str| schema.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    let is_id = |column: &TextColumn| id.is_some_and(|id| std::ptr::eq(id, column));
    let extra = table.columns.iter().filter(|column| !is_id(column) && !is_known(&column.name));
    let extra: Vec<&str> = extra.map(|column| column.name.as_str()).collect();
    if !extra.is_empty() {
        warn(format!("columns that are not in the model are ignored: {}", list(extra)));
    }
    let (x, notes) = features(table, schema, &columns, cell::parse_any_notation)?;
    notes.into_iter().for_each(&mut warn);
    let y = match named(&ColumnRole::Label) {
        None => vec![None; table.n_rows()],
        Some(column) => known_labels(column, class_names, &mut warn),
    };
    let (names, numbers) = node_names(table, schema, id, &mut warnings)?;
    let (class_names, schema) = (class_names.to_vec(), schema.clone());
    Ok(EncodedNodes { names, numbers, x, y, class_names, split: None, warnings, schema })
}

/// Whether the class of a node follows from its value in a categorical column: every value occurs with a single
/// class, there are several classes, and values occur at least twice on average. Missing cells and nodes without
/// a label are not considered.
fn determines_labels(cells: &TextColumn, values: &[String], y: &[Option<u32>]) -> bool {
    let present = || cells.cells().zip(y).filter(|(cell, _)| !is_missing(cell));
    let labelled = || present().filter_map(|(cell, class)| Some((cell, (*class)?)));
    let mut class_of: HashMap<&str, u32> = HashMap::new();
    let is_consistent =
        labelled().all(|(cell, class)| *class_of.entry(cell).or_insert(class) == class);
    let first = class_of.values().next();
    let has_several_classes = class_of.values().any(|class| Some(class) != first);
    is_consistent && has_several_classes && 2 * values.len() <= labelled().count()
}

/// Returns an error if a table has no rows, or more than node numbers allow.
fn check_rows(table: &TextTable) -> Result<()> {
    match table.n_rows() {
        0 => Err(table.error("the table has no rows; expected one row per node")),
        n => check_node_count(&table.place, n),
    }
}

/// The class of each label in a column; `None` if the label is missing or, with a warning, if it is not one
/// of `class_names`.
fn known_labels(
    column: &TextColumn,
    class_names: &[String],
    warn: &mut impl FnMut(String),
) -> Vec<Option<u32>> {
    let class = |cell: &str| class_names.iter().position(|name| name == cell);
    let y: Vec<Option<u32>> =
        column.cells().map(|cell| class(cell).map(|class| class as u32)).collect();
    let is_unknown = |(cell, class): &(&str, &Option<u32>)| class.is_none() && !is_missing(cell);
    let mut unknown = column.cells().zip(&y).filter(is_unknown);
    if let Some((example, _)) = unknown.next() {
        let labels = count(
            1 + unknown.count(),
            "label is not a class of the model and is ignored",
            "labels are not classes of the model and are ignored",
        );
        warn(format!("{labels}, such as `{example}`"));
    }
    y
}

/// The names of the nodes, and their numbers by name. The names are the cells of `id`, otherwise those that the
/// format has outside the columns, otherwise numbers from 0, with a warning. An error if a name is empty or
/// occurs twice.
fn node_names(
    table: &TextTable,
    schema: &Schema,
    id: Option<&TextColumn>,
    warnings: &mut Vec<String>,
) -> Result<(Vec<String>, HashMap<String, u32>)> {
    let names: Vec<String> = match id {
        None if table.ids.is_some() => table.ids.clone().unwrap_or_default(),
        Some(column) => column.cells().map(str::to_owned).collect(),
        None => {
            let ignored = schema.columns.iter().filter(|column| column.role == ColumnRole::Ignored);
            let candidate = ignored
                .filter_map(|column| table.find(&column.name))
                .find(|&column| identifies_rows(table, column));
            let advice = candidate.map_or_else(String::new, |column| {
                let name = &table.columns[column].name;
                format!("; if `{name}` contains the names of the nodes, choose it as the id, and do not ignore it")
            });
            warnings
                .push(format!("{}: no id column; nodes are numbered from 0{advice}", table.place));
            (0..table.n_rows()).map(|node| node.to_string()).collect()
        }
    };
    let mut numbers = HashMap::with_capacity(names.len());
    for (node, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(table.row_error(node, "the id is empty"));
        }
        if let Some(other) = numbers.insert(name.clone(), node as u32) {
            let other = other as usize;
            let also = table.lines.get(other).map_or_else(
                || format!("also in row {}", other + 1),
                |line| format!("it is also on line {line}"),
            );
            return Err(table.row_error(node, format!("duplicate id `{name}`; {also}")));
        }
    }
    Ok((names, numbers))
}

/// The split in the columns with the roles split and mask; `None` if there are none. Nodes without a label are
/// left out, with a warning. An invalid cell, and a labelled node that two columns assign to a part, are errors.
fn split(
    table: &TextTable,
    schema: &Schema,
    y: &[Option<u32>],
    warnings: &mut Vec<String>,
) -> Result<Option<FixedSplit>> {
    let mut parts: [Vec<u32>; 3] = Default::default();
    // The last column that assigns each node to a part.
    let mut assigned_by: Vec<Option<&str>> = vec![None; table.n_rows()];
    let mut has_split = false;
    for (column, cells) in schema.columns.iter().zip(&table.columns) {
        let expected = match column.role {
            ColumnRole::Split => "train, val, test or an empty cell",
            ColumnRole::Mask { .. } => "true, false, 1 or 0",
            _ => continue,
        };
        has_split = true;
        for (node, cell) in cells.cells().enumerate() {
            let assigned = match column.role {
                ColumnRole::Mask { part } => {
                    cell::parse_mask(cell).map(|is_in| is_in.then_some(part))
                }
                _ => part_named(cell).map(Some),
            };
            match assigned {
                Some(Some(part)) => {
                    let other = assigned_by[node].replace(column.name.as_str());
                    if let Some(other) = other.filter(|_| y[node].is_some()) {
                        let problem = format!(
                            "`{other}` and `{}` both assign this node to a part of the split; correct \
                             the cells, or exclude columns with --ignore",
                            column.name
                        );
                        return Err(table.row_error(node, problem));
                    }
                    parts[part].push(node as u32);
                }
                Some(None) => {}
                None if is_missing(cell) => {}
                None => {
                    let problem = format!("`{}` is `{cell}`; expected {expected}", column.name);
                    return Err(table.row_error(node, problem));
                }
            }
        }
    }
    if !has_split {
        return Ok(None);
    }
    parts.iter_mut().for_each(|part| part.retain(|&node| y[node as usize].is_some()));
    let is_removed = |(by, class): &(&Option<&str>, &Option<u32>)| by.is_some() && class.is_none();
    let n_removed = assigned_by.iter().zip(y).filter(is_removed).count();
    if n_removed > 0 {
        let (place, nodes) = (&table.place, count(n_removed, "node has", "nodes have"));
        warnings.push(format!("{place}: {nodes} no label and cannot be in the split"));
    }
    Ok(Some(FixedSplit { name: OWN_SPLIT.into(), split: Split::new(OWN_SPLIT, parts)? }))
}

/// The feature matrix, and notes on cells that the schema does not provide for: invalid numbers, unknown values,
/// and missing numbers without an indicator. `columns` are the columns of the table for [`Schema::features`];
/// `None` if the table has no such column.
fn features(
    table: &TextTable,
    schema: &Schema,
    columns: &[Option<&TextColumn>],
    parse: fn(NumberFormat, &str) -> Option<f32>,
) -> Result<(Features, Vec<String>)> {
    let n_rows = table.n_rows();
    let mut builder = FeatureColumns { n_rows, columns: vec![] };
    let mut notes = vec![];
    for (column, cells) in schema.features().zip(columns) {
        match &column.role {
            ColumnRole::Number { format, fill, indicator } => {
                let parse_cell = |cell: &str| parse(*format, cell);
                let NumberCells { missing, invalid } =
                    builder.add_number(*cells, parse_cell, *fill, *indicator);
                let name = &column.name;
                if let Some((n, example)) = invalid {
                    let cells = count(n, "cell is not a number", "cells are not numbers");
                    notes.push(format!(
                        "column `{name}`: {cells}, such as `{example}`; filled with {fill}"
                    ));
                }
                if missing > 0 && !indicator && cells.is_some() {
                    let cells = count(missing, "missing cell is", "missing cells are");
                    notes.push(format!("column `{name}`: {cells} filled with {fill}"));
                }
            }
            ColumnRole::Category { values } => {
                let unknown = builder.add_category(*cells, values);
                if let Some((n, example)) = unknown {
                    let name = &column.name;
                    let cells = count(n, "cell has a value", "cells have values");
                    notes.push(format!(
                        "column `{name}`: {cells} that the training table does not have, such as \
                         `{example}`; encoded as zeros"
                    ));
                }
            }
            _ => {}
        }
    }
    let what = || {
        format!("{}: encoding {n_rows} rows with {} features", table.place, builder.columns.len())
    };
    memory::require(builder.finished_bytes(), what, "exclude columns with --ignore")?;
    Ok((builder.finish(), notes))
}

/// How many cells of a column of numbers have no value.
struct NumberCells<'a> {
    /// The number of missing cells.
    missing: usize,
    /// The number of cells that are neither missing nor numbers, and one of them; `None` if there are none.
    invalid: Option<(usize, &'a str)>,
}

/// The features collected so far, column by column.
struct FeatureColumns {
    n_rows: usize,
    /// The nonzero values of each column, as (row, value) in ascending order of rows.
    columns: Vec<Vec<(u32, f32)>>,
}

impl FeatureColumns {
    /// Adds one feature, or two with an indicator; cells without a value are filled. Without `cells`, all are
    /// missing.
    fn add_number<'a>(
        &mut self,
        cells: Option<&'a TextColumn>,
        parse: impl Fn(&str) -> Option<f32>,
        fill: f32,
        indicator: bool,
    ) -> NumberCells<'a> {
        let value = |row| cells.and_then(|cells| parse(cells.cell(row)));
        let values: Vec<Option<f32>> = (0..self.n_rows).map(value).collect();
        let without_value = |(_, value): &(&str, &Option<f32>)| value.is_none();
        let text = cells.into_iter().flat_map(TextColumn::cells).zip(&values);
        let invalid =
            text.filter(without_value).map(|(cell, _)| cell).filter(|cell| !is_missing(cell));
        let mut invalid = invalid.peekable();
        let invalid = invalid.peek().copied().map(|example| (invalid.count(), example));
        let filled = values.iter().map(|value| value.unwrap_or(fill));
        self.columns.push((0..).zip(filled).filter(|(_, value)| *value != 0.0).collect());
        let missing =
            (0..).zip(&values).filter(|(_, value)| value.is_none()).map(|(row, _)| (row, 1.0));
        let missing: Vec<(u32, f32)> = missing.collect();
        let n_missing = missing.len() - invalid.map_or(0, |(n, _)| n);
        if indicator {
            self.columns.push(missing);
        }
        NumberCells { missing: n_missing, invalid }
    }

    /// Adds one feature per value; returns the number of cells with other values, and one of these, or `None`
    /// if there are none.
    fn add_category<'a>(
        &mut self,
        cells: Option<&'a TextColumn>,
        values: &[String],
    ) -> Option<(usize, &'a str)> {
        let first = self.columns.len();
        self.columns.extend(values.iter().map(|_| vec![]));
        let (mut n_unknown, mut example) = (0, None);
        for (row, cell) in (0..).zip(cells.into_iter().flat_map(TextColumn::cells)) {
            match values.binary_search_by(|value| value.as_str().cmp(cell)) {
                Ok(value) => self.columns[first + value].push((row, 1.0)),
                Err(_) if is_missing(cell) => {}
                Err(_) => {
                    n_unknown += 1;
                    example = example.or(Some(cell));
                }
            }
        }
        example.map(|example| (n_unknown, example))
    }

    fn n_entries(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// Whether more than a quarter of the values are nonzero.
    fn is_dense(&self) -> bool {
        self.n_entries() > self.n_rows * self.columns.len() / 4
    }

    /// Approximate number of bytes that [`Self::finish`] allocates.
    fn finished_bytes(&self) -> u64 {
        let bytes = match self.is_dense() {
            true => size_of::<f32>() * self.n_rows * self.columns.len(),
            // Columns and values, the offsets of the rows and a copy of them.
            false => 8 * self.n_entries() + 2 * size_of::<usize>() * self.n_rows,
        };
        bytes as u64
    }

    /// The matrix; sparse unless [`Self::is_dense`].
    fn finish(self) -> Features {
        let (n_rows, n_cols) = (self.n_rows, self.columns.len());
        let n_entries = self.n_entries();
        if self.is_dense() {
            let mut x = Mat::zeros(n_rows, n_cols);
            for (j, column) in self.columns.iter().enumerate() {
                column.iter().for_each(|&(row, value)| x[(row as usize, j)] = value);
            }
            return Features::Dense(x);
        }
        let mut offsets = vec![0; n_rows + 1];
        for &(row, _) in self.columns.iter().flatten() {
            offsets[row as usize + 1] += 1;
        }
        for row in 0..n_rows {
            offsets[row + 1] += offsets[row];
        }
        let (mut next, mut indices, mut values) =
            (offsets.clone(), vec![0; n_entries], vec![0.0; n_entries]);
        for (j, column) in self.columns.iter().enumerate() {
            for &(row, value) in column {
                let at = &mut next[row as usize];
                (indices[*at], values[*at]) = (j as u32, value);
                *at += 1;
            }
        }
        Features::Sparse { pattern: Pattern::new(n_cols, offsets, indices), values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_bytes_are_those_of_the_matrix() {
        let columns = |nonzero: u32| FeatureColumns {
            n_rows: 8,
            columns: vec![(0..nonzero).map(|row| (row, 1.5)).collect(), vec![]],
        };
        // More than a quarter of the 16 values: 8 x 2 numbers of four bytes.
        assert_eq!(columns(5).finished_bytes(), 64);
        assert!(matches!(columns(5).finish(), Features::Dense(x) if x.as_slice().len() == 16));
        // Four columns and four values; eight offsets, and a copy of them.
        assert_eq!(columns(4).finished_bytes(), 4 * 8 + 8 * 16);
        assert!(
            matches!(columns(4).finish(), Features::Sparse { values, .. } if values.len() == 4)
        );
    }
}
