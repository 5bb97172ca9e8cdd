//! Scores of models on graphs, compared with a paper's.
//!
//! ```text
//! inside   |ours - paper| <= the paper's spread, printed after ±
//! ```
//!
//! A cell without measurements shows the reason; one with unfinished runs shows how many are finished.

use super::{Claim, ResultPage, Statistic, Table, distinct};
use serde::{Deserialize, Serialize, Serializer};

/// The measure of spread printed after `±`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// The standard deviation of the runs.
    Std,
    /// The larger half-width of the bootstrap 95% confidence interval of the mean.
    Ci95,
}

/// Scores of models on graphs, ours and those of a paper's table.
///
/// ```
/// use clenshaw::report::{MeasuredScore, PaperScore, ScoreCell, ScoreTable, Spread, Statistic};
/// let score = Statistic::of(&[0.68, 0.70, 0.72]);
/// let cell = ScoreCell {
///     column: "chameleon".into(),
///     model: "clenshaw-gcn".into(),
///     paper: Some(PaperScore::Score(69.44, 0.92)),
///     settings: "published".into(),
///     runs: 3,
///     planned: 3,
///     ours: Some(MeasuredScore { score, energy: None, epochs: 400.0, seconds: 21.0 }),
///     missing: None,
/// };
/// assert_eq!(cell.difference().map(|d| (d * 100.0).round()), Some(56.0));
/// assert_eq!(cell.position(), Some("inside"));
/// let table = ScoreTable {
///     title: "Table 3".into(),
///     source: "A paper".into(),
///     spread: Spread::Std,
///     notes: vec![],
///     cells: vec![cell],
///     claims: vec![],
/// };
/// assert!(table.to_text().contains("69.44 ± 0.92  70.00 ± 2.00"));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ScoreTable {
    /// The title.
    pub title: String,
    /// Where the paper's numbers were published.
    pub source: String,
    /// The measure of spread after `±`, in the paper and in this table.
    pub spread: Spread,
    /// Notes on settings and measurements.
    pub notes: Vec<String>,
    /// The cells, column by column.
    pub cells: Vec<ScoreCell>,
    /// Rankings of models, tested with the scores.
    pub claims: Vec<Claim>,
}

/// One model in one column.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreCell {
    /// The name of the column, usually a graph.
    pub column: String,
    /// The name of the model.
    pub model: String,
    /// The paper's score, if it has this cell.
    pub paper: Option<PaperScore>,
    /// The origin of the hyper-parameters.
    pub settings: String,
    /// Number of finished runs; equal to `planned` if the cell was not measured.
    pub runs: usize,
    /// Number of runs of the complete cell.
    pub planned: usize,
    /// Our score, if it was measured.
    pub ours: Option<MeasuredScore>,
    /// Why it was not measured; `None` if it was.
    pub missing: Option<String>,
}

/// A score as printed in the paper.
#[derive(Clone, Debug, PartialEq)]
pub enum PaperScore {
    /// Mean and spread in percent.
    Score(f64, f64),
    /// Text in place of a number, as in `(M)` for out of memory.
    Text(String),
}

impl Serialize for PaperScore {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Score(mean, spread) => [mean, spread].serialize(to),
            Self::Text(text) => text.serialize(to),
        }
    }
}

/// The measured score of a cell.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeasuredScore {
    /// The statistics of the score, as a fraction.
    #[serde(flatten)]
    pub score: Statistic,
    /// Mean Dirichlet energy of the last hidden layer, if it is part of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    /// Mean number of epochs.
    pub epochs: f64,
    /// Training time of all runs added up, including those that ran in parallel.
    pub seconds: f64,
}

impl Spread {
    /// The other measure, which is shown in a separate column.
    fn other(self) -> Self {
        match self {
            Self::Std => Self::Ci95,
            Self::Ci95 => Self::Std,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Std => "std",
            Self::Ci95 => "95%",
        }
    }

    /// The spread of a score in percent, with two decimals.
    fn in_percent(self, score: &Statistic) -> String {
        let spread = match self {
            Self::Std => score.std,
            Self::Ci95 => score.ci95,
        };
        format!("{:.2}", 100.0 * spread)
    }
}

impl ScoreCell {
    /// Our score, if all runs are finished.
    pub fn complete(&self) -> Option<&MeasuredScore> {
        self.ours.as_ref().filter(|_| self.runs == self.planned)
    }

    /// Our mean minus the paper's, in percentage points; `None` without both numbers.
    pub fn difference(&self) -> Option<f64> {
        match (&self.ours, &self.paper) {
            (Some(ours), Some(PaperScore::Score(mean, _))) => Some(100.0 * ours.score.mean - mean),
            _ => None,
        }
    }

    /// Whether our mean is `below`, `inside` or `above` the paper's mean ± spread; `None` without both.
    pub fn position(&self) -> Option<&'static str> {
        let (difference, Some(PaperScore::Score(_, spread))) = (self.difference()?, &self.paper)
        else {
            return None;
        };
        // Compared at the two printed decimals.
        let beyond = (100.0 * (difference.abs() - spread)).round() > 0.0;
        Some(match (beyond, difference < 0.0) {
            (false, _) => "inside",
            (true, true) => "below",
            (true, false) => "above",
        })
    }

    fn runs_text(&self) -> String {
        match self.runs == self.planned {
            true => self.runs.to_string(),
            false => format!("{} of {}", self.runs, self.planned),
        }
    }
}

impl ScoreTable {
    /// Title, one line per cell, claims and notes as plain text.
    pub fn to_text(&self) -> String {
        let tables = [self.cell_table()].into_iter().chain(self.claims_table());
        self.page(tables.map(|table| (String::new(), table)).collect()).to_text()
    }

    /// The page in Markdown: our scores as a matrix, claims, one line per cell, and notes.
    pub fn to_markdown(&self) -> String {
        let mut tables = vec![("Our scores".to_owned(), self.matrix())];
        tables.extend(self.claims_table().map(|table| ("Claims".to_owned(), table)));
        tables.push(("Scores by cell".to_owned(), self.cell_table()));
        self.page(tables).to_markdown()
    }

    fn page(&self, tables: Vec<(String, Table)>) -> ResultPage {
        let (title, source, notes) = (self.title.clone(), self.source.clone(), self.all_notes());
        ResultPage { title, source, tables, notes, ..ResultPage::default() }
    }

    fn claims_table(&self) -> Option<Table> {
        (!self.claims.is_empty()).then(|| Claim::table(&self.claims))
    }

    fn all_notes(&self) -> Vec<String> {
        let (std, ci95) = (
            "the standard deviation of the runs",
            "the half-width of the 95% confidence interval of the mean (bootstrap, 1000 resamples)",
        );
        let meaning = match self.spread {
            Spread::Std => format!("± is {std}; the column `95%` is {ci95}."),
            Spread::Ci95 => format!("± is {ci95}; the column `std` is {std}."),
        };
        let position = "inside, above, below: our mean relative to the paper's interval, its mean ± its spread.";
        let position = self.has_paper().then(|| position.to_owned());
        let time = format!(
            "Total training time: {} minutes, added up over runs, which ran in parallel on one thread each \
             or one after the other on all threads.",
            minutes(self.cells.iter())
        );
        let verdicts = "A claim holds (or fails) if the means differ by more than the combined 95% confidence \
                        interval (the root of the sum of the two squared half-widths); otherwise it is \
                        inconclusive.";
        let verdicts = (!self.claims.is_empty()).then(|| verdicts.to_owned());
        let notes = [meaning].into_iter().chain(position).chain(verdicts);
        notes.chain(self.notes.iter().cloned()).chain([time]).collect()
    }

    /// Our scores with one row per model and one column per graph.
    fn matrix(&self) -> Table {
        let columns = distinct(self.cells.iter().map(|cell| cell.column.as_str()));
        let models = distinct(self.cells.iter().map(|cell| cell.model.as_str()));
        let header = [&["model"], columns.as_slice(), &["minutes"]].concat();
        let mut table = Table::new(header);
        for model in models {
            let entry = |column: &&str| {
                let cell =
                    self.cells.iter().find(|cell| cell.model == model && cell.column == *column);
                cell.map_or("-".into(), |cell| self.our_text(cell))
            };
            let row = std::iter::once(model.to_owned()).chain(columns.iter().map(entry));
            table.add_row(
                row.chain([minutes(self.cells.iter().filter(|cell| cell.model == model))]),
            );
        }
        table
    }

    /// One row per cell.
    fn cell_table(&self) -> Table {
        let has_paper = self.has_paper();
        let paper: &[&str] = if has_paper { &["paper"] } else { &[] };
        let position: &[&str] = if has_paper { &["difference", "paper's interval"] } else { &[] };
        let has_energy =
            self.cells.iter().any(|cell| cell.ours.is_some_and(|o| o.energy.is_some()));
        let energy: &[&str] = if has_energy { &["energy"] } else { &[] };
        let ours = ["ours", self.spread.other().name()];
        let rest = ["runs", "epochs", "s/run", "settings"];
        let header = [&["graph", "model"], paper, &ours, position, energy, &rest].concat();
        let mut table = Table::new(header);
        for cell in &self.cells {
            let paper = match &cell.paper {
                Some(PaperScore::Score(mean, spread)) => format!("{mean:.2} ± {spread:.2}"),
                Some(PaperScore::Text(text)) => text.clone(),
                None => "-".into(),
            };
            let difference = cell.difference().map_or("-".into(), |d| format!("{d:+.2}"));
            let position = cell.position().unwrap_or("-").to_owned();
            let format_ours = |f: fn(&MeasuredScore, f64) -> String| match &cell.ours {
                Some(ours) => f(ours, cell.runs as f64),
                None => "-".into(),
            };
            let mut row = vec![cell.column.clone(), cell.model.clone()];
            row.extend(has_paper.then_some(paper));
            row.push(self.our_text(cell));
            row.push(
                cell.ours.map_or("-".into(), |ours| self.spread.other().in_percent(&ours.score)),
            );
            row.extend(has_paper.then_some([difference, position]).into_iter().flatten());
            let energy = cell.ours.and_then(|ours| ours.energy);
            row.extend(has_energy.then(|| energy.map_or("-".into(), |e| format!("{e:.4}"))));
            row.push(cell.runs_text());
            row.push(format_ours(|ours, _| format!("{:.0}", ours.epochs)));
            row.push(format_ours(|ours, runs| format!("{:.1}", ours.seconds / runs)));
            row.push(cell.settings.clone());
            table.add_row(row);
        }
        table
    }

    fn has_paper(&self) -> bool {
        self.cells.iter().any(|cell| cell.paper.is_some())
    }

    /// Our score, with the number of finished runs if some are unfinished; the reason if there is no score.
    fn our_text(&self, cell: &ScoreCell) -> String {
        let Some(MeasuredScore { score, .. }) = &cell.ours else {
            return cell.missing.clone().unwrap_or_else(|| "not run".into());
        };
        let text = format!("{:.2} ± {}", 100.0 * score.mean, self.spread.in_percent(score));
        match cell.complete() {
            Some(_) => text,
            None => format!("{text} ({} runs)", cell.runs_text()),
        }
    }
}

/// The training time of some cells in minutes; `-` if none was measured.
fn minutes<'a>(cells: impl Iterator<Item = &'a ScoreCell>) -> String {
    let seconds = cells.filter_map(|cell| Some(cell.ours?.seconds)).reduce(|a, b| a + b);
    seconds.map_or("-".into(), |seconds| format!("{:.1}", seconds / 60.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, paper: Option<PaperScore>) -> ScoreCell {
        let score = Statistic { mean, std: 0.02, ci95: 0.01 };
        ScoreCell {
            column: "texas".into(),
            model: "gcn".into(),
            paper,
            settings: "published".into(),
            runs: 2,
            planned: 2,
            ours: Some(MeasuredScore { score, energy: None, epochs: 100.0, seconds: 120.0 }),
            missing: None,
        }
    }

    #[test]
    fn position_relative_to_the_closed_interval() {
        let position = |mean| cell(mean, Some(PaperScore::Score(90.0, 1.0))).position();
        assert_eq!(position(0.89), Some("inside"));
        assert_eq!(position(0.91), Some("inside"));
        assert_eq!(position(0.8899), Some("below"));
        assert_eq!(position(0.9101), Some("above"));
        assert_eq!(cell(0.9, None).position(), None);
        assert_eq!(cell(0.9, Some(PaperScore::Text("(M)".into()))).position(), None);
    }

    #[test]
    fn unmeasured_cells_show_the_reason() {
        let mut missing = cell(0.5, Some(PaperScore::Text("(M)".into())));
        (missing.ours, missing.missing) = (None, Some("not run".into()));
        missing.model = "h2gcn".into();
        let table = ScoreTable {
            title: "T".into(),
            source: "S".into(),
            spread: Spread::Ci95,
            notes: vec!["A note.".into()],
            cells: vec![cell(0.9, Some(PaperScore::Score(89.5, 0.25))), missing],
            claims: vec![],
        };
        assert_eq!(
            table.to_markdown(),
            "\
# T

S.

## Our scores

| model | texas        | minutes |
| ----- | ------------ | ------: |
| gcn   | 90.00 ± 1.00 |     2.0 |
| h2gcn | not run      |       - |

## Scores by cell

| graph | model | paper        | ours         |  std | difference | paper's interval | runs | epochs | s/run | settings  |
| ----- | ----- | ------------ | ------------ | ---: | ---------: | ---------------- | ---: | -----: | ----: | --------- |
| texas | gcn   | 89.50 ± 0.25 | 90.00 ± 1.00 | 2.00 |      +0.50 | above            |    2 |    100 |  60.0 | published |
| texas | h2gcn | (M)          | not run      |    - |          - | -                |    2 |      - |     - | published |

- ± is the half-width of the 95% confidence interval of the mean (bootstrap, 1000 resamples); the column `std` is the standard deviation of the runs.
- inside, above, below: our mean relative to the paper's interval, its mean ± its spread.
- A note.
- Total training time: 2.0 minutes, added up over runs, which ran in parallel on one thread each or one after the other on all threads.
"
        );
        let mut half = table.clone();
        half.cells[0].planned = 4;
        let page = half.to_markdown();
        assert!(page.contains("| gcn   | 90.00 ± 1.00 (2 of 4 runs) |     2.0 |"), "{page}");
        assert!(page.contains("above            | 2 of 4 |    100 |  60.0 |"), "{page}");
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json["cells"][0]["paper"], serde_json::json!([89.5, 0.25]));
        assert_eq!(json["cells"][0]["ours"]["mean"], 0.9);
        assert_eq!(json["cells"][1]["ours"], serde_json::Value::Null);
    }
}
