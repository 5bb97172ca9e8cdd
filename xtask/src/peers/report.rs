//! The table, and the files it is kept in.

use super::Options;
use super::bout::{Fight, OURS, Showing};
use super::environment::Environments;
use super::goals::verdicts;
use super::numbers::Spread;
use crate::Outcome;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Everything a run told.
pub struct Report {
    command: String,
    versions: Vec<String>,
    threads: usize,
    rounds: usize,
    fights: Vec<Fight>,
}

impl Report {
    pub fn new(options: &Options, environments: &Environments) -> Self {
        let dgl = match &environments.dgl {
            Ok(dgl) => dgl.versions.clone(),
            Err(why) => format!("no DGL: {why}"),
        };
        let command = format!("cargo xtask bench-peers {}", options.words).trim().to_owned();
        let versions = vec![environments.torch.versions.clone(), dgl];
        Self { command, versions, threads: options.threads, rounds: options.rounds, fights: vec![] }
    }

    /// Takes a bout's results, and tells them right away.
    pub fn add(&mut self, fight: Fight) {
        rows(&fight).iter().for_each(|row| eprintln!("   {}", row.join("  ")));
        self.fights.push(fight);
    }

    /// What a person reads.
    pub fn text(&self) -> String {
        let mut text = format!("$ {}\n{}\n", self.command, self.versions.join("; "));
        text += &format!(
            "{} threads, {} rounds; a training step in ms, and how many times as long as ours\n\n",
            self.threads, self.rounds
        );
        let header = ["model", "graph", "data", "contender", "ms", "from..to", "ratio", "from..to"];
        let header = header.iter().chain(&["peak MB", "at start"]).map(|word| (*word).to_owned());
        let mut lines = vec![header.collect()];
        lines.extend(self.fights.iter().flat_map(rows));
        text += &table(&lines);
        text.push('\n');
        let notes = self.fights.iter().flat_map(|fight| fight.notes.iter().cloned());
        for line in notes.chain(verdicts(&self.fights)) {
            text += &line;
            text.push('\n');
        }
        text
    }

    /// Writes `peers.txt` and `peers.json`.
    pub fn write(&self, folder: &Path) -> Outcome {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("peers.txt"), self.text())?;
        let document = serde_json::to_string_pretty(&self.json())? + "\n";
        Ok(std::fs::write(folder.join("peers.json"), document)?)
    }

    fn json(&self) -> Value {
        let result = |result: &Showing| {
            json!({
                "contender": result.name,
                "seconds": result.seconds,
                "peak_bytes": result.memory.peak,
                "start_bytes": result.memory.start,
            })
        };
        let fight = |fight: &Fight| {
            json!({
                "model": fight.model,
                "graph": fight.graph,
                "data": fight.source,
                "results": fight.results.iter().map(result).collect::<Vec<_>>(),
                "notes": fight.notes,
            })
        };
        json!({
            "command": self.command,
            "versions": self.versions,
            "threads": self.threads,
            "rounds": self.rounds,
            "bouts": self.fights.iter().map(fight).collect::<Vec<_>>(),
            "goals": verdicts(&self.fights),
        })
    }
}

/// A line a contender.
fn rows(fight: &Fight) -> Vec<Vec<String>> {
    let ours = fight.results.iter().find(|result| result.name == OURS);
    let ours = ours.map_or(&[][..], |ours| &ours.seconds);
    fight.results.iter().map(|result| row(fight, result, ours)).collect()
}

fn row(fight: &Fight, result: &Showing, ours: &[f64]) -> Vec<String> {
    let ms = Spread::of(&result.seconds);
    let ratio = Spread::ratio(&result.seconds, ours);
    let ends = |spread: Spread, unit: f64| {
        format!("{}..{}", three(unit * spread.least), three(unit * spread.most))
    };
    let megabytes =
        |bytes: Option<f64>| bytes.map_or("-".into(), |bytes| format!("{:.0}", bytes / 1e6));
    let ratio = match result.name {
        OURS => [String::new(), String::new()],
        _ => [three(ratio.median), ends(ratio, 1.0)],
    };
    let [times, spread] = ratio;
    vec![
        fight.model.into(),
        fight.graph.into(),
        fight.source.clone(),
        result.name.into(),
        three(1e3 * ms.median),
        ends(ms, 1e3),
        times,
        spread,
        megabytes(result.memory.peak),
        megabytes(result.memory.start),
    ]
}

/// Three digits that mean something.
fn three(value: f64) -> String {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Columns as wide as their widest word: names to the left, numbers to the right.
fn table(lines: &[Vec<String>]) -> String {
    const NAMES: usize = 4;
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(c, word): (usize, &String)| match c < NAMES {
        true => format!("{word:<0$}", widths[c]),
        false => format!("{word:>0$}", widths[c]),
    };
    let line = |line: &Vec<String>| {
        let cells: Vec<String> = line.iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

/// `<date>-<processor>-<n>-cores`.
pub fn folder_name() -> Outcome<String> {
    let date = Command::new("date").arg("+%F").output().map_err(|e| format!("date: {e}"))?;
    let date = String::from_utf8(date.stdout)?;
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("model name"));
    let name =
        line.map_or(std::env::consts::ARCH, |line| line.trim_start_matches(['\t', ' ', ':']));
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{}-{}-{cores}-cores", date.trim(), short(name)))
}

/// `intel-xeon` of `Intel(R) Xeon(R) Processor @ 2.30GHz`.
fn short(processor: &str) -> String {
    let name = processor.split('@').next().unwrap_or(processor).to_lowercase();
    let name = name.replace("(r)", " ").replace("(tm)", " ");
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !["", "cpu", "processor"].contains(word));
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::super::bout::CSR;
    use super::super::contender::Memory;
    use super::*;

    fn report() -> Report {
        let memory = |megabytes: f64| Memory { peak: Some(1e6 * megabytes), start: Some(3e6) };
        let ours = Showing { name: OURS, seconds: vec![0.002, 0.001, 0.004], memory: memory(20.0) };
        let theirs = Showing { name: CSR, seconds: vec![0.02, 0.015, 0.02], memory: memory(752.6) };
        let fight = Fight {
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
            fights: vec![fight],
        }
    }

    #[test]
    fn the_table_has_medians_ratios_and_their_spread() {
        let expected = "\
$ cargo xtask bench-peers
PyTorch 2; no DGL: why
2 threads, 3 rounds; a training step in ms, and how many times as long as ours

model         graph  data  contender      ms    from..to  ratio    from..to  peak MB  at start
clenshaw-gcn  cora   real  clenshaw     2.00  1.00..4.00                          20         3
clenshaw-gcn  cora   real  PyTorch CSR  20.0  15.0..20.0   10.0  5.00..15.0      753         3

DGL: no
3.5 times PyTorch CSR on each: met
5 times PyTorch CSR in the geometric mean: met, 10.00
a fifth of the memory of each: met
";
        assert_eq!(report().text(), expected);
    }

    #[test]
    fn the_document_keeps_every_round() {
        let document = report().json();
        assert_eq!(document["bouts"][0]["results"][1]["seconds"], json!([0.02, 0.015, 0.02]));
        assert_eq!(document["bouts"][0]["results"][0]["peak_bytes"], 2e7);
    }

    #[test]
    fn processors_have_short_names() {
        assert_eq!(short("Intel(R) Xeon(R) Processor @ 2.30GHz"), "intel-xeon");
        assert_eq!(short("AMD EPYC 7B13"), "amd-epyc-7b13");
        assert_eq!(short("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz"), "intel-core-i7-8550u");
    }
}
