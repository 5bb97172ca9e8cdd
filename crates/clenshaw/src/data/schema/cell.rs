//! Reads single cells: missing values, numbers, flags and dates.

use super::NumberFormat;

/// Cells with these contents are missing; case is ignored.
const MISSING: [&str; 9] = ["", "nan", "na", "n/a", "#n/a", "null", "none", "?", "<na>"];

/// Whether a cell has no value.
pub(crate) fn is_missing(cell: &str) -> bool {
    // The longest word has four characters.
    cell.len() <= 4 && MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// Reads a cell in this format as a number; `None` if it has another format or the number is not finite.
pub(super) fn parse_number(format: NumberFormat, cell: &str) -> Option<f32> {
    match format {
        NumberFormat::Number => cell.parse().ok().filter(|number: &f32| number.is_finite()),
        NumberFormat::DecimalComma => {
            let plain = cell.matches(',').count() <= 1 && !cell.contains('.');
            plain.then(|| parse_number(NumberFormat::Number, &cell.replace(',', "."))).flatten()
        }
        NumberFormat::Flag => parse_flag(cell).map(f32::from),
        NumberFormat::Date => parse_date(cell).map(|days| days as f32),
    }
}

/// Reads a number in this format or, if that fails, in a related one: with a decimal comma instead of a point,
/// with `true` and `false` instead of `1` and `0`, or vice versa. Used for tables other than the one that the
/// format was inferred from.
pub(super) fn parse_any_notation(format: NumberFormat, cell: &str) -> Option<f32> {
    let other = || match format {
        NumberFormat::Number => parse_number(NumberFormat::DecimalComma, cell)
            .or_else(|| parse_number(NumberFormat::Flag, cell)),
        NumberFormat::DecimalComma => parse_number(NumberFormat::Number, cell),
        NumberFormat::Flag => parse_mask(cell).map(f32::from),
        NumberFormat::Date => None,
    };
    parse_number(format, cell).or_else(other)
}

/// Reads `true`, `yes`, `false` or `no`; case is ignored.
fn parse_flag(cell: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| cell.eq_ignore_ascii_case(word));
    match () {
        () if is(&["true", "yes"]) => Some(true),
        () if is(&["false", "no"]) => Some(false),
        () => None,
    }
}

/// Reads a cell of a mask: `1`, `0`, `1.0`, `0.0` or a flag.
pub(super) fn parse_mask(cell: &str) -> Option<bool> {
    match cell {
        "1" | "1.0" => Some(true),
        "0" | "0.0" => Some(false),
        _ => parse_flag(cell),
    }
}

/// Days since 1970-01-01 of `YYYY-MM-DD`, optionally followed by `T` or a space, `HH:MM` or `HH:MM:SS` with
/// optional decimals, and optionally `Z`; `None` for other text. Days 1 to 31 are accepted in every month.
fn parse_date(cell: &str) -> Option<f64> {
    let (date, time) = match cell.split_once(['T', ' ']) {
        Some((date, time)) => (date, time.strip_suffix('Z').unwrap_or(time)),
        None => (cell, "00:00"),
    };
    let [year, month, day] = fixed_width_numbers(date, '-', [4, 2, 2])?;
    let (hours_minutes, seconds) = match time.len() {
        5 => (time, 0.0),
        _ => (time.get(..5)?, parse_seconds(time.get(5..)?.strip_prefix(':')?)?),
    };
    let [hour, minute] = fixed_width_numbers(hours_minutes, ':', [2, 2])?;
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60;
    let fraction = (f64::from(hour * 60 + minute) * 60.0 + seconds) / 86_400.0;
    let valid = valid && (0.0..60.0).contains(&seconds);
    valid.then(|| days_since_1970(year, month, day) + fraction)
}

/// Parses `SS`, optionally followed by a point and more digits; `None` for any other text.
fn parse_seconds(text: &str) -> Option<f64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (whole.len() == 2 && digits(whole) && digits(decimals)).then(|| text.parse().ok()).flatten()
}

/// Parses numbers between separators, each with the given number of digits; `None` for any other text.
fn fixed_width_numbers<const N: usize>(
    text: &str,
    separator: char,
    digits: [usize; N],
) -> Option<[i32; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// The number of days from 1970-01-01 to a date. Years are counted from March, so that a leap day is the last
/// day of a year; a cycle has 400 years.
fn days_since_1970(year: i32, month: i32, day: i32) -> f64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, year_of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    f64::from(cycle * 146_097 + day_of_cycle - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_have_many_spellings() {
        for cell in ["", "nan", "NaN", "NA", "n/a", "NULL", "None", "?", "<NA>"] {
            assert!(is_missing(cell), "{cell}");
        }
        for cell in ["0", "-1", "no", "unknown", "nano"] {
            assert!(!is_missing(cell), "{cell}");
        }
    }

    #[test]
    fn reads_numbers_flags_and_dates() {
        let cases = [
            (NumberFormat::Number, "-1e1", Some(-10.0)),
            (NumberFormat::Number, "inf", None),
            (NumberFormat::Number, "1,5", None),
            (NumberFormat::DecimalComma, "1,5", Some(1.5)),
            (NumberFormat::DecimalComma, "-2", Some(-2.0)),
            (NumberFormat::DecimalComma, "1,000,5", None),
            (NumberFormat::Flag, "Yes", Some(1.0)),
            (NumberFormat::Flag, "false", Some(0.0)),
            (NumberFormat::Date, "1970-01-01", Some(0.0)),
            (NumberFormat::Date, "2000-03-01", Some(11_017.0)),
            (NumberFormat::Date, "1969-12-31T12:00:00Z", Some(-0.5)),
            (NumberFormat::Date, "2024-02-29 06:00", Some(19_782.25)),
            (NumberFormat::Date, "2024-13-01", None),
            (NumberFormat::Date, "24-01-01", None),
            (NumberFormat::Date, "2024-01-01x", None),
            (NumberFormat::Date, "1970-01-02 00:00:43.2", Some(1.0005)),
            (NumberFormat::Date, "1970-01-02 00:00:1e1", None),
            (NumberFormat::Date, "1970-01-02 00:00:+5", None),
            (NumberFormat::Date, "1970-01-02 00:00ZZ", None),
        ];
        for (format, cell, expected) in cases {
            assert_eq!(parse_number(format, cell), expected, "{format:?} {cell}");
        }
    }
}
