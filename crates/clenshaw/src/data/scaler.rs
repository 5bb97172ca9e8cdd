//! Scaling of features, with statistics that are fitted once and then applied to any graph.

use super::Features;
use crate::hyper::Scaling;
use crate::tensor::{Mat, Pattern};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The dense columns that are copied at the same time: as many as a cache line contains.
const DENSE_COLUMNS: usize = 16;

/// A [`Scaling`] and its statistics, fitted on all nodes of the training graph.
///
/// ```
/// use clenshaw::data::{Features, Scaler, Scaling};
/// use clenshaw::tensor::Mat;
/// let x = Features::Dense(Mat::from_vec(3, 2, vec![1.0, 0.0, 2.0, 1.0, 3.0, 1.0]));
/// let scaler = Scaler::fit(Scaling::Standard, &x);
/// assert_eq!(scaler.apply(&x).values(), [-1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
/// let other = Features::Dense(Mat::from_vec(1, 2, vec![4.0, 1.0]));
/// assert_eq!(scaler.apply(&other).values(), [2.0, 1.0]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Scaler {
    /// No scaling.
    Raw,
    /// Every row is divided by its sum; a row whose sum is 0 becomes zero.
    Row0,
    /// The minimum of the training graph is subtracted; then every row with a sum above 1 is divided by its sum.
    Row {
        /// The smallest value in the training graph.
        minimum: f32,
    },
    /// `(x - mean) / std` with the statistics of each column.
    Columns {
        /// The mean of each column; 0 for columns that are not shifted.
        mean: Vec<f64>,
        /// The standard deviation of each column; 1 for columns that are not scaled.
        std: Vec<f64>,
    },
}

impl Scaler {
    /// Computes the statistics of these features.
    pub fn fit(scaling: Scaling, x: &Features) -> Self {
        match scaling {
            Scaling::Raw => Self::Raw,
            Scaling::Row0 => Self::Row0,
            Scaling::Row => Self::Row { minimum: minimum(x) },
            Scaling::ZScore => columns(&Features::Dense(x.to_dense()), |_| true),
            Scaling::Standard => {
                let is_sparse = matches!(x, Features::Sparse { .. });
                let n = x.n_rows();
                columns(x, |column| {
                    let is_flag = column.iter().all(|&value| value == 0.0 || value == 1.0);
                    let is_mostly_zero = is_sparse && 2 * column.len() <= n;
                    !is_flag && !is_mostly_zero
                })
            }
        }
    }

    /// Scales features with these statistics; sparse features become dense if too many of their zeros change.
    ///
    /// # Panics
    /// If this is [`Scaler::Columns`] and the number of columns differs from that of the training graph.
    pub fn apply(&self, x: &Features) -> Features {
        match self {
            Self::Raw => x.clone(),
            Self::Row0 => scale_rows(x.clone(), |sum| if sum == 0.0 { 0.0 } else { 1.0 / sum }),
            Self::Row { minimum } => scale_rows(subtract(x, *minimum), |sum| 1.0 / sum.max(1.0)),
            Self::Columns { mean, std } => {
                assert_eq!(x.n_cols(), mean.len(), "scaler: number of columns");
                standardise(x, mean, std)
            }
        }
    }
}

/// A scaler with the mean and the unbiased standard deviation of the selected columns; a constant column has
/// std 1. Other columns have mean 0 and std 1. `is_selected` receives the stored values of a column.
fn columns(x: &Features, is_selected: impl Fn(&[f32]) -> bool) -> Scaler {
    let n = x.n_rows() as f64;
    let (mut mean, mut std) = (vec![], vec![]);
    for values in column_groups(x).flat_map(|columns| stored_columns(x, columns)) {
        if !is_selected(&values) {
            mean.push(0.0);
            std.push(1.0);
            continue;
        }
        let zeros = n - values.len() as f64;
        let column_mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let squares = values.iter().map(|&v| (f64::from(v) - column_mean).powi(2)).sum::<f64>();
        let variance = (squares + zeros * column_mean.powi(2)) / (n - 1.0).max(1.0);
        mean.push(column_mean);
        std.push(if variance > 0.0 { variance.sqrt() } else { 1.0 });
    }
    Scaler::Columns { mean, std }
}

/// Groups of columns whose values are copied at the same time: a few dense ones, or all sparse ones.
fn column_groups(x: &Features) -> impl Iterator<Item = Range<usize>> {
    let n_cols = x.n_cols();
    let size = if matches!(x, Features::Dense(_)) { DENSE_COLUMNS } else { n_cols.max(1) };
    (0..n_cols).step_by(size).map(move |start| start..(start + size).min(n_cols))
}

/// The stored values of each of these columns, in the order of the rows.
fn stored_columns(x: &Features, selected: Range<usize>) -> Vec<Vec<f32>> {
    let mut columns = vec![vec![]; selected.len()];
    match x {
        Features::Dense(x) => {
            columns.iter_mut().for_each(|column| column.reserve_exact(x.rows()));
            for i in 0..x.rows() {
                let row = &x.row(i)[selected.clone()];
                columns.iter_mut().zip(row).for_each(|(column, &value)| column.push(value));
            }
        }
        Features::Sparse { pattern, values } => {
            for (&column, &value) in pattern.indices().iter().zip(values) {
                columns[column as usize - selected.start].push(value);
            }
        }
    }
    columns
}

/// `(x - mean) / std` for each column; the result is sparse if `x` is and at most a quarter of the columns are
/// shifted.
fn standardise(x: &Features, mean: &[f64], std: &[f64]) -> Features {
    let scale = |j: usize, value: f32| ((f64::from(value) - mean[j]) / std[j]) as f32;
    let shifted: Vec<u32> = (0..mean.len() as u32).filter(|&j| mean[j as usize] != 0.0).collect();
    match x {
        Features::Sparse { pattern, values } if 4 * shifted.len() <= mean.len() => {
            let (mut offsets, mut indices, mut scaled) = (vec![0], vec![], vec![]);
            for i in 0..pattern.n_rows() {
                let entries = pattern.offsets()[i]..pattern.offsets()[i + 1];
                let stored = pattern.row(i).iter().copied().zip(values[entries].iter().copied());
                for (j, value) in with_zeros(stored, &shifted) {
                    indices.push(j);
                    scaled.push(scale(j as usize, value));
                }
                offsets.push(indices.len());
            }
            Features::Sparse { pattern: Pattern::new(mean.len(), offsets, indices), values: scaled }
        }
        _ => {
            let mut dense = x.to_dense();
            let columns = dense.cols().max(1);
            for row in dense.as_mut_slice().chunks_mut(columns) {
                row.iter_mut().enumerate().for_each(|(j, value)| *value = scale(j, *value));
            }
            Features::Dense(dense)
        }
    }
}

/// The entries of a row, with a zero for each of `columns` that has no stored entry. Arguments and result are
/// ordered by column.
fn with_zeros(stored: impl Iterator<Item = (u32, f32)>, columns: &[u32]) -> Vec<(u32, f32)> {
    let mut row: Vec<(u32, f32)> = stored.collect();
    let missing = |j: &&u32| row.binary_search_by_key(*j, |(column, _)| *column).is_err();
    let zeros: Vec<(u32, f32)> = columns.iter().filter(missing).map(|&j| (j, 0.0)).collect();
    row.extend(zeros);
    row.sort_unstable_by_key(|(column, _)| *column);
    row
}

/// The smallest value, including the zeros of a sparse matrix.
fn minimum(x: &Features) -> f32 {
    let stored = x.values().iter().copied().fold(f32::INFINITY, f32::min);
    let all_stored = x.values().len() == x.n_rows() * x.n_cols();
    if all_stored { stored } else { stored.min(0.0) }
}

/// `x - minimum`; sparse features become dense unless `minimum` is 0.
fn subtract(x: &Features, minimum: f32) -> Features {
    if minimum == 0.0 {
        return x.clone();
    }
    let mut dense: Mat<f32> = x.to_dense();
    dense.as_mut_slice().iter_mut().for_each(|value| *value -= minimum);
    Features::Dense(dense)
}

/// Multiplies each row by a function of its sum.
fn scale_rows(mut x: Features, factor: impl Fn(f64) -> f64) -> Features {
    let scale = |row: &mut [f32]| {
        let factor = factor(row.iter().map(|&v| f64::from(v)).sum());
        row.iter_mut().for_each(|v| *v = (f64::from(*v) * factor) as f32);
    };
    match &mut x {
        Features::Dense(x) => {
            let cols = x.cols().max(1);
            x.as_mut_slice().chunks_mut(cols).for_each(scale);
        }
        Features::Sparse { pattern, values } => {
            let bounds = pattern.offsets().windows(2);
            bounds.for_each(|row| scale(&mut values[row[0]..row[1]]));
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 2 0 6
    /// 0 0 0
    /// 0 v 0
    /// ```
    fn sparse(v: f32) -> Features {
        let pattern = Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]);
        Features::Sparse { pattern, values: vec![2.0, 6.0, v] }
    }

    fn scaled(x: &Features, scaling: Scaling) -> Features {
        Scaler::fit(scaling, x).apply(x)
    }

    #[test]
    fn sparse_and_dense_scaling_agree() {
        let cases = [
            (0.5, Scaling::Row0),
            (0.5, Scaling::Row),
            (-4.0, Scaling::Row),
            (0.5, Scaling::ZScore),
        ];
        for (v, scaling) in cases {
            let x = sparse(v);
            let dense = scaled(&Features::Dense(x.to_dense()), scaling);
            assert_eq!(scaled(&x, scaling).to_dense(), dense.to_dense(), "{v} {scaling:?}");
        }
    }

    #[test]
    fn row_scaling_does_not_scale_up_small_rows() {
        assert_eq!(scaled(&sparse(0.5), Scaling::Row).values(), [0.25, 0.75, 0.5]);
        assert_eq!(scaled(&sparse(0.5), Scaling::Row0).values(), [0.25, 0.75, 1.0]);
    }

    #[test]
    fn row_scaling_shifts_a_negative_minimum_to_zero() {
        // Rows 6 4 10, 4 4 4 and 4 0 4 after adding 4.
        let x = scaled(&sparse(-4.0), Scaling::Row);
        let third = 1.0 / 3.0;
        assert_eq!(x.values(), [0.3, 0.2, 0.5, third, third, third, 0.5, 0.0, 0.5]);
    }

    #[test]
    fn every_column_has_its_own_statistics() {
        let (n, n_cols) = (5, 2 * DENSE_COLUMNS + 3);
        let value = |i: usize, j: usize| ((i * i + 1) * (j + 1)) as f32;
        let entries = (0..n * n_cols).map(|e| value(e / n_cols, e % n_cols)).collect();
        let all = Features::Dense(Mat::from_vec(n, n_cols, entries));
        let Scaler::Columns { mean, std } = Scaler::fit(Scaling::ZScore, &all) else { panic!() };
        assert_eq!((mean.len(), std.len()), (n_cols, n_cols));
        for j in 0..n_cols {
            let column = (0..n).map(|i| value(i, j)).collect();
            let alone = Features::Dense(Mat::from_vec(n, 1, column));
            let expected = Scaler::Columns { mean: vec![mean[j]], std: vec![std[j]] };
            assert_eq!(Scaler::fit(Scaling::ZScore, &alone), expected, "column {j}");
        }
    }

    #[test]
    fn z_scores_use_the_unbiased_standard_deviation() {
        // Column 1, 2, 3 has std 1; a constant column becomes zero.
        let x = Features::Dense(Mat::from_vec(3, 2, vec![1.0, 5.0, 2.0, 5.0, 3.0, 5.0]));
        assert_eq!(scaled(&x, Scaling::ZScore).values(), [-1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn standard_scaling_keeps_flags_and_sparse_columns() {
        // An income in a table that is sparse because of a category with seven values.
        let pattern = Pattern::new(8, vec![0, 2, 4, 6], vec![0, 3, 0, 5, 0, 7]);
        let x = Features::Sparse { pattern, values: vec![1e5, 1.0, 2e5, 1.0, 3e5, 1.0] };
        let x = scaled(&x, Scaling::Standard);
        assert!(matches!(&x, Features::Sparse { .. }));
        assert_eq!(x.values(), [-1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
        // Counts in sparse features stay counts.
        assert_eq!(scaled(&sparse(4.0), Scaling::Standard), sparse(4.0));
    }

    #[test]
    fn shifted_columns_of_sparse_features_are_stored_whole() {
        // Column 0 is 4, 0, 8: mean 4, std 4.
        let pattern = Pattern::new(4, vec![0, 1, 2, 3], vec![0, 2, 0]);
        let x = Features::Sparse { pattern, values: vec![4.0, 1.0, 8.0] };
        let x = scaled(&x, Scaling::Standard);
        assert_eq!(x.to_dense().as_slice(), [0., 0., 0., 0., -1., 0., 1., 0., 1., 0., 0., 0.]);
    }

    #[test]
    fn scaler_survives_json() {
        let scaler = Scaler::fit(Scaling::ZScore, &sparse(0.3));
        let json = serde_json::to_string(&scaler).unwrap();
        assert_eq!(serde_json::from_str::<Scaler>(&json).unwrap(), scaler);
    }
}
