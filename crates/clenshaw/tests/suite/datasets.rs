//! The public graphs have their known statistics, splits and warnings.
//!
//! Requires `$CLENSHAW_DATA`; without it the tests are skipped, except in CI, where they fail.

use crate::common::data_folder;
use clenshaw::data::read::npz;
use clenshaw::data::{Dataset, Description, SplitKind, Store, load_from, load_published};
use clenshaw::graph::Graph;

/// Nodes, edges, features, classes, edge homophily and node homophily of every graph.
const KNOWN: [(&str, [usize; 4], [&str; 2]); 13] = [
    ("cora", [2708, 5278, 1433, 7], ["0.810", "0.825"]),
    ("citeseer", [3327, 4552, 3703, 6], ["0.736", "0.717"]),
    ("pubmed", [19717, 44324, 500, 3], ["0.802", "0.792"]),
    ("chameleon", [2277, 31371, 2325, 5], ["0.230", "0.247"]),
    ("squirrel", [5201, 198353, 2089, 5], ["0.222", "0.217"]),
    ("actor", [7600, 26659, 932, 5], ["0.217", "0.220"]),
    ("texas", [183, 279, 1703, 5], ["0.061", "0.057"]),
    ("cornell", [183, 277, 1703, 5], ["0.296", "0.301"]),
    ("cornell-corrected", [183, 277, 1703, 5], ["0.123", "0.111"]),
    ("chameleon-filtered", [890, 8854, 2325, 5], ["0.236", "0.244"]),
    ("squirrel-filtered", [2223, 46998, 2089, 5], ["0.207", "0.190"]),
    ("minesweeper", [10000, 39402, 7, 2], ["0.683", "0.683"]),
    ("cornell5", [18660, 790777, 4735, 2], ["0.546", "0.559"]),
];

/// The store of `$CLENSHAW_DATA`; `None` if it is not set.
fn store() -> Option<Store> {
    data_folder().map(Store::only)
}

/// Nodes, edges, features and classes; edge and node homophily to three decimals.
fn statistics(dataset: &Dataset) -> ([usize; 4], [String; 2]) {
    let d = Description::of(dataset);
    let three = |share: Option<f64>| format!("{:.3}", share.unwrap());
    ([d.nodes, d.edges, d.features, d.classes], [three(d.edge_homophily), three(d.node_homophily)])
}

#[test]
fn graphs_have_the_known_statistics() {
    let Some(store) = store() else { return };
    for (name, sizes, homophily) in KNOWN {
        let dataset = load_published(&store, name).unwrap();
        assert_eq!(statistics(&dataset), (sizes, homophily.map(String::from)), "{name}");
        assert_eq!(dataset.name, name);
    }
}

#[test]
fn web_graph_has_the_known_size() {
    // The file has neither features nor labels, so only the adjacency is read.
    let Some(store) = store() else { return };
    let path = store.dataset_folder("cnr-2000").unwrap().join("cnr-2000_csr.npz");
    let bytes = std::fs::read(&path).unwrap();
    let npz = npz::read_bytes("cnr-2000", &bytes).unwrap();
    let offsets = npz.array("offsets").unwrap().to_i64().unwrap();
    let targets = npz.array("targets").unwrap().to_u32().unwrap();
    let row = |u: usize| &targets[offsets[u] as usize..offsets[u + 1] as usize];
    let n = offsets.len() - 1;
    let arcs: Vec<(u32, u32)> =
        (0..n).flat_map(|u| row(u).iter().map(move |&v| (u as u32, v))).collect();
    let loops = arcs.iter().filter(|(u, v)| u == v).count();
    assert_eq!((n, arcs.len(), loops), (325_557, 3_216_152, 87_442));
    assert_eq!(Graph::from_edges("cnr-2000", n, &arcs).unwrap().n_edges(), 2_738_969);
}

#[test]
fn cached_graph_equals_parsed_graph() {
    let Some(store) = store() else { return };
    let cache = tempfile::tempdir().unwrap();
    let caching = store.clone().with_cache(Some(cache.path().into()));
    for (i, (name, ..)) in KNOWN.into_iter().enumerate() {
        let fresh = load_published(&store, name).unwrap();
        assert_eq!(load_published(&caching, name).unwrap(), fresh, "{name}, parsed");
        assert_eq!(load_published(&caching, name).unwrap(), fresh, "{name}, mapped");
        assert_eq!(cache.path().join("parsed").read_dir().unwrap().count(), i + 1, "{name}");
    }
}

#[test]
fn duplicate_nodes_are_counted() {
    // Counted independently from the files: equal undirected neighbours and equal class.
    let Some(store) = store() else { return };
    for (name, duplicates) in [("chameleon", 1048), ("squirrel", 1887)] {
        let dataset = load_from(&store, name).unwrap();
        assert_eq!(Description::of(&dataset).duplicates, duplicates, "{name}");
        assert!(dataset.warnings.iter().any(|w| w.contains("duplicate nodes")), "{name}");
    }
}

#[test]
fn cornell_has_the_features_of_texas_and_a_warning() {
    let Some(store) = store() else { return };
    let [texas, cornell, corrected] =
        ["texas", "cornell", "cornell-corrected"].map(|name| load_from(&store, name).unwrap());
    assert_eq!((&cornell.x, &cornell.y), (&texas.x, &texas.y));
    assert_ne!(corrected.y, texas.y);
    assert!(cornell.warnings.iter().any(|w| w.contains("copies of those of Texas")));
    assert!(corrected.warnings.is_empty());
    assert_eq!(texas.class_sizes(), [33, 1, 18, 101, 30]);
}

#[test]
fn balanced_splits_have_the_published_sizes() {
    let Some(store) = store() else { return };
    for (name, train, test) in [
        ("texas", 85, 61),
        ("cornell-corrected", 99, 47),
        ("chameleon", 1365, 457),
        ("squirrel", 3120, 1041),
        ("actor", 4501, 1579),
        ("citeseer", 1929, 733),
        ("pubmed", 11829, 3945),
    ] {
        let split = SplitKind::Balanced.draw(&load_from(&store, name).unwrap(), 3).unwrap();
        assert_eq!((split.train().len(), split.test().len()), (train, test), "{name}");
    }
}

#[test]
fn published_splits_are_selected_by_name_or_seed() {
    let Some(store) = store() else { return };
    let draw = |graph: &str, split: &str, seed| {
        let split: SplitKind = split.parse().unwrap();
        split.draw(&load_published(&store, graph).unwrap(), seed)
    };
    let public = draw("cora", "public", 0).unwrap();
    assert_eq!((public.train().len(), public.val().len(), public.test().len()), (140, 500, 1000));
    assert_eq!(draw("texas", "all", 13).unwrap(), draw("texas", "geom:3", 0).unwrap());
    assert_eq!(draw("minesweeper", "fixed:1", 0).unwrap().train().len(), 5000);
    assert_eq!(
        draw("texas", "public", 0).unwrap_err().to_string(),
        "cannot make the split `public`: texas comes with the splits geom:0, geom:1, geom:2, geom:3, \
         geom:4, geom:5, geom:6, geom:7, geom:8, geom:9"
    );
    assert_eq!(
        draw("cornell5", "geom:0", 0).unwrap_err().to_string(),
        "cannot make the split `geom:0`: cornell5 comes with no split; use balanced, stratified, \
         ratio:a/b/c, all-labels or file:PATH"
    );
}
