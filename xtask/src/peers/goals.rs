//! What we want to be, and whether we are.

use super::bout::{CSR, Fight, LAYER, OURS, PASSING, Showing};
use super::numbers::{Spread, geometric_mean};

/// At least so many times as fast as somebody, on each graph and in the geometric mean.
struct Speed {
    over: &'static str,
    each: f64,
    mean: Option<f64>,
}

const SPEEDS: [Speed; 3] = [
    Speed { over: CSR, each: 3.5, mean: Some(5.0) },
    Speed { over: PASSING, each: 12.0, mean: Some(30.0) },
    Speed { over: LAYER, each: 5.0, mean: None },
];

/// At most this share of the peak memory of anybody.
const MEMORY: f64 = 0.2;

/// A line a goal, for the goals that were measured.
pub fn verdicts(fights: &[Fight]) -> Vec<String> {
    let speeds = SPEEDS.iter().flat_map(|speed| speed.verdicts(&against(fights, speed.over)));
    speeds.chain(memory(fights)).collect()
}

impl Speed {
    fn verdicts(&self, ratios: &[(String, f64)]) -> Vec<String> {
        let each = format!("{} times {} on each", self.each, self.over);
        let mut lines = vec![verdict(&each, ratios, |ratio| ratio >= self.each)];
        let numbers: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
        if let (Some(goal), Some(mean)) = (self.mean, geometric_mean(&numbers)) {
            let said = if mean >= goal { "met" } else { "missed" };
            lines.push(Some(format!(
                "{goal} times {} in the geometric mean: {said}, {mean:.2}",
                self.over
            )));
        }
        lines.into_iter().flatten().collect()
    }
}

/// How many times as long somebody took, by bout.
fn against(fights: &[Fight], name: &str) -> Vec<(String, f64)> {
    let of = |fight: &Fight| {
        let (ours, theirs) = (find(fight, OURS)?, find(fight, name)?);
        let ratio = Spread::ratio(&theirs.seconds, &ours.seconds).median;
        Some((format!("{} {}", fight.model, fight.graph), ratio))
    };
    fights.iter().filter_map(of).collect()
}

fn find<'a>(fight: &'a Fight, name: &str) -> Option<&'a Showing> {
    fight.results.iter().find(|result| result.name == name)
}

fn memory(fights: &[Fight]) -> Option<String> {
    let shares = |fight: &Fight| {
        let ours = find(fight, OURS).and_then(|ours| ours.memory.peak);
        let share = |theirs: &Showing| {
            let name = format!("{} {} {}", fight.model, fight.graph, theirs.name);
            Some((name, ours? / theirs.memory.peak?))
        };
        let theirs = fight.results.iter().filter(|result| result.name != OURS);
        theirs.filter_map(share).collect::<Vec<_>>()
    };
    let shares: Vec<(String, f64)> = fights.iter().flat_map(shares).collect();
    verdict("a fifth of the memory of each", &shares, |share| share <= MEMORY)
}

/// Who misses a goal, with the number; nothing where nothing was measured.
fn verdict(goal: &str, numbers: &[(String, f64)], meets: impl Fn(f64) -> bool) -> Option<String> {
    let missed = numbers.iter().filter(|(_, number)| !meets(*number));
    let missed: Vec<String> = missed.map(|(name, number)| format!("{name} {number:.2}")).collect();
    let said = match missed.is_empty() {
        true => "met".to_owned(),
        false => format!("missed by {}", missed.join(", ")),
    };
    (!numbers.is_empty()).then(|| format!("{goal}: {said}"))
}

#[cfg(test)]
mod tests {
    use super::super::contender::Memory;
    use super::*;

    fn fight(graph: &'static str, results: &[(&'static str, f64, f64)]) -> Fight {
        let result = |&(name, seconds, megabytes): &(&'static str, f64, f64)| {
            let memory = Memory { peak: Some(1e6 * megabytes), start: None };
            Showing { name, seconds: vec![seconds], memory }
        };
        let results = results.iter().map(result).collect();
        Fight { graph, model: "m", source: "real".into(), results, notes: vec![] }
    }

    #[test]
    fn who_misses_is_named_with_the_number() {
        let fights = [
            fight("cora", &[(OURS, 0.01, 20.0), (CSR, 0.04, 800.0)]),
            fight("actor", &[(OURS, 0.02, 90.0), (CSR, 0.04, 300.0)]),
        ];
        let expected = [
            "3.5 times PyTorch CSR on each: missed by m actor 2.00",
            "5 times PyTorch CSR in the geometric mean: missed, 2.83",
            "a fifth of the memory of each: missed by m actor PyTorch CSR 0.30",
        ];
        assert_eq!(verdicts(&fights), expected);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert!(verdicts(&[fight("cora", &[(OURS, 0.01, 20.0)])]).is_empty());
        let fights = [fight("cora", &[(OURS, 0.01, 20.0), (LAYER, 0.05, 800.0)])];
        let expected = ["5 times PyG layer on each: met", "a fifth of the memory of each: met"];
        assert_eq!(verdicts(&fights), expected);
    }
}
