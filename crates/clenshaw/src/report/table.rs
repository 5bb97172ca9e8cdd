//! Tables as plain text and as Markdown.

/// A header and rows of text; columns of numbers are right-aligned.
///
/// ```
/// use clenshaw::report::Table;
/// let mut table = Table::new(["model", "accuracy", "epochs"]);
/// table.add_row(["gcn", "87.14 ± 1.05", "204"]);
/// table.add_row(["clenshaw-gcn", "88.90 ± 1.26", "1312"]);
/// assert_eq!(table.to_text(), "\
/// model             accuracy  epochs
/// ────────────  ────────────  ──────
/// gcn           87.14 ± 1.05     204
/// clenshaw-gcn  88.90 ± 1.26    1312
/// ");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// One name per column.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row; panics unless it has one entry per column.
    pub fn add_row<S: Into<String>>(&mut self, entries: impl IntoIterator<Item = S>) {
        let row: Vec<String> = entries.into_iter().map(Into::into).collect();
        let (entries, columns) = (row.len(), self.header.len());
        assert_eq!(entries, columns, "table: row has {entries} entries; expected {columns}");
        self.rows.push(row);
    }

    /// Aligned columns separated by two spaces.
    pub fn to_text(&self) -> String {
        let widths = self.widths();
        let rule = widths.iter().map(|&width| "─".repeat(width)).collect();
        let lines = [&self.header, &rule].into_iter().chain(&self.rows);
        lines
            .map(|entries| self.padded(entries, &widths).join("  ").trim_end().to_owned() + "\n")
            .collect()
    }

    /// A Markdown table with aligned columns.
    pub fn to_markdown(&self) -> String {
        let escaped = self.escaped();
        let widths = escaped.widths();
        let rule = (0..widths.len()).map(|c| match self.is_numeric(c) {
            true => "-".repeat(widths[c].max(2) - 1) + ":",
            false => "-".repeat(widths[c]),
        });
        let rule = rule.collect();
        let lines = [&escaped.header, &rule].into_iter().chain(&escaped.rows);
        lines
            .map(|entries| format!("| {} |\n", escaped.padded(entries, &widths).join(" | ")))
            .collect()
    }

    fn escaped(&self) -> Self {
        let escape =
            |entries: &Vec<String>| entries.iter().map(|entry| entry.replace('|', "\\|")).collect();
        Self { header: escape(&self.header), rows: self.rows.iter().map(escape).collect() }
    }

    fn padded(&self, entries: &[String], widths: &[usize]) -> Vec<String> {
        let pad = |(c, entry): (usize, &String)| match self.is_numeric(c) {
            true => format!("{entry:>width$}", width = widths[c]),
            false => format!("{entry:<width$}", width = widths[c]),
        };
        entries.iter().enumerate().map(pad).collect()
    }

    /// The width of every column, in characters; double-width characters count as one.
    fn widths(&self) -> Vec<usize> {
        let longest = |c: usize| {
            let entries = std::iter::once(&self.header).chain(&self.rows);
            entries.map(|entries| entries[c].chars().count()).max().unwrap_or(0)
        };
        (0..self.header.len()).map(longest).collect()
    }

    /// Whether every entry of a column starts with a number or is missing.
    fn is_numeric(&self, c: usize) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| starts_with_number(&row[c]))
    }
}

fn starts_with_number(entry: &str) -> bool {
    let unsigned = entry.trim_end().trim_start_matches(['-', '+', '.']);
    unsigned.is_empty() || unsigned.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new(["graph", "a|b", "h"]);
        table.add_row(["cora", "x", "-0.5"]);
        table.add_row(["3-path", "yy", "-"]);
        table.add_row(["texas", "", "12 ± 1"]);
        table
    }

    #[test]
    fn text_has_no_trailing_spaces() {
        let expected = "\
graph   a|b       h
──────  ───  ──────
cora    x      -0.5
3-path  yy        -
texas        12 ± 1
";
        assert_eq!(example().to_text(), expected);
        let mut last_is_text = Table::new(["n", "name"]);
        last_is_text.add_row(["1", "x"]);
        assert_eq!(last_is_text.to_text(), "n  name\n─  ────\n1  x\n");
    }

    #[test]
    fn markdown_escapes_and_aligns() {
        let expected = "\
| graph  | a\\|b |      h |
| ------ | ---- | -----: |
| cora   | x    |   -0.5 |
| 3-path | yy   |      - |
| texas  |      | 12 ± 1 |
";
        assert_eq!(example().to_markdown(), expected);
    }

    #[test]
    #[should_panic(expected = "table: row has 1 entries; expected 2")]
    fn rejects_short_row() {
        Table::new(["a", "b"]).add_row(["1"]);
    }
}
