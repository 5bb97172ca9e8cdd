//! A page of results: tables, figures and notes.

use super::wrap::paragraph;
use super::{LineChart, Table};
use serde::Serialize;
use serde_json::Value;

/// The results of an experiment, with the records they were computed from.
///
/// ```
/// use clenshaw::report::{ResultPage, Table};
/// let mut table = Table::new(["graph", "error"]);
/// table.add_row(["texas", "2.1e-15"]);
/// let tables = vec![("Errors".to_owned(), table)];
/// let page = ResultPage { title: "A theorem".into(), tables, ..ResultPage::default() };
/// assert!(page.to_markdown().contains("## Errors\n\n| graph |   error |\n"));
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResultPage {
    /// The title.
    pub title: String,
    /// The publication that the results refer to.
    pub source: String,
    /// Tables, each with a heading, which may be empty.
    #[serde(skip)]
    pub tables: Vec<(String, Table)>,
    /// Charts, each with its file name without extension.
    #[serde(skip)]
    pub figures: Vec<(String, LineChart)>,
    /// Notes on methods and settings.
    pub notes: Vec<String>,
    /// Selected graphs whose files are missing.
    pub missing: Vec<String>,
    /// The records of all cells.
    pub records: Value,
}

impl ResultPage {
    /// Title, tables and notes as plain text.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n{}", self.title, paragraph(&self.source));
        for (heading, table) in &self.tables {
            let heading = if heading.is_empty() { String::new() } else { format!("\n{heading}\n") };
            text += &format!("{heading}\n{}", table.to_text());
        }
        text += if self.notes.is_empty() { "" } else { "\n" };
        text.extend(self.notes.iter().map(|note| paragraph(note)));
        text
    }

    /// The page in Markdown, with links to the charts in `figures/`.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}.\n", self.title, self.source);
        for (heading, table) in &self.tables {
            text += &format!("\n## {heading}\n\n{}", table.to_markdown());
        }
        for (name, figure) in &self.figures {
            text += &format!("\n{}", image_markdown(name, &figure.title));
        }
        text += if self.notes.is_empty() { "" } else { "\n" };
        text.extend(self.notes.iter().map(|note| format!("- {note}\n")));
        text
    }
}

/// The line of Markdown that includes the SVG `figures/{name}.svg`.
pub fn image_markdown(name: &str, title: &str) -> String {
    format!("![{title}](figures/{name}.svg)\n")
}
