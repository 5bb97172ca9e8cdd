//! The largest of some errors, of which one that is no number must not be overlooked.

/// The largest absolute value, 0 if there is none; NaN if one of them is.
pub(crate) fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(f64::abs).max_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_the_largest() {
        assert_eq!(largest([1.0, -3.0, 2.0]), 3.0);
        assert_eq!(largest([]), 0.0);
        assert!(largest([1.0, -f64::NAN, f64::INFINITY]).is_nan());
    }
}
