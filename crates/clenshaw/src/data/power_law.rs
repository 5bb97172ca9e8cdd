//! Preferential attachment with communities.
//!
//! ```text
//! node t joins with m edges, each to a node of its own community with probability h, else to a node of
//! the other communities; among these nodes, v is chosen with probability proportional to deg(v)
//! ```
//!
//! For k >= m, a share of about `m (m + 1) / (k (k + 1))` of the nodes has degree k or more: a power law.
//! Repeated edges are merged; the average degree is below `2 m`, in large graphs only slightly.
//! Barabasi & Albert, Science 1999; communities after Karimi et al., Scientific Reports 2018.

use super::{Dataset, DatasetInfo, DatasetOrigin, SEED, check_classes, gaussian};
use crate::error::Result;
use crate::graph::Graph;
use crate::hyper::{HyperParam, Params};
use crate::rng::Stream;

/// The entry of this data set in [`DATASETS`](super::DATASETS).
pub const INFO: DatasetInfo = DatasetInfo {
    name: "power-law",
    title: "preferential attachment with communities: few hubs, many nodes of low degree",
    paper: "Barabasi & Albert, Emergence of Scaling in Random Networks, Science 1999",
    source: "generated from a seed",
    origin: DatasetOrigin::Generated { hyper: HYPER, generate },
};

static HYPER: &[HyperParam] = &[
    HyperParam::int("nodes", 2000, (10, 50_000_000), "number of nodes"),
    HyperParam::int("classes", 4, (2, 100), "number of communities"),
    HyperParam::int("edges", 3, (1, 100), "edges per new node"),
    HyperParam::real("homophily", 0.7, (0.0, 1.0), "share of edges within a community"),
    HyperParam::int("features", 32, (1, 1000), "number of features"),
    HyperParam::real("signal", 1.5, (0.0, 100.0), "length of the class means"),
    SEED,
];

fn generate(params: &Params) -> Result<Dataset> {
    let (n, n_classes) = (params.int("nodes"), params.int("classes"));
    check_classes(n_classes, n)?;
    let stream = Stream::new(params.int("seed") as u64, "graph");
    let classes = classes(&mut stream.named("classes"), n, n_classes);
    let edges = attach(&mut stream.named("edges"), &classes, params);
    let x = gaussian::features(&stream, &classes, params.int("features"), params.real("signal"))?;
    INFO.build_generated(params, Graph::from_edges(INFO.name, n, &edges)?, x, &classes)
}

/// Returns the community of each node. The first `2 n_classes` nodes are two of every community; the
/// communities of the others are random.
fn classes(stream: &mut Stream, n: usize, n_classes: usize) -> Vec<u32> {
    let class = |i: usize| if i < 2 * n_classes { i % n_classes } else { stream.below(n_classes) };
    (0..n).map(class).map(|class| class as u32).collect()
}

/// Starts with a connected pair of nodes per community and attaches the others one by one; returns all edges.
fn attach(stream: &mut Stream, classes: &[u32], params: &Params) -> Vec<(u32, u32)> {
    let (m, h) = (params.int("edges"), params.real("homophily"));
    // Each community starts as a pair of connected nodes.
    let n_classes = params.int("classes") as u32;
    let mut edges: Vec<(u32, u32)> = (0..n_classes).map(|c| (c, c + n_classes)).collect();
    let mut endpoints = EdgeEndpoints::new(&edges);
    for t in 2 * n_classes as usize..classes.len() {
        let own = classes[t] as usize;
        let mut neighbours: Vec<u32> = (0..m)
            .map(|_| {
                if stream.unit() < h {
                    endpoints.draw_within(stream, own)
                } else {
                    endpoints.draw_outside(stream, own)
                }
            })
            .collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        for v in neighbours {
            edges.push((v, t as u32));
            endpoints.add(classes[v as usize], v);
            endpoints.add(classes[t], t as u32);
        }
    }
    edges
}

/// The endpoints of all edges by community: an endpoint drawn uniformly at random is node v with probability
/// proportional to deg(v).
struct EdgeEndpoints {
    /// The endpoints in each community; a node occurs once per edge.
    by_class: Vec<Vec<u32>>,
    /// The number of endpoints in all communities.
    count: usize,
}

impl EdgeEndpoints {
    /// Starts with one edge within each community, in the order of the communities.
    fn new(pairs: &[(u32, u32)]) -> Self {
        Self { by_class: pairs.iter().map(|&(u, v)| vec![u, v]).collect(), count: 2 * pairs.len() }
    }

    /// Adds an endpoint of an edge: a node of this community.
    fn add(&mut self, class: u32, node: u32) {
        self.by_class[class as usize].push(node);
        self.count += 1;
    }

    /// Draws a node of this community with probability proportional to its degree.
    fn draw_within(&self, stream: &mut Stream, class: usize) -> u32 {
        self.by_class[class][stream.below(self.by_class[class].len())]
    }

    /// Draws a node of the other communities with probability proportional to its degree.
    fn draw_outside(&self, stream: &mut Stream, class: usize) -> u32 {
        let mut at = stream.below(self.count - self.by_class[class].len());
        for (_, ends) in self.by_class.iter().enumerate().filter(|(c, _)| *c != class) {
            match ends.get(at) {
                Some(&node) => return node,
                None => at -= ends.len(),
            }
        }
        unreachable!("the draw is below the number of endpoints in the other communities")
    }
}

#[cfg(test)]
mod tests {
    use crate::data::load;
    use crate::graph::edge_homophily;

    #[test]
    fn degrees_follow_a_power_law() {
        let m = 3.0;
        for h in [0.2, 0.8] {
            let text = format!("power-law:nodes=20000,features=1,homophily={h}");
            let graph = load(&text).unwrap().graph;
            let degrees: Vec<usize> = (0..20_000).map(|i| graph.degree(i)).collect();
            for k in [6, 12, 40] {
                let share = degrees.iter().filter(|&&d| d >= k).count() as f64 / 20_000.0;
                let k = k as f64;
                let expected = m * (m + 1.0) / (k * (k + 1.0));
                let error = (expected / 20_000.0).sqrt();
                assert!((share - expected).abs() < 5.0 * error, "{h} {k}: {share} {expected}");
            }
            assert!(degrees.iter().max() > Some(&200), "{:?}", degrees.iter().max());
        }
    }

    #[test]
    fn has_the_requested_degree_and_homophily() {
        for (h, m, n_classes) in [(0.0, 2, 2), (0.3, 4, 5), (0.7, 3, 4), (1.0, 1, 3)] {
            let text = format!("power-law:homophily={h},edges={m},classes={n_classes},features=1");
            let dataset = load(&text).unwrap();
            let edges = dataset.graph.n_edges() as f64;
            let max_edges = (2000 * m) as f64;
            assert!(edges <= max_edges && edges > 0.97 * max_edges, "{text}: {edges} edges");
            // The first pairs and merged edges shift the share slightly.
            let measured = edge_homophily(&dataset.graph, &dataset.y).unwrap();
            let error = (h * (1.0 - h) / edges).sqrt();
            assert!((measured - h).abs() < 4.0 * error + 0.005, "{text}: homophily {measured}");
        }
    }

    #[test]
    fn has_no_isolated_nodes() {
        let graph = load("power-law:nodes=300,edges=1,features=1").unwrap().graph;
        assert!((0..300).all(|i| graph.degree(i) > 0));
    }
}
