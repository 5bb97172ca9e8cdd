//! Grey images with content at every frequency: waves, Gaussian blobs, sharp edges, stripes and noise.
//!
//! ```text
//! f(r, c) = sum_w cos(2 pi (a_w r + b_w c + phi_w)) / 3           |a_w|, |b_w| <= 2 periods per side
//!         + sum_b h_b exp(-|(r, c) - m_b|^2 / (2 s_b^2))
//!         + sum_d h_d [(r, c) in disc or box d]
//!         + 0.3 [(r, c) in a box] cos(2 pi (u r + v c))           u, v in 10..40 periods per side
//!         + 0.1 z_rc
//! ```
//!
//! The values are then rescaled to [0, 1]. Both sides have length 1; `z` is standard normal.

use crate::rng::Stream;
use std::f64::consts::TAU;

/// The grey values of a random image, in row-major order.
pub fn image(seed: u64, number: u64, rows: usize, columns: usize) -> Vec<f64> {
    let stream = Stream::new(seed, "pictures").numbered(number);
    let mut shapes = stream.named("shapes");
    let parts: Vec<Component> = (0..3)
        .map(|_| wave(&mut shapes))
        .chain([blob(&mut stream.named("blob 0")), blob(&mut stream.named("blob 1"))])
        .chain([disc(&mut stream.named("disc")), rectangle(&mut stream.named("box"))])
        .chain([stripes(&mut stream.named("stripes"))])
        .collect();
    let mut grain = stream.named("grain");
    let grey = |i: usize| {
        let (r, c) = ((i / columns) as f64 / rows as f64, (i % columns) as f64 / columns as f64);
        parts.iter().map(|part| part(r, c)).sum::<f64>() + 0.1 * grain.normal()
    };
    rescale((0..rows * columns).map(grey).collect())
}

/// A term of the sum: its value at a point.
type Component = Box<dyn Fn(f64, f64) -> f64>;

fn wave(stream: &mut Stream) -> Component {
    let (a, b, phi) = (stream.symmetric(2.0), stream.symmetric(2.0), stream.unit());
    Box::new(move |r, c| (TAU * (a * r + b * c + phi)).cos() / 3.0)
}

fn blob(stream: &mut Stream) -> Component {
    let (h, m, s) = (stream.symmetric(1.0), centre(stream), 0.05 + 0.15 * stream.unit());
    Box::new(move |r, c| h * (-squared_distance(r, c, m) / (2.0 * s * s)).exp())
}

fn disc(stream: &mut Stream) -> Component {
    let (h, m, radius) = (stream.symmetric(1.0), centre(stream), 0.1 + 0.15 * stream.unit());
    Box::new(move |r, c| if squared_distance(r, c, m) < radius * radius { h } else { 0.0 })
}

fn rectangle(stream: &mut Stream) -> Component {
    let (h, is_inside) = (stream.symmetric(1.0), random_box(stream));
    Box::new(move |r, c| if is_inside(r, c) { h } else { 0.0 })
}

fn stripes(stream: &mut Stream) -> Component {
    let (u, v) = (10.0 + 30.0 * stream.unit(), 10.0 + 30.0 * stream.unit());
    let is_inside = random_box(stream);
    Box::new(move |r, c| if is_inside(r, c) { 0.3 * (TAU * (u * r + v * c)).cos() } else { 0.0 })
}

/// A random point away from the sides.
fn centre(stream: &mut Stream) -> (f64, f64) {
    (0.2 + 0.6 * stream.unit(), 0.2 + 0.6 * stream.unit())
}

fn squared_distance(r: f64, c: f64, m: (f64, f64)) -> f64 {
    (r - m.0).powi(2) + (c - m.1).powi(2)
}

/// A function that returns whether a point is inside a random box.
fn random_box(stream: &mut Stream) -> impl Fn(f64, f64) -> bool + use<> {
    let m = centre(stream);
    let (half_height, half_width) = (0.1 + 0.2 * stream.unit(), 0.1 + 0.2 * stream.unit());
    move |r, c| (r - m.0).abs() < half_height && (c - m.1).abs() < half_width
}

/// Rescales the values linearly to [0, 1].
fn rescale(f: Vec<f64>) -> Vec<f64> {
    let low = f.iter().copied().fold(f64::INFINITY, f64::min);
    let high = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f.iter().map(|v| (v - low) / (high - low)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_span_zero_to_one_and_are_reproducible() {
        let all: Vec<Vec<f64>> = (0..4).map(|number| image(0, number, 30, 20)).collect();
        for (i, f) in all.iter().enumerate() {
            let ends = f.iter().fold((1.0, 0.0), |(l, h): (f64, f64), v| (l.min(*v), h.max(*v)));
            assert_eq!(ends, (0.0, 1.0), "image {i}");
            assert!(all[..i].iter().all(|other| other != f), "image {i} is a duplicate");
            assert_eq!(*f, image(0, i as u64, 30, 20));
        }
        assert_ne!(all[0], image(1, 0, 30, 20));
    }
}
