//! The score table of an experiment, computed from receipts and run folders.

use super::receipts::{CellReceipt, CellScores, Receipts, RunScores};
use super::{PlannedCell, ResultTable};
use crate::data::Metric;
use crate::error::{Error, Result};
use crate::experiment::{Provenance, Summary, TrainingJob, finished_runs};
use crate::report::{Claim, MeasuredScore, ScoreCell, ScoreTable, Statistic};

impl ResultTable {
    /// The jobs to train: those of all cells without a receipt.
    pub fn jobs(&self, cells: &[PlannedCell]) -> Vec<TrainingJob> {
        let missing = cells.iter().filter(|cell| cell.receipt.is_none());
        missing.map(|cell| cell.job.clone()).collect()
    }

    /// The table, from the receipts and the results of the [`jobs`](Self::jobs), one per job in the same order.
    /// Fails if a run folder contains an invalid file.
    ///
    /// A cell that was interrupted is shown with its finished runs. Energies are included only if a column
    /// sets the depth.
    pub fn score_table(
        &self,
        cells: &[PlannedCell],
        results: &[Result<Summary>],
    ) -> Result<ScoreTable> {
        let varies_depth = self.columns.iter().any(|column| column.depth.is_some());
        let mut results = results.iter();
        let score_cells = cells.iter().map(|cell| {
            let (scores, missing) = match &cell.receipt {
                Some(receipt) => (receipt.scores.clone(), None),
                None => cell.trained_scores(results.next().expect("one result per job"))?,
            };
            let mut score_cell = cell.score_cell(&scores, missing);
            if let Some(ours) = score_cell.ours.as_mut().filter(|_| !varies_depth) {
                ours.energy = None;
            }
            Ok(score_cell)
        });
        let score_cells = score_cells.collect::<Result<Vec<_>>>()?;
        let receipts = self.receipts(cells)?;
        let provenance = Provenance::sentence(receipts.0.iter().map(|receipt| &receipt.provenance));
        Ok(ScoreTable {
            title: self.title.clone(),
            source: self.source.clone(),
            spread: self.spread,
            notes: self.notes.iter().cloned().chain(provenance).collect(),
            claims: self.claims.iter().map(|order| Claim::evaluate(order, &score_cells)).collect(),
            cells: score_cells,
        })
    }

    /// The receipts of all complete cells. Fails if a run folder contains an invalid file.
    pub fn receipts(&self, cells: &[PlannedCell]) -> Result<Receipts> {
        let receipt = |cell: &PlannedCell| match &cell.receipt {
            Some(receipt) => Ok(Some(receipt.clone())),
            None => CellReceipt::of_job(&cell.job),
        };
        let complete = cells.iter().filter_map(|cell| receipt(cell).transpose());
        complete.collect::<Result<_>>().map(Receipts)
    }
}

impl PlannedCell {
    /// The scores of the cell and, if its job was interrupted or failed, the reason. An interrupted job has the
    /// scores of its finished runs; a failed one has none.
    fn trained_scores(&self, result: &Result<Summary>) -> Result<(CellScores, Option<String>)> {
        let (records, missing) = match result {
            Ok(summary) => (summary.runs.clone(), None),
            Err(Error::Interrupted) => (finished_runs(&self.job)?, Some("not run".to_owned())),
            Err(error) if error.is_not_found() => (vec![], Some("not run, no data".to_owned())),
            Err(error) => (vec![], Some(format!("failed: {error}"))),
        };
        Ok((CellScores::of_runs(&records), missing))
    }

    fn score_cell(&self, scores: &CellScores, missing: Option<String>) -> ScoreCell {
        let ours = self.measured_score(scores);
        ScoreCell {
            column: self.column.clone(),
            model: self.job.request.model.name.into(),
            paper: self.paper.clone(),
            settings: self.settings.to_string(),
            runs: if ours.is_some() { scores.runs.len() } else { self.job.request.runs },
            planned: self.job.request.runs,
            missing: missing.filter(|_| ours.is_none()),
            ours,
        }
    }

    /// The statistics of the runs; `None` if there are none or one of them lacks the metric.
    fn measured_score(
        &self,
        CellScores { seconds, energy, runs }: &CellScores,
    ) -> Option<MeasuredScore> {
        let score = |run: &RunScores| match self.metric {
            Metric::Accuracy => Some(run.test_accuracy),
            Metric::RocAuc => run.roc_auc,
        };
        let scores: Vec<f64> = runs.iter().map(score).collect::<Option<_>>()?;
        let epochs: usize = runs.iter().map(|run| run.epochs).sum();
        (!runs.is_empty()).then(|| MeasuredScore {
            score: Statistic::of(&scores),
            energy: *energy,
            epochs: epochs as f64 / runs.len() as f64,
            seconds: *seconds,
        })
    }
}
