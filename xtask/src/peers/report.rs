//! The tables of results, and the files they are written to.

mod step_table;
mod training_table;

use super::PeerOptions;
use super::comparison::Measurement;
use super::environment::Environments;
use super::training::{EPOCHS, TrainingMeasurement};
use crate::Result;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// All results of a run.
pub struct Report {
    command: String,
    versions: Vec<String>,
    threads: usize,
    rounds: usize,
    training_rounds: usize,
    steps: Vec<Measurement>,
    trainings: Vec<TrainingMeasurement>,
}

impl Report {
    pub fn new(options: &PeerOptions, environments: &Environments) -> Self {
        let dgl = match &environments.dgl {
            Ok(dgl) => dgl.versions.clone(),
            Err(why) => format!("no DGL: {why}"),
        };
        let command = format!("cargo xtask bench-peers {}", options.arguments).trim().to_owned();
        let versions = vec![environments.torch.versions.clone(), dgl];
        Self {
            command,
            versions,
            threads: options.threads,
            rounds: options.rounds,
            training_rounds: options.training_rounds,
            steps: vec![],
            trainings: vec![],
        }
    }

    /// Adds the steps of one comparison and prints them.
    pub fn add(&mut self, measurement: Measurement) {
        step_table::rows(&measurement).iter().for_each(|row| eprintln!("   {}", row.join("  ")));
        self.steps.push(measurement);
    }

    /// Adds the trainings on one graph and prints them.
    pub fn add_training(&mut self, measurement: TrainingMeasurement) {
        training_table::rows(&measurement)
            .iter()
            .for_each(|row| eprintln!("   {}", row.join("  ")));
        self.trainings.push(measurement);
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let versions = self.versions.join("; ");
        let mut text = format!("$ {}\n{versions}\n{} threads\n", self.command, self.threads);
        if !self.steps.is_empty() {
            text += &format!(
                "\n{} rounds; a training step in ms, and its ratio to clenshaw\n\n{}",
                self.rounds,
                step_table::text(&self.steps)
            );
        }
        if !self.trainings.is_empty() {
            text += &format!(
                "\n{} rounds; {EPOCHS} epochs with validation, from the start of the process to the \
                 test score, in s,\nand the ratio to clenshaw with the same input\n\n{}",
                self.training_rounds,
                training_table::text(&self.trainings)
            );
        }
        text
    }

    /// Writes `NAME.txt` and `NAME.json`.
    pub fn write(&self, folder: &Path, name: &str) -> Result {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(format!("{name}.txt")), self.text())?;
        let document = serde_json::to_string_pretty(&self.json())? + "\n";
        Ok(std::fs::write(folder.join(format!("{name}.json")), document)?)
    }

    fn json(&self) -> Value {
        json!({
            "command": self.command,
            "versions": self.versions,
            "threads": self.threads,
            "rounds": self.rounds,
            "comparisons": self.steps.iter().map(step_table::json).collect::<Vec<_>>(),
            "mean_ratios": step_table::mean_ratios(&self.steps),
            "epochs": EPOCHS,
            "training_rounds": self.training_rounds,
            "trainings": self.trainings.iter().map(training_table::json).collect::<Vec<_>>(),
            "training_mean_ratios": training_table::mean_ratios(&self.trainings),
        })
    }
}

/// The name of the folder for this day and machine: `<date>-<processor>-<n>-cores`.
pub fn folder_name() -> Result<String> {
    let date = Command::new("date").arg("+%F").output().map_err(|e| format!("date: {e}"))?;
    let date = String::from_utf8(date.stdout)?;
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("model name"));
    let name =
        line.map_or(std::env::consts::ARCH, |line| line.trim_start_matches(['\t', ' ', ':']));
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{}-{}-{cores}-cores", date.trim(), short_name(name)))
}

/// Shortens the name of a processor: `intel-xeon` for `Intel(R) Xeon(R) Processor @ 2.30GHz`.
fn short_name(processor: &str) -> String {
    let name = processor.split('@').next().unwrap_or(processor).to_lowercase();
    let name = name.replace("(r)", " ").replace("(tm)", " ");
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !["", "cpu", "processor"].contains(word));
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            command: "cargo xtask bench-peers".into(),
            versions: vec!["PyTorch 2".into(), "no DGL: why".into()],
            threads: 2,
            rounds: 3,
            training_rounds: 2,
            steps: vec![step_table::tests::measurement()],
            trainings: vec![training_table::tests::measurement()],
        }
    }

    #[test]
    fn text_has_both_tables() {
        let text = report().text();
        let start = "$ cargo xtask bench-peers\nPyTorch 2; no DGL: why\n2 threads\n\n3 rounds; a training step";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("\n2 rounds; 100 epochs with validation"), "{text}");
        let only_steps = Report { trainings: vec![], ..report() };
        assert!(!only_steps.text().contains("epochs"));
    }

    #[test]
    fn json_has_every_round() {
        let document = report().json();
        assert_eq!(document["comparisons"][0]["results"][1]["seconds"], json!([0.02, 0.015, 0.02]));
        assert_eq!(document["comparisons"][0]["results"][0]["peak_bytes"], 2e7);
        let training = &document["trainings"][0]["results"][2];
        assert_eq!(training["seconds"], json!([6.0, 8.0]));
        assert_eq!(training["seconds_after_imports"], json!([4.0, 6.0]));
    }

    #[test]
    fn shortens_processor_names() {
        assert_eq!(short_name("Intel(R) Xeon(R) Processor @ 2.30GHz"), "intel-xeon");
        assert_eq!(short_name("AMD EPYC 7B13"), "amd-epyc-7b13");
        assert_eq!(short_name("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz"), "intel-core-i7-8550u");
    }
}
