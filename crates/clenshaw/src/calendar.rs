//! Days and times of day in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970 in UTC; none before it.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Now as Optuna 5 writes it, RFC 3339 with an offset: `2023-08-06T12:00:00.000000+00:00`.
pub(crate) fn now() -> String {
    rfc3339(since_1970())
}

/// The day of a time, as in `2023-08-06`.
pub(crate) fn day(since: Duration) -> String {
    let (year, month, day) = date(since.as_secs() / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

fn rfc3339(since: Duration) -> String {
    let (day, second) = (day(since), since.as_secs() % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let micros = since.subsec_micros();
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{micros:06}+00:00")
}

/// Year, month and day of a number of days since 1970-01-01.
///
/// Years are counted from March, so that the leap day is the last of its year; 400 of them have
/// 146,097 days. Hinnant, "chrono-compatible low-level date algorithms".
fn date(days: u64) -> (u64, u64, u64) {
    // 0000-03-01 is 719,468 days before 1970-01-01.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days_have_their_names() {
        let at = |seconds, micros: u32| rfc3339(Duration::new(seconds, micros * 1000));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(at(951_782_399, 7), "2000-02-28T23:59:59.000007+00:00");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000000+00:00");
        assert_eq!(at(1_691_323_200, 250_000), "2023-08-06T12:00:00.250000+00:00");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000000+00:00");
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let over = |year: u64, n| year.is_multiple_of(n);
        let leap = |year| (over(year, 4) && !over(year, 100)) || over(year, 400);
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..146_097 {
            assert_eq!(date(days), (year, month, day));
            let february = if leap(year) { 29 } else { 28 };
            let last = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            day += 1;
            if day > last {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
