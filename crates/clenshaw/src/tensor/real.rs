//! The floating-point types of plans and kernels: f32 for training, f64 where more digits are needed.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A floating-point number.
pub trait Real:
    Copy
    + Default
    + Debug
    + Display
    + PartialOrd
    + Send
    + Sync
    + 'static
    + bytemuck::Pod
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest number of this type.
    fn from_f64(v: f64) -> Self;
    /// The same number as f64.
    fn to_f64(self) -> f64;
    /// `self * a + b` with one rounding.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The bits of this number, rounded to f32 and then to bf16, ties to even; NaN stays NaN.
    fn to_bf16(self) -> u16;
    /// The value of the bf16 number with these bits.
    fn from_bf16(bits: u16) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// `e` to the power of this number.
    fn exp(self) -> Self;
    /// `e` to the power of this number, minus 1.
    fn exp_m1(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The error function, `2 / sqrt(pi)` times the integral of `e^-t^2` from 0 to this number.
    fn erf(self) -> Self;
}

macro_rules! real {
    ($t:ty, $exp:path, $exp_m1:path, $ln:path, $tanh:path, $erf:path) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                <$t>::mul_add(self, a, b)
            }
            #[inline(always)]
            fn to_bf16(self) -> u16 {
                let v = self as f32;
                let bits = v.to_bits();
                // Adds half a unit in the last place of bf16, minus the lowest bit if that place is even.
                let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
                let quiet = bits | 0x0040_0000;
                (if v.is_nan() { quiet } else { rounded } >> 16) as u16
            }
            #[inline(always)]
            fn from_bf16(bits: u16) -> Self {
                f32::from_bits(u32::from(bits) << 16) as $t
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn exp_m1(self) -> Self {
                $exp_m1(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                $ln(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                $tanh(self)
            }
            #[inline(always)]
            fn erf(self) -> Self {
                $erf(self)
            }
        }
    };
}
// The C library's functions return different bits on different systems, and on processors without FMA.
real!(f32, libm::expf, libm::expm1f, libm::logf, libm::tanhf, libm::erff);
real!(f64, libm::exp, libm::expm1, libm::log, libm::tanh, libm::erf);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_rounds_to_nearest_with_ties_to_even() {
        for (v, bits) in [
            (1.0, 0x3f80),
            (-2.0, 0xc000),
            (1.0 + 1.0 / 256.0, 0x3f80),
            (1.0 + 3.0 / 256.0, 0x3f82),
            (1.0 + 1.01 / 256.0, 0x3f81),
            (f32::INFINITY, 0x7f80),
            (f32::MAX, 0x7f80),
        ] {
            assert_eq!(v.to_bf16(), bits, "{v}");
            assert_eq!(f64::from(v).to_bf16(), bits, "{v}");
        }
        assert!(f32::from_bf16(f32::NAN.to_bf16()).is_nan());
        assert_eq!(f64::from_bf16(0x3f82), 1.015625);
    }

    /// Values of these functions as bits: they are the same on every system.
    #[test]
    fn transcendental_functions_have_fixed_bits() {
        let xs = [-7.5f32, -1.0, -0.125, 0.3, 1.0, 2.5];
        for x in xs {
            let exact = f64::from(x);
            let close = |a: f32, b: f64| (f64::from(a) - b).abs() <= 2e-7 * b.abs();
            assert!(close(Real::exp(x), exact.exp()) && close(Real::tanh(x), exact.tanh()), "{x}");
            assert!(close(Real::ln(x.abs()), exact.abs().ln()), "{x}");
        }
        let bits = |f: fn(f32) -> f32| xs.map(|x| f(x).to_bits());
        assert_eq!(bits(Real::exp), EXP_BITS);
        assert_eq!(bits(|x| Real::ln(x.abs())), LN_BITS);
        assert_eq!(bits(Real::tanh), TANH_BITS);
    }

    const EXP_BITS: [u32; 6] =
        [0x3a10fcdd, 0x3ebc5ab2, 0x3f61eb51, 0x3facc82c, 0x402df854, 0x4142eb7f];
    const LN_BITS: [u32; 6] =
        [0x4000f42c, 0x00000000, 0xc0051592, 0xbf9a1bc8, 0x00000000, 0x3f6a9208];
    const TANH_BITS: [u32; 6] =
        [0xbf7ffff6, 0xbf42f7d6, 0xbdfeacca, 0x3e9526ee, 0x3f42f7d6, 0x3f7c92c1];
}
