//! The dense product for tall matrices.
//!
//! ```text
//! C (+)= A B + bias                               A [m, k] with strides, B [k, n], C [m, n]
//! ```
//!
//! Because A has strides, one kernel computes both `H W` and the weight gradient `Z^T dY`. B is small and
//! stays in cache, so only its last columns, fewer than 16, are packed.

use super::{Arith, Kernel};
use crate::tensor::Real;

/// The product `C (+)= A B + bias` of the module's equation.
pub(crate) struct Gemm<'a, T> {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub a: &'a [T],
    /// Distance in `a` between consecutive rows of A.
    pub a_row_stride: usize,
    /// Distance in `a` between consecutive columns of A.
    pub a_col_stride: usize,
    pub b: &'a [T],
    pub bias: Option<&'a [T]>,
    pub c: &'a mut [T],
    /// Add to `c` instead of overwriting it.
    pub add: bool,
}

/// Columns of the narrow tile.
const NARROW: usize = 8;
/// Rows of B that are packed at a time for the narrow tile.
const PACKED_ROWS: usize = 256;

impl<T: Real> Kernel for Gemm<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(mut self) {
        let Self { m, k, n, .. } = self;
        let last = |count: usize, stride: usize| count.saturating_sub(1) * stride;
        assert!(
            m * k == 0 || last(m, self.a_row_stride) + last(k, self.a_col_stride) < self.a.len(),
            "gemm: A is too short"
        );
        assert!(self.b.len() >= k * n && self.c.len() >= m * n, "gemm: B or C is too short");
        let mut j = 0;
        while A::WIDE && n - j >= 64 {
            self.wide_columns::<A, 64>(j);
            j += 64;
        }
        while A::WIDE && n - j >= 32 {
            self.wide_columns::<A, 32>(j);
            j += 32;
        }
        while n - j >= 16 {
            self.wide_columns::<A, 16>(j);
            j += 16;
        }
        while j < n {
            self.narrow_columns::<A>(j, (n - j).min(NARROW));
            j += NARROW;
        }
    }
}

/// A panel of B: some of its rows and columns, possibly packed.
struct Panel<T> {
    /// The first column.
    j: usize,
    /// The number of columns that are stored to C; any others are padding.
    width: usize,
    /// The first row.
    start: usize,
    /// The number of rows.
    depth: usize,
    /// The first entry.
    b: *const T,
    /// Distance between consecutive rows in `b`.
    row_stride: usize,
}

impl<T: Real> Gemm<'_, T> {
    /// Computes `C[.., j..j+NR]`.
    #[inline(always)]
    fn wide_columns<A: Arith, const NR: usize>(&mut self, j: usize) {
        let (b, row_stride) = (self.b.as_ptr().wrapping_add(j), self.n);
        let panel = Panel { j, width: NR, start: 0, depth: self.k, b, row_stride };
        self.multiply_panel::<A, NR>(&panel);
    }

    /// Computes `C[.., j..j+width]` for a width up to `NARROW`; the packed columns of B are padded with
    /// zeros.
    #[inline(always)]
    fn narrow_columns<A: Arith>(&mut self, j: usize, width: usize) {
        let (add, bias) = (self.add, self.bias);
        let mut packed = [[T::ZERO; NARROW]; PACKED_ROWS];
        let mut start = 0;
        loop {
            let depth = (self.k - start).min(PACKED_ROWS);
            for p in 0..depth {
                let row = (start + p) * self.n + j;
                packed[p][..width].copy_from_slice(&self.b[row..row + width]);
            }
            let b = packed.as_ptr().cast();
            let panel = Panel { j, width, start, depth, b, row_stride: NARROW };
            self.multiply_panel::<A, NARROW>(&panel);
            // The first panel overwrites C if `add` is not set, and adds the bias; the others only add.
            (self.add, self.bias) = (true, None);
            start += depth;
            if start >= self.k {
                break;
            }
        }
        (self.add, self.bias) = (add, bias);
    }

    /// Multiplies all rows of A by a panel of B, and stores the product in C.
    #[inline(always)]
    fn multiply_panel<A: Arith, const NR: usize>(&mut self, panel: &Panel<T>) {
        let mut i = 0;
        while NR == 32 && self.m - i >= 8 {
            self.multiply_tile::<A, 8, NR>(i, panel);
            i += 8;
        }
        while self.m - i >= 4 {
            self.multiply_tile::<A, 4, NR>(i, panel);
            i += 4;
        }
        while i < self.m {
            self.multiply_tile::<A, 1, NR>(i, panel);
            i += 1;
        }
    }

    /// Multiplies rows `i..i+MR` of A by a panel of B, in registers, and stores the product in C.
    #[inline(always)]
    fn multiply_tile<A: Arith, const MR: usize, const NR: usize>(
        &mut self,
        i: usize,
        panel: &Panel<T>,
    ) {
        let (row_stride, col_stride) = (self.a_row_stride, self.a_col_stride);
        let a = self.a.as_ptr().wrapping_add(i * row_stride + panel.start * col_stride);
        // SAFETY: `i + MR <= m`, the panel has `depth` rows of `NR` entries, and A has as many columns
        // from `start`; `run` checked the extents of A and B.
        let acc = unsafe {
            let (b, b_row_stride) = (panel.b, panel.row_stride);
            product::<T, A, MR, NR>(a, row_stride, col_stride, b, b_row_stride, panel.depth)
        };
        for r in 0..MR {
            self.store(i + r, panel.j, &acc[r][..panel.width]);
        }
    }

    /// `C[i, j..] (+)= sums + bias[j..]`.
    #[inline(always)]
    fn store(&mut self, i: usize, j: usize, sums: &[T]) {
        let c = &mut self.c[i * self.n + j..i * self.n + j + sums.len()];
        if let Some(bias) = self.bias {
            for ((c, sum), bias) in c.iter_mut().zip(sums).zip(&bias[j..]) {
                *c = if self.add { *c + *sum + *bias } else { *sum + *bias };
            }
        } else {
            for (c, sum) in c.iter_mut().zip(sums) {
                *c = if self.add { *c + *sum } else { *sum };
            }
        }
    }
}

/// `sum_p a[r, p] b[p, c]` for `MR` rows and `NR` columns.
///
/// # Safety
/// `a` points to `MR` rows and `k` columns with the given strides, and `b` to `k` rows of at least `NR`
/// entries, `b_row_stride` apart.
#[inline(always)]
unsafe fn product<T: Real, A: Arith, const MR: usize, const NR: usize>(
    a: *const T,
    a_row_stride: usize,
    a_col_stride: usize,
    b: *const T,
    b_row_stride: usize,
    k: usize,
) -> [[T; NR]; MR] {
    let mut acc = [[T::ZERO; NR]; MR];
    for p in 0..k {
        // SAFETY: guaranteed by the caller.
        let b = unsafe { &*b.add(p * b_row_stride).cast::<[T; NR]>() };
        for r in 0..MR {
            // SAFETY: guaranteed by the caller.
            let x = unsafe { *a.add(r * a_row_stride + p * a_col_stride) };
            for c in 0..NR {
                acc[r][c] = A::madd(x, b[c], acc[r][c]);
            }
        }
    }
    acc
}

#[cfg(test)]
mod tests {
    use super::super::{dispatch, testing::*};
    use super::*;

    /// `A B` by definition, in f64; `a(i, p)` is an entry of A.
    fn reference(
        m: usize,
        k: usize,
        n: usize,
        a: impl Fn(usize, usize) -> f32,
        b: &[f32],
    ) -> Vec<f32> {
        let entry =
            |i, j| (0..k).map(|p| f64::from(a(i, p)) * f64::from(b[p * n + j])).sum::<f64>() as f32;
        (0..m * n).map(|i| entry(i / n, i % n)).collect()
    }

    const SHAPES: [(usize, usize, usize); 9] = [
        (64, 64, 64),
        (61, 64, 7),
        (5, 300, 3),
        (9, 2, 16),
        (1, 1, 1),
        (12, 513, 40),
        (7, 5, 5),
        (13, 64, 49),
        (3, 0, 4),
    ];

    #[test]
    fn instruction_sets_agree_with_the_definition_at_every_shape() {
        for (m, k, n) in SHAPES {
            let (a, b, bias) = (numbers(m * k, 1), numbers(k * n, 2), numbers(n, 3));
            let product = reference(m, k, n, |i, p| a[i * k + p], &b);
            let with_bias: Vec<f32> =
                product.iter().enumerate().map(|(i, v)| v + bias[i % n]).collect();
            let twice: Vec<f32> = with_bias.iter().zip(&product).map(|(a, b)| a + b).collect();
            for level in LEVELS {
                let (mut once, mut more) = (vec![9.0; m * n], with_bias.clone());
                let gemm = |c, bias, add| Gemm {
                    m,
                    k,
                    n,
                    a: &a,
                    a_row_stride: k,
                    a_col_stride: 1,
                    b: &b,
                    bias,
                    c,
                    add,
                };
                dispatch_at(level, gemm(&mut once, Some(&bias), false));
                dispatch_at(level, gemm(&mut more, None, true));
                assert_close(&once, &with_bias, 1e-5);
                assert_close(&more, &twice, 1e-5);
            }
        }
    }

    #[test]
    fn strides_can_transpose_the_left_factor() {
        let (m, k, n) = (20, 33, 24);
        let (z, g) = (numbers(k * m, 4), numbers(k * n, 5)); // Z [k, m], so A = Z^T
        let mut c = vec![0.0; m * n];
        dispatch(Gemm {
            m,
            k,
            n,
            a: &z,
            a_row_stride: 1,
            a_col_stride: m,
            b: &g,
            bias: None,
            c: &mut c,
            add: false,
        });
        assert_close(&c, &reference(m, k, n, |i, p| z[p * m + i], &g), 1e-5);
    }
}
