//! The table of whole trainings.

use super::super::implementation::{CLENSHAW, Gradients};
use super::super::statistics::{MedianRange, geometric_mean};
use super::super::table::{ratio_cells, table, time_cells};
use super::super::training::{GraphInput, TrainingMeasurement, TrainingTiming};
use serde_json::{Value, json};

const HEADER: [&str; 10] = [
    "graph",
    "input",
    "implementation",
    "s",
    "from..to",
    "ratio",
    "from..to",
    "s after imports",
    "ratio",
    "test accuracy",
];

/// The meaning of the mark, see `pick`.
const PICK: &str =
    "* what a user would pick: the fastest with the public files and gradients from autograd";

/// The table, implementations that were not timed, and mean ratios.
pub fn text(measurements: &[TrainingMeasurement]) -> String {
    let mut lines = vec![HEADER.map(String::from).to_vec()];
    lines.extend(measurements.iter().flat_map(rows));
    let is_marked = measurements.iter().any(|measurement| pick(measurement).is_some());
    let legend = is_marked.then(|| PICK.to_owned());
    let notes = measurements.iter().flat_map(|measurement| measurement.notes.iter().cloned());
    let after = legend.into_iter().chain(notes).chain(mean_ratios(measurements));
    table(3, &lines) + "\n" + &after.map(|line| line + "\n").collect::<String>()
}

/// One row per implementation and input.
pub fn rows(measurement: &TrainingMeasurement) -> Vec<Vec<String>> {
    measurement.results.iter().map(|result| row(measurement, result)).collect()
}

fn row(measurement: &TrainingMeasurement, result: &TrainingTiming) -> Vec<String> {
    let name = result.implementation.name;
    let is_pick = pick(measurement).is_some_and(|pick| std::ptr::eq(pick, result));
    let ours = our_seconds(measurement, result.input);
    let [seconds, range] = time_cells(&result.seconds, 1.0);
    let [after_imports, _] = time_cells(&result.seconds_after_imports, 1.0);
    let [ratio, ratio_range, ratio_after_imports] = match ours {
        Some(ours) if name != CLENSHAW.name => {
            let [ratio, range] = ratio_cells(&result.seconds, ours);
            let [after_imports, _] = ratio_cells(&result.seconds_after_imports, ours);
            [ratio, range, after_imports]
        }
        _ => [const { String::new() }; 3],
    };
    vec![
        measurement.graph.into(),
        result.input.name().into(),
        if is_pick { format!("{name} *") } else { name.into() },
        seconds,
        range,
        ratio,
        ratio_range,
        after_imports,
        ratio_after_imports,
        format!("{:.1}%", 100.0 * MedianRange::of(&result.scores).median),
    ]
}

/// The fastest training from the public files with gradients from autograd.
fn pick(measurement: &TrainingMeasurement) -> Option<&TrainingTiming> {
    let is_candidate = |timing: &&TrainingTiming| {
        timing.input == GraphInput::Files && timing.implementation.gradients == Gradients::Autograd
    };
    let median = |timing: &&TrainingTiming| MedianRange::of(&timing.seconds).median;
    let candidates = measurement.results.iter().filter(is_candidate);
    candidates.min_by(|one, other| median(one).total_cmp(&median(other)))
}

/// The times of clenshaw with an input.
fn our_seconds(measurement: &TrainingMeasurement, input: GraphInput) -> Option<&[f64]> {
    let is_ours = |result: &&TrainingTiming| {
        result.implementation.name == CLENSHAW.name && result.input == input
    };
    measurement.results.iter().find(is_ours).map(|timing| &timing.seconds[..])
}

/// The geometric means over the graphs, for each implementation and input, and for the picks.
pub fn mean_ratios(measurements: &[TrainingMeasurement]) -> Vec<String> {
    let mut rows: Vec<(&str, GraphInput)> = vec![];
    for result in measurements.iter().flat_map(|measurement| &measurement.results) {
        let row = (result.implementation.name, result.input);
        if row.0 != CLENSHAW.name && !rows.contains(&row) {
            rows.push(row);
        }
    }
    let each = rows.into_iter().filter_map(|(name, input)| {
        let is_row =
            |result: &&TrainingTiming| result.implementation.name == name && result.input == input;
        let find = |measurement| find_result(measurement, is_row);
        mean_line(&format!("{name}, {}", input.name()), measurements, find)
    });
    each.chain(mean_line("what a user would pick", measurements, pick)).collect()
}

fn find_result(
    measurement: &TrainingMeasurement,
    is_row: impl FnMut(&&TrainingTiming) -> bool,
) -> Option<&TrainingTiming> {
    measurement.results.iter().find(is_row)
}

/// The mean ratios with and without imports of the result that `find` returns for each graph.
fn mean_line<'a>(
    name: &str,
    measurements: &'a [TrainingMeasurement],
    find: impl Fn(&'a TrainingMeasurement) -> Option<&'a TrainingTiming>,
) -> Option<String> {
    let (mut whole, mut after_imports) = (vec![], vec![]);
    for measurement in measurements {
        let Some(theirs) = find(measurement) else { continue };
        let Some(ours) = our_seconds(measurement, theirs.input) else { continue };
        whole.push(MedianRange::ratio(&theirs.seconds, ours).median);
        after_imports.push(MedianRange::ratio(&theirs.seconds_after_imports, ours).median);
    }
    let (whole, after_imports) = (geometric_mean(&whole)?, geometric_mean(&after_imports)?);
    Some(format!(
        "{name}: geometric mean of the ratios {whole:.2}, after imports {after_imports:.2}"
    ))
}

/// The measurement as JSON.
pub fn json(measurement: &TrainingMeasurement) -> Value {
    let result = |result: &TrainingTiming| {
        json!({
            "implementation": result.implementation.name,
            "input": result.input.name(),
            "seconds": result.seconds,
            "seconds_after_imports": result.seconds_after_imports,
            "test_accuracy": result.scores,
        })
    };
    json!({
        "graph": measurement.graph,
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
    use super::*;

    fn timing(
        implementation: &'static Implementation,
        input: GraphInput,
        seconds: [f64; 2],
        imports: f64,
    ) -> TrainingTiming {
        TrainingTiming {
            implementation,
            input,
            seconds: seconds.to_vec(),
            seconds_after_imports: seconds.map(|seconds| seconds - imports).to_vec(),
            scores: vec![0.75, 0.77],
        }
    }

    pub fn measurement() -> TrainingMeasurement {
        let (files, cache) = (GraphInput::Files, GraphInput::Cache);
        TrainingMeasurement {
            graph: "cora",
            results: vec![
                timing(&CLENSHAW, files, [2.0, 2.0], 0.0),
                timing(&CLENSHAW, cache, [1.0, 1.0], 0.0),
                timing(&TORCH_CSR, files, [6.0, 8.0], 2.0),
                timing(&TORCH_CSR, cache, [5.0, 5.0], 2.0),
                timing(&TORCH_AUTOGRAD, files, [22.0, 22.0], 2.0),
                timing(&TORCH_TRANSPOSES, files, [10.0, 10.0], 2.0),
            ],
            notes: vec!["PyTorch compiled: no".into()],
        }
    }

    #[test]
    fn table_has_times_with_and_without_imports() {
        let expected = "\
graph  input  implementation           s    from..to  ratio    from..to  s after imports  ratio  test accuracy
cora   files  clenshaw              2.00  2.00..2.00                                2.00                 76.0%
cora   cache  clenshaw              1.00  1.00..1.00                                1.00                 76.0%
cora   files  PyTorch CSR           7.00  6.00..8.00   3.50  3.00..4.00             5.00   2.50          76.0%
cora   cache  PyTorch CSR           5.00  5.00..5.00   5.00  5.00..5.00             3.00   3.00          76.0%
cora   files  PyTorch autograd      22.0  22.0..22.0   11.0  11.0..11.0             20.0   10.0          76.0%
cora   files  PyTorch transposes *  10.0  10.0..10.0   5.00  5.00..5.00             8.00   4.00          76.0%

* what a user would pick: the fastest with the public files and gradients from autograd
PyTorch compiled: no
PyTorch CSR, files: geometric mean of the ratios 3.50, after imports 2.50
PyTorch CSR, cache: geometric mean of the ratios 5.00, after imports 3.00
PyTorch autograd, files: geometric mean of the ratios 11.00, after imports 10.00
PyTorch transposes, files: geometric mean of the ratios 5.00, after imports 4.00
what a user would pick: geometric mean of the ratios 5.00, after imports 4.00
";
        assert_eq!(text(&[measurement()]), expected);
    }

    #[test]
    fn graph_without_results_has_notes_only() {
        let none = TrainingMeasurement { results: vec![], ..measurement() };
        assert!(text(&[none]).ends_with("\n\nPyTorch compiled: no\n"));
    }
}
