//! Timestamps in Optuna's format, and unique identifiers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The current time as Optuna 5 writes it, RFC 3339 with an offset: `2023-08-06T12:00:00.000000+00:00`.
pub(super) fn now() -> String {
    rfc3339(SystemTime::now())
}

fn rfc3339(time: SystemTime) -> String {
    // Python before 3.11 does not parse the suffix `Z`.
    humantime::format_rfc3339_micros(time).to_string().replace('Z', "+00:00")
}

/// Returns a new identifier, made of the process id, the time in nanoseconds and a counter.
pub(super) fn unique_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (pid, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{pid}-{}-{count}", since_1970.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn formats_utc_with_microseconds_and_offset() {
        let format =
            |seconds, micros: u32| rfc3339(UNIX_EPOCH + Duration::new(seconds, micros * 1000));
        assert_eq!(format(0, 0), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(format(951_782_399, 7), "2000-02-28T23:59:59.000007+00:00");
        assert_eq!(format(1_691_323_200, 250_000), "2023-08-06T12:00:00.250000+00:00");
    }
}
