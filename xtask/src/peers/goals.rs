//! Goals for speed and memory, and whether they are met.

use super::comparison::{CLENSHAW, MESSAGE_PASSING, Measurement, PYG_LAYER, TORCH_CSR, Timing};
use super::statistics::{MedianRange, geometric_mean};

/// The smallest ratio of times that meets the goal, on each graph and in the geometric mean.
struct SpeedGoal {
    over: &'static str,
    each: f64,
    mean: Option<f64>,
}

const SPEED_GOALS: [SpeedGoal; 3] = [
    SpeedGoal { over: TORCH_CSR, each: 3.5, mean: Some(5.0) },
    SpeedGoal { over: MESSAGE_PASSING, each: 12.0, mean: Some(30.0) },
    SpeedGoal { over: PYG_LAYER, each: 5.0, mean: None },
];

/// The largest share of the peak memory of any other implementation.
const MAX_MEMORY: f64 = 0.2;

/// One line per goal that was measured.
pub fn goal_lines(measurements: &[Measurement]) -> Vec<String> {
    let speeds =
        SPEED_GOALS.iter().flat_map(|speed| speed.goal_lines(&ratios_of(measurements, speed.over)));
    speeds.chain(memory(measurements)).collect()
}

impl SpeedGoal {
    fn goal_lines(&self, ratios: &[(String, f64)]) -> Vec<String> {
        let each = format!("{} times {} on each", self.each, self.over);
        let mut lines = vec![goal_line(&each, ratios, |ratio| ratio >= self.each)];
        let numbers: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
        if let (Some(goal), Some(mean)) = (self.mean, geometric_mean(&numbers)) {
            let result = if mean >= goal { "met" } else { "missed" };
            lines.push(Some(format!(
                "{goal} times {} in the geometric mean: {result}, {mean:.2}",
                self.over
            )));
        }
        lines.into_iter().flatten().collect()
    }
}

/// How many times as long an implementation took, by comparison.
fn ratios_of(measurements: &[Measurement], name: &str) -> Vec<(String, f64)> {
    let of = |measurement: &Measurement| {
        let (ours, theirs) = (find(measurement, CLENSHAW)?, find(measurement, name)?);
        let ratio = MedianRange::ratio(&theirs.seconds, &ours.seconds).median;
        Some((format!("{} {}", measurement.model, measurement.graph), ratio))
    };
    measurements.iter().filter_map(of).collect()
}

fn find<'a>(measurement: &'a Measurement, name: &str) -> Option<&'a Timing> {
    measurement.results.iter().find(|result| result.name == name)
}

fn memory(measurements: &[Measurement]) -> Option<String> {
    let shares = |measurement: &Measurement| {
        let ours = find(measurement, CLENSHAW).and_then(|ours| ours.memory.peak);
        let share = |theirs: &Timing| {
            let name = format!("{} {} {}", measurement.model, measurement.graph, theirs.name);
            Some((name, ours? / theirs.memory.peak?))
        };
        let theirs = measurement.results.iter().filter(|result| result.name != CLENSHAW);
        theirs.filter_map(share).collect::<Vec<_>>()
    };
    let shares: Vec<(String, f64)> = measurements.iter().flat_map(shares).collect();
    goal_line("a fifth of the memory of each", &shares, |share| share <= MAX_MEMORY)
}

/// Lists the comparisons that miss a goal; `None` if nothing was measured.
fn goal_line(goal: &str, numbers: &[(String, f64)], meets: impl Fn(f64) -> bool) -> Option<String> {
    let missed = numbers.iter().filter(|(_, number)| !meets(*number));
    let missed: Vec<String> = missed.map(|(name, number)| format!("{name} {number:.2}")).collect();
    let result = match missed.is_empty() {
        true => "met".to_owned(),
        false => format!("missed by {}", missed.join(", ")),
    };
    (!numbers.is_empty()).then(|| format!("{goal}: {result}"))
}

#[cfg(test)]
mod tests {
    use super::super::process::Memory;
    use super::*;

    fn measurement(graph: &'static str, results: &[(&'static str, f64, f64)]) -> Measurement {
        let result = |&(name, seconds, megabytes): &(&'static str, f64, f64)| {
            let memory = Memory { peak: Some(1e6 * megabytes), start: None };
            Timing { name, seconds: vec![seconds], memory }
        };
        let results = results.iter().map(result).collect();
        Measurement { graph, model: "m", source: "real".into(), results, notes: vec![] }
    }

    #[test]
    fn lists_missed_goals_with_their_ratios() {
        let measurements = [
            measurement("cora", &[(CLENSHAW, 0.01, 20.0), (TORCH_CSR, 0.04, 800.0)]),
            measurement("actor", &[(CLENSHAW, 0.02, 90.0), (TORCH_CSR, 0.04, 300.0)]),
        ];
        let expected = [
            "3.5 times PyTorch CSR on each: missed by m actor 2.00",
            "5 times PyTorch CSR in the geometric mean: missed, 2.83",
            "a fifth of the memory of each: missed by m actor PyTorch CSR 0.30",
        ];
        assert_eq!(goal_lines(&measurements), expected);
    }

    #[test]
    fn leaves_out_goals_that_were_not_measured() {
        assert!(goal_lines(&[measurement("cora", &[(CLENSHAW, 0.01, 20.0)])]).is_empty());
        let measurements =
            [measurement("cora", &[(CLENSHAW, 0.01, 20.0), (PYG_LAYER, 0.05, 800.0)])];
        let expected = ["5 times PyG layer on each: met", "a fifth of the memory of each: met"];
        assert_eq!(goal_lines(&measurements), expected);
    }
}
