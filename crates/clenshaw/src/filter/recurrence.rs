//! Clenshaw's summation for bases with a three-term recurrence.
//!
//! ```text
//! phi_{k+1} = (a_k x + b_k) phi_k - c_k phi_{k-1}              phi_0 = 1,  phi_{-1} = 0
//!
//! s_{n+1} = s_{n+2} = 0
//! s_k     = g_k + (a_k x + b_k) s_{k+1} - c_{k+1} s_{k+2}      k = n, ..., 0
//! sum_k g_k phi_k(x) = s_0
//! ```
//!
//! No `phi_k` is computed, and only two partial sums are kept.
//! With `b = c = 0` this is Horner's method. Clenshaw 1955.

use super::SignalSpace;
use serde::{Deserialize, Serialize};

/// One step of a three-term recurrence, `phi_{k+1} = (a mu + b) phi_k - c phi_{k-1}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecurrenceStep {
    /// Factor of `mu phi_k`.
    pub a: f64,
    /// Factor of `phi_k`.
    pub b: f64,
    /// Factor of `-phi_{k-1}`.
    pub c: f64,
}

/// `sum_k g_k phi_k(P) x` for the basis whose `k`-th step is `step(k)`.
pub fn clenshaw<S: SignalSpace>(
    space: &mut S,
    step: impl Fn(usize) -> RecurrenceStep,
    g: &[S::Coefficient],
    x: &S::Signal,
) -> S::Signal {
    let zero = space.zero(x);
    let (mut s1, mut s2) = (zero.clone(), zero); // s_{k+1}, s_{k+2}
    for (k, &g_k) in g.iter().enumerate().rev() {
        let RecurrenceStep { a, b, .. } = step(k);
        let RecurrenceStep { c, .. } = step(k + 1);
        let mut terms = vec![(g_k, x)];
        terms.extend((b != 0.0).then(|| (b.into(), &s1)));
        terms.extend((c != 0.0).then(|| ((-c).into(), &s2)));
        let s = space.combine(a, &s1, &terms);
        (s1, s2) = (s, s1);
    }
    s1
}
