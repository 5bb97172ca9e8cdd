//! Claims about the ranking of models, tested against measured scores.
//!
//! ```text
//! d = mean(better) - mean(worse)       w = sqrt(ci95(better)^2 + ci95(worse)^2)
//! holds           d > w
//! inconclusive    |d| <= w
//! fails           d < -w
//! ```
//!
//! `w` is the half-width of the combined 95% confidence interval. The verdict on a ranking of more than
//! two models is the worst verdict of its adjacent pairs. There is no verdict if a model has unfinished
//! runs, or only one run, which has no interval.

use super::{ScoreCell, Table, distinct};
use serde::Serialize;

/// A ranking of models, and a verdict per column.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The models, worst first.
    pub order: Vec<String>,
    /// The verdict in every column; `None` if a model has too few or unfinished runs.
    pub verdicts: Vec<(String, Option<Verdict>)>,
}

/// Whether scores support a claim; ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The ranking is right, by more than the combined 95% confidence interval.
    Holds,
    /// The difference is within the combined 95% confidence interval.
    Inconclusive,
    /// The opposite ranking is right, by more than the combined 95% confidence interval.
    Fails,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Inconclusive => "inconclusive",
            Self::Fails => "fails",
        }
    }
}

impl Claim {
    /// Tests a ranking, worst model first, in every column.
    pub fn evaluate(order: &[String], cells: &[ScoreCell]) -> Self {
        let columns = distinct(cells.iter().map(|cell| cell.column.as_str()));
        let verdict = |column: &str| {
            let score = |model: &String| {
                let cell = cells.iter().find(|c| c.column == column && c.model == *model);
                cell.filter(|cell| cell.runs > 1)?.complete().map(|ours| ours.score)
            };
            let pairs = order.windows(2).map(|pair| {
                let (worse, better) = (score(&pair[0])?, score(&pair[1])?);
                let (d, w) = (better.mean - worse.mean, better.ci95.hypot(worse.ci95));
                Some(match d {
                    d if d > w => Verdict::Holds,
                    d if d < -w => Verdict::Fails,
                    _ => Verdict::Inconclusive,
                })
            });
            pairs.collect::<Option<Vec<_>>>().and_then(|verdicts| verdicts.into_iter().max())
        };
        let verdicts = columns.into_iter().map(|column| (column.to_owned(), verdict(column)));
        Self { order: order.to_vec(), verdicts: verdicts.collect() }
    }

    /// A table with one row per claim.
    pub(super) fn table(claims: &[Self]) -> Table {
        let columns = claims.iter().take(1).flat_map(|claim| &claim.verdicts);
        let columns = columns.map(|(column, _)| column.as_str());
        let mut table = Table::new(std::iter::once("claim").chain(columns));
        for claim in claims {
            let name = |(_, verdict): &(String, Option<Verdict>)| {
                verdict.map_or("-", Verdict::name).to_owned()
            };
            let order = claim.order.join(" < ");
            table.add_row(std::iter::once(order).chain(claim.verdicts.iter().map(name)));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{MeasuredScore, Statistic};

    fn cell(column: &str, model: &str, mean: f64, ci95: f64) -> ScoreCell {
        let score = Statistic { mean, std: 0.1, ci95 };
        let ours = Some(MeasuredScore { score, energy: None, epochs: 1.0, seconds: 1.0 });
        let (column, model, settings) = (column.into(), model.into(), "published".into());
        ScoreCell { column, model, paper: None, settings, runs: 3, planned: 3, ours, missing: None }
    }

    fn ranking(text: &str) -> Vec<String> {
        text.split(" < ").map(String::from).collect()
    }

    #[test]
    fn verdict_changes_at_the_combined_interval() {
        let verdict = |better: f64| {
            let cells = [cell("g", "a", 0.60, 0.03), cell("g", "b", better, 0.04)];
            Claim::evaluate(&ranking("a < b"), &cells).verdicts[0].1
        };
        assert_eq!(verdict(0.651), Some(Verdict::Holds));
        assert_eq!(verdict(0.649), Some(Verdict::Inconclusive));
        assert_eq!(verdict(0.551), Some(Verdict::Inconclusive));
        assert_eq!(verdict(0.549), Some(Verdict::Fails));
    }

    #[test]
    fn no_verdict_for_single_or_unfinished_runs() {
        let verdict = |runs: usize, planned: usize| {
            let mut better = cell("g", "b", 0.9, 0.0);
            (better.runs, better.planned) = (runs, planned);
            let cells = [cell("g", "a", 0.6, 0.03), better];
            Claim::evaluate(&ranking("a < b"), &cells).verdicts[0].1
        };
        assert_eq!(verdict(2, 2), Some(Verdict::Holds));
        assert_eq!(verdict(1, 1), None);
        assert_eq!(verdict(4, 10), None);
    }

    #[test]
    fn verdict_on_a_ranking_is_the_worst_of_its_pairs() {
        let mut cells: Vec<ScoreCell> = [("a", 0.5), ("b", 0.6), ("c", 0.55)]
            .map(|(model, mean)| cell("g", model, mean, 0.01))
            .to_vec();
        cells.push(cell("h", "a", 0.5, 0.01));
        let claims = ["a < b", "a < b < c", "c < b"].map(|o| Claim::evaluate(&ranking(o), &cells));
        assert_eq!(
            Claim::table(&claims).to_text(),
            "\
claim      g      h
─────────  ─────  ─
a < b      holds  -
a < b < c  fails  -
c < b      holds  -
"
        );
    }
}
