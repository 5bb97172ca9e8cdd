//! What the cells of a contest were worth, from their run folders.

use super::{Contest, Planned, Score};
use crate::calendar;
use crate::error::{Error, Result};
use crate::experiment::reproduce::absent;
use crate::experiment::{Record, Request, Summary, finished_receipt, finished_runs};
use crate::report::{Claim, Measured, ScoreCell, Scores, Statistic};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::time::Duration;

impl Contest {
    /// The table, from what became of the orders; a cell that was interrupted counts its finished runs.
    pub fn table(&self, planned: &[Planned], results: &[Result<Summary>]) -> Result<Scores> {
        let about_depth = self.columns.iter().any(|column| column.depth.is_some());
        let cells = planned.iter().zip(results).map(|(planned, result)| {
            let mut cell = planned.cell(result)?;
            if let Some(ours) = cell.ours.as_mut().filter(|_| !about_depth) {
                ours.energy = None;
            }
            Ok(cell)
        });
        let cells = cells.collect::<Result<Vec<_>>>()?;
        Ok(Scores {
            title: self.title.clone(),
            source: self.source.clone(),
            spread: self.spread,
            notes: self.notes.iter().cloned().chain(occasion(planned)?).collect(),
            claims: self.claims.iter().map(|order| Claim::judge(order, &cells)).collect(),
            cells,
        })
    }

    /// One line of JSON a cell that is complete: its settings, its data, its machine, its runs.
    pub fn receipts(&self, planned: &[Planned]) -> Result<String> {
        let lines = planned.iter().filter_map(|planned| planned.receipt().transpose());
        lines.map(|line| Ok(line?.to_string() + "\n")).collect()
    }
}

impl Planned {
    fn cell(&self, result: &Result<Summary>) -> Result<ScoreCell> {
        let asked = self.order.request.runs;
        let (records, missing) = match result {
            Ok(summary) => (summary.runs.clone(), None),
            Err(Error::Interrupted) => (finished_runs(&self.order)?, Some("not run".to_owned())),
            Err(error) if absent(error) => (vec![], Some("not run, no data".to_owned())),
            Err(error) => (vec![], Some(format!("failed: {error}"))),
        };
        let scores: Option<Vec<f64>> = records.iter().map(|run| self.score.of(run)).collect();
        let ours = match scores {
            Some(scores) if !scores.is_empty() => Some(measured(&scores, &records)),
            _ => None,
        };
        Ok(ScoreCell {
            column: self.column.clone(),
            model: self.order.request.model.name.into(),
            paper: self.paper.clone(),
            settings: self.settings.to_string(),
            runs: if ours.is_some() { records.len() } else { asked },
            missing: missing.filter(|_| ours.is_none()),
            ours,
        })
    }

    fn receipt(&self) -> Result<Option<Json>> {
        let Some(receipt) = finished_receipt(&self.order)? else { return Ok(None) };
        let runs = finished_runs(&self.order)?;
        let run = |run: &Record| {
            json!({
                "seed": run.seed,
                "split_sha256": run.split_sha256,
                "epochs": run.epochs,
                "val_accuracy": run.val_accuracy,
                "test_accuracy": run.test_accuracy,
                "roc_auc": run.roc_auc,
            })
        };
        let Request { graph, model, split, hyper, .. } = &self.order.request;
        Ok(Some(json!({
            "graph": graph,
            "model": model.name,
            "split": split.to_string(),
            "hyper": hyper,
            "version": receipt["version"],
            "data_sha256": receipt["data_sha256"],
            "processor": receipt["processor"],
            "instructions": receipt["instructions"],
            "finished_unix_seconds": receipt["finished_unix_seconds"],
            "runs": runs.iter().map(run).collect::<Json>(),
        })))
    }
}

/// When and on what the complete cells were measured.
fn occasion(planned: &[Planned]) -> Result<Option<String>> {
    let receipts = planned.iter().filter_map(|p| finished_receipt(&p.order).transpose());
    let receipts: Vec<Json> = receipts.collect::<Result<_>>()?;
    let days = receipts.iter().filter_map(|receipt| receipt["finished_unix_seconds"].as_u64());
    let days: BTreeSet<String> =
        days.map(|seconds| calendar::day(Duration::from_secs(seconds))).collect();
    let machines: BTreeSet<String> = receipts
        .iter()
        .filter_map(|receipt| {
            let (processor, threads) = (receipt["processor"].as_str()?, &receipt["threads"]);
            Some(format!("{processor} (threads: {threads})"))
        })
        .collect();
    let days = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first == last => first.clone(),
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => return Ok(None),
    };
    let machines: Vec<String> = machines.into_iter().collect();
    Ok(Some(format!("Measured {days} on {}.", machines.join("; "))))
}

fn measured(scores: &[f64], records: &[Record]) -> Measured {
    let energies: Option<Vec<f64>> = records.iter().map(|run| run.energy).collect();
    let epochs: usize = records.iter().map(|run| run.epochs).sum();
    Measured {
        score: Statistic::of(scores),
        energy: energies.map(|energies| energies.iter().sum::<f64>() / energies.len() as f64),
        epochs: epochs as f64 / records.len() as f64,
        seconds: records.iter().map(|run| run.seconds).sum(),
    }
}

impl Score {
    fn of(self, run: &Record) -> Option<f64> {
        match self {
            Self::Accuracy => Some(run.test_accuracy),
            Self::RocAuc => run.roc_auc,
        }
    }
}
