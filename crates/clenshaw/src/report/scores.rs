//! Scores of models on graphs beside a paper's, cell by cell.
//!
//! ```text
//! inside   |ours - paper| <= what stands behind the paper's ±
//! ```
//!
//! A cell that was not measured has no number of ours, and says why; one that was measured in part says
//! how far.

use super::{Claim, Statistic, Table, wrapped};
use serde::{Serialize, Serializer};

/// No line of a note is longer.
const WIDTH: usize = 100;

/// What stands behind `±`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// The standard deviation of the runs.
    Std,
    /// The larger half of the 95% interval of their mean, by bootstrap.
    Ci95,
}

/// A table of a paper, and what we measured.
///
/// ```
/// use clenshaw::report::{Measured, Printed, ScoreCell, Scores, Spread, Statistic};
/// let score = Statistic::of(&[0.68, 0.70, 0.72]);
/// let cell = ScoreCell {
///     column: "chameleon".into(),
///     model: "clenshaw-gcn".into(),
///     paper: Some(Printed::Score(69.44, 0.92)),
///     settings: "published".into(),
///     runs: 3,
///     planned: 3,
///     ours: Some(Measured { score, energy: None, epochs: 400.0, seconds: 21.0 }),
///     missing: None,
/// };
/// assert_eq!(cell.difference().map(|d| (d * 100.0).round()), Some(56.0));
/// assert_eq!(cell.place(), Some("inside"));
/// let table = Scores {
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
pub struct Scores {
    /// What the table shows.
    pub title: String,
    /// Where the paper's numbers stand.
    pub source: String,
    /// What stands behind `±`, in the paper and here.
    pub spread: Spread,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Column after column, model after model.
    pub cells: Vec<ScoreCell>,
    /// What they are asked about.
    pub claims: Vec<Claim>,
}

/// One model in one column.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreCell {
    /// The column's name; most often a graph.
    pub column: String,
    /// The model.
    pub model: String,
    /// What the paper prints, if it has such a cell.
    pub paper: Option<Printed>,
    /// Where the hyper-parameters come from.
    pub settings: String,
    /// The runs that ours is about.
    pub runs: usize,
    /// The runs that belong to the cell.
    pub planned: usize,
    /// Ours, if it was measured.
    pub ours: Option<Measured>,
    /// Why it was not.
    pub missing: Option<String>,
}

/// A cell of the paper.
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// Mean and what stands behind `±`, in percent.
    Score(f64, f64),
    /// Words in place of a number, as `(M)`.
    Word(String),
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Score(mean, spread) => [mean, spread].serialize(to),
            Self::Word(word) => word.serialize(to),
        }
    }
}

/// What runs were worth.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    /// The score as a share of one.
    #[serde(flatten)]
    pub score: Statistic,
    /// The Dirichlet energy of the last hidden layer, in the mean, where it is part of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    /// Epochs of a run, in the mean.
    pub epochs: f64,
    /// The time of all runs added up, some of which went side by side.
    pub seconds: f64,
}

impl Spread {
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

    /// In percent.
    fn of(self, score: &Statistic) -> String {
        let spread = match self {
            Self::Std => score.std,
            Self::Ci95 => score.ci95,
        };
        format!("{:.2}", 100.0 * spread)
    }
}

impl ScoreCell {
    /// Ours, if all of its runs are done.
    pub fn complete(&self) -> Option<&Measured> {
        self.ours.as_ref().filter(|_| self.runs == self.planned)
    }

    /// Ours less the paper's, in percent.
    pub fn difference(&self) -> Option<f64> {
        match (&self.ours, &self.paper) {
            (Some(ours), Some(Printed::Score(mean, _))) => Some(100.0 * ours.score.mean - mean),
            _ => None,
        }
    }

    /// Where ours lies beside the paper's interval: `below`, `inside` or `above`.
    pub fn place(&self) -> Option<&'static str> {
        let (difference, Some(Printed::Score(_, spread))) = (self.difference()?, &self.paper)
        else {
            return None;
        };
        // Both numbers are printed with two digits, and so is the border.
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

impl Scores {
    /// Title, one line a cell, and notes for a terminal.
    pub fn to_text(&self) -> String {
        let notes = self.all_notes();
        let notes = notes.iter().flat_map(|note| wrapped(note, WIDTH)).map(|line| line + "\n");
        let notes: String = notes.collect();
        let claims = match self.claims.as_slice() {
            [] => String::new(),
            claims => Claim::table(claims).to_text() + "\n",
        };
        let source: String = wrapped(&self.source, WIDTH).join("\n");
        format!("{}\n{source}\n\n{}\n{claims}{notes}", self.title, self.lines().to_text())
    }

    /// Ours as the paper arranges them, claims, then cell by cell, then notes.
    pub fn to_markdown(&self) -> String {
        let notes: String = self.all_notes().iter().map(|note| format!("- {note}\n")).collect();
        let claims = match self.claims.as_slice() {
            [] => String::new(),
            claims => format!("## Claims\n\n{}\n", Claim::table(claims).to_markdown()),
        };
        format!(
            "# {}\n\n{}.\n\n## Ours\n\n{}\n{claims}## Cell by cell\n\n{}\n{notes}",
            self.title,
            self.source,
            self.matrix().to_markdown(),
            self.lines().to_markdown()
        )
    }

    fn all_notes(&self) -> Vec<String> {
        let (std, ci95) = (
            "the standard deviation of the runs",
            "the half-width of the 95% interval of the mean (bootstrap, 1000 resamples)",
        );
        let meaning = match self.spread {
            Spread::Std => format!("± is {std}; the column `95%` is {ci95}."),
            Spread::Ci95 => format!("± is {ci95}; the column `std` is {std}."),
        };
        let place =
            "inside, above, below: where our mean lies beside the paper's mean ± what it prints.";
        let place = self.has_paper().then(|| place.to_owned());
        let time = format!(
            "All runs together took {} minutes: their own times added up, whether they went one by one \
             on all threads or side by side on one each.",
            minutes(self.cells.iter())
        );
        let verdicts = "A claim holds or fails where two means differ by more than the root of the sum of \
                        the squares of their 95% half-widths; else it is open.";
        let verdicts = (!self.claims.is_empty()).then(|| verdicts.to_owned());
        let notes = [meaning].into_iter().chain(place).chain(verdicts);
        notes.chain(self.notes.iter().cloned()).chain([time]).collect()
    }

    /// A row a model, a column a graph.
    fn matrix(&self) -> Table {
        let (mut columns, mut models): (Vec<&str>, Vec<&str>) = (vec![], vec![]);
        for cell in &self.cells {
            keep_new(&mut columns, &cell.column);
            keep_new(&mut models, &cell.model);
        }
        let header = [&["model"], columns.as_slice(), &["minutes"]].concat();
        let mut table = Table::new(header);
        for model in models {
            let at = |column: &&str| {
                let cell =
                    self.cells.iter().find(|cell| cell.model == model && cell.column == *column);
                cell.map_or("-".into(), |cell| self.our_text(cell))
            };
            let row = std::iter::once(model.to_owned()).chain(columns.iter().map(at));
            table.row(row.chain([minutes(self.cells.iter().filter(|cell| cell.model == model))]));
        }
        table
    }

    fn lines(&self) -> Table {
        let has_paper = self.has_paper();
        let paper: &[&str] = if has_paper { &["paper"] } else { &[] };
        let place: &[&str] = if has_paper { &["difference", "paper's ±"] } else { &[] };
        let has_energy =
            self.cells.iter().any(|cell| cell.ours.is_some_and(|o| o.energy.is_some()));
        let energy: &[&str] = if has_energy { &["energy"] } else { &[] };
        let ours = ["ours", self.spread.other().name()];
        let rest = ["runs", "epochs", "s a run", "settings"];
        let header = [&["graph", "model"], paper, &ours, place, energy, &rest].concat();
        let mut table = Table::new(header);
        for cell in &self.cells {
            let paper = match &cell.paper {
                Some(Printed::Score(mean, spread)) => format!("{mean:.2} ± {spread:.2}"),
                Some(Printed::Word(word)) => word.clone(),
                None => "-".into(),
            };
            let difference = cell.difference().map_or("-".into(), |d| format!("{d:+.2}"));
            let place = cell.place().unwrap_or("-").to_owned();
            let of_ours = |f: fn(&Measured, f64) -> String| match &cell.ours {
                Some(ours) => f(ours, cell.runs as f64),
                None => "-".into(),
            };
            let mut row = vec![cell.column.clone(), cell.model.clone()];
            row.extend(has_paper.then_some(paper));
            row.push(self.our_text(cell));
            row.push(cell.ours.map_or("-".into(), |ours| self.spread.other().of(&ours.score)));
            row.extend(has_paper.then_some([difference, place]).into_iter().flatten());
            let energy = cell.ours.and_then(|ours| ours.energy);
            row.extend(has_energy.then(|| energy.map_or("-".into(), |e| format!("{e:.4}"))));
            row.push(cell.runs_text());
            row.push(of_ours(|ours, _| format!("{:.0}", ours.epochs)));
            row.push(of_ours(|ours, runs| format!("{:.1}", ours.seconds / runs)));
            row.push(cell.settings.clone());
            table.row(row);
        }
        table
    }

    fn has_paper(&self) -> bool {
        self.cells.iter().any(|cell| cell.paper.is_some())
    }

    fn our_text(&self, cell: &ScoreCell) -> String {
        let Some(Measured { score, .. }) = &cell.ours else {
            return cell.missing.clone().unwrap_or_else(|| "not run".into());
        };
        let text = format!("{:.2} ± {}", 100.0 * score.mean, self.spread.of(score));
        match cell.complete() {
            Some(_) => text,
            None => format!("{text} ({} runs)", cell.runs_text()),
        }
    }
}

/// The time of all runs of some cells, if there were any.
fn minutes<'a>(cells: impl Iterator<Item = &'a ScoreCell>) -> String {
    let seconds = cells.filter_map(|cell| Some(cell.ours?.seconds)).reduce(|a, b| a + b);
    seconds.map_or("-".into(), |seconds| format!("{:.1}", seconds / 60.0))
}

fn keep_new<'a>(list: &mut Vec<&'a str>, word: &'a str) {
    if !list.contains(&word) {
        list.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, paper: Option<Printed>) -> ScoreCell {
        let score = Statistic { mean, std: 0.02, ci95: 0.01 };
        ScoreCell {
            column: "texas".into(),
            model: "gcn".into(),
            paper,
            settings: "published".into(),
            runs: 2,
            planned: 2,
            ours: Some(Measured { score, energy: None, epochs: 100.0, seconds: 120.0 }),
            missing: None,
        }
    }

    #[test]
    fn the_interval_has_two_borders_and_they_belong_to_it() {
        let place = |mean| cell(mean, Some(Printed::Score(90.0, 1.0))).place();
        assert_eq!(place(0.89), Some("inside"));
        assert_eq!(place(0.91), Some("inside"));
        assert_eq!(place(0.8899), Some("below"));
        assert_eq!(place(0.9101), Some("above"));
        assert_eq!(cell(0.9, None).place(), None);
        assert_eq!(cell(0.9, Some(Printed::Word("(M)".into()))).place(), None);
    }

    #[test]
    fn what_was_not_measured_has_no_number() {
        let mut missing = cell(0.5, Some(Printed::Word("(M)".into())));
        (missing.ours, missing.missing) = (None, Some("not run".into()));
        missing.model = "h2gcn".into();
        let table = Scores {
            title: "T".into(),
            source: "S".into(),
            spread: Spread::Ci95,
            notes: vec!["A note.".into()],
            cells: vec![cell(0.9, Some(Printed::Score(89.5, 0.25))), missing],
            claims: vec![],
        };
        assert_eq!(
            table.to_markdown(),
            "\
# T

S.

## Ours

| model | texas        | minutes |
| ----- | ------------ | ------: |
| gcn   | 90.00 ± 1.00 |     2.0 |
| h2gcn | not run      |       - |

## Cell by cell

| graph | model | paper        | ours         |  std | difference | paper's ± | runs | epochs | s a run | settings  |
| ----- | ----- | ------------ | ------------ | ---: | ---------: | --------- | ---: | -----: | ------: | --------- |
| texas | gcn   | 89.50 ± 0.25 | 90.00 ± 1.00 | 2.00 |      +0.50 | above     |    2 |    100 |    60.0 | published |
| texas | h2gcn | (M)          | not run      |    - |          - | -         |    2 |      - |       - | published |

- ± is the half-width of the 95% interval of the mean (bootstrap, 1000 resamples); the column `std` is the standard deviation of the runs.
- inside, above, below: where our mean lies beside the paper's mean ± what it prints.
- A note.
- All runs together took 2.0 minutes: their own times added up, whether they went one by one on all threads or side by side on one each.
"
        );
        let mut half = table.clone();
        half.cells[0].planned = 4;
        let page = half.to_markdown();
        assert!(page.contains("| gcn   | 90.00 ± 1.00 (2 of 4 runs) |     2.0 |"), "{page}");
        assert!(page.contains("above     | 2 of 4 |    100 |    60.0 |"), "{page}");
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json["cells"][0]["paper"], serde_json::json!([89.5, 0.25]));
        assert_eq!(json["cells"][0]["ours"]["mean"], 0.9);
        assert_eq!(json["cells"][1]["ours"], serde_json::Value::Null);
    }
}
