//! When, and on which machine, a result was measured.

use crate::tensor;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The machine and the time of a measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Provenance {
    pub processor: String,
    /// The instruction set used by the kernels.
    pub instructions: String,
    /// Maximum number of threads of the computation.
    pub threads: usize,
    finished_unix_seconds: u64,
}

impl Provenance {
    /// This machine and the current time.
    pub fn now(threads: usize) -> Self {
        Self {
            processor: processor(),
            instructions: tensor::instruction_set().to_owned(),
            threads,
            finished_unix_seconds: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
        }
    }

    /// The day of the measurement in UTC, as in `2023-08-06`.
    pub fn day(&self) -> String {
        day(self.finished_unix_seconds)
    }

    /// One sentence with the first and last day and every processor with its number of threads; `None` for no
    /// measurements.
    pub fn sentence<'a>(measurements: impl IntoIterator<Item = &'a Self>) -> Option<String> {
        let (mut days, mut machines) = (BTreeSet::new(), BTreeSet::new());
        for Self { processor, threads, finished_unix_seconds, .. } in measurements {
            days.insert(day(*finished_unix_seconds));
            machines.insert(format!("{processor} (threads: {threads})"));
        }
        let (first, last) = (days.first()?, days.last()?);
        let days = if first == last { first.clone() } else { format!("{first} to {last}") };
        let machines: Vec<String> = machines.into_iter().collect();
        Some(format!("Measured {days} on {}.", machines.join("; ")))
    }
}

/// The day of a time in UTC, as in `2023-08-06`.
fn day(unix_seconds: u64) -> String {
    // The last second of the year 9999.
    let since_1970 = Duration::from_secs(unix_seconds.min(253_402_300_799));
    let mut day = humantime::format_rfc3339_seconds(UNIX_EPOCH + since_1970).to_string();
    day.truncate("2023-08-06".len());
    day
}

/// The name of the processor, or its architecture if the name is unknown.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split(':').nth(1));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |name| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured_on(processor: &str, threads: usize, finished_unix_seconds: u64) -> Provenance {
        let (processor, instructions) = (processor.to_owned(), "avx2+fma".to_owned());
        Provenance { processor, instructions, threads, finished_unix_seconds }
    }

    #[test]
    fn sentence_lists_the_days_and_each_machine_once() {
        let day = 86_400;
        let measurements =
            [measured_on("B", 2, 3 * day), measured_on("A", 1, day), measured_on("B", 2, 2 * day)];
        let expected = "Measured 1970-01-02 to 1970-01-04 on A (threads: 1); B (threads: 2).";
        assert_eq!(Provenance::sentence(&measurements).as_deref(), Some(expected));
        let one = Provenance::sentence(&measurements[1..2]);
        assert_eq!(one.as_deref(), Some("Measured 1970-01-02 on A (threads: 1)."));
        assert_eq!(Provenance::sentence(&[]), None);
    }
}
