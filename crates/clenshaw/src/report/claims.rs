//! Claims that models come in some order, and what measured scores say about them.
//!
//! ```text
//! d = mean(better) - mean(worse)       n = sqrt(ci95(better)^2 + ci95(worse)^2)
//! holds    d > n
//! open     |d| <= n
//! fails    d < -n
//! ```
//!
//! An order of more than two is as good as the worst of its neighbours. A single run has no interval,
//! and a cell whose runs are not all done may yet move: such a column has no verdict.

use super::{ScoreCell, Table};
use serde::Serialize;

/// An order of models, and a verdict a column.
///
/// ```
/// use clenshaw::report::{Claim, Measured, ScoreCell, Statistic, Verdict};
/// let cell = |model: &str, scores: &[f64]| ScoreCell {
///     column: "chameleon".into(),
///     model: model.into(),
///     paper: None,
///     settings: "published".into(),
///     runs: scores.len(),
///     planned: scores.len(),
///     ours: Some(Measured {
///         score: Statistic::of(scores),
///         energy: None,
///         epochs: 100.0,
///         seconds: 1.0,
///     }),
///     missing: None,
/// };
/// let cells = [cell("gcn", &[0.60, 0.61, 0.62]), cell("clenshaw-gcn", &[0.69, 0.70, 0.71])];
/// let claim = Claim::judge(&["gcn".into(), "clenshaw-gcn".into()], &cells);
/// assert_eq!(claim.verdicts, [("chameleon".to_owned(), Some(Verdict::Holds))]);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The models, the worst first.
    pub order: Vec<String>,
    /// Every column, and what was measured there; none if a model was not, or not often enough.
    pub verdicts: Vec<(String, Option<Verdict>)>,
}

/// What scores say about a claim; the better the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The difference is larger than what chance explains.
    Holds,
    /// It is not.
    Open,
    /// It is, the other way round.
    Fails,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Open => "open",
            Self::Fails => "fails",
        }
    }
}

impl Claim {
    /// Judges an order in every column of some cells.
    pub fn judge(order: &[String], cells: &[ScoreCell]) -> Self {
        let mut columns: Vec<&str> = cells.iter().map(|cell| cell.column.as_str()).collect();
        columns.dedup();
        let verdict = |column: &str| {
            let score = |model: &String| {
                let cell = cells.iter().find(|c| c.column == column && c.model == *model);
                cell.filter(|cell| cell.runs > 1)?.complete().map(|ours| ours.score)
            };
            let pairs = order.windows(2).map(|pair| {
                let (worse, better) = (score(&pair[0])?, score(&pair[1])?);
                let (d, n) = (better.mean - worse.mean, better.ci95.hypot(worse.ci95));
                Some(match d {
                    d if d > n => Verdict::Holds,
                    d if d < -n => Verdict::Fails,
                    _ => Verdict::Open,
                })
            });
            pairs.collect::<Option<Vec<_>>>().and_then(|verdicts| verdicts.into_iter().max())
        };
        let verdicts = columns.into_iter().map(|column| (column.to_owned(), verdict(column)));
        Self { order: order.to_vec(), verdicts: verdicts.collect() }
    }

    /// A row a claim, a column for each of theirs.
    pub(super) fn table(claims: &[Self]) -> Table {
        let columns = claims.iter().take(1).flat_map(|claim| &claim.verdicts);
        let columns = columns.map(|(column, _)| column.as_str());
        let mut table = Table::new(std::iter::once("claim").chain(columns));
        for claim in claims {
            let word = |(_, verdict): &(String, Option<Verdict>)| {
                verdict.map_or("-", Verdict::word).to_owned()
            };
            let order = claim.order.join(" < ");
            table.row(std::iter::once(order).chain(claim.verdicts.iter().map(word)));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Measured, Statistic};

    fn cell(column: &str, model: &str, mean: f64, ci95: f64) -> ScoreCell {
        let score = Statistic { mean, std: 0.1, ci95 };
        let ours = Some(Measured { score, energy: None, epochs: 1.0, seconds: 1.0 });
        let (column, model, settings) = (column.into(), model.into(), "published".into());
        ScoreCell { column, model, paper: None, settings, runs: 3, planned: 3, ours, missing: None }
    }

    fn order(words: &str) -> Vec<String> {
        words.split(" < ").map(String::from).collect()
    }

    #[test]
    fn a_difference_counts_beyond_both_intervals_together() {
        let verdict = |better: f64| {
            let cells = [cell("g", "a", 0.60, 0.03), cell("g", "b", better, 0.04)];
            Claim::judge(&order("a < b"), &cells).verdicts[0].1
        };
        assert_eq!(verdict(0.651), Some(Verdict::Holds));
        assert_eq!(verdict(0.649), Some(Verdict::Open));
        assert_eq!(verdict(0.551), Some(Verdict::Open));
        assert_eq!(verdict(0.549), Some(Verdict::Fails));
    }

    #[test]
    fn neither_one_run_nor_some_of_the_runs_decide_anything() {
        let verdict = |runs: usize, planned: usize| {
            let mut better = cell("g", "b", 0.9, 0.0);
            (better.runs, better.planned) = (runs, planned);
            let cells = [cell("g", "a", 0.6, 0.03), better];
            Claim::judge(&order("a < b"), &cells).verdicts[0].1
        };
        assert_eq!(verdict(2, 2), Some(Verdict::Holds));
        assert_eq!(verdict(1, 1), None);
        assert_eq!(verdict(4, 10), None);
    }

    #[test]
    fn an_order_is_as_good_as_its_worst_neighbours() {
        let mut cells: Vec<ScoreCell> = [("a", 0.5), ("b", 0.6), ("c", 0.55)]
            .map(|(model, mean)| cell("g", model, mean, 0.01))
            .to_vec();
        cells.push(cell("h", "a", 0.5, 0.01));
        let claims = ["a < b", "a < b < c", "c < b"].map(|o| Claim::judge(&order(o), &cells));
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
