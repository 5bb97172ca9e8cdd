//! An order of the nodes in which neighbours are close to each other.
//!
//! Nodes are merged into communities: in ascending order of degree, each node joins the neighbouring community
//! with the largest gain of modularity, if any gain is positive:
//!
//! ```text
//! dQ(u, v) = w_uv / m - d_u d_v / (2 m^2)         w: edges between u and v, d: degrees, m: all edges
//! ```
//!
//! The members of a community are then stored together, in the order in which they joined. Arai et al.,
//! "Rabbit order: just-in-time parallel reordering for fast graph analysis", IPDPS 2016.

use crate::tensor::{NodeOrder, Pattern, release_free_memory};

/// The number of consecutive rows within which the distinct neighbours are counted.
const BLOCK: usize = 64;
/// Graphs with fewer nodes are not reordered: their matrices fit into a core's own cache.
const MIN_NODES: usize = 512;
/// An order is used if it reduces the number of distinct neighbours per block to at most this share.
const MAX_SHARE: f64 = 0.9;

/// The community order of a graph; `None` if it would not bring neighbours closer together.
pub(super) fn useful_order(adjacency: &Pattern) -> Option<NodeOrder> {
    if adjacency.n_rows() < MIN_NODES {
        return None;
    }
    let nodes = community_order(adjacency);
    // The edges of the communities were stored in many small blocks.
    release_free_memory();
    let identity: Vec<u32> = (0..adjacency.n_rows() as u32).collect();
    let [before, after] = [&identity, &nodes].map(|order| distinct_neighbours(adjacency, order));
    if after as f64 > MAX_SHARE * before as f64 {
        return None;
    }
    Some(NodeOrder::new(nodes).expect("every node belongs to one community"))
}

/// The number of distinct neighbours of each block of nodes in this order, added up over the blocks.
fn distinct_neighbours(adjacency: &Pattern, nodes: &[u32]) -> usize {
    let mut last_block = vec![usize::MAX; nodes.len()];
    let mut count = 0;
    for (block, rows) in nodes.chunks(BLOCK).enumerate() {
        for &j in rows.iter().flat_map(|&i| adjacency.row(i as usize)) {
            let before = std::mem::replace(&mut last_block[j as usize], block);
            count += usize::from(before != block);
        }
    }
    count
}

/// All nodes, community by community.
fn community_order(adjacency: &Pattern) -> Vec<u32> {
    let n = adjacency.n_rows();
    let mut communities = Communities::new(adjacency);
    let mut by_degree: Vec<u32> = (0..n as u32).collect();
    by_degree.sort_by_key(|&node| adjacency.row(node as usize).len());
    for node in by_degree {
        communities.merge(node);
    }
    communities.order()
}

/// The communities so far, each identified by its root: the only member that has not joined another one.
struct Communities<'a> {
    adjacency: &'a Pattern,
    /// The node that each node joined, or one that this node joined in turn; for a root, the root itself.
    joined: Vec<u32>,
    /// The nodes that joined each node, in order.
    members: Vec<Vec<u32>>,
    /// For each root, the sum of the degrees of its community.
    degree: Vec<f64>,
    /// For each node that has joined another one: the communities that its edges led to, with the number of edges.
    edges: Vec<Vec<(u32, f64)>>,
    /// The number of edges to each community; zero except during [`Communities::merge`].
    counts: Vec<f64>,
}

impl<'a> Communities<'a> {
    /// Every node is a community of its own.
    fn new(adjacency: &'a Pattern) -> Self {
        let n = adjacency.n_rows();
        Self {
            adjacency,
            joined: (0..n as u32).collect(),
            members: vec![vec![]; n],
            degree: (0..n).map(|i| adjacency.row(i).len() as f64).collect(),
            edges: vec![vec![]; n],
            counts: vec![0.0; n],
        }
    }

    /// The root of a node's community.
    fn find(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.joined[root as usize] != root {
            let next = self.joined[root as usize];
            // Halves the path for the next call.
            self.joined[root as usize] = self.joined[next as usize];
            root = next;
        }
        root
    }

    /// Merges the community of a root into the neighbouring one with the largest gain, if any gain is positive.
    fn merge(&mut self, node: u32) {
        let edges = self.collect_edges(node);
        let m = self.adjacency.n_entries() as f64 / 2.0;
        let gain = |&(community, count): &(u32, f64)| {
            let degrees = self.degree[node as usize] * self.degree[community as usize];
            count / m - degrees / (2.0 * m * m)
        };
        let mut best: Option<(f64, u32)> = None;
        for edge in &edges {
            let gain = gain(edge);
            if gain > best.map_or(0.0, |(largest, _)| largest) {
                best = Some((gain, edge.0));
            }
        }
        if let Some((_, community)) = best {
            self.joined[node as usize] = community;
            self.members[community as usize].push(node);
            self.degree[community as usize] += self.degree[node as usize];
            self.edges[node as usize] = edges;
        }
    }

    /// The number of edges from the community of a root to each neighbouring community.
    fn collect_edges(&mut self, node: u32) -> Vec<(u32, f64)> {
        let mut touched: Vec<u32> = vec![];
        let mut add = |communities: &mut Self, other: u32, count: f64| {
            let community = communities.find(other);
            if community != node {
                let total = &mut communities.counts[community as usize];
                if *total == 0.0 {
                    touched.push(community);
                }
                *total += count;
            }
        };
        for &other in self.adjacency.row(node as usize) {
            add(self, other, 1.0);
        }
        for member in self.members[node as usize].clone() {
            for (other, count) in std::mem::take(&mut self.edges[member as usize]) {
                add(self, other, count);
            }
        }
        let count =
            |&community: &u32| (community, std::mem::take(&mut self.counts[community as usize]));
        touched.iter().map(count).collect()
    }

    /// All nodes, each followed by those that joined it.
    fn order(&self) -> Vec<u32> {
        let n = self.joined.len() as u32;
        let mut order = Vec::with_capacity(n as usize);
        let mut next: Vec<u32> = vec![];
        for root in (0..n).filter(|&node| self.joined[node as usize] == node) {
            next.push(root);
            while let Some(node) = next.pop() {
                order.push(node);
                next.extend(self.members[node as usize].iter().rev());
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::rng::Stream;

    /// `groups` cliques of `size` nodes, joined in a ring; node numbers are shuffled.
    fn cliques(groups: usize, size: usize) -> Graph {
        let n = groups * size;
        let mut numbers: Vec<u32> = (0..n as u32).collect();
        Stream::new(3, "order test").shuffle(&mut numbers);
        let mut edges = vec![];
        for group in 0..groups {
            let node = |k: usize| numbers[(group * size + k) % n];
            edges.extend((0..size).flat_map(|a| (0..a).map(move |b| (node(a), node(b)))));
            edges.push((node(0), node(size)));
        }
        Graph::from_edges("cliques", n, &edges).unwrap()
    }

    #[test]
    fn members_of_a_clique_are_stored_together() {
        let graph = cliques(64, 16);
        let order = useful_order(graph.adjacency()).unwrap();
        // Every run of 16 rows is a clique: each of its nodes has the 15 others as neighbours.
        for rows in order.nodes().chunks(16) {
            let has_others = |&i: &u32| {
                let others = rows.iter().filter(|&j| graph.neighbours(i as usize).contains(j));
                others.count() == 15
            };
            assert!(rows.iter().all(has_others), "{rows:?}");
        }
    }

    #[test]
    fn an_order_that_is_already_good_is_kept() {
        let n = 2000;
        let edges: Vec<(u32, u32)> =
            (0..n).flat_map(|i| (1..4).map(move |d| (i, (i + d) % n))).collect();
        let ring = Graph::from_edges("ring", n as usize, &edges).unwrap();
        assert_eq!(useful_order(ring.adjacency()), None);
        assert_eq!(useful_order(cliques(8, 16).adjacency()), None, "few nodes");
    }
}
