//! The table of results, and the files it is written to.

use super::PeerOptions;
use super::comparison::{CLENSHAW, Measurement, OTHERS, Timing};
use super::environment::Environments;
use super::statistics::{MedianRange, geometric_mean};
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
    measurements: Vec<Measurement>,
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
            measurements: vec![],
        }
    }

    /// Adds a measurement and prints it.
    pub fn add(&mut self, measurement: Measurement) {
        rows(&measurement).iter().for_each(|row| eprintln!("   {}", row.join("  ")));
        self.measurements.push(measurement);
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut text = format!("$ {}\n{}\n", self.command, self.versions.join("; "));
        text += &format!(
            "{} threads, {} rounds; a training step in ms, and its ratio to clenshaw\n\n",
            self.threads, self.rounds
        );
        let header =
            ["model", "graph", "data", "implementation", "ms", "from..to", "ratio", "from..to"];
        let header = header.iter().chain(&["peak MB", "at start"]).map(|name| (*name).to_owned());
        let mut lines = vec![header.collect()];
        lines.extend(self.measurements.iter().flat_map(rows));
        text += &table(&lines);
        text.push('\n');
        let notes =
            self.measurements.iter().flat_map(|measurement| measurement.notes.iter().cloned());
        for line in notes.chain(self.mean_ratios()) {
            text += &line;
            text.push('\n');
        }
        text
    }

    /// The geometric mean of the ratios of each other implementation.
    fn mean_ratios(&self) -> Vec<String> {
        let line = |name: &&str| {
            let timings = self.measurements.iter().filter_map(|measurement| {
                let theirs = measurement.results.iter().find(|result| result.name == *name)?;
                Some(MedianRange::ratio(&theirs.seconds, baseline(measurement)).median)
            });
            let mean = geometric_mean(&timings.collect::<Vec<f64>>())?;
            Some(format!("{name}: geometric mean of the ratios {mean:.2}"))
        };
        OTHERS.iter().filter_map(line).collect()
    }

    /// Writes `peers.txt` and `peers.json`.
    pub fn write(&self, folder: &Path) -> Result {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("peers.txt"), self.text())?;
        let document = serde_json::to_string_pretty(&self.json())? + "\n";
        Ok(std::fs::write(folder.join("peers.json"), document)?)
    }

    fn json(&self) -> Value {
        let result = |result: &Timing| {
            json!({
                "implementation": result.name,
                "seconds": result.seconds,
                "peak_bytes": result.memory.peak,
                "start_bytes": result.memory.start,
            })
        };
        let measurement = |measurement: &Measurement| {
            json!({
                "model": measurement.model,
                "graph": measurement.graph,
                "data": measurement.source,
                "results": measurement.results.iter().map(result).collect::<Vec<_>>(),
                "notes": measurement.notes,
            })
        };
        json!({
            "command": self.command,
            "versions": self.versions,
            "threads": self.threads,
            "rounds": self.rounds,
            "comparisons": self.measurements.iter().map(measurement).collect::<Vec<_>>(),
            "mean_ratios": self.mean_ratios(),
        })
    }
}

/// One row per implementation.
fn rows(measurement: &Measurement) -> Vec<Vec<String>> {
    let baseline = baseline(measurement);
    measurement.results.iter().map(|result| row(measurement, result, baseline)).collect()
}

/// The times of clenshaw.
fn baseline(measurement: &Measurement) -> &[f64] {
    let found = measurement.results.iter().find(|result| result.name == CLENSHAW);
    found.map_or(&[], |timing| &timing.seconds)
}

fn row(measurement: &Measurement, result: &Timing, baseline: &[f64]) -> Vec<String> {
    let ms = MedianRange::of(&result.seconds);
    let ratio = MedianRange::ratio(&result.seconds, baseline);
    let ends = |range: MedianRange, unit: f64| {
        format!("{}..{}", three_digits(unit * range.min), three_digits(unit * range.max))
    };
    let megabytes =
        |bytes: Option<f64>| bytes.map_or("-".into(), |bytes| format!("{:.0}", bytes / 1e6));
    let ratio = match result.name {
        CLENSHAW => [String::new(), String::new()],
        _ => [three_digits(ratio.median), ends(ratio, 1.0)],
    };
    let [ratio, ratio_range] = ratio;
    vec![
        measurement.model.into(),
        measurement.graph.into(),
        measurement.source.clone(),
        result.name.into(),
        three_digits(1e3 * ms.median),
        ends(ms, 1e3),
        ratio,
        ratio_range,
        megabytes(result.memory.peak),
        megabytes(result.memory.start),
    ]
}

/// Formats with three significant digits, but at most two decimals.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Aligns columns: names to the left, numbers to the right.
fn table(lines: &[Vec<String>]) -> String {
    const NAMES: usize = 4;
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(c, text): (usize, &String)| match c < NAMES {
        true => format!("{text:<0$}", widths[c]),
        false => format!("{text:>0$}", widths[c]),
    };
    let line = |line: &Vec<String>| {
        let cells: Vec<String> = line.iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
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
    use super::super::comparison::TORCH_CSR;
    use super::super::process::Memory;
    use super::*;

    fn report() -> Report {
        let memory = |megabytes: f64| Memory { peak: Some(1e6 * megabytes), start: Some(3e6) };
        let ours =
            Timing { name: CLENSHAW, seconds: vec![0.002, 0.001, 0.004], memory: memory(20.0) };
        let theirs =
            Timing { name: TORCH_CSR, seconds: vec![0.02, 0.015, 0.02], memory: memory(752.6) };
        let measurement = Measurement {
            graph: "cora",
            model: "clenshaw-gcn",
            source: "real".into(),
            results: vec![ours, theirs],
            notes: vec!["DGL: no".into()],
        };
        Report {
            command: "cargo xtask bench-peers".into(),
            versions: vec!["PyTorch 2".into(), "no DGL: why".into()],
            threads: 2,
            rounds: 3,
            measurements: vec![measurement],
        }
    }

    #[test]
    fn table_has_medians_ratios_and_ranges() {
        let expected = "\
$ cargo xtask bench-peers
PyTorch 2; no DGL: why
2 threads, 3 rounds; a training step in ms, and its ratio to clenshaw

model         graph  data  implementation    ms    from..to  ratio    from..to  peak MB  at start
clenshaw-gcn  cora   real  clenshaw        2.00  1.00..4.00                          20         3
clenshaw-gcn  cora   real  PyTorch CSR     20.0  15.0..20.0   10.0  5.00..15.0      753         3

DGL: no
PyTorch CSR: geometric mean of the ratios 10.00
";
        assert_eq!(report().text(), expected);
    }

    #[test]
    fn json_has_every_round() {
        let document = report().json();
        assert_eq!(document["comparisons"][0]["results"][1]["seconds"], json!([0.02, 0.015, 0.02]));
        assert_eq!(document["comparisons"][0]["results"][0]["peak_bytes"], 2e7);
    }

    #[test]
    fn shortens_processor_names() {
        assert_eq!(short_name("Intel(R) Xeon(R) Processor @ 2.30GHz"), "intel-xeon");
        assert_eq!(short_name("AMD EPYC 7B13"), "amd-epyc-7b13");
        assert_eq!(short_name("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz"), "intel-core-i7-8550u");
    }
}
