//! The columns of an edge table and the meaning of its ids.

use crate::data::read::delimited::{
    FirstLine, HeaderMode, LineResult, check_distinct, field_count_error, fields, format_note,
    is_number, split_line,
};
use crate::data::read::text::{self, NOT_UTF8};
use crate::data::schema::WeightChoice;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// The numbers of the two nodes of an edge.
pub(super) type EdgeEnds = (u32, u32);

/// Recognised names of the two id columns.
const ID_COLUMNS: [(&str, &str); 7] = [
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("numeric_id_1", "numeric_id_2"),
];

/// Recognised names of the weight column.
const WEIGHT_COLUMNS: [&str; 2] = ["weight", "edge_weight"];

/// The entry of `by_number` in [`IdLookup::Names`] for a number that is not the name of a node.
const NO_NODE: u32 = u32::MAX;
/// Length of `by_number` in [`IdLookup::Names`], per node.
const MAX_ID_SPREAD: usize = 4;

/// How ids are mapped to nodes.
pub(super) enum IdLookup<'a> {
    /// An id is a node number below this.
    Numbers(usize),
    /// An id is a node name. `nodes` maps every name to its node. `by_number` is a faster table for names
    /// that are small numbers, indexed by the number; it holds [`NO_NODE`] where no node has that name.
    Names { nodes: &'a HashMap<String, u32>, by_number: Vec<u32> },
}

impl<'a> IdLookup<'a> {
    /// Creates a lookup of node names.
    pub fn names(nodes: &'a HashMap<String, u32>) -> Self {
        let mut by_number = vec![NO_NODE; MAX_ID_SPREAD * nodes.len()];
        for (name, &node) in nodes {
            // `007` differs from `7`.
            let plain = name.parse::<usize>().ok().filter(|number| number.to_string() == *name);
            if let Some(at) = plain.and_then(|number| by_number.get_mut(number)) {
                *at = node;
            }
        }
        Self::Names { nodes, by_number }
    }

    /// Looks up an id that is a number without leading zeros. `None` if the id is unknown, or if it is a name
    /// that is too large for the table of numbers and [`EdgeLayout::edge`] must look it up.
    pub fn find_number(&self, number: u32) -> Option<u32> {
        match self {
            Self::Numbers(end) => Some(number).filter(|&number| (number as usize) < *end),
            Self::Names { by_number, .. } => {
                by_number.get(number as usize).copied().filter(|&node| node != NO_NODE)
            }
        }
    }

    /// Whether a field of the first line looks like an id rather than a column name: it is a number, or the
    /// name of a node.
    fn looks_like_id(&self, field: &str) -> bool {
        is_number(field)
            || match self {
                Self::Numbers(_) => false,
                Self::Names { nodes, .. } => nodes.contains_key(field),
            }
    }

    /// Returns the node of an id; an error if there is none.
    fn node(&self, field: &str) -> LineResult<u32> {
        if field.is_empty() {
            return Err("the id is empty".into());
        }
        match self {
            Self::Names { nodes, .. } => nodes.get(field).copied().ok_or_else(|| {
                format!("node `{field}` is not in the node table; add a row for it")
            }),
            Self::Numbers(end) => {
                let digits = field.bytes().all(|byte| byte.is_ascii_digit());
                let number = || field.parse::<u32>().ok();
                match digits.then(number) {
                    None => Err(format!("id `{field}`; expected a non-negative integer")),
                    Some(None) => Err(format!("id {field}; expected at most {}", u32::MAX)),
                    Some(Some(id)) if id as usize >= *end => {
                        Err(format!("node {id}; expected node numbers below {end}"))
                    }
                    Some(Some(id)) => Ok(id),
                }
            }
        }
    }
}

/// The separator and columns of an edge table.
pub(super) struct EdgeLayout {
    pub separator: u8,
    /// The columns with the two ids.
    pub columns: [usize; 2],
    /// The column with the weights, if there is one.
    pub weight: Option<usize>,
    /// Number of fields in each line.
    pub n_fields: usize,
    /// The number of the line that determined the layout.
    line: usize,
    /// Number of bytes and lines to skip: empty lines and comments before the table, and the header.
    pub start: (usize, usize),
    /// Describes the column with the weights; empty if there is none.
    pub weight_source: String,
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
}

impl EdgeLayout {
    /// Determines the layout from the first line of the table; `bytes` is the start of the file.
    pub fn of(
        path: &Path,
        bytes: &[u8],
        ids: &IdLookup,
        header: HeaderMode,
        weights: WeightChoice,
    ) -> Result<Self> {
        let place = path.display().to_string();
        let line = FirstLine::find(&place, bytes, "lines with two ids")?;
        let bad = |problem: String| text::line_error(&place, line.number, problem);
        let found = fields(line.text, line.separator).collect::<LineResult<Vec<_>>>();
        let mut names: Vec<String> = found.map_err(bad)?.into_iter().map(Cow::into_owned).collect();
        let [first, second, ..] = &names[..] else {
            let line = line.text.trim();
            return Err(bad(format!(
                "`{line}`; expected two ids separated by a comma, tab, semicolon or space"
            )));
        };
        let has_header = header == HeaderMode::Present
            || !ids.looks_like_id(first) && !ids.looks_like_id(second);
        let mut layout = Self {
            separator: line.separator,
            columns: [0, 1],
            weight: None,
            n_fields: names.len(),
            line: line.number,
            start: (line.offset, line.number - 1),
            weight_source: String::new(),
            notes: vec![],
            warnings: vec![],
        };
        if has_header {
            check_distinct(&names).map_err(bad)?;
            let (_, after) = split_line(&bytes[line.offset..]);
            layout.start = (bytes.len() - after.len(), line.number);
            layout.find_ends(&place, &names, header);
        } else {
            names = (1..=names.len()).map(|column| column.to_string()).collect();
        }
        layout
            .find_weight(&names, has_header, weights)
            .map_err(|error| error.with_place(&place))?;
        if header == HeaderMode::Detect {
            layout.notes.extend(format_note(&place, line.separator, has_header));
        }
        layout.report_unused(&place, &names, has_header, weights);
        Ok(layout)
    }

    /// Finds the two id columns in a header. If it contains no pair of [`ID_COLUMNS`], uses the first two
    /// columns that have a name, or the first two if fewer have one, and adds a warning if the header was
    /// detected.
    fn find_ends(&mut self, place: &str, names: &[String], header: HeaderMode) {
        let column = |word: &str| find(names, word);
        let pair = ID_COLUMNS.iter().find_map(|(u, v)| Some([column(u)?, column(v)?]));
        // A column without a name is the index of a data frame.
        let mut first_two = (0..names.len()).filter(|&column| !names[column].is_empty());
        match (pair, first_two.next(), first_two.next()) {
            (Some(pair), ..) => self.columns = pair,
            (None, Some(u), Some(v)) => self.columns = [u, v],
            _ => {}
        }
        if pair.is_none() && header == HeaderMode::Detect {
            let [u, v] = self.columns.map(|column| &names[column]);
            let line = self.line;
            self.warnings
                .push(format!("{place}: line {line} (`{u}`, `{v}`) was treated as a header"));
        }
    }

    /// Finds the column with the weights and describes it; an error if the chosen column does not exist.
    fn find_weight(
        &mut self,
        names: &[String],
        has_header: bool,
        weights: WeightChoice,
    ) -> Result<()> {
        self.weight = match weights {
            WeightChoice::ByName => WEIGHT_COLUMNS
                .iter()
                .find_map(|name| find(names, name))
                .filter(|column| !self.columns.contains(column)),
            WeightChoice::Column(name) => {
                let known = || names.iter().map(String::as_str);
                let column = find(names, name);
                Some(column.ok_or_else(|| Error::unknown("column", name, known()))?)
            }
            WeightChoice::Unused => None,
        };
        self.weight_source = match self.weight {
            None => String::new(),
            Some(column) if has_header => format!("column `{}`", names[column]),
            Some(column) => format!("column {}", column + 1),
        };
        Ok(())
    }

    /// Adds a note or warning on the columns that contain neither ids nor weights; those without a name are
    /// not listed.
    fn report_unused(
        &mut self,
        place: &str,
        names: &[String],
        has_header: bool,
        weights: WeightChoice,
    ) {
        let is_used =
            |column: &usize| self.columns.contains(column) || self.weight == Some(*column);
        let unused = (0..names.len()).filter(|column| !is_used(column));
        let unused: Vec<String> = unused
            .map(|column| &names[column])
            .filter(|name| !name.is_empty())
            .map(|name| if has_header { format!("`{name}`") } else { name.clone() })
            .collect();
        if unused.is_empty() {
            return;
        }
        let note = format!("{place}: columns not used: {}", unused.join(", "));
        match !has_header && weights == WeightChoice::ByName {
            true => {
                let advice = "if one of them contains the weights, choose it as the weight column";
                self.warnings.push(format!("{note}; {advice}"));
            }
            false => self.notes.push(note),
        }
    }

    /// Parses the edge in a line; `None` if the line is blank, and an error if it is malformed or a node is
    /// unknown.
    pub fn edge(&self, line: &[u8], ids: &IdLookup) -> LineResult<Option<ParsedEdge>> {
        let line = str::from_utf8(line).map_err(|_| NOT_UTF8)?;
        if line.trim().is_empty() {
            return Ok(None);
        }
        let (mut ends, mut weight, mut has_decimal_comma) = ([None, None], 1.0, false);
        let mut n = 0;
        for field in fields(line, self.separator) {
            let field = field?;
            if self.weight == Some(n) {
                has_decimal_comma = field.contains(',');
                weight = match has_decimal_comma {
                    // The error contains the field as it is in the file.
                    true => {
                        parse_weight(&field.replace(',', ".")).or_else(|_| parse_weight(&field))?
                    }
                    false => parse_weight(&field)?,
                };
            }
            for (end, _) in ends.iter_mut().zip(self.columns).filter(|(_, column)| *column == n) {
                *end = Some(field.clone());
            }
            n += 1;
        }
        match ends {
            [Some(u), Some(v)] if n == self.n_fields => {
                let ends = (ids.node(&u)?, ids.node(&v)?);
                Ok(Some(ParsedEdge { ends, weight, has_decimal_comma }))
            }
            _ => Err(field_count_error(n, self.n_fields, self.line)),
        }
    }
}

/// An edge of a table.
pub(super) struct ParsedEdge {
    pub ends: EdgeEnds,
    /// 1 if the table has no weight column.
    pub weight: f32,
    /// Whether the weight has a decimal comma, as in `0,5`.
    pub has_decimal_comma: bool,
}

/// Returns the index of the column with this name, or else of the first one whose name differs only in case.
fn find(names: &[String], name: &str) -> Option<usize> {
    let exact = names.iter().position(|found| found == name);
    exact.or_else(|| names.iter().position(|found| found.eq_ignore_ascii_case(name)))
}

/// Parses the weight of an edge; an error unless it is a finite, non-negative number.
pub(in crate::data::read) fn parse_weight(field: &str) -> LineResult<f32> {
    let weight = field.parse().ok().filter(|weight: &f32| weight.is_finite() && *weight >= 0.0);
    weight.ok_or_else(|| format!("the weight is `{field}`; expected a finite, non-negative number"))
}
