//! A drawing of the nodes that contribute most, connected by shortest paths.

use super::Explainer;
use crate::graph::{self, Graph};
use crate::report::{DrawnNode, NeighbourhoodDrawing};
use crate::train::Attribution;

/// The maximum number of nodes that are drawn because of their contributions, not counting the nodes on the paths
/// to them.
const DRAWN_NODES: usize = 16;
/// Longer names are cut to this number of characters, followed by an ellipsis.
const NAME_LENGTH: usize = 16;

/// Draws a node, the nodes with the largest contributions to the margin, in either direction, a shortest path to
/// each of them, and all edges between these nodes. `distances` are those from the node.
pub(super) fn draw(
    explainer: &Explainer<'_>,
    node: usize,
    attribution: &Attribution,
    distances: &[Option<usize>],
) -> NeighbourhoodDrawing {
    let graph = &explainer.dataset.graph;
    let mut strongest = attribution.by_node.clone();
    strongest.sort_by(|(_, a), (_, b)| b.margin.abs().total_cmp(&a.margin.abs()));
    let mut nodes = vec![node as u32];
    for &(far, _) in strongest.iter().take(DRAWN_NODES) {
        nodes.push(far);
        nodes.extend(path_to_centre(graph, far, distances));
    }
    nodes.sort_unstable();
    nodes.dedup();
    let position = |u: u32| nodes.binary_search(&u).ok();
    let edges: Vec<(u32, u32)> = nodes
        .iter()
        .enumerate()
        .flat_map(|(i, &u)| {
            let others = graph.neighbours(u as usize).iter().filter_map(|&v| position(v));
            others.filter(move |&j| i < j).map(move |j| (i as u32, j as u32))
        })
        .collect();
    let place = "the neighbourhood of a node";
    let small = Graph::from_edges(place, nodes.len(), &edges).expect("positions are in range");
    let layout = graph::draw(&small, 0, nodes.len());
    let contribution = |u: u32| {
        let found = attribution.by_node.binary_search_by_key(&u, |(other, _)| *other);
        found.map_or(0.0, |i| attribution.by_node[i].1.margin)
    };
    let drawn = |(&u, &position): (&u32, &(f64, f64))| DrawnNode {
        name: short(&explainer.name(u as usize)),
        position,
        class: explainer.dataset.y[u as usize].map(|class| class as usize),
        contribution: contribution(u),
        is_centre: u as usize == node,
    };
    let order = explainer.classes_by_probability(node);
    // The labels of the nodes are classes of the graph, which may have changed since training.
    let names = explainer.model.class_names();
    NeighbourhoodDrawing {
        title: format!(
            "{}: {} rather than {}",
            short(&explainer.name(node)),
            short(&names[order[0]]),
            short(&names[order[1]])
        ),
        nodes: nodes.iter().zip(&layout.positions).map(drawn).collect(),
        edges: layout.edges,
        class_names: explainer.dataset.class_names.iter().map(|name| short(name)).collect(),
    }
}

/// The nodes on a shortest path from `far` to the centre, without `far` but with the centre; empty if `far` is the
/// centre or not connected to it.
fn path_to_centre(graph: &Graph, far: u32, distances: &[Option<usize>]) -> Vec<u32> {
    let (mut path, mut u) = (vec![], far);
    while let Some(distance) = distances[u as usize].filter(|&distance| distance > 0) {
        let closer = |v: &&u32| distances[**v as usize] == Some(distance - 1);
        let Some(&next) = graph.neighbours(u as usize).iter().find(closer) else { break };
        path.push(next);
        u = next;
    }
    path
}

/// The name; if it has more than [`NAME_LENGTH`] characters, cut and with an ellipsis.
fn short(name: &str) -> String {
    match name.char_indices().nth(NAME_LENGTH) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
