//! Text tables of times and ratios.

use super::statistics::MedianRange;

/// The median and the range of some times, in the given unit.
pub fn time_cells(seconds: &[f64], unit: f64) -> [String; 2] {
    let range = MedianRange::of(seconds);
    [three_digits(range.median / unit), range_cell(range, unit)]
}

/// The median and the range of the ratios, round by round.
pub fn ratio_cells(theirs: &[f64], ours: &[f64]) -> [String; 2] {
    let range = MedianRange::ratio(theirs, ours);
    [three_digits(range.median), range_cell(range, 1.0)]
}

fn range_cell(range: MedianRange, unit: f64) -> String {
    format!("{}..{}", three_digits(range.min / unit), three_digits(range.max / unit))
}

/// Formats with three significant digits, but at most two decimals.
pub fn three_digits(value: f64) -> String {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Aligns columns: the first ones, which are names, to the left, and numbers to the right.
pub fn table(names: usize, lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(c, text): (usize, &String)| match c < names {
        true => format!("{text:<0$}", widths[c]),
        false => format!("{text:>0$}", widths[c]),
    };
    let line = |line: &Vec<String>| {
        let cells: Vec<String> = line.iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_three_digits() {
        assert_eq!(time_cells(&[0.002, 0.0015, 0.123], 1e-3), ["2.00", "1.50..123"]);
        assert_eq!(ratio_cells(&[3.0, 8.0, 50.0], &[1.0, 2.0, 4.0]), ["4.00", "3.00..12.5"]);
    }

    #[test]
    fn aligns_names_left_and_numbers_right() {
        let lines =
            [["graph", "ms"], ["cora", "123.4"]].map(|line| line.map(String::from).to_vec());
        assert_eq!(table(1, &lines), "graph     ms\ncora   123.4\n");
    }
}
