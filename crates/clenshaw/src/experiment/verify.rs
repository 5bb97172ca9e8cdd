//! Trains finished runs again and compares the results with the stored ones.
//!
//! The digests of the data and of the split must always be equal. Results of the same version and the same
//! [`bit_class`] of instructions must be equal bit for bit: epochs, filters, model file, predictions and scores.
//! Otherwise rounding may differ, and only the test accuracy and the predicted classes are compared, within
//! [`ACCURACY_TOLERANCE`] and [`MIN_AGREEMENT`].

use super::folder::{RunFolder, RunReceipt};
use super::predict::{finished_records, trained_model};
use super::scheduler::TrainingJob;
use super::{Request, RunRecord};
use crate::error::{Error, Result};
use crate::tensor::{bit_class, instruction_set};
use crate::train::TrainedModel;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest accepted difference of test accuracies if results cannot be compared bit for bit.
pub const ACCURACY_TOLERANCE: f64 = 0.03;
/// Smallest accepted share of nodes with the same predicted class if results cannot be compared bit for bit.
pub const MIN_AGREEMENT: f64 = 0.95;

/// The files of a run that are compared byte by byte, and what they contain.
const FILES: [(&str, &str); 4] = [
    ("epochs", "epochs.jsonl"),
    ("filters", "filters.jsonl"),
    ("weights", "model.safetensors"),
    ("predictions", "predictions.csv"),
];

/// Finished runs of a folder and the jobs that train them again in a temporary folder, which is removed when
/// this is dropped.
pub struct RunVerifier {
    folder: PathBuf,
    stored: RunFolder,
    records: Vec<RunRecord>,
    comparison: VerificationMode,
    scratch: PathBuf,
    /// One job per run to verify; all must be trained before [`RunVerifier::compare`] is called.
    pub jobs: Vec<TrainingJob>,
}

/// How results are compared; the digests of the data and of the split must be equal in both modes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VerificationMode {
    /// Bit for bit.
    Exact,
    /// Test accuracies and predicted classes, within tolerances.
    Approximate {
        /// Why the bits cannot be compared.
        reason: String,
    },
}

/// The result of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// The run folder.
    pub folder: PathBuf,
    /// How results were compared.
    pub comparison: VerificationMode,
    /// The instruction set with which the runs were trained again.
    pub instructions: &'static str,
    /// Everything that was compared.
    pub checks: Vec<VerifiedItem>,
    /// Whether all items agree.
    pub reproduced: bool,
}

/// One compared item of a run.
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedItem {
    /// The seed of the run.
    pub seed: u64,
    /// What was compared: `data`, `split`, `epochs`, ...
    pub what: &'static str,
    /// The stored result as text, for example a number or the start of a SHA-256.
    pub stored: String,
    /// The result of training again, as text.
    pub again: String,
    /// Whether they agree.
    pub agrees: bool,
}

impl RunVerifier {
    /// Reads the finished run with this seed or, without `seed`, all finished runs.
    ///
    /// # Errors
    /// If the folder is not a run folder, has no such run, or contains an invalid record.
    pub fn new(folder: &Path, seed: Option<u64>) -> Result<Self> {
        let (stored, request) = RunFolder::open_existing(folder)?;
        let place = folder.display().to_string();
        let records = finished_records(&stored, &request, &place, seed)?;
        let receipt = stored.receipt()?;
        let version = |record: &RunRecord| match trained_model(&stored, &place, record.seed) {
            Ok(model) => Some(model.provenance().version.clone()),
            Err(_) => receipt.as_ref().map(|receipt| receipt.version.clone()),
        };
        let versions: Vec<String> = records.iter().filter_map(version).collect();
        let comparison = verification_mode(receipt.as_ref(), &records, &versions);
        let scratch = scratch_path();
        let job = |record: &RunRecord| TrainingJob {
            request: Request { seed: record.seed, runs: 1, ..request.clone() },
            folder: Some(scratch.join(record.seed.to_string())),
        };
        let jobs = records.iter().map(job).collect();
        Ok(Self { folder: folder.to_owned(), stored, records, comparison, scratch, jobs })
    }

    /// Compares the stored runs with those that the jobs have trained. A missing file of a stored run counts as a
    /// difference.
    ///
    /// # Errors
    /// If a job has not been trained, or a file is invalid.
    pub fn compare(&self) -> Result<Verification> {
        let mut checks = Vec::new();
        for (record, job) in self.records.iter().zip(&self.jobs) {
            let path = job.folder.as_deref().expect("every job has a folder");
            let again = RunFolder::open_existing(path)?.0;
            checks.extend(self.compare_run(record, &again, path)?);
        }
        Ok(Verification {
            folder: self.folder.clone(),
            comparison: self.comparison.clone(),
            instructions: instruction_set(),
            reproduced: checks.iter().all(|check| check.agrees),
            checks,
        })
    }

    /// Compares a stored run with one that was trained again.
    fn compare_run(
        &self,
        stored: &RunRecord,
        again: &RunFolder,
        path: &Path,
    ) -> Result<Vec<VerifiedItem>> {
        let seed = stored.seed;
        let unfinished = || Error::Unfinished { folder: path.to_owned() };
        let record = again.record(seed)?.ok_or_else(unfinished)?;
        let digests = |folder: &RunFolder| {
            folder.fingerprint().map(|found| found.map_or(String::new(), |f| f.data_sha256))
        };
        let mut items = vec![
            item(seed, "data", short(&digests(&self.stored)?), short(&digests(again)?)),
            item(seed, "split", short(&stored.split_sha256), short(&record.split_sha256)),
        ];
        match self.comparison {
            VerificationMode::Exact => {
                for (what, file) in FILES {
                    let [before, now] = [&self.stored, again].map(|folder| {
                        folder.read(seed, file).map_or("missing".into(), |bytes| digest(&bytes))
                    });
                    items.push(item(seed, what, before, now));
                }
                items.push(item(seed, "scores", scores(stored), scores(&record)));
            }
            VerificationMode::Approximate { .. } => {
                items.push(self.compare_classes(seed, again, path)?);
                items.push(compare_accuracies(seed, stored.test_accuracy, record.test_accuracy));
            }
        }
        Ok(items)
    }

    /// Compares the most likely class of every node.
    fn compare_classes(&self, seed: u64, again: &RunFolder, path: &Path) -> Result<VerifiedItem> {
        let place = path.display().to_string();
        let model = TrainedModel::from_bytes(&place, &again.read(seed, "model.safetensors")?)?;
        let n_classes = model.class_names().len();
        let [before, now] = [&self.stored, again].map(|folder| {
            let csv = folder.read(seed, "predictions.csv").unwrap_or_default();
            predicted_classes(&String::from_utf8_lossy(&csv), n_classes)
        });
        let same = before.iter().zip(&now).filter(|(before, now)| before == now).count();
        let share = same as f64 / now.len().max(1) as f64;
        Ok(VerifiedItem {
            seed,
            what: "predictions",
            stored: format!("{} nodes", before.len()),
            again: format!("{:.2}% of {} nodes in the same class", 100.0 * share, now.len()),
            agrees: before.len() == now.len() && share >= MIN_AGREEMENT,
        })
    }
}

impl Drop for RunVerifier {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// How the results of this process must be compared with stored runs that were trained by these versions. The
/// receipt names the instructions of records that do not.
fn verification_mode(
    receipt: Option<&RunReceipt>,
    records: &[RunRecord],
    versions: &[String],
) -> VerificationMode {
    let version = env!("CARGO_PKG_VERSION");
    let recorded = |record: &RunRecord| match (record.instructions.as_str(), receipt) {
        ("", Some(receipt)) => receipt.provenance.instructions.clone(),
        ("", None) => "unknown instructions".into(),
        (instructions, _) => instructions.to_owned(),
    };
    let other = records.iter().map(recorded);
    let mut other = other.filter(|before| bit_class(before) != bit_class(instruction_set()));
    let reason = match (versions.iter().find(|before| **before != version), other.next()) {
        (Some(before), _) => format!("trained by version {before}, now {version}"),
        (None, Some(before)) => format!("trained with {before}, now {}", instruction_set()),
        (None, None) => return VerificationMode::Exact,
    };
    VerificationMode::Approximate { reason }
}

/// A path for a temporary folder that no other verification uses.
fn scratch_path() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("clenshaw-verify-{}-{number}", std::process::id()))
}

/// A compared item, which agrees if both texts are equal.
fn item(seed: u64, what: &'static str, stored: String, again: String) -> VerifiedItem {
    let agrees = stored == again;
    VerifiedItem { seed, what, stored, again, agrees }
}

/// Compares test accuracies; both are NaN without test nodes.
fn compare_accuracies(seed: u64, stored: f64, again: f64) -> VerifiedItem {
    let agrees = stored.is_nan() && again.is_nan() || (stored - again).abs() <= ACCURACY_TOLERANCE;
    let [stored, again] = [stored, again].map(|accuracy| format!("{accuracy:.4}"));
    VerifiedItem { seed, what: "test accuracy", stored, again, agrees }
}

/// The start of a digest.
fn short(digest: &str) -> String {
    digest.chars().take(16).collect()
}

/// The start of the SHA-256 of these bytes.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The test accuracy and a digest of the fields in [`SCORES`].
fn scores(record: &RunRecord) -> String {
    let accuracy = record.test_accuracy;
    let mut scores = serde_json::to_value(record).expect("text and numbers only");
    let all = scores.as_object_mut().expect("a record is an object");
    all.retain(|key, _| SCORES.contains(&key.as_str()));
    format!("{accuracy:.4} {}", &digest(scores.to_string().as_bytes())[..8])
}

/// The fields of a record that training again must reproduce: all except the seed, the split, the time, the
/// memory and the instructions.
const SCORES: [&str; 11] = [
    "epochs",
    "best_epoch",
    "val_loss",
    "val_accuracy",
    "test_accuracy",
    "macro_f1",
    "balanced_accuracy",
    "majority_share",
    "roc_auc",
    "filter",
    "energy",
];

/// The most likely class of each node, as an index counted from the last class. A line ends with one
/// probability per class and the part of the split, which contain no commas.
fn predicted_classes(csv: &str, n_classes: usize) -> Vec<usize> {
    let class = |line: &str| {
        let fields = line.rsplit(',').skip(1).take(n_classes);
        let probabilities: Vec<f64> = fields.map(|field| field.parse().unwrap_or(-1.0)).collect();
        let largest = |best: usize, i: usize| match probabilities[i] > probabilities[best] {
            true => i,
            false => best,
        };
        (0..probabilities.len()).reduce(largest).unwrap_or(0)
    };
    csv.lines().skip(1).map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_from_the_probabilities() {
        let csv = "node,prediction,a,\"b,c\",part\nx,a,0.7,0.3,test\n\"y,z\",\"b,c\",0.2,0.8,\n";
        // Counted from the last class.
        assert_eq!(predicted_classes(csv, 2), [1, 0]);
        assert_eq!(predicted_classes("", 2), [0; 0]);
    }

    #[test]
    fn runs_of_another_version_are_compared_approximately() {
        let mode = |versions: &[&str]| {
            let versions: Vec<String> = versions.iter().map(|&version| version.into()).collect();
            verification_mode(None, &[], &versions)
        };
        let now = env!("CARGO_PKG_VERSION");
        assert_eq!(mode(&[now]), VerificationMode::Exact);
        let reason = format!("trained by version 0.0.0, now {now}");
        assert_eq!(mode(&[now, "0.0.0"]), VerificationMode::Approximate { reason });
    }

    #[test]
    fn accuracies_agree_within_the_tolerance() {
        assert!(compare_accuracies(0, 0.80, 0.82).agrees);
        assert!(!compare_accuracies(0, 0.80, 0.84).agrees);
        assert!(compare_accuracies(0, f64::NAN, f64::NAN).agrees);
        assert!(!compare_accuracies(0, f64::NAN, 0.8).agrees);
    }
}
