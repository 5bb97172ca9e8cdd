//! Functions of one number and their derivatives.

use super::{Arith, Kernel};
use crate::tensor::Real;
use std::f64::consts::FRAC_1_SQRT_2;

/// `out_i = value(i)`.
pub(crate) struct Fill<'a, T, F> {
    pub out: &'a mut [T],
    pub value: F,
}

impl<T: Real, F: Fn(usize) -> T> Kernel for Fill<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        for (i, out) in self.out.iter_mut().enumerate() {
            *out = (self.value)(i);
        }
    }
}

/// A function of one number, applied to every entry of a matrix. NaN is mapped to NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Map {
    /// `tanh x`.
    Tanh,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `x` where x is positive, `e^x - 1` elsewhere.
    Elu,
    /// `x Phi(x)`, where Phi is the distribution function of the standard normal distribution.
    Gelu,
    /// `1 / x`.
    Reciprocal,
    /// `1 / x` where x is larger than c, 0 elsewhere.
    ReciprocalAbove(f64),
    /// `sqrt x`.
    Sqrt,
    /// `max(x, c)`; the gradient is zero where x is c or less.
    ClampMin(f64),
}

impl Map {
    /// `f(x)`.
    #[inline(always)]
    pub fn apply<T: Real>(self, x: T) -> T {
        match self {
            Self::Tanh => x.tanh(),
            Self::Sigmoid => T::ONE / (T::ONE + (-x).exp()),
            Self::Elu if x > T::ZERO => x,
            Self::Elu => x.exp_m1(),
            Self::Gelu => x * normal_distribution(x),
            Self::Reciprocal => T::ONE / x,
            // NaN is not replaced by zero.
            Self::ReciprocalAbove(c) if x <= T::from_f64(c) => T::ZERO,
            Self::ReciprocalAbove(_) => T::ONE / x,
            Self::Sqrt => x.sqrt(),
            Self::ClampMin(c) => {
                let c = T::from_f64(c);
                // NaN is not replaced by c.
                if x < c { c } else { x }
            }
        }
    }

    /// `f'(x)`, given `y = f(x)` as well.
    #[inline(always)]
    pub fn derivative<T: Real>(self, x: T, y: T) -> T {
        match self {
            Self::Tanh => T::ONE - y * y,
            Self::Sigmoid => y * (T::ONE - y),
            Self::Elu if x > T::ZERO => T::ONE,
            Self::Elu => y + T::ONE,
            Self::Gelu => {
                let density = (T::from_f64(-0.5) * x * x).exp() * T::from_f64(FRAC_1_SQRT_2PI);
                normal_distribution(x) + x * density
            }
            Self::Reciprocal | Self::ReciprocalAbove(_) => -(y * y),
            Self::Sqrt => T::from_f64(0.5) / y,
            Self::ClampMin(c) if x > T::from_f64(c) => T::ONE,
            Self::ClampMin(_) => T::ZERO,
        }
    }
}

/// `1 / sqrt(2 pi)`.
const FRAC_1_SQRT_2PI: f64 = 0.398_942_280_401_432_7;

/// `Phi(x) = (1 + erf(x / sqrt 2)) / 2`.
#[inline(always)]
fn normal_distribution<T: Real>(x: T) -> T {
    T::from_f64(0.5) * (T::ONE + (x * T::from_f64(FRAC_1_SQRT_2)).erf())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_derivative(map: Map, x: f64) {
        let step = 1e-6;
        let slope = (map.apply(x + step) - map.apply(x - step)) / (2.0 * step);
        assert!((map.derivative(x, map.apply(x)) - slope).abs() < 1e-8, "{map:?} at {x}");
    }

    #[test]
    fn derivatives_agree_with_finite_differences() {
        let maps = [
            Map::Tanh,
            Map::Sigmoid,
            Map::Elu,
            Map::Gelu,
            Map::Reciprocal,
            Map::ReciprocalAbove(0.5),
            Map::ReciprocalAbove(2.0),
            Map::Sqrt,
            Map::ClampMin(0.5),
            Map::ClampMin(2.0),
        ];
        for map in maps {
            assert_derivative(map, 1.3);
        }
        for map in [Map::Tanh, Map::Sigmoid, Map::Elu, Map::Reciprocal, Map::ClampMin(-2.0)] {
            assert_derivative(map, -0.7);
        }
    }

    /// Values and derivatives computed with `math.erf` and `math.exp` of Python.
    #[test]
    fn gelu_matches_known_values() {
        let known = [
            (-3.0f64, -0.004_049_694_094_890_31, -0.011_945_647_204_183_92),
            (-0.5, -0.154_268_769_362_993_44, 0.132_504_875_343_837_12),
            (0.0, 0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9, 1.083_315_470_587_686_4),
            (2.5, 2.484_475_836_685_559_7, 1.037_611_085_908_145),
        ];
        for (x, y, slope) in known {
            assert!((Map::Gelu.apply(x) - y).abs() < 1e-15, "{x}: {}", Map::Gelu.apply(x));
            let derivative = Map::Gelu.derivative(x, y);
            assert!((derivative - slope).abs() < 1e-14, "{x}: {derivative}");
        }
        assert!(Map::Gelu.apply(f32::NAN).is_nan());
    }

    #[test]
    fn values_below_the_threshold_are_replaced_but_not_nan() {
        assert!(Map::ClampMin(0.0).apply(f32::NAN).is_nan());
        assert!(Map::ReciprocalAbove(0.0).apply(f32::NAN).is_nan());
        assert_eq!([0.5, 0.25].map(|x| Map::ReciprocalAbove(0.25).apply(x)), [2.0f32, 0.0]);
        assert_eq!(Map::ClampMin(0.5).apply(-1.0f32), 0.5);
    }
}
