//! The maximum norm, propagating NaN.

/// The largest absolute value; 0 for an empty list, NaN if any value is NaN.
pub(crate) fn max_abs(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(f64::abs).max_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_abs_propagates_nan() {
        assert_eq!(max_abs([1.0, -3.0, 2.0]), 3.0);
        assert_eq!(max_abs([]), 0.0);
        assert!(max_abs([1.0, -f64::NAN, f64::INFINITY]).is_nan());
    }
}
