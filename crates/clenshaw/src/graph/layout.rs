//! A force-directed layout: all nodes repel each other, and neighbours attract each other.
//!
//! ```text
//! repulsion  k^2 / d        attraction  d^2 / k        k = sqrt(area / n), steps shrink linearly
//! ```
//!
//! A weak force towards the centre keeps the components of a graph together.
//! Fruchterman & Reingold, Software: Practice and Experience 1991.

use super::Graph;
use crate::rng::Stream;
use std::collections::VecDeque;

/// The number of steps of the layout.
const STEPS: usize = 150;

/// Some nodes of a graph with their positions, and the edges between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The nodes.
    pub nodes: Vec<u32>,
    /// Their positions, each coordinate from 0 to 1.
    pub positions: Vec<(f64, f64)>,
    /// The edges, as pairs of indices into `nodes`.
    pub edges: Vec<(usize, usize)>,
}

/// Lays out all nodes of a graph, or only the first `max_nodes` in breadth-first order from `centre` if it has
/// more.
///
/// # Panics
/// If the graph has more than `max_nodes` nodes, and `centre` is not one of them.
pub fn draw(graph: &Graph, centre: u32, max_nodes: usize) -> Drawing {
    let nodes = match graph.n_nodes() <= max_nodes {
        true => (0..graph.n_nodes() as u32).collect(),
        false => nearest(graph, centre, max_nodes),
    };
    let mut index = vec![usize::MAX; graph.n_nodes()];
    nodes.iter().enumerate().for_each(|(i, &node)| index[node as usize] = i);
    let mut edges = vec![];
    for (i, &node) in nodes.iter().enumerate() {
        let neighbours = graph.neighbours(node as usize).iter().map(|&v| index[v as usize]);
        edges.extend(neighbours.filter(|&j| j != usize::MAX && i < j).map(|j| (i, j)));
    }
    let positions = compute_positions(nodes.len(), &edges);
    Drawing { nodes, positions, edges }
}

/// The first `max_nodes` nodes in breadth-first order from `centre`, sorted by number.
fn nearest(graph: &Graph, centre: u32, max_nodes: usize) -> Vec<u32> {
    let mut seen = vec![false; graph.n_nodes()];
    let (mut queue, mut nodes) = (VecDeque::from([centre]), vec![]);
    seen[centre as usize] = true;
    while let Some(node) = queue.pop_front().filter(|_| nodes.len() < max_nodes) {
        nodes.push(node);
        for &next in graph.neighbours(node as usize) {
            if !std::mem::replace(&mut seen[next as usize], true) {
                queue.push_back(next);
            }
        }
    }
    nodes.sort_unstable();
    nodes
}

/// Moves nodes from random positions along the forces; returns their positions in the unit square.
fn compute_positions(n: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let mut stream = Stream::new(0, "layout");
    let mut positions: Vec<(f64, f64)> = (0..n).map(|_| (stream.unit(), stream.unit())).collect();
    let k = (1.0 / n.max(1) as f64).sqrt();
    for step in 0..STEPS {
        let limit = 0.1 * (1.0 - step as f64 / STEPS as f64);
        let forces = forces(&positions, edges, k);
        for (position, (x, y)) in positions.iter_mut().zip(forces) {
            let length = x.hypot(y).max(1e-12);
            let scale = length.min(limit) / length;
            *position = (position.0 + x * scale, position.1 + y * scale);
        }
    }
    to_unit_square(positions)
}

/// The force on every node: repulsion from all others, attraction to neighbours and to the centre.
fn forces(positions: &[(f64, f64)], edges: &[(usize, usize)], k: f64) -> Vec<(f64, f64)> {
    let n = positions.len();
    let mut forces: Vec<(f64, f64)> =
        positions.iter().map(|(x, y)| (0.5 * (0.5 - x), 0.5 * (0.5 - y))).collect();
    let mut push = |i: usize, j: usize, strength: f64, (dx, dy): (f64, f64)| {
        forces[i].0 += strength * dx;
        forces[i].1 += strength * dy;
        forces[j].0 -= strength * dx;
        forces[j].1 -= strength * dy;
    };
    let between = |i: usize, j: usize| {
        let (dx, dy) = (positions[i].0 - positions[j].0, positions[i].1 - positions[j].1);
        ((dx, dy), dx.hypot(dy).max(1e-6))
    };
    for i in 0..n {
        for j in 0..i {
            let (direction, distance) = between(i, j);
            push(i, j, k * k / (distance * distance), direction);
        }
    }
    for &(i, j) in edges {
        let (direction, distance) = between(i, j);
        push(i, j, -distance / k, direction);
    }
    forces
}

/// Shifts and scales positions so that each coordinate ranges from 0 to 1.
fn to_unit_square(positions: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let range = |coordinate: fn(&(f64, f64)) -> f64| {
        let values = positions.iter().map(coordinate);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        (low, (values.fold(f64::NEG_INFINITY, f64::max) - low).max(1e-12))
    };
    let ((left, width), (bottom, height)) = (range(|p| p.0), range(|p| p.1));
    positions.iter().map(|(x, y)| ((x - left) / width, (y - bottom) / height)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_closer_than_strangers() {
        // Two cliques of five nodes, joined by one edge.
        let clique =
            |first: u32| (first..first + 5).flat_map(move |u| (first..u).map(move |v| (u, v)));
        let edges: Vec<(u32, u32)> = clique(0).chain(clique(5)).chain([(0, 5)]).collect();
        let graph = Graph::from_edges("cliques", 10, &edges).unwrap();
        let drawing = draw(&graph, 0, 100);
        let distance = |i: usize, j: usize| {
            let (a, b) = (drawing.positions[i], drawing.positions[j]);
            (a.0 - b.0).hypot(a.1 - b.1)
        };
        assert_eq!((drawing.nodes.len(), drawing.edges.len()), (10, 21));
        assert!(distance(1, 2) < 0.5 * distance(1, 7), "{:?}", drawing.positions);
        let inside = |&(x, y): &(f64, f64)| (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y);
        assert!(drawing.positions.iter().all(inside));
        assert_eq!(draw(&graph, 0, 100), drawing);
    }

    #[test]
    fn large_graphs_are_drawn_around_the_centre() {
        let edges: Vec<(u32, u32)> = (0..99).map(|i| (i, i + 1)).collect();
        let graph = Graph::from_edges("path", 100, &edges).unwrap();
        let drawing = draw(&graph, 50, 5);
        assert_eq!(drawing.nodes, [48, 49, 50, 51, 52]);
        assert_eq!(drawing.edges, [(0, 1), (1, 2), (2, 3), (3, 4)]);
    }
}
