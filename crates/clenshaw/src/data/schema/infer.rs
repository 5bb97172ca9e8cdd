//! Infers the meaning of columns from their names and cells.
//!
//! | role | rule |
//! |---|---|
//! | id | the column `id`, `node`, `name` or `node_id`; otherwise the first column if its cells are distinct and text or whole numbers; otherwise nodes are numbered from 0 |
//! | label | the column `label`, `class`, `target` or `y`; `target` and `y` only if they contain no decimal numbers |
//! | split | the columns `split`, `train_mask`, `val_mask` and `test_mask` |
//! | ignored | columns without a name, empty and constant columns, numbers that only identify the row, and text with too many different values |
//! | features | all others |
//!
//! The kind of a feature is the first of these that fits all cells that are not missing: numbers, flags,
//! numbers with a decimal comma, dates. If none fits but at least nine tenths of these cells are numbers, the
//! column is numeric and the other cells count as missing. Otherwise the column is categorical, or ignored if
//! it has too many different values. The user's [`TableOptions`] take precedence over these rules.

use super::cell::{self, is_missing};
use super::options::{Fill, TableOptions};
use super::{ColumnRole, ColumnSchema, NumberFormat, Schema};
use crate::data::count;
use crate::data::table::{TextColumn, TextTable};
use crate::error::{Error, Result};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Names of the id column, in order of preference.
const ID: [&str; 4] = ["id", "node", "name", "node_id"];
/// Names of the label column, in order of preference.
pub(crate) const LABEL: [&str; 4] = ["label", "class", "target", "y"];
/// Label names that are also common names of numeric features.
const AMBIGUOUS_LABEL: [&str; 2] = ["target", "y"];
const SPLIT: &str = "split";
const MASKS: [&str; 3] = ["train_mask", "val_mask", "test_mask"];

/// Maximum number of categories of a categorical column.
pub(super) const MAX_CATEGORIES: usize = 100;
/// Up to this number of categories, a text column is categorical even if its values occur less than twice on
/// average.
const FEW_CATEGORIES: usize = 10;
/// The reason for ignoring a column that is listed in the options.
const IGNORED_BY_USER: &str = "ignored by the user";
/// The reason for ignoring a mask in a table whose split column is set in the options.
const MASK_NOT_CHOSEN: &str = "another column is chosen as the split";
/// Minimum number of rows for consecutive whole numbers to count as row numbers.
const MIN_ROWS_OF_SEQUENCE: usize = 10;

/// Which special columns a table must or may have.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Labels {
    /// There must be a label column.
    Required,
    /// There may be a label column.
    Optional,
    /// The table contains features only: no column is an id, a label or a split.
    FeaturesOnly,
}

/// Whether this is one of the names by which [`infer`] recognises ids, labels, splits and masks; case is
/// ignored.
pub(crate) fn is_known_name(name: &str) -> bool {
    let known = ID.iter().chain(&LABEL).chain([&SPLIT]).chain(&MASKS);
    known.into_iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Whether this is one of the names by which [`infer`] recognises ids; case is ignored.
pub(crate) fn is_id_name(name: &str) -> bool {
    ID.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Infers the schema of a table; also returns warnings. Fails if `options` names an unknown column or assigns
/// a second role to the label column, or if a label column is required and none is found.
pub(crate) fn infer(
    table: &TextTable,
    options: &TableOptions,
    labels: Labels,
) -> Result<(Schema, Vec<String>)> {
    if let Some(name) = options.names().find(|name| table.find(name).is_none()) {
        let known = table.columns.iter().map(|column| column.name.as_str());
        return Err(Error::unknown("column", name, known).with_place(&table.place));
    }
    let roles = SpecialColumns::of(table, options, labels)?;
    let mut warnings = vec![];
    let column = |(i, column): (usize, &TextColumn)| {
        let (role, reason) = match roles.role(i) {
            Some((role, reason)) => (role, reason.into()),
            None => feature_role(table, i, options, &mut warnings),
        };
        ColumnSchema { name: column.name.clone(), role, reason }
    };
    let columns: Vec<ColumnSchema> = table.columns.iter().enumerate().map(column).collect();
    warnings.extend(suspicious_names(table, &columns));
    if labels == Labels::Required {
        warnings.extend(unused_choices(table, options, &columns)?);
    }
    Ok((Schema { columns, structural: None, weight: options.weight.clone() }, warnings))
}

/// Returns warnings about columns that the user chose as features or categories and that are not used. An error if
/// such a column is the id, the label or a part of the split, or is also to be ignored.
fn unused_choices(
    table: &TextTable,
    options: &TableOptions,
    columns: &[ColumnSchema],
) -> Result<Vec<String>> {
    let mut warnings = vec![];
    for name in options.features.iter().chain(&options.category) {
        let Some(index) = table.find(name) else { continue };
        let column = &columns[index];
        let other = match &column.role {
            ColumnRole::Number { .. } | ColumnRole::Category { .. } => continue,
            // The values of a label are categories anyway.
            ColumnRole::Label if !options.features.contains(name) => continue,
            ColumnRole::Ignored if column.reason != IGNORED_BY_USER => {
                let (name, reason) = (&column.name, &column.reason);
                let place = &table.place;
                warnings.push(format!("{place}: the chosen column `{name}` is not used: {reason}"));
                continue;
            }
            ColumnRole::Ignored => "to be ignored",
            ColumnRole::Id => "the id",
            ColumnRole::Label => "the label",
            ColumnRole::Split | ColumnRole::Mask { .. } => "a part of the split",
        };
        let name = &column.name;
        return Err(table.error(format!(
            "column `{name}` is chosen as a feature, but is also {other}; expected one role"
        )));
    }
    Ok(warnings)
}

/// Returns warnings about features that have the name of a label and no decimal numbers, and about names that
/// differ only in case.
fn suspicious_names(table: &TextTable, columns: &[ColumnSchema]) -> Vec<String> {
    let place = &table.place;
    let is_label_name = |name: &str| LABEL.iter().any(|word| name.eq_ignore_ascii_case(word));
    let is_suspicious = |(column, cells): &(&ColumnSchema, &TextColumn)| {
        column.n_features() > 0 && is_label_name(&column.name) && !has_decimals(cells)
    };
    let labels = columns.iter().zip(&table.columns).filter(is_suspicious).map(|(column, _)| {
        let name = &column.name;
        format!("{place}: `{name}` is used as a feature; ignore it if it contains the classes")
    });
    let mut seen: HashMap<String, &str> = HashMap::new();
    let names = columns.iter().filter(|column| !column.name.is_empty()).filter_map(|column| {
        let other = seen.insert(column.name.to_lowercase(), &column.name)?;
        Some(format!("{place}: columns `{other}` and `{}` differ only in case", column.name))
    });
    labels.chain(names).collect()
}

/// The columns that cannot be features: those that the user ignores, and ids, labels, splits and masks.
struct SpecialColumns {
    /// The index of a column, its role and the reason; the first entry of a column applies.
    columns: Vec<(usize, ColumnRole, &'static str)>,
}

impl SpecialColumns {
    /// Finds these columns; none for [`Labels::FeaturesOnly`]. An error if a label column is required and none
    /// is found, or if the chosen one has another role.
    fn of(table: &TextTable, options: &TableOptions, labels: Labels) -> Result<Self> {
        let mut special = Self { columns: vec![] };
        if labels == Labels::FeaturesOnly {
            return Ok(special);
        }
        for name in &options.ignore {
            special.add(table.find(name), ColumnRole::Ignored, IGNORED_BY_USER);
        }
        let chosen = |name: &Option<String>| name.as_ref().and_then(|name| table.find(name));
        special.add(chosen(&options.id), ColumnRole::Id, "chosen");
        special.add(chosen(&options.label), ColumnRole::Label, "chosen");
        if let Some(label) = chosen(&options.label)
            && (special.role(label).is_some_and(|(role, _)| role != ColumnRole::Label)
                || chosen(&options.split) == Some(label))
        {
            let name = &table.columns[label].name;
            return Err(table.error(format!(
                "column `{name}` is chosen as the label, but also as the id, as the split or to be \
                 ignored; expected one role"
            )));
        }
        special.add(chosen(&options.split), ColumnRole::Split, "chosen");
        if options.split.is_none() {
            special.add(special.find_unassigned(table, &[SPLIT]), ColumnRole::Split, "by its name");
        }
        let chosen_split = chosen(&options.split).and_then(|column| special.role(column));
        let has_chosen_split = chosen_split.is_some_and(|(role, _)| role == ColumnRole::Split);
        for (part, name) in MASKS.iter().enumerate() {
            let (role, reason) = match has_chosen_split {
                true => (ColumnRole::Ignored, MASK_NOT_CHOSEN),
                false => (ColumnRole::Mask { part }, "by its name"),
            };
            special.add(special.find_unassigned(table, &[name]), role, reason);
        }
        if options.id.is_none() && table.ids.is_none() {
            match special.find_unassigned(table, &ID) {
                Some(id) => special.add(Some(id), ColumnRole::Id, "by its name"),
                None if special.role(0).is_none() && identifies_rows(table, 0) => {
                    let reason = "the first column, with distinct values";
                    special.add(Some(0), ColumnRole::Id, reason);
                }
                None => {}
            }
        }
        if options.label.is_none() {
            let is_label = |&column: &usize| {
                let name = &table.columns[column].name;
                let ambiguous = AMBIGUOUS_LABEL.iter().any(|word| name.eq_ignore_ascii_case(word));
                !ambiguous || !has_decimals(&table.columns[column])
            };
            let label = LABEL
                .iter()
                .filter_map(|name| special.find_unassigned(table, &[name]))
                .find(is_label);
            if label.is_none() && labels == Labels::Required {
                let columns = table.columns.iter().map(|column| column.name.clone()).collect();
                return Err(Error::NoLabelColumn { place: table.place.clone(), columns });
            }
            special.add(label, ColumnRole::Label, "by its name");
        }
        Ok(special)
    }

    /// Assigns a role to `column`, unless it is `None` or already has a role.
    fn add(&mut self, column: Option<usize>, role: ColumnRole, reason: &'static str) {
        self.columns.extend(column.map(|column| (column, role, reason)));
    }

    /// Returns the column with the first of these names that the header contains; `None` if there is none or
    /// it already has a role.
    fn find_unassigned(&self, table: &TextTable, names: &[&str]) -> Option<usize> {
        let found = names.iter().find_map(|name| table.find(name)).filter(|_| table.has_header);
        found.filter(|&column| self.role(column).is_none())
    }

    /// The role of a column and the reason, if it has been assigned one.
    fn role(&self, column: usize) -> Option<(ColumnRole, &'static str)> {
        let found = self.columns.iter().find(|(other, ..)| *other == column);
        found.map(|(_, role, reason)| (role.clone(), *reason))
    }
}

/// Whether the cells of a column can be the names of nodes: none is missing, occurs twice or is a decimal
/// number.
pub(super) fn identifies_rows(table: &TextTable, column: usize) -> bool {
    let Some(column) = table.columns.get(column) else { return false };
    let mut seen = HashSet::new();
    let distinct = column.cells().all(|cell| !is_missing(cell) && seen.insert(cell));
    distinct && !has_decimals(column)
}

/// Whether any cell of a column is a number with a decimal point.
fn has_decimals(column: &TextColumn) -> bool {
    column.cells().any(|cell| cell.contains('.') && cell.parse::<f64>().is_ok())
}

/// The role of a column that may be a feature, and the reason; adds to `warnings`.
fn feature_role(
    table: &TextTable,
    index: usize,
    options: &TableOptions,
    warnings: &mut Vec<String>,
) -> (ColumnRole, String) {
    let column = &table.columns[index];
    let is_in = |names: &[String]| names.iter().any(|name| table.find(name) == Some(index));
    let ignored = |reason: String| (ColumnRole::Ignored, reason);
    if is_in(&options.ignore) {
        return ignored(IGNORED_BY_USER.into());
    }
    if !options.features.is_empty() && !is_in(&options.features) {
        return ignored("not chosen".into());
    }
    if column.name.is_empty() {
        return ignored("no name".into());
    }
    let cells = CellCounts::of(column);
    let chosen = is_in(&options.features);
    let present = table.n_rows() - cells.missing;
    if present == 0 {
        return ignored("empty".into());
    }
    if cells.distinct.len() == 1 && cells.missing == 0 && !chosen {
        return ignored("the same for every node".into());
    }
    if is_in(&options.category) {
        return category_role(column, &cells, present, true);
    }
    let Some((format, numbers)) = cells.format(present) else {
        return category_role(column, &cells, present, chosen);
    };
    if format == NumberFormat::Number && !chosen && is_row_number(column) {
        return ignored("whole numbers that identify the row".into());
    }
    let missing = table.n_rows() - numbers;
    if numbers < present {
        let is_text = |cell: &&str| !is_missing(cell) && cell::parse_number(format, cell).is_none();
        let example = column.cells().find(is_text).unwrap_or_default();
        let cells =
            count(present - numbers, "cell is not a finite number", "cells are not finite numbers");
        let (place, column) = (&table.place, table.describe_column(index));
        let verb = if present - numbers == 1 { "counts" } else { "count" };
        warnings.push(format!("{place}: {column}: {cells} (`{example}`) and {verb} as missing"));
    }
    let fill = fill_value(column, format, options.fill.unwrap_or_default());
    let how = match (format, missing) {
        (_, 0) => String::new(),
        (_, n) => format!("; {n} missing, filled with {fill}"),
    };
    if format == NumberFormat::DecimalComma && looks_like_thousands(column) {
        let (place, column) = (&table.place, table.describe_column(index));
        warnings.push(format!(
            "{place}: {column}: commas are read as decimal points, so `1,234` is 1.234; if they separate \
             thousands, remove them"
        ));
    }
    let reason = match format {
        NumberFormat::Number => "numbers",
        NumberFormat::DecimalComma => "numbers with a decimal comma",
        NumberFormat::Flag => "true and false",
        NumberFormat::Date => "dates, as days since 1970",
    };
    (ColumnRole::Number { format, fill, indicator: missing > 0 }, format!("{reason}{how}"))
}

/// Whether a column of numbers with a decimal comma contains commas and all of them could separate
/// thousands: three digits follow, and the part before is not zero, as in `1,234`.
fn looks_like_thousands(column: &TextColumn) -> bool {
    let three_digits =
        |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_zero = |text: &str| text.trim_start_matches(['-', '+']).bytes().all(|byte| byte == b'0');
    let mut with_comma = column.cells().filter_map(|cell| cell.split_once(',')).peekable();
    with_comma.peek().is_some()
        && with_comma.all(|(whole, rest)| three_digits(rest) && !is_zero(whole))
}

/// The role of a column of text, or of one that the user declared categorical: categorical if it has few
/// different values, otherwise ignored. `present` is the number of cells that are not missing. If `chosen`, up to
/// [`MAX_CATEGORIES`] values are few, even if they occur less than twice on average.
fn category_role(
    column: &TextColumn,
    cells: &CellCounts,
    present: usize,
    chosen: bool,
) -> (ColumnRole, String) {
    let n = cells.distinct.len();
    let few = n <= FEW_CATEGORIES || n <= MAX_CATEGORIES && (2 * n <= present || chosen);
    if !few {
        let count =
            if n > MAX_CATEGORIES { format!("more than {MAX_CATEGORIES}") } else { n.to_string() };
        return (ColumnRole::Ignored, format!("too many different values: {count}"));
    }
    let missing = column.cells().len() - present;
    let reason = match missing {
        0 => format!("{n} different values"),
        missing => format!("{n} different values; {missing} missing, encoded as zeros"),
    };
    (
        ColumnRole::Category { values: cells.distinct.iter().map(|v| (*v).to_owned()).collect() },
        reason,
    )
}

/// How many cells of a column can be read in each format. Only cells that are not plain numbers count as flags
/// or dates.
struct CellCounts<'a> {
    missing: usize,
    numbers: usize,
    comma_numbers: usize,
    flags: usize,
    dates: usize,
    /// Distinct values, at most one more than [`MAX_CATEGORIES`].
    distinct: BTreeSet<&'a str>,
}

impl<'a> CellCounts<'a> {
    /// Counts the cells of a column.
    fn of(column: &'a TextColumn) -> Self {
        let mut counts = Self {
            missing: 0,
            numbers: 0,
            comma_numbers: 0,
            flags: 0,
            dates: 0,
            distinct: BTreeSet::new(),
        };
        for value in column.cells() {
            counts.add(value);
        }
        counts
    }

    fn add(&mut self, value: &'a str) {
        if is_missing(value) {
            self.missing += 1;
            return;
        }
        if self.distinct.len() <= MAX_CATEGORIES {
            self.distinct.insert(value);
        }
        let is = |format| usize::from(cell::parse_number(format, value).is_some());
        match is(NumberFormat::Number) {
            1 => {
                self.numbers += 1;
                self.comma_numbers += usize::from(!value.contains('.'));
            }
            _ => {
                self.comma_numbers += is(NumberFormat::DecimalComma);
                self.flags += is(NumberFormat::Flag);
                self.dates += is(NumberFormat::Date);
            }
        }
    }

    /// The format of numbers, and how many of the `present` cells have it; `None` for text.
    fn format(&self, present: usize) -> Option<(NumberFormat, usize)> {
        let all = [
            (NumberFormat::Number, self.numbers),
            (NumberFormat::Flag, self.flags),
            (NumberFormat::DecimalComma, self.comma_numbers),
            (NumberFormat::Date, self.dates),
        ];
        let fits = all.into_iter().find(|(_, count)| *count == present);
        let nearly =
            (10 * self.numbers >= 9 * present).then_some((NumberFormat::Number, self.numbers));
        fits.or(nearly)
    }
}

/// Whether a column of numbers only identifies rows: its cells are distinct whole numbers, and either there are
/// at least ten rows and the sorted numbers have no gaps, or there are at least two rows and the column is named
/// `id` or `index`, or its name ends in `_id` or `Id`.
fn is_row_number(column: &TextColumn) -> bool {
    let numbers: Option<Vec<i64>> = column.cells().map(|cell| cell.parse().ok()).collect();
    let Some(mut numbers) = numbers else { return false };
    let n = numbers.len();
    numbers.sort_unstable();
    let name = column.name.to_ascii_lowercase();
    let named =
        name == "id" || name == "index" || name.ends_with("_id") || column.name.ends_with("Id");
    let distinct = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let consecutive = n >= MIN_ROWS_OF_SEQUENCE
        && numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    distinct && (named && n > 1 || consecutive)
}

/// The value of missing cells, computed from the numbers in the column; 0 if there are none.
fn fill_value(column: &TextColumn, format: NumberFormat, fill: Fill) -> f32 {
    let mut values: Vec<f32> =
        column.cells().filter_map(|cell| cell::parse_number(format, cell)).collect();
    let n = values.len();
    match fill {
        _ if n == 0 => 0.0,
        Fill::Zero => 0.0,
        Fill::Mean => {
            // In ascending order, so that the order of rows does not matter.
            values.sort_by(f32::total_cmp);
            (values.iter().map(|&value| f64::from(value)).sum::<f64>() / n as f64) as f32
        }
        Fill::Median => {
            let (below, middle, _) = values.select_nth_unstable_by(n / 2, f32::total_cmp);
            let middle = *middle;
            match n % 2 {
                1 => middle,
                _ => f32::midpoint(below.iter().copied().fold(f32::MIN, f32::max), middle),
            }
        }
    }
}
