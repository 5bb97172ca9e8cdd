//! The published files in `$CLENSHAW_DATA` have the published statistics.

use super::geom_splits::{self, geom_splits};
use super::{facebook100, geom_gcn, heterophilous, linkx, pickle, planetoid};
use crate::data::{Dataset, Features, FixedSplit};
use crate::graph::{edge_homophily, node_homophily};
use std::path::PathBuf;

/// Returns the folder of the public files; `None` without `CLENSHAW_DATA`, which CI requires.
fn data() -> Option<PathBuf> {
    match std::env::var_os("CLENSHAW_DATA") {
        Some(data) => Some(data.into()),
        None if std::env::var_os("CI").is_some() => panic!("CI needs CLENSHAW_DATA"),
        None => {
            println!("skipped: no data");
            None
        }
    }
}

fn planetoid(name: &str) -> Option<Dataset> {
    Some(planetoid::read(&data()?.join(name), name).unwrap().checked().unwrap())
}

fn heterophilous(folder: &str, name: &str) -> Option<Dataset> {
    let file = data()?.join(folder).join(format!("{name}.npz"));
    Some(heterophilous::read(&file).unwrap().checked().unwrap())
}

/// Nodes, edges, features and classes; edge and node homophily to three decimals.
fn statistics(dataset: &Dataset) -> ([usize; 4], [String; 2]) {
    let Dataset { graph, x, y, .. } = dataset;
    let sizes = [graph.n_nodes(), graph.n_edges(), x.n_cols(), dataset.n_classes()];
    let homophily = [edge_homophily(graph, y), node_homophily(graph, y)];
    (sizes, homophily.map(|share| format!("{:.3}", share.unwrap())))
}

/// Published statistics of Citeseer assign class 0 to nodes without a label.
fn with_missing_labels_as_class_0(dataset: &Dataset) -> Dataset {
    let y = dataset.y.iter().map(|label| label.or(Some(0))).collect();
    Dataset { y, ..dataset.clone() }
}

fn assert_statistics(dataset: &Dataset, sizes: [usize; 4], homophily: [&str; 2]) {
    let expected = (sizes, homophily.map(String::from));
    assert_eq!(statistics(dataset), expected, "{}", dataset.name);
}

fn split_sizes(splits: &[FixedSplit]) -> Vec<(&str, [usize; 3])> {
    let sizes = |s: &FixedSplit| s.split.parts().map(<[u32]>::len);
    splits.iter().map(|split| (&*split.name, sizes(split))).collect()
}

fn isolated(dataset: &Dataset) -> usize {
    (0..dataset.graph.n_nodes()).filter(|&i| dataset.graph.degree(i) == 0).count()
}

fn unlabelled(dataset: &Dataset) -> usize {
    dataset.y.iter().filter(|label| label.is_none()).count()
}

#[test]
fn planetoid_graphs_have_the_published_statistics() {
    let published = [
        ("cora", [2708, 5278, 1433, 7], ["0.810", "0.825"], 140),
        ("citeseer", [3327, 4552, 3703, 6], ["0.736", "0.717"], 120),
        ("pubmed", [19717, 44324, 500, 3], ["0.802", "0.792"], 60),
    ];
    for (name, sizes, homophily, train) in published {
        let Some(dataset) = planetoid(name) else { return };
        assert_statistics(&with_missing_labels_as_class_0(&dataset), sizes, homophily);
        assert_eq!(split_sizes(&dataset.splits)[0], ("public", [train, 500, 1000]), "{name}");
        assert_eq!(dataset.splits.len(), 11, "{name}");
        // There are twenty training nodes per class.
        let mut per_class = vec![0; dataset.n_classes()];
        for &node in dataset.splits[0].split.train() {
            per_class[dataset.y[node as usize].unwrap() as usize] += 1;
        }
        assert!(per_class.iter().all(|&n| n == 20), "{name}: {per_class:?}");
    }
}

/// The embedded Cora has a different node order.
#[test]
fn planetoid_cora_equals_embedded_cora() {
    let Some(cora) = planetoid("cora") else { return };
    let embedded = crate::data::load("cora").unwrap();
    assert_eq!(cora.class_sizes(), embedded.class_sizes());
    assert_eq!(cora.warnings, [""; 0]);
    let rows = |dataset: &Dataset| {
        let Features::Sparse { pattern, values } = &dataset.x else { panic!("dense features") };
        assert!(values.iter().all(|&value| value == 1.0));
        let row = |i: usize| (dataset.y[i], dataset.graph.degree(i), pattern.row(i).to_vec());
        let mut rows: Vec<_> = (0..dataset.graph.n_nodes()).map(row).collect();
        rows.sort_unstable();
        rows
    };
    assert!(rows(&cora) == rows(&embedded));
}

#[test]
fn pubmed_features_are_weighted() {
    let Some(pubmed) = planetoid("pubmed") else { return };
    assert_eq!((pubmed.x.values().len(), isolated(&pubmed)), (988_031, 0));
    let largest = pubmed.x.values().iter().copied().fold(0.0, f32::max);
    assert_eq!(largest, 1.2633097);
}

#[test]
fn citeseer_has_fifteen_nodes_without_features_and_label() {
    let Some(citeseer) = planetoid("citeseer") else { return };
    assert_eq!((isolated(&citeseer), unlabelled(&citeseer)), (48, 15));
    let Features::Sparse { pattern, values } = &citeseer.x else { panic!("dense features") };
    assert!(values.iter().all(|&value| value == 1.0));
    let is_unlabelled = |i: &usize| citeseer.y[*i].is_none();
    assert!((0..3327).filter(is_unlabelled).all(|i| pattern.row(i).is_empty() && i >= 2312));
    // Without these nodes, unlike the published numbers.
    assert_eq!(statistics(&citeseer).1, ["0.738", "0.720"]);
    // The published number counts isolated nodes as 0.
    let published = with_missing_labels_as_class_0(&citeseer);
    let h = node_homophily(&published.graph, &published.y).unwrap();
    assert_eq!(format!("{:.3}", h * (3327.0 - 48.0) / 3327.0), "0.706");
}

#[test]
fn geom_gcn_masks_cover_the_expected_nodes() {
    let Some(data) = data() else { return };
    let total = |splits: &[FixedSplit]| -> Vec<usize> {
        split_sizes(splits).iter().map(|(_, sizes)| sizes.iter().sum()).collect()
    };
    let all = 3327;
    for (name, covered) in [
        ("cora", [2485; 10]),
        ("citeseer", [all, all, all, all, 2120, 2120, all, all, all, all]),
        ("pubmed", [19717; 10]),
        ("texas", [183; 10]),
        ("film", [7600; 10]),
    ] {
        let n = if name == "cora" { 2708 } else { covered[0] };
        let splits = geom_splits(&data.join(name), name, n).unwrap();
        assert_eq!(total(&splits), covered, "{name}");
        assert_eq!((&*splits[0].name, &*splits[9].name), ("geom:0", "geom:9"));
    }
    // Nodes of Citeseer without a label are removed.
    let citeseer = planetoid("citeseer").unwrap();
    let all = 3327 - 15;
    let left = [all, all, all, all, 2110, 2110, all, all, all, all];
    assert_eq!(total(&citeseer.splits[1..]), left);
}

#[test]
fn heterophilous_graphs_have_the_published_statistics() {
    let published = [
        ("chameleon", [2277, 31371, 2325, 5], ["0.230", "0.247"]),
        ("squirrel", [5201, 198353, 2089, 5], ["0.222", "0.217"]),
        ("chameleon_filtered", [890, 8854, 2325, 5], ["0.236", "0.244"]),
        ("squirrel_filtered", [2223, 46998, 2089, 5], ["0.207", "0.190"]),
        ("minesweeper", [10000, 39402, 7, 2], ["0.683", "0.683"]),
    ];
    for (name, sizes, homophily) in published {
        let Some(dataset) = heterophilous(name, name) else { return };
        assert_statistics(&dataset, sizes, homophily);
        assert_eq!(dataset.splits.len(), 10, "{name}");
        let whole = |(_, parts): &(&str, [usize; 3])| parts.iter().sum::<usize>() == sizes[0];
        assert!(split_sizes(&dataset.splits).iter().all(whole), "{name}");
    }
}

#[test]
fn heterophilous_splits_have_the_published_sizes() {
    let Some(minesweeper) = heterophilous("minesweeper", "minesweeper") else { return };
    let sizes = split_sizes(&minesweeper.splits);
    assert!(sizes.iter().all(|(_, sizes)| *sizes == [5000, 2500, 2500]), "{sizes:?}");
    for (name, sizes) in [
        ("squirrel", [2496, 1664, 1041]),
        ("chameleon_filtered", [409, 287, 194]),
        ("squirrel_filtered", [1053, 718, 452]),
    ] {
        let dataset = heterophilous(name, name).unwrap();
        assert_eq!(split_sizes(&dataset.splits)[0], ("fixed:0", sizes), "{name}");
    }
}

/// The directed file has the same graph and, in Fortran order, the masks of Geom-GCN.
#[test]
fn masks_in_fortran_order_equal_those_of_geom_gcn() {
    let Some(data) = data() else { return };
    for name in ["chameleon", "squirrel"] {
        let undirected = heterophilous(name, name).unwrap();
        let directed = heterophilous(name, &format!("{name}_directed")).unwrap();
        assert_eq!(directed.sha256(), undirected.sha256());
        let n = directed.graph.n_nodes();
        let geom = geom_splits(&data.join(name), name, n).unwrap();
        assert_eq!(geom.len(), 10);
        for (ours, theirs) in directed.splits.iter().zip(&geom) {
            assert_eq!(ours.split.sha256(), theirs.split.sha256(), "{}", theirs.name);
        }
    }
}

#[test]
fn heterophilous_features_and_labels_match_numpy() {
    let expected = [
        ("minesweeper", 10_000, &[8000, 2000][..]),
        ("squirrel", 93_477, &[1042, 1040, 1039, 1040, 1040]),
        ("chameleon_filtered", 9903, &[242, 134, 209, 164, 141]),
        ("squirrel_filtered", 32_481, &[756, 516, 397, 321, 233]),
    ];
    for (name, stored, class_sizes) in expected {
        let Some(dataset) = heterophilous(name, name) else { return };
        assert!(matches!(dataset.x, Features::Sparse { .. }), "{name}");
        assert_eq!(dataset.x.values().len(), stored, "{name}");
        assert_eq!(dataset.class_sizes(), class_sizes, "{name}");
    }
}

#[test]
fn twitch_gamers_has_five_splits() {
    let Some(data) = data() else { return };
    let file = data.join("twitch-gamers/twitch-gamer-splits.npy");
    let bytes = std::fs::read(file).unwrap();
    let splits = linkx::read_splits("splits", &bytes, 168_114).unwrap();
    let names = ["linkx:0", "linkx:1", "linkx:2", "linkx:3", "linkx:4"];
    let expected = names.map(|name| (name, [84_057, 42_028, 42_029]));
    assert_eq!(split_sizes(&splits), expected);
    assert!(splits[0].split != splits[1].split);
}

/// Truncated and changed public files give an error or a data set.
#[test]
fn damaged_public_files_do_not_panic() {
    let Some(data) = data() else { return };
    let file = |path: &str| std::fs::read(data.join(path)).unwrap();
    let minesweeper = file("minesweeper/minesweeper.npz");
    let graph = file("citeseer/ind.citeseer.graph");
    let matrix = file("cora/ind.cora.x");
    let splits = file("cora/splits/cora_split_0.6_0.2_0.npz");
    for step in 0..64 {
        let damaged = |bytes: &[u8]| {
            let at = bytes.len() * step / 64;
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << (step % 8);
            [bytes[..at].to_vec(), flipped]
        };
        for bytes in damaged(&minesweeper) {
            let _ = heterophilous::read_bytes("it", &bytes);
        }
        for bytes in damaged(&splits) {
            let _ = geom_splits::read_bytes("it", "geom:0", &bytes, 2708);
        }
        for bytes in damaged(&graph).into_iter().chain(damaged(&matrix)) {
            let _ = pickle::read_bytes("it", &bytes);
        }
    }
}

fn empty_rows(x: &Features) -> usize {
    match x {
        Features::Sparse { pattern, .. } => {
            pattern.offsets().windows(2).filter(|row| row[0] == row[1]).count()
        }
        Features::Dense(_) => panic!("dense features"),
    }
}

fn geom_gcn(name: &str) -> Option<Dataset> {
    // The splits are named after the original release.
    let first = name.trim_end_matches("_corrected");
    Some(geom_gcn::read(&data()?.join(name), first).unwrap().checked().unwrap())
}

#[test]
fn geom_gcn_graphs_have_the_expected_empty_rows() {
    for (name, empty) in [("chameleon", 233), ("squirrel", 165)] {
        let Some(dataset) = geom_gcn(name) else { return };
        assert_eq!((empty_rows(&dataset.x), dataset.splits.len()), (empty, 10), "{name}");
    }
}

#[test]
fn cornell5_has_the_published_statistics() {
    let Some(data) = data() else { return };
    let file = data.join("fb100-cornell5/Cornell5.mat");
    let dataset = facebook100::read(&file, "cornell5").unwrap().checked().unwrap();
    assert_statistics(&dataset, [18660, 790_777, 4735, 2], ["0.546", "0.559"]);
    assert_eq!(unlabelled(&dataset), 1838);
    assert_eq!(empty_rows(&dataset.x), 0);
}
