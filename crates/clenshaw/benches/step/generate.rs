//! Generated graphs the size of public ones, for machines without the public files, and a large graph
//! with communities.

use clenshaw::data::{Dataset, Features};
use clenshaw::graph::Graph;
use clenshaw::rng::Stream;
use clenshaw::tensor::{Mat, Pattern};
use std::collections::HashSet;
use std::ops::Range;

/// The name of the graph with communities: a stochastic block model.
const COMMUNITIES: &str = "twitch-gamers-sbm";
/// The public graph of the same size.
const TWITCH: &str = "twitch-gamers";
/// The sizes of its communities.
const COMMUNITY_NODES: Range<usize> = 100..500;
/// The fraction of its edges that connect nodes of the same community.
const INSIDE: f64 = 0.8;

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

const SIZES: [GraphSize; 8] = [
    size("cora", 2708, 5278, (1433, 18), 7),
    size("citeseer", 3327, 4552, (3703, 32), 6),
    size("pubmed", 19_717, 44_324, (500, 50), 3),
    size("chameleon", 2277, 31_371, (2325, 13), 5),
    size("squirrel", 5201, 198_353, (2089, 18), 5),
    size("actor", 7600, 26_659, (932, 5), 5),
    size(TWITCH, 168_114, 6_797_557, (7, 7), 2),
    size(COMMUNITIES, 168_114, 6_797_557, (7, 7), 2),
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

/// The graph whose preset is used for this graph.
pub fn preset_name(graph: &str) -> &str {
    if graph == COMMUNITIES { TWITCH } else { graph }
}

/// A graph with as many nodes, edges, features and classes as a public one; `None` if the name is not
/// listed.
pub fn graph_like(name: &str) -> Option<Dataset> {
    let size = SIZES.iter().find(|size| size.name == name)?;
    let stream = Stream::new(0, "bench");
    let mut edge_stream = stream.named("edges");
    let edges = match name {
        COMMUNITIES => community_edges(&mut edge_stream, size),
        _ => power_law_edges(&mut edge_stream, size),
    };
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
fn power_law_edges(stream: &mut Stream, size: &GraphSize) -> Vec<(u32, u32)> {
    let ids = shuffled_ids(stream, size.nodes);
    let mut end = |power| ids[(size.nodes as f64 * stream.unit().powi(power)) as usize];
    distinct_edges(size.edges, || (end(3), end(2)))
}

/// Distinct edges without self-loops, most of them inside communities. Ids are shuffled, so that their order
/// does not show the communities.
fn community_edges(stream: &mut Stream, size: &GraphSize) -> Vec<(u32, u32)> {
    let ids = shuffled_ids(stream, size.nodes);
    let communities = communities(stream, size.nodes);
    distinct_edges(size.edges, || {
        let u = stream.below(size.nodes);
        let v = if stream.unit() < INSIDE {
            let community = &communities[u];
            community.start + stream.below(community.len())
        } else {
            stream.below(size.nodes)
        };
        (ids[u], ids[v])
    })
}

/// The range of nodes of each node's community.
fn communities(stream: &mut Stream, nodes: usize) -> Vec<Range<usize>> {
    let mut communities: Vec<Range<usize>> = vec![];
    while communities.len() < nodes {
        let start = communities.len();
        let length = COMMUNITY_NODES.start + stream.below(COMMUNITY_NODES.len());
        // The last community includes a rest that would be too small.
        let is_last = start + length + COMMUNITY_NODES.start > nodes;
        let end = if is_last { nodes } else { start + length };
        communities.extend((start..end).map(|_| start..end));
    }
    communities
}

fn shuffled_ids(stream: &mut Stream, nodes: usize) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..nodes as u32).collect();
    stream.shuffle(&mut ids);
    ids
}

/// Draws edges until there are `count` distinct ones without self-loops.
fn distinct_edges(count: usize, mut draw: impl FnMut() -> (u32, u32)) -> Vec<(u32, u32)> {
    let (mut seen, mut edges) = (HashSet::new(), vec![]);
    while edges.len() < count {
        let (u, v) = draw();
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
