//! What an experiment found: tables, pictures and what must be said about them.

use super::{Figure, Table, wrapped};
use serde::Serialize;
use serde_json::Value;

/// No line of the text is longer, unless a table is.
const WIDTH: usize = 100;

/// A page of results; what it is made from stands in the records.
///
/// ```
/// use clenshaw::report::{Findings, Table};
/// let mut table = Table::new(["graph", "error"]);
/// table.row(["texas", "2.1e-15"]);
/// let tables = vec![("Errors".to_owned(), table)];
/// let found = Findings { title: "A theorem".into(), tables, ..Findings::default() };
/// assert!(found.to_markdown().contains("## Errors\n\n| graph |   error |\n"));
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct Findings {
    /// What was done.
    pub title: String,
    /// What it is compared with.
    pub source: String,
    /// Tables with a heading each.
    #[serde(skip)]
    pub tables: Vec<(String, Table)>,
    /// Pictures with a name each, fit for a file.
    #[serde(skip)]
    pub figures: Vec<(String, Figure)>,
    /// How to read them.
    pub notes: Vec<String>,
    /// Graphs that were wanted and are not on this machine.
    pub missing: Vec<String>,
    /// Every cell's numbers.
    pub records: Value,
}

impl Findings {
    /// Title, tables and notes for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        text.extend(wrapped(&self.source, WIDTH).into_iter().map(|line| line + "\n"));
        for (heading, table) in &self.tables {
            text += &format!("\n{heading}\n\n{}", table.to_text());
        }
        text += if self.notes.is_empty() { "" } else { "\n" };
        for note in &self.notes {
            text.extend(wrapped(note, WIDTH).into_iter().map(|line| line + "\n"));
        }
        text
    }

    /// The same in Markdown, with the pictures, which stand in `figures/`.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}.\n", self.title, self.source);
        for (heading, table) in &self.tables {
            text += &format!("\n## {heading}\n\n{}", table.to_markdown());
        }
        for (name, figure) in &self.figures {
            text += &format!("\n{}", image_line(name, &figure.title));
        }
        text += if self.notes.is_empty() { "" } else { "\n" };
        text.extend(self.notes.iter().map(|note| format!("- {note}\n")));
        text
    }
}

/// The line of Markdown that shows a figure of `figures/`.
pub fn image_line(name: &str, title: &str) -> String {
    format!("![{title}](figures/{name}.svg)\n")
}
