//! Our numbers next to a paper's, with a footnote for every difference.
//!
//! A cell agrees if our number, rounded to the paper's number of decimals, equals the printed one.

use super::wrap::{PAGE_WIDTH, paragraph};
use super::{Table, wrap_text};
use serde::{Serialize, Serializer};

/// The numbers of a paper's table next to our measurements.
///
/// ```
/// use clenshaw::report::{ComparisonCell, Comparison, ComparisonRow};
/// let why = Some("listed twice".to_owned());
/// let cells = vec![ComparisonCell::new("edges", 0, Some(4.0), Some(3.0), why)];
/// let rows = vec![ComparisonRow { name: "path".into(), sha256: None, is_measured: true, cells }];
/// let table = Comparison { title: "Sizes".into(), source: "A paper".into(), rows, ..Default::default() };
/// assert!(table.to_text().ends_with("\
///       edges  ours
/// ────  ─────  ────
/// path      4   3 a
///
/// a  path, edges: listed twice
/// "));
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// The title.
    pub title: String,
    /// Where the paper's numbers were published.
    pub source: String,
    /// The header of the first column, as in `graph`.
    pub row_label: String,
    /// How our numbers are defined.
    pub notes: Vec<String>,
    /// The rows of the paper's table, all with the same columns.
    pub rows: Vec<ComparisonRow>,
}

/// A row of a [`Comparison`].
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonRow {
    /// The name of the row.
    pub name: String,
    /// The SHA-256 of the data, if it was measured.
    pub sha256: Option<String>,
    /// Whether the data was found and measured.
    pub is_measured: bool,
    /// One cell per column.
    pub cells: Vec<ComparisonCell>,
}

/// A number of the paper and our measurement of it.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonCell {
    /// The column's name.
    pub column: &'static str,
    /// The number of decimals printed in the paper.
    #[serde(skip)]
    pub digits: usize,
    /// The paper's number, if it reports one.
    #[serde(serialize_with = "serialize_number")]
    pub paper: Option<f64>,
    /// Our number, if it was measured.
    #[serde(serialize_with = "serialize_number")]
    pub ours: Option<f64>,
    /// Whether both are equal when rounded to the paper's number of decimals; `None` if one is missing.
    pub agrees: Option<bool>,
    /// The reason for a difference.
    pub explanation: Option<String>,
}

/// A footnote on a difference.
struct Footnote<'a> {
    row: usize,
    column: usize,
    mark: String,
    cell: String,
    text: &'a str,
}

impl ComparisonCell {
    /// Compares two numbers, rounded to `digits` decimals.
    pub fn new(
        column: &'static str,
        digits: usize,
        paper: Option<f64>,
        ours: Option<f64>,
        explanation: Option<String>,
    ) -> Self {
        let printed = |number: f64| format!("{number:.digits$}");
        let agrees = paper.zip(ours).map(|(paper, ours)| printed(paper) == printed(ours));
        Self { column, digits, paper, ours, agrees, explanation }
    }

    fn paper_text(&self) -> String {
        self.paper.map_or("-".into(), |number| format!("{number:.*}", self.digits))
    }

    /// Our number with one more decimal than the paper prints; counts have none.
    fn our_text(&self) -> String {
        let digits = if self.digits == 0 { 0 } else { self.digits + 1 };
        self.ours.map_or("-".into(), |number| format!("{number:.digits$}"))
    }
}

impl Comparison {
    /// The names of the rows that were not measured.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter(|row| !row.is_measured).map(|row| row.name.as_str())
    }

    /// Title, table, footnotes and notes as plain text.
    pub fn to_text(&self) -> String {
        let footnotes = self.footnotes();
        let table = self.table(&footnotes, |mark| format!(" {mark}")).to_text();
        let mut text = format!("{}\n{}\n\n{table}", self.title, self.source);
        let widest = footnotes.iter().map(|note| note.mark.len()).max().unwrap_or(0);
        for (i, Footnote { mark, cell, text: why, .. }) in footnotes.iter().enumerate() {
            text += if i == 0 { "\n" } else { "" };
            text += &hanging_paragraph(&format!("{mark:<widest$}  "), &format!("{cell}: {why}"));
        }
        text += if self.notes.is_empty() { "" } else { "\n" };
        text.extend(self.notes.iter().map(|note| paragraph(note)));
        text
    }

    /// The page in Markdown, including the digests of the data.
    pub fn to_markdown(&self) -> String {
        let footnotes = self.footnotes();
        let table = self.table(&footnotes, |mark| format!(" <sup>{mark}</sup>")).to_markdown();
        let mut text = format!("# {}\n\n{}.\n\n{table}\n", self.title, self.source);
        for Footnote { mark, cell, text: why, .. } in &footnotes {
            text += &format!("- <sup>{mark}</sup> {cell}: {why}\n");
        }
        text += if footnotes.is_empty() { "" } else { "\n" };
        text.extend(self.notes.iter().map(|note| format!("- {note}\n")));
        let mut digests = Table::new([self.row_label.as_str(), "sha256 of the data"]);
        for row in &self.rows {
            let sha256 = row.sha256.as_ref().map_or("-".into(), |sha256| format!("`{sha256}`"));
            digests.add_row([row.name.clone(), sha256]);
        }
        text + "\n" + &digests.to_markdown()
    }

    /// One footnote per difference, row by row.
    fn footnotes(&self) -> Vec<Footnote<'_>> {
        let mut footnotes = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            let cells = row.cells.iter().enumerate();
            for (c, cell) in cells.filter(|(_, cell)| cell.agrees == Some(false)) {
                footnotes.push(Footnote {
                    row: r,
                    column: c,
                    mark: footnote_mark(footnotes.len()),
                    cell: format!("{}, {}", row.name, cell.column),
                    text: cell.explanation.as_deref().unwrap_or("not explained"),
                });
            }
        }
        footnotes
    }

    /// The table: per column the paper's numbers and ours, or ours alone if the paper has none.
    fn table(&self, footnotes: &[Footnote], format_mark: impl Fn(&str) -> String) -> Table {
        let has_paper = |c: usize| self.rows.iter().any(|row| row.cells[c].paper.is_some());
        let mark = |r: usize, c: usize| {
            let note = footnotes.iter().find(|note| (note.row, note.column) == (r, c));
            note.map_or(String::new(), |note| format_mark(&note.mark))
        };
        let some_missing = self.missing().next().is_some();
        let mut header = vec![self.row_label.clone()];
        for (c, cell) in self.rows.iter().take(1).flat_map(|row| &row.cells).enumerate() {
            header.push(cell.column.into());
            header.extend(has_paper(c).then(|| "ours".into()));
        }
        header.extend(some_missing.then(String::new));
        let mut table = Table::new(header);
        for (r, row) in self.rows.iter().enumerate() {
            let mut entries = vec![row.name.clone()];
            for (c, cell) in row.cells.iter().enumerate() {
                // Marks are padded so that the numbers stay aligned.
                let widest = (0..self.rows.len()).map(|r| mark(r, c).len()).max().unwrap_or(0);
                entries.extend(has_paper(c).then(|| cell.paper_text()));
                entries.push(format!("{}{:<widest$}", cell.our_text(), mark(r, c)));
            }
            let status = if row.is_measured { "" } else { "no data" };
            entries.extend(some_missing.then(|| status.to_owned()));
            table.add_row(entries);
        }
        table
    }
}

/// A wrapped paragraph with a hanging indent as wide as its mark.
fn hanging_paragraph(mark: &str, text: &str) -> String {
    let indent = mark.chars().count();
    let lines = wrap_text(text, PAGE_WIDTH - indent);
    let line = |(i, line): (usize, &String)| match i {
        0 => format!("{mark}{line}\n"),
        _ => format!("{:indent$}{line}\n", ""),
    };
    lines.iter().enumerate().map(line).collect()
}

/// The footnote mark of an index: `a` to `z`, then `aa`, `ab`, ...
fn footnote_mark(i: usize) -> String {
    let last = char::from(b'a' + (i % 26) as u8);
    match i / 26 {
        0 => last.into(),
        rest => footnote_mark(rest - 1) + &last.to_string(),
    }
}

/// Serialises whole numbers without a decimal point.
fn serialize_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match *number {
        Some(count) if count.fract() == 0.0 && count.abs() < 9e15 => {
            serializer.serialize_some(&(count as i64))
        }
        other => other.serialize(serializer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, ours: Option<[f64; 3]>) -> ComparisonRow {
        let number = |i: usize| ours.map(|ours| ours[i]);
        let why = Some("because".to_owned());
        let cells = vec![
            ComparisonCell::new("edges", 0, Some(12.0), number(0), why),
            ComparisonCell::new("features", 0, None, number(1), None),
            ComparisonCell::new("H", 2, Some(0.83), number(2), None),
        ];
        ComparisonRow { name: name.into(), sha256: None, is_measured: ours.is_some(), cells }
    }

    fn example() -> Comparison {
        let rows = vec![
            row("one", Some([12.0, 5.0, 0.8252])),
            row("two", Some([9.0, 5.0, 0.8249])),
            row("three", None),
        ];
        Comparison {
            title: "Title".into(),
            source: "Source".into(),
            row_label: "graph".into(),
            notes: vec!["A note.".into()],
            rows,
        }
    }

    #[test]
    fn differences_have_footnotes() {
        let expected = [
            "Title",
            "Source",
            "",
            "graph  edges  ours  features     H     ours",
            "─────  ─────  ────  ────────  ────  ───────  ───────",
            "one       12  12           5  0.83  0.825",
            "two       12   9 a         5  0.83  0.825 b",
            "three     12   -           -  0.83      -    no data",
            "",
            "a  two, edges: because",
            "b  two, H: not explained",
            "",
            "A note.",
            "",
        ];
        let expected = expected.join("\n");
        assert_eq!(example().to_text(), expected);
    }

    #[test]
    fn unmeasured_rows_are_not_compared() {
        let cells = &example().rows[2].cells;
        assert!(cells.iter().all(|cell| cell.ours.is_none() && cell.agrees.is_none()));
        assert_eq!(example().missing().collect::<Vec<_>>(), ["three"]);
    }

    #[test]
    fn counts_are_integers_in_json() {
        let cells = serde_json::to_string(&example().rows[0].cells).unwrap();
        assert!(cells.starts_with(
            r#"[{"column":"edges","paper":12,"ours":12,"agrees":true,"explanation":"because"},"#
        ));
        assert!(cells.contains(r#""paper":null,"ours":5,"agrees":null"#), "{cells}");
        assert!(cells.contains(r#""paper":0.83,"ours":0.8252,"agrees":true"#), "{cells}");
    }

    #[test]
    fn footnote_marks_continue_after_z() {
        assert_eq!([0, 25, 26, 27, 52].map(footnote_mark), ["a", "z", "aa", "ab", "ba"]);
    }

    #[test]
    fn long_footnotes_are_wrapped() {
        let mut table = example();
        table.rows[1].cells[0].explanation = Some("word ".repeat(60).trim().to_owned());
        let text = table.to_text();
        assert!(text.lines().all(|line| line.chars().count() <= PAGE_WIDTH), "{text}");
        assert!(text.contains("\n   word"), "{text}");
    }
}
