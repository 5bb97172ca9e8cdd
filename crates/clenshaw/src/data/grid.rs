//! A smooth image on a 2-D grid, observed with noise.
//!
//! ```text
//! f(r, c) = sum_w cos(2 pi (a_w r + b_w c + phi_w))       row r, column c in [0, 1); |a_w|, |b_w| <= 2
//! x_i = f_i g + noise z_i                                 g ~ N(0, I_d / d)
//! y_i = index of the brightness quantile of f_i
//! ```
//!
//! `f` is scaled to mean 0 and variance 1.
//!
//! Neighbouring pixels have similar brightness, so low-pass filters help, unlike on `csbm`, which is heterophilous
//! by default.

use super::{Dataset, DatasetInfo, DatasetOrigin, Features, SEED, check_classes, gaussian};
use crate::error::Result;
use crate::graph::Graph;
use crate::hyper::{HyperParam, Params};
use crate::rng::Stream;
use crate::tensor::Mat;
use std::f64::consts::TAU;

/// The entry of this data set in [`DATASETS`](super::DATASETS).
pub const INFO: DatasetInfo = DatasetInfo {
    name: "grid",
    title: "2-D grid of pixels that observe a smooth image with noise, classified by brightness",
    paper: "after Shuman et al., The Emerging Field of Signal Processing on Graphs, 2013",
    source: "generated from a seed",
    origin: DatasetOrigin::Generated { hyper: HYPER, generate },
};

static HYPER: &[HyperParam] = &[
    HyperParam::int("rows", 40, (2, 1000), "height of the image"),
    HyperParam::int("columns", 40, (2, 1000), "width of the image"),
    HyperParam::int("classes", 4, (2, 100), "number of brightness classes"),
    HyperParam::int("features", 8, (1, 1000), "number of features"),
    HyperParam::real("noise", 0.5, (0.0, 100.0), "standard deviation of the noise"),
    SEED,
];

/// Number of waves in the image.
const WAVES: usize = 6;

fn generate(params: &Params) -> Result<Dataset> {
    let (rows, columns, d) = (params.int("rows"), params.int("columns"), params.int("features"));
    check_classes(params.int("classes"), rows * columns)?;
    gaussian::require_memory(rows * columns, d, "lower `rows`, `columns` or `features`")?;
    let stream = Stream::new(params.int("seed") as u64, "graph");
    let graph = Graph::from_edges(INFO.name, rows * columns, &edges(rows, columns))?;
    let f = image(&mut stream.named("picture"), rows, columns);
    let classes = quantiles(&f, params.int("classes"));
    let x = observations(&stream, &f, d, params.real("noise"));
    INFO.build_generated(params, graph, x, &classes)
}

/// The edges from every pixel to its right and lower neighbours; pixels are numbered row by row.
fn edges(rows: usize, columns: usize) -> Vec<(u32, u32)> {
    let pixel = |r: usize, c: usize| (r * columns + c) as u32;
    let mut edges = vec![];
    for r in 0..rows {
        for c in 0..columns {
            edges.extend((c + 1 < columns).then(|| (pixel(r, c), pixel(r, c + 1))));
            edges.extend((r + 1 < rows).then(|| (pixel(r, c), pixel(r + 1, c))));
        }
    }
    edges
}

/// The brightness `f(r, c)` of all pixels, row by row, scaled to mean 0 and variance 1.
fn image(stream: &mut Stream, rows: usize, columns: usize) -> Vec<f64> {
    let mut wave = || [stream.symmetric(2.0), stream.symmetric(2.0), stream.unit()];
    let waves: Vec<[f64; 3]> = (0..WAVES).map(|_| wave()).collect();
    let brightness = |i: usize| {
        let (r, c) = ((i / columns) as f64 / rows as f64, (i % columns) as f64 / columns as f64);
        waves.iter().map(|[a, b, phi]| (TAU * (a * r + b * c + phi)).cos()).sum::<f64>()
    };
    let f: Vec<f64> = (0..rows * columns).map(brightness).collect();
    let mean = f.iter().sum::<f64>() / f.len() as f64;
    let variance = f.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f.len() as f64;
    f.iter().map(|v| (v - mean) / variance.sqrt()).collect()
}

/// Assigns `n_classes` classes, from dark to bright, whose sizes differ by at most one.
fn quantiles(f: &[f64], n_classes: usize) -> Vec<u32> {
    let mut by_brightness: Vec<usize> = (0..f.len()).collect();
    by_brightness.sort_by(|&i, &j| f[i].total_cmp(&f[j]));
    let mut classes = vec![0; f.len()];
    for (rank, i) in by_brightness.into_iter().enumerate() {
        classes[i] = (rank * n_classes / f.len()) as u32;
    }
    classes
}

/// `x_i = f_i g + noise z_i`.
fn observations(stream: &Stream, f: &[f64], d: usize, noise: f64) -> Features {
    let mut gains = stream.named("gains");
    let g: Vec<f64> = (0..d).map(|_| gains.normal() / (d as f64).sqrt()).collect();
    let mut z = stream.named("noise");
    let mut x = Mat::zeros(f.len(), d);
    for i in 0..f.len() {
        for j in 0..d {
            x[(i, j)] = (f[i] * g[j] + noise * z.normal()) as f32;
        }
    }
    Features::Dense(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::load;
    use crate::graph::edge_homophily;

    #[test]
    fn edges_of_a_3_by_2_grid() {
        // 0 1
        // 2 3
        // 4 5
        let mut edges = edges(3, 2);
        edges.sort_unstable();
        assert_eq!(edges, [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)]);
    }

    #[test]
    fn classes_have_equal_size_from_dark_to_bright() {
        assert_eq!(quantiles(&[0.3, -1.0, 2.0, 0.1, 9.0, -3.0], 3), [1, 0, 2, 1, 2, 0]);
        let dataset = load("grid:rows=30,columns=20").unwrap();
        assert_eq!(dataset.class_sizes(), [150; 4]);
    }

    #[test]
    fn corners_have_two_neighbours_and_inner_pixels_four() {
        let graph = load("grid:rows=5,columns=7").unwrap().graph;
        assert_eq!(graph.n_edges(), 5 * 6 + 7 * 4);
        assert_eq!([0, 6, 28, 34].map(|corner| graph.degree(corner)), [2; 4]);
        assert_eq!((graph.degree(3), graph.degree(7), graph.degree(8)), (3, 3, 4));
    }

    #[test]
    fn edge_homophily_exceeds_three_quarters() {
        for seed in 0..5 {
            let dataset = load(&format!("grid:seed={seed}")).unwrap();
            let homophily = edge_homophily(&dataset.graph, &dataset.y).unwrap();
            assert!(homophily > 0.75, "seed {seed}: {homophily}");
        }
    }

    #[test]
    fn noise_free_features_are_proportional_to_the_image() {
        let dataset = load("grid:noise=0,features=1").unwrap();
        let x: Vec<f64> = dataset.x.values().iter().map(|&v| f64::from(v)).collect();
        // The feature is f times a gain of either sign, so its quantiles are the classes or their reverse.
        let negated: Vec<f64> = x.iter().map(|v| -v).collect();
        let y: Vec<u32> = dataset.y.iter().map(|label| label.unwrap()).collect();
        assert!(quantiles(&x, 4) == y || quantiles(&negated, 4) == y);
    }
}
