//! Generated graphs the size of public ones, for machines without the public files.

use clenshaw::data::{Dataset, Features};
use clenshaw::graph::Graph;
use clenshaw::rng::Stream;
use clenshaw::tensor::{Mat, Pattern};
use std::collections::HashSet;

/// The size of a public graph.
struct GraphSize {
    name: &'static str,
    nodes: usize,
    edges: usize,
    features: usize,
    /// The number of non-zero features per node; the matrix is dense if it equals `features`.
    nonzero: usize,
    classes: usize,
}

const SIZES: [GraphSize; 7] = [
    size("cora", 2708, 5278, (1433, 18), 7),
    size("citeseer", 3327, 4552, (3703, 32), 6),
    size("pubmed", 19_717, 44_324, (500, 50), 3),
    size("chameleon", 2277, 31_371, (2325, 13), 5),
    size("squirrel", 5201, 198_353, (2089, 18), 5),
    size("actor", 7600, 26_659, (932, 5), 5),
    size("twitch-gamers", 168_114, 6_797_557, (7, 7), 2),
];

const fn size(
    name: &'static str,
    nodes: usize,
    edges: usize,
    (features, nonzero): (usize, usize),
    classes: usize,
) -> GraphSize {
    GraphSize { name, nodes, edges, features, nonzero, classes }
}

/// A graph with as many nodes, edges, features and classes as a public one; `None` if the name is not
/// listed.
pub fn graph_like(name: &str) -> Option<Dataset> {
    let size = SIZES.iter().find(|size| size.name == name)?;
    let stream = Stream::new(0, "bench");
    let edges = edges(&mut stream.named("edges"), size);
    let graph = Graph::from_edges(name, size.nodes, &edges)
        .expect("node ids are below the number of nodes");
    let mut classes = stream.named("classes");
    let y = (0..size.nodes).map(|_| Some(classes.below(size.classes) as u32)).collect();
    let names = (0..size.classes).map(|class| class.to_string()).collect();
    let x = features(&mut stream.named("features"), size);
    let dataset = Dataset::new(name, graph, x, y, names);
    Some(Dataset { source: "generated".into(), ..dataset })
}

/// Distinct edges without self-loops; the degrees of the nodes follow a power of their rank.
fn edges(stream: &mut Stream, size: &GraphSize) -> Vec<(u32, u32)> {
    let mut ids: Vec<u32> = (0..size.nodes as u32).collect();
    stream.shuffle(&mut ids);
    let mut end = |power| ids[(size.nodes as f64 * stream.unit().powi(power)) as usize];
    let (mut seen, mut edges) = (HashSet::new(), vec![]);
    while edges.len() < size.edges {
        let (u, v) = (end(3), end(2));
        if u != v && seen.insert((u.min(v), u.max(v))) {
            edges.push((u, v));
        }
    }
    edges
}

fn features(stream: &mut Stream, size: &GraphSize) -> Features {
    if size.nonzero == size.features {
        let values = (0..size.nodes * size.features).map(|_| stream.normal() as f32).collect();
        return Features::Dense(Mat::from_vec(size.nodes, size.features, values));
    }
    let (mut offsets, mut indices) = (vec![0], vec![]);
    for _ in 0..size.nodes {
        let mut row = vec![];
        while row.len() < size.nonzero {
            let column = stream.below(size.features) as u32;
            if !row.contains(&column) {
                row.push(column);
            }
        }
        row.sort_unstable();
        indices.extend(row);
        offsets.push(indices.len());
    }
    let values = vec![1.0; indices.len()];
    Features::Sparse { pattern: Pattern::new(size.features, offsets, indices), values }
}
