//! Tables of text cells, before roles are assigned to their columns.

use super::read::text::line_error;
use crate::error::{Error, Result};

/// Maximum number of bytes in a column.
const MAX_COLUMN_BYTES: usize = u32::MAX as usize;

/// A table of text cells with named columns.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    /// The name of the table in error messages, such as its path.
    pub place: String,
    pub columns: Vec<TextColumn>,
    /// Whether the names of the columns are in the file; otherwise they are numbers from 1.
    pub has_header: bool,
    /// The names of the nodes, if the format has them outside the columns.
    pub ids: Option<Vec<String>>,
    /// The line of each row; empty if the format has no lines.
    pub lines: Vec<u32>,
    /// What was detected about the format, for the user.
    pub notes: Vec<String>,
    n_rows: usize,
}

/// One column: all cells in one string.
#[derive(Debug, Default)]
pub(crate) struct TextColumn {
    pub name: String,
    text: String,
    /// The position in `text` at which each cell ends.
    ends: Vec<u32>,
}

impl TextTable {
    /// Creates a table without rows, whose header contains these names.
    pub fn new(place: &str, names: impl IntoIterator<Item = String>) -> Self {
        let column = |name| TextColumn { name, ..TextColumn::default() };
        let columns = names.into_iter().map(column).collect();
        Self { place: place.into(), columns, has_header: true, ..Self::default() }
    }

    /// Adds a row with one cell per column; an error if a column would be larger than [`MAX_COLUMN_BYTES`].
    ///
    /// # Panics
    /// If there are fewer cells than columns.
    pub fn push_row<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut n_cells = 0;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            if column.text.len() + cell.len() > MAX_COLUMN_BYTES {
                let problem = format!("column `{}` has 4 GiB or more", column.name);
                return Err(Error::Data { place: self.place.clone(), problem });
            }
            column.text.push_str(cell);
            column.ends.push(column.text.len() as u32);
            n_cells += 1;
        }
        assert_eq!(n_cells, self.columns.len(), "push_row: one cell per column");
        self.n_rows += 1;
        Ok(())
    }

    /// Adds a column without cells and returns its index.
    pub fn add_column(&mut self, name: String) -> usize {
        self.columns.push(TextColumn { name, ..TextColumn::default() });
        self.columns.len() - 1
    }

    /// Starts a row whose cells are added with [`Self::set_cell`]; [`Self::fill_missing`] adds the missing
    /// cells.
    pub fn start_row(&mut self) {
        self.n_rows += 1;
    }

    /// Sets a cell of the last row, or returns `false` if it is already set; an error if the column would be
    /// larger than [`MAX_COLUMN_BYTES`].
    pub fn set_cell(&mut self, column: usize, cell: &str) -> std::result::Result<bool, String> {
        let column = &mut self.columns[column];
        if column.ends.len() == self.n_rows {
            return Ok(false);
        }
        if column.text.len() + cell.len() > MAX_COLUMN_BYTES {
            return Err(format!("column `{}` has 4 GiB or more", column.name));
        }
        column.fill(self.n_rows - 1);
        column.text.push_str(cell);
        column.ends.push(column.text.len() as u32);
        Ok(true)
    }

    /// Adds empty cells until all columns have one cell per row.
    pub fn fill_missing(&mut self) {
        self.columns.iter_mut().for_each(|column| column.fill(self.n_rows));
    }

    /// The number of rows, including one that was only started.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns the index of the column with this name or, if there is none, of the first one whose name
    /// differs only in the case of ASCII letters.
    pub fn find(&self, name: &str) -> Option<usize> {
        let exact = self.columns.iter().position(|column| column.name == name);
        exact.or_else(|| {
            self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
        })
    }

    /// Describes a column for messages, by its name or its number from 1.
    pub fn describe_column(&self, column: usize) -> String {
        match self.has_header {
            true => format!("column `{}`", self.columns[column].name),
            false => format!("column {}", column + 1),
        }
    }

    /// An error about the whole table.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::Data { place: self.place.clone(), problem: problem.into() }
    }

    /// An error about one row.
    pub fn row_error(&self, row: usize, problem: impl Into<String>) -> Error {
        match self.lines.get(row) {
            Some(&line) => line_error(&self.place, line as usize, problem),
            None => self.error(format!("row {}: {}", row + 1, problem.into())),
        }
    }
}

impl TextColumn {
    /// Adds empty cells until there are `n_rows` cells.
    fn fill(&mut self, n_rows: usize) {
        self.ends.resize(n_rows.max(self.ends.len()), self.text.len() as u32);
    }

    pub fn cell(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[row] as usize]
    }

    pub fn cells(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.ends.len()).map(|row| self.cell(row))
    }
}
