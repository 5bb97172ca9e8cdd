//! Gradients integrated along the path from zero features to the actual ones.

use super::limits::{operations, too_expensive};
use super::network::{Factors, Network, add_products};
use super::{Attribution, AttributionLimits, AttributionMethod, AttributionTarget, Contribution};
use crate::error::Result;
use crate::tensor::{AlignedVec, Mat, ThreadTeam, Workspace};

/// The numbers of points of the midpoint rule.
const POINTS: [usize; 5] = [3, 9, 27, 81, 243];
/// Points are added until the gap is below this share of the change along the path.
const TOLERANCE: f64 = 0.01;

/// The result of an integration, and the values and the workspace for further gradients.
pub(super) struct Integral {
    pub attribution: Attribution,
    pub watched: Vec<Mat<f64>>,
    pub work: Workspace<f64>,
}

/// An integration in progress.
struct Path<'a> {
    network: &'a Network,
    watched: Vec<Mat<f64>>,
    work: Workspace<f64>,
    sums: Sums,
}

/// Sums over the points of a path.
struct Sums {
    by_node: Vec<Contribution>,
    by_adjacency: Vec<Contribution>,
    by_feature: Vec<Contribution>,
}

/// Integrates until the gap of the margin is small or the largest number of points within the limits is reached.
/// Fails if the limits do not allow the smallest number.
pub(super) fn integrate(
    network: &Network,
    target: AttributionTarget,
    limits: &AttributionLimits,
) -> Result<Integral> {
    let per_point = 2.0 * operations(&network.plan);
    let first = POINTS[0] as f64 * per_point;
    if first > limits.operations {
        return Err(too_expensive(target, first, limits.operations));
    }
    let mut work = network.plan.workspace(ThreadTeam::new(limits.threads));
    let scores = network.scores(&mut work, &network.params);
    let total = Contribution::of(target, &scores);
    let start = network.scores(&mut work, &network.scaled_params(0.0));
    let without_features = Contribution::of(target, &start);
    let watched = network.watched_values(&mut work);
    let mut path = Path { network, watched, work, sums: Sums::new(network) };
    let change = (total - without_features).margin;
    let mut points = 0;
    for n in POINTS.into_iter().take_while(|&n| n as f64 * per_point <= limits.operations) {
        // The midpoints of n / 3 intervals are every third of those of n intervals.
        for j in (0..n).filter(|j| points == 0 || j % 3 != 1) {
            path.add_point((2 * j + 1) as f64 / (2 * n) as f64);
        }
        points = n;
        let gap = change - path.sums.total().margin / points as f64;
        if gap.abs() <= TOLERANCE * change.abs() {
            break;
        }
    }
    let Path { sums, watched, work, .. } = path;
    let mean = |parts: &[Contribution]| -> Vec<Contribution> {
        parts.iter().map(|part| *part * (1.0 / points as f64)).collect()
    };
    let by_adjacency = mean(&sums.by_adjacency);
    let attribution = Attribution {
        method: AttributionMethod::IntegratedGradients,
        reach: network.reach,
        scores,
        total,
        by_node: merge(&network.nodes, mean(&sums.by_node), &by_adjacency),
        without_nodes: without_features,
        by_feature: mean(&sums.by_feature),
        by_adjacency: by_adjacency.iter().fold(Contribution::default(), |sum, part| sum + *part),
        without_features,
        points,
        terms: None,
        operations: points as f64 * per_point,
    };
    Ok(Integral { attribution, watched, work })
}

/// The contributions of nodes by their own features, with those by their column of the adjacency added.
fn merge(
    nodes: &[u32],
    own: Vec<Contribution>,
    by_adjacency: &[Contribution],
) -> Vec<(u32, Contribution)> {
    let mut merged: Vec<(u32, Contribution)> = nodes.iter().copied().zip(own).collect();
    let columns = by_adjacency.iter().enumerate();
    let columns = columns.filter(|(_, part)| **part != Contribution::default());
    merged.extend(columns.map(|(node, part)| (node as u32, *part)));
    merged.sort_by_key(|(node, _)| *node);
    merged.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        if is_same {
            first.1 += next.1;
        }
        is_same
    });
    merged
}

impl Sums {
    fn new(network: &Network) -> Self {
        let zeros = |n: usize| vec![Contribution::default(); n];
        let has_adjacency = !network.adjacency_weights.is_empty();
        Self {
            by_node: zeros(network.nodes.len()),
            by_adjacency: zeros(if has_adjacency { network.n_nodes } else { 0 }),
            by_feature: zeros(network.n_features),
        }
    }

    /// The sum over features and the adjacency.
    fn total(&self) -> Contribution {
        let parts = self.by_feature.iter().chain(&self.by_adjacency);
        parts.fold(Contribution::default(), |sum, part| sum + *part)
    }
}

impl Path<'_> {
    /// Adds the gradients at `factor` times the features.
    fn add_point(&mut self, factor: f64) {
        let params = self.network.scaled_params(factor);
        for (class, factors) in self.network.classes() {
            self.network.gradient(&mut self.work, &params, class);
            self.add_gradients(factors);
        }
    }

    /// Adds the products of the last gradients with values and weights.
    fn add_gradients(&mut self, factors: Factors) {
        let Self { network, watched, work, sums } = self;
        if network.input.is_none() {
            for (value, gradient) in watched.iter().zip(network.plan.watched_gradients(work)) {
                if let Some(gradient) = gradient {
                    add_products(&mut sums.by_node, value.as_slice(), gradient, factors);
                }
            }
        }
        let ranges = network.plan.ranges();
        let parts = [
            (&network.feature_weights, &mut sums.by_feature),
            (&network.adjacency_weights, &mut sums.by_adjacency),
        ];
        for (weights, sums) in parts {
            for range in weights.iter().map(|&weight| ranges[weight].clone()) {
                let w: &AlignedVec<f64> = &network.params;
                add_products(sums, &w[range.clone()], &work.gradients()[range], factors);
            }
        }
    }
}
