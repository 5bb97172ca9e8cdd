//! What the cells of a contest were worth, from their receipts and run folders.

use super::receipts::{Receipt, Receipts, Run, Worth};
use super::{Contest, Planned, Score};
use crate::error::{Error, Result};
use crate::experiment::{Occasion, Order, Summary, finished_runs};
use crate::report::{Claim, Measured, ScoreCell, Scores, Statistic};

impl Contest {
    /// What is to be trained: the orders of all cells that have no receipt.
    pub fn orders(&self, planned: &[Planned]) -> Vec<Order> {
        let open = planned.iter().filter(|planned| planned.known.is_none());
        open.map(|planned| planned.order.clone()).collect()
    }

    /// The table, from what became of the [`orders`](Self::orders); a cell that was interrupted counts
    /// its finished runs.
    pub fn table(&self, planned: &[Planned], results: &[Result<Summary>]) -> Result<Scores> {
        let about_depth = self.columns.iter().any(|column| column.depth.is_some());
        let mut results = results.iter();
        let cells = planned.iter().map(|planned| {
            let (worth, missing) = match &planned.known {
                Some(receipt) => (receipt.worth.clone(), None),
                None => planned.trained(results.next().expect("a result for every order"))?,
            };
            let mut cell = planned.cell(&worth, missing);
            if let Some(ours) = cell.ours.as_mut().filter(|_| !about_depth) {
                ours.energy = None;
            }
            Ok(cell)
        });
        let cells = cells.collect::<Result<Vec<_>>>()?;
        let receipts = self.receipts(planned)?;
        let occasion = Occasion::sentence(receipts.0.iter().map(|receipt| &receipt.occasion));
        Ok(Scores {
            title: self.title.clone(),
            source: self.source.clone(),
            spread: self.spread,
            notes: self.notes.iter().cloned().chain(occasion).collect(),
            claims: self.claims.iter().map(|order| Claim::judge(order, &cells)).collect(),
            cells,
        })
    }

    /// One of every cell that is complete: its settings, its data, its machine, its runs.
    pub fn receipts(&self, planned: &[Planned]) -> Result<Receipts> {
        let receipt = |planned: &Planned| match &planned.known {
            Some(receipt) => Ok(Some(receipt.clone())),
            None => Receipt::of(&planned.order),
        };
        let complete = planned.iter().filter_map(|planned| receipt(planned).transpose());
        complete.collect::<Result<_>>().map(Receipts)
    }
}

impl Planned {
    /// What its runs were worth, and why there are none.
    fn trained(&self, result: &Result<Summary>) -> Result<(Worth, Option<String>)> {
        let (records, missing) = match result {
            Ok(summary) => (summary.runs.clone(), None),
            Err(Error::Interrupted) => (finished_runs(&self.order)?, Some("not run".to_owned())),
            Err(error) if error.is_absence() => (vec![], Some("not run, no data".to_owned())),
            Err(error) => (vec![], Some(format!("failed: {error}"))),
        };
        Ok((Worth::of(&records), missing))
    }

    fn cell(&self, worth: &Worth, missing: Option<String>) -> ScoreCell {
        let ours = self.measured(worth);
        ScoreCell {
            column: self.column.clone(),
            model: self.order.request.model.name.into(),
            paper: self.paper.clone(),
            settings: self.settings.to_string(),
            runs: if ours.is_some() { worth.runs.len() } else { self.order.request.runs },
            planned: self.order.request.runs,
            missing: missing.filter(|_| ours.is_none()),
            ours,
        }
    }

    fn measured(&self, Worth { seconds, energy, runs }: &Worth) -> Option<Measured> {
        let scores: Vec<f64> = runs.iter().map(|run| self.score.of(run)).collect::<Option<_>>()?;
        let epochs: usize = runs.iter().map(|run| run.epochs).sum();
        (!runs.is_empty()).then(|| Measured {
            score: Statistic::of(&scores),
            energy: *energy,
            epochs: epochs as f64 / runs.len() as f64,
            seconds: *seconds,
        })
    }
}

impl Score {
    fn of(self, run: &Run) -> Option<f64> {
        match self {
            Self::Accuracy => Some(run.test_accuracy),
            Self::RocAuc => run.roc_auc,
        }
    }
}
