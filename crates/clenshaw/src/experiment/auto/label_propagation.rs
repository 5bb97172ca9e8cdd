//! Label propagation, a baseline without features and without training.
//!
//! ```text
//! F(0) = Y,   F(t+1) = a P F(t) + (1 - a) Y          Y: indicators of the training labels, t < 50
//! ```
//!
//! The share `a` is the one with the highest accuracy on the validation nodes. Rows are then divided by their sum;
//! nodes that no label reaches get the class frequencies of the training nodes. Zhou et al., NIPS 2003 (label
//! spreading).

use crate::data::{Dataset, Split};
use crate::graph::{Normalisation, operator};
use crate::tensor::Mat;
use crate::train::most_likely;

/// The candidates for `a`.
const SHARES: [f64; 4] = [0.2, 0.5, 0.8, 0.95];
/// The number of steps.
const STEPS: usize = 50;

/// The probability of every class for every node, `[n, C]`, from the training labels of a split; its
/// validation labels are used only to choose `a`.
pub(in crate::experiment) fn label_propagation(dataset: &Dataset, split: &Split) -> Mat<f32> {
    let label = |node: u32| dataset.y[node as usize].expect("nodes of a split are labelled");
    let n_correct = |p: &Mat<f32>| {
        let is_hit = |&&node: &&u32| most_likely(p.row(node as usize)) == label(node);
        split.val().iter().filter(is_hit).count()
    };
    let candidates = SHARES.map(|share| propagate(dataset, split, share));
    let better = |best: usize, i: usize| {
        if n_correct(&candidates[i]) > n_correct(&candidates[best]) { i } else { best }
    };
    let best = (1..candidates.len()).fold(0, better);
    candidates.into_iter().nth(best).expect("an index of the list")
}

/// Class probabilities, `[n, C]`, with the share `a`.
fn propagate(dataset: &Dataset, split: &Split, share: f64) -> Mat<f32> {
    let (n, c) = (dataset.graph.n_nodes(), dataset.n_classes());
    let p = operator(&dataset.graph, Normalisation::Plain);
    let mut y = Mat::<f64>::zeros(n, c);
    let mut prior = vec![0.0; c];
    for &node in split.train() {
        let class = dataset.y[node as usize].expect("nodes of a split are labelled") as usize;
        y.as_mut_slice()[node as usize * c + class] = 1.0;
        prior[class] += 1.0 / split.train().len() as f64;
    }
    let mut f = y.clone();
    for _ in 0..STEPS {
        f = p.apply(&f);
        let entries = f.as_mut_slice().iter_mut().zip(y.as_slice());
        entries.for_each(|(f, y)| *f = share * *f + (1.0 - share) * y);
    }
    for row in f.as_mut_slice().chunks_exact_mut(c) {
        let total: f64 = row.iter().sum();
        match total > 0.0 {
            true => row.iter_mut().for_each(|value| *value /= total),
            false => row.copy_from_slice(&prior),
        }
    }
    f.cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Features;
    use crate::graph::Graph;

    #[test]
    fn labels_spread_along_edges_and_isolated_nodes_have_the_prior() {
        // Two paths 0-1-2 and 3-4-5 with one label each, and an isolated node.
        let graph = Graph::from_edges("paths", 7, &[(0, 1), (1, 2), (3, 4), (4, 5)]).unwrap();
        let y = vec![Some(0), Some(0), Some(0), Some(1), Some(1), Some(1), Some(0)];
        let x = Features::Dense(Mat::zeros(7, 1));
        let dataset = Dataset::new("paths", graph, x, y, vec!["a".into(), "b".into()]);
        let split = Split::new("s", [vec![0, 3], vec![1], vec![2, 4, 5, 6]]).unwrap();
        let p = label_propagation(&dataset, &split);
        let classes: Vec<u32> = (0..6).map(|node| most_likely(p.row(node))).collect();
        assert_eq!(classes, [0, 0, 0, 1, 1, 1]);
        assert_eq!(p.row(2), [1.0, 0.0]);
        assert_eq!(p.row(6), [0.5, 0.5]);
    }
}
