//! Splits, labels and features of the published files; `tests/suite/datasets.rs` checks the sizes.
//!
//! Requires `$CLENSHAW_DATA`; without it the tests are skipped, except in CI, where they fail.

use super::geom_splits::geom_splits;
use super::{facebook100, geom_gcn, heterophilous, linkx, planetoid};
use crate::data::{Dataset, Features, FixedSplit};
use crate::graph::node_homophily;
use std::path::PathBuf;

/// Returns `$CLENSHAW_DATA`, the folder of the published files, if it is set.
fn data_folder() -> Option<PathBuf> {
    match std::env::var_os("CLENSHAW_DATA") {
        Some(data) => Some(data.into()),
        None if std::env::var_os("CI").is_some() => panic!("CI requires CLENSHAW_DATA"),
        None => {
            println!("skipped: no data");
            None
        }
    }
}

fn planetoid(name: &str) -> Option<Dataset> {
    Some(planetoid::read(&data_folder()?.join(name), name).unwrap().checked().unwrap())
}

fn heterophilous(folder: &str, name: &str) -> Option<Dataset> {
    let file = data_folder()?.join(folder).join(format!("{name}.npz"));
    Some(heterophilous::read(&file).unwrap().checked().unwrap())
}

/// The name and the sizes of the three parts of each split.
fn split_sizes(splits: &[FixedSplit]) -> Vec<(&str, [usize; 3])> {
    let sizes = |s: &FixedSplit| s.split.parts().map(<[u32]>::len);
    splits.iter().map(|split| (&*split.name, sizes(split))).collect()
}

/// Counts the nodes without neighbours.
fn count_isolated(dataset: &Dataset) -> usize {
    (0..dataset.graph.n_nodes()).filter(|&i| dataset.graph.degree(i) == 0).count()
}

/// Counts the nodes without a label.
fn count_unlabelled(dataset: &Dataset) -> usize {
    dataset.y.iter().filter(|label| label.is_none()).count()
}

#[test]
fn planetoid_public_splits_have_twenty_training_nodes_per_class() {
    for (name, train) in [("cora", 140), ("citeseer", 120), ("pubmed", 60)] {
        let Some(dataset) = planetoid(name) else { return };
        assert_eq!(split_sizes(&dataset.splits)[0], ("public", [train, 500, 1000]), "{name}");
        assert_eq!(dataset.splits.len(), 11, "{name}");
        let mut per_class = vec![0; dataset.n_classes()];
        for &node in dataset.splits[0].split.train() {
            per_class[dataset.y[node as usize].unwrap() as usize] += 1;
        }
        assert!(per_class.iter().all(|&n| n == 20), "{name}: {per_class:?}");
    }
}

#[test]
fn planetoid_cora_equals_embedded_cora_up_to_node_order() {
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
fn pubmed_features_are_not_binary() {
    let Some(pubmed) = planetoid("pubmed") else { return };
    assert_eq!((pubmed.x.values().len(), count_isolated(&pubmed)), (988_031, 0));
    let largest = pubmed.x.values().iter().copied().fold(0.0, f32::max);
    assert_eq!(largest, 1.2633097);
}

#[test]
fn citeseer_has_fifteen_nodes_without_features_or_label() {
    let Some(citeseer) = planetoid("citeseer") else { return };
    assert_eq!((count_isolated(&citeseer), count_unlabelled(&citeseer)), (48, 15));
    let Features::Sparse { pattern, values } = &citeseer.x else { panic!("dense features") };
    assert!(values.iter().all(|&value| value == 1.0));
    let is_unlabelled = |i: &usize| citeseer.y[*i].is_none();
    assert!((0..3327).filter(is_unlabelled).all(|i| pattern.row(i).is_empty() && i >= 2312));
    // The published homophily was computed with class 0 for these nodes and 0 for isolated nodes.
    let y: Vec<Option<u32>> = citeseer.y.iter().map(|label| label.or(Some(0))).collect();
    let h = node_homophily(&citeseer.graph, &y).unwrap();
    assert_eq!(format!("{:.3}", h * (3327.0 - 48.0) / 3327.0), "0.706");
}

#[test]
fn geom_gcn_masks_cover_the_expected_nodes() {
    let Some(data) = data_folder() else { return };
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
    // The splits of the loaded data set exclude Citeseer's unlabelled nodes.
    let citeseer = planetoid("citeseer").unwrap();
    let all = 3327 - 15;
    let left = [all, all, all, all, 2110, 2110, all, all, all, all];
    assert_eq!(total(&citeseer.splits[1..]), left);
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

/// `NAME_directed.npz` has the graph, features and labels of `NAME.npz`, and its masks, in Fortran order, are
/// those of Geom-GCN.
#[test]
fn masks_in_fortran_order_equal_those_of_geom_gcn() {
    let Some(data) = data_folder() else { return };
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
fn heterophilous_feature_counts_and_class_sizes_match_numpy() {
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
    let Some(data) = data_folder() else { return };
    let file = data.join("twitch-gamers/twitch-gamer-splits.npy");
    let bytes = std::fs::read(file).unwrap();
    let splits = linkx::read_splits("splits", &bytes, 168_114).unwrap();
    let names = ["linkx:0", "linkx:1", "linkx:2", "linkx:3", "linkx:4"];
    let expected = names.map(|name| (name, [84_057, 42_028, 42_029]));
    assert_eq!(split_sizes(&splits), expected);
    assert!(splits[0].split != splits[1].split);
}

/// Counts the nodes without features.
fn count_empty_rows(x: &Features) -> usize {
    match x {
        Features::Sparse { pattern, .. } => {
            pattern.offsets().windows(2).filter(|row| row[0] == row[1]).count()
        }
        Features::Dense(_) => panic!("dense features"),
    }
}

fn geom_gcn(name: &str) -> Option<Dataset> {
    Some(geom_gcn::read(&data_folder()?.join(name), name).unwrap().checked().unwrap())
}

#[test]
fn geom_gcn_graphs_have_the_expected_empty_rows() {
    for (name, empty) in [("chameleon", 233), ("squirrel", 165)] {
        let Some(dataset) = geom_gcn(name) else { return };
        assert_eq!((count_empty_rows(&dataset.x), dataset.splits.len()), (empty, 10), "{name}");
    }
}

#[test]
fn cornell5_has_unlabelled_nodes_and_no_empty_rows() {
    let Some(data) = data_folder() else { return };
    let file = data.join("fb100-cornell5/Cornell5.mat");
    let dataset = facebook100::read(&file, "cornell5").unwrap().checked().unwrap();
    assert_eq!((count_unlabelled(&dataset), count_empty_rows(&dataset.x)), (1838, 0));
}
