//! The table of training steps.

use super::super::comparison::{Measurement, Timing};
use super::super::implementation::{CLENSHAW, Gradients, OTHERS};
use super::super::statistics::{MedianRange, geometric_mean};
use super::super::table::{ratio_cells, table, time_cells};
use serde_json::{Value, json};

const HEADER: [&str; 10] = [
    "model",
    "graph",
    "data",
    "implementation",
    "ms",
    "from..to",
    "ratio",
    "from..to",
    "peak MB",
    "at start",
];

/// The meaning of the mark, see `pick`.
const PICK: &str =
    "* what a user would pick: the fastest implementation with gradients from autograd";

/// The table, implementations that were not timed, and mean ratios.
pub fn text(measurements: &[Measurement]) -> String {
    let mut lines = vec![HEADER.map(String::from).to_vec()];
    lines.extend(measurements.iter().flat_map(rows));
    let is_marked = measurements.iter().any(|measurement| pick(measurement).is_some());
    let legend = is_marked.then(|| PICK.to_owned());
    let notes = measurements.iter().flat_map(|measurement| measurement.notes.iter().cloned());
    let after = legend.into_iter().chain(notes).chain(mean_ratios(measurements));
    table(4, &lines) + "\n" + &after.map(|line| line + "\n").collect::<String>()
}

/// One row per implementation.
pub fn rows(measurement: &Measurement) -> Vec<Vec<String>> {
    measurement.results.iter().map(|result| row(measurement, result)).collect()
}

fn row(measurement: &Measurement, result: &Timing) -> Vec<String> {
    let name = result.implementation.name;
    let is_pick = pick(measurement).is_some_and(|pick| pick.implementation.name == name);
    let megabytes =
        |bytes: Option<f64>| bytes.map_or("-".into(), |bytes| format!("{:.0}", bytes / 1e6));
    let [ms, ms_range] = time_cells(&result.seconds, 1e-3);
    let [ratio, ratio_range] = match name == CLENSHAW.name {
        true => [String::new(), String::new()],
        false => ratio_cells(&result.seconds, our_seconds(measurement)),
    };
    vec![
        measurement.model.into(),
        measurement.graph.into(),
        measurement.source.clone(),
        if is_pick { format!("{name} *") } else { name.into() },
        ms,
        ms_range,
        ratio,
        ratio_range,
        megabytes(result.memory.peak),
        megabytes(result.memory.start),
    ]
}

/// The fastest implementation with gradients from autograd, if several were timed.
fn pick(measurement: &Measurement) -> Option<&Timing> {
    let is_candidate = |timing: &&Timing| timing.implementation.gradients == Gradients::Autograd;
    let candidates = measurement.results.iter().filter(is_candidate);
    let median = |timing: &&Timing| MedianRange::of(&timing.seconds).median;
    let fastest = candidates.clone().min_by(|one, other| median(one).total_cmp(&median(other)));
    fastest.filter(|_| candidates.count() > 1)
}

/// The times of clenshaw.
fn our_seconds(measurement: &Measurement) -> &[f64] {
    let is_ours = |result: &&Timing| result.implementation.name == CLENSHAW.name;
    measurement.results.iter().find(is_ours).map_or(&[], |timing| &timing.seconds)
}

/// The geometric mean of the ratios of each other implementation and of the picks, without large graphs.
pub fn mean_ratios(measurements: &[Measurement]) -> Vec<String> {
    let mean = |find: &dyn Fn(&Measurement) -> Option<f64>| {
        let small = measurements.iter().filter(|measurement| !measurement.is_large());
        geometric_mean(&small.filter_map(find).collect::<Vec<f64>>())
    };
    let ratio = |theirs: &Timing, measurement: &Measurement| {
        MedianRange::ratio(&theirs.seconds, our_seconds(measurement)).median
    };
    let line = |name: &str, mean: f64| format!("{name}: geometric mean of the ratios {mean:.2}");
    let each = OTHERS.iter().filter_map(|other| {
        let mean = mean(&|measurement| {
            let mut results = measurement.results.iter();
            let theirs = results.find(|result| result.implementation.name == other.name)?;
            Some(ratio(theirs, measurement))
        })?;
        Some(line(other.name, mean))
    });
    let picks = mean(&|measurement| Some(ratio(pick(measurement)?, measurement)));
    each.chain(picks.map(|mean| line("what a user would pick", mean))).collect()
}

/// The measurement as JSON.
pub fn json(measurement: &Measurement) -> Value {
    let result = |result: &Timing| {
        json!({
            "implementation": result.implementation.name,
            "seconds": result.seconds,
            "peak_bytes": result.memory.peak,
            "start_bytes": result.memory.start,
        })
    };
    json!({
        "model": measurement.model,
        "graph": measurement.graph,
        "data": measurement.source,
        "results": measurement.results.iter().map(result).collect::<Vec<_>>(),
        "pick": pick(measurement).map(|pick| pick.implementation.name),
        "notes": measurement.notes,
    })
}

#[cfg(test)]
pub mod tests {
    use super::super::super::implementation::{
        Implementation, TORCH_AUTOGRAD, TORCH_CSR, TORCH_TRANSPOSES,
    };
    use super::super::super::process::Memory;
    use super::*;

    fn timing(implementation: &'static Implementation, seconds: [f64; 3], peak: f64) -> Timing {
        let memory = Memory { peak: Some(1e6 * peak), start: Some(3e6) };
        Timing { implementation, seconds: seconds.to_vec(), memory }
    }

    pub fn measurement() -> Measurement {
        Measurement {
            graph: "cora",
            model: "clenshaw-gcn",
            source: "real".into(),
            results: vec![
                timing(&CLENSHAW, [0.002, 0.001, 0.004], 20.0),
                timing(&TORCH_CSR, [0.02, 0.015, 0.02], 752.6),
                timing(&TORCH_AUTOGRAD, [0.2, 0.1, 0.4], 800.0),
                timing(&TORCH_TRANSPOSES, [0.04, 0.02, 0.08], 800.0),
            ],
            notes: vec!["DGL: no".into()],
        }
    }

    #[test]
    fn table_has_medians_ratios_ranges_and_the_pick() {
        let expected = "\
model         graph  data  implementation          ms    from..to  ratio    from..to  peak MB  at start
clenshaw-gcn  cora   real  clenshaw              2.00  1.00..4.00                          20         3
clenshaw-gcn  cora   real  PyTorch CSR           20.0  15.0..20.0   10.0  5.00..15.0      753         3
clenshaw-gcn  cora   real  PyTorch autograd       200    100..400    100    100..100      800         3
clenshaw-gcn  cora   real  PyTorch transposes *  40.0  20.0..80.0   20.0  20.0..20.0      800         3

* what a user would pick: the fastest implementation with gradients from autograd
DGL: no
PyTorch CSR: geometric mean of the ratios 10.00
PyTorch autograd: geometric mean of the ratios 100.00
PyTorch transposes: geometric mean of the ratios 20.00
what a user would pick: geometric mean of the ratios 20.00
";
        assert_eq!(text(&[measurement()]), expected);
    }

    #[test]
    fn means_do_not_include_large_graphs() {
        let large = Measurement { graph: "twitch-gamers-sbm", ..measurement() };
        assert!(mean_ratios(&[large]).is_empty());
    }

    #[test]
    fn pick_needs_an_alternative() {
        let mut one = measurement();
        one.results.truncate(3);
        assert!(pick(&one).is_none());
        assert_eq!(json(&measurement())["pick"], "PyTorch transposes");
    }
}
