//! Table 1 of the paper: our statistics match known values, and every difference from the paper is
//! explained.
//!
//! The numbers in the explanations are compared with counts from the files. Requires `$CLENSHAW_DATA`;
//! without it the tests are skipped, except in CI, where they fail.

use crate::common::data_folder;
use clenshaw::data::read::pickle::{self, PickleValue};
use clenshaw::data::{Dataset, Description, Store, load_from};
use clenshaw::experiment::{ExperimentKind, GraphStatistics, Selection, find_experiment};
use clenshaw::graph::{edge_homophily, node_homophily};
use clenshaw::report::{Comparison, ComparisonCell};
use std::collections::BTreeSet;
use std::path::Path;

/// The known nodes, edges, classes, features and H of every graph except Twitch-Gamers.
const OURS: [(&str, [usize; 4], &str); 7] = [
    ("cora", [2708, 5278, 7, 1433], "0.825"),
    ("pubmed", [19717, 44324, 3, 500], "0.792"),
    ("citeseer", [3327, 4552, 6, 3703], "0.717"),
    ("squirrel", [5201, 198353, 5, 2089], "0.217"),
    ("chameleon", [2277, 31371, 5, 2325], "0.247"),
    ("texas", [183, 279, 5, 1703], "0.057"),
    ("cornell", [183, 277, 5, 1703], "0.301"),
];

fn statistics() -> GraphStatistics {
    let info = find_experiment("table1").unwrap();
    let ExperimentKind::GraphStatistics(text) = info.kind else { panic!("table1 counts graphs") };
    GraphStatistics::from_toml(&info.file_name(), text).unwrap()
}

/// Our statistics of all available graphs, compared with the paper's.
fn compare_with_paper(folder: &Path) -> Comparison {
    let names = OURS.map(|(name, ..)| name);
    let only: Selection = format!("graph={}", names.join(",")).parse().unwrap();
    statistics().measure(&Store::only(folder), &only).unwrap()
}

fn cell<'a>(table: &'a Comparison, graph: &str, column: &str) -> &'a ComparisonCell {
    let row = table.rows.iter().find(|row| row.name == graph).unwrap();
    row.cells.iter().find(|cell| cell.column == column).unwrap()
}

#[test]
fn graphs_are_in_the_order_of_the_paper() {
    let graphs: Vec<String> = statistics().graphs().map(String::from).collect();
    let expected = OURS.iter().map(|(name, ..)| *name).chain(["twitch-gamers"]);
    assert_eq!(graphs, expected.collect::<Vec<_>>());
}

#[test]
fn our_statistics_match_known_values() {
    let Some(folder) = data_folder() else { return };
    let table = compare_with_paper(&folder);
    for (row, (name, counts, h)) in table.rows.iter().zip(OURS) {
        let ours: Vec<f64> = row.cells.iter().map(|cell| cell.ours.unwrap()).collect();
        assert_eq!(ours[..4], counts.map(|count| count as f64), "{name}");
        assert_eq!(format!("{:.3}", ours[4]), h, "{name}");
        assert_eq!((row.name.as_str(), row.sha256.is_some()), (name, true));
    }
}

#[test]
fn a_cell_has_an_explanation_if_and_only_if_it_differs() {
    let Some(folder) = data_folder() else { return };
    for row in &compare_with_paper(&folder).rows {
        for cell in &row.cells {
            let place = format!("{}, {}: {cell:?}", row.name, cell.column);
            assert_eq!(cell.agrees.is_none(), cell.column == "features", "{place}");
            assert_eq!(cell.explanation.is_some(), cell.agrees == Some(false), "{place}");
        }
    }
}

#[test]
fn missing_graph_has_no_explanation() {
    let folder = tempfile::tempdir().unwrap();
    let only = "graph=twitch-gamers".parse().unwrap();
    let table = statistics().measure(&Store::only(folder.path()), &only).unwrap();
    let cells = &table.rows[0].cells;
    assert!(cells.iter().all(|cell| cell.ours.is_none() && cell.explanation.is_none()));
    let papers: Vec<Option<f64>> = cells.iter().map(|cell| cell.paper).collect();
    assert_eq!(papers, [Some(168114.0), Some(6797557.0), Some(7.0), None, Some(0.55)]);
}

/// Asserts that the explanation of a cell contains exactly these integers.
fn assert_counts(table: &Comparison, graph: &str, column: &str, counts: &[usize]) {
    let why = cell(table, graph, column).explanation.as_deref().unwrap();
    let plain = why.replace(',', "");
    let words = plain.split([' ', ';', '(', ')']).filter_map(|word| word.parse().ok());
    let found: BTreeSet<usize> = words.collect();
    assert_eq!(found, counts.iter().copied().collect(), "{graph}, {column}: {why}");
}

/// Counts Planetoid's neighbour lists, their entries, duplicate entries, and nodes that list themselves.
fn list_counts(folder: &Path, name: &str) -> [usize; 4] {
    let bytes = std::fs::read(folder.join(format!("{name}/ind.{name}.graph"))).unwrap();
    let pickle = pickle::read_bytes(name, &bytes).unwrap();
    let [mut entries, mut distinct, mut loops] = [0; 3];
    let lists = pickle.pairs(pickle.root()).unwrap();
    let number = |value: PickleValue| match value {
        PickleValue::Int(node) => node,
        other => panic!("{other:?} is not a node"),
    };
    for &(node, neighbours) in lists {
        let neighbours: Vec<i64> =
            pickle.items(neighbours).unwrap().iter().map(|&v| number(v)).collect();
        let set: BTreeSet<i64> = neighbours.iter().copied().collect();
        entries += neighbours.len();
        distinct += set.len();
        loops += usize::from(set.contains(&number(node)));
    }
    [lists.len(), entries, entries - distinct, loops]
}

#[test]
fn planetoid_lists_contain_duplicates_and_loops() {
    let Some(folder) = data_folder() else { return };
    let table = compare_with_paper(&folder);
    for name in ["cora", "pubmed", "citeseer"] {
        let edges = cell(&table, name, "edges");
        let [paper, ours] = [edges.paper, edges.ours].map(|count| count.unwrap() as usize);
        let [_, entries, repeated, loops] = list_counts(&folder, name);
        assert_eq!((entries, entries - repeated - loops), (2 * paper, 2 * ours), "{name}");
        let mut counts = vec![2, entries, paper, ours, repeated];
        counts.extend((loops > 0).then_some(loops));
        assert_counts(&table, name, "edges", &counts);
    }
    let x = load_from(&Store::only(&folder), "cora").unwrap().x;
    assert_eq!((list_counts(&folder, "cora")[0], x.n_rows()), (2708, 2708));
    assert_counts(&table, "cora", "nodes", &[2708, 2709]);
}

/// The lines of a Geom-GCN file of edges, and how many of them are loops.
fn edge_lines(folder: &Path, name: &str) -> (Vec<(usize, usize)>, usize) {
    let text = std::fs::read_to_string(folder.join(name).join("out1_graph_edges.txt")).unwrap();
    let pair = |line: &str| {
        let (u, v) = line.split_once('\t').unwrap();
        (u.parse().unwrap(), v.parse().unwrap())
    };
    let pairs: Vec<(usize, usize)> = text.lines().skip(1).map(pair).collect();
    let loops = pairs.iter().filter(|(u, v)| u == v).count();
    (pairs, loops)
}

#[test]
fn geom_gcn_files_contain_directed_edges_and_loops() {
    let Some(folder) = data_folder() else { return };
    let table = compare_with_paper(&folder);
    let paper = |name| cell(&table, name, "edges").paper.unwrap() as usize;
    let count = |name| {
        let (lines, loops) = edge_lines(&folder, name);
        (lines.len(), loops)
    };
    let (squirrel, loops) = count("squirrel");
    assert_eq!(squirrel, paper("squirrel"));
    assert_counts(&table, "squirrel", "edges", &[squirrel, loops, 198353]);
    for (name, ours) in [("texas", 279), ("cornell", 277)] {
        let (lines, loops) = count(name);
        assert_eq!(lines - loops, paper(name), "{name}");
        assert_counts(&table, name, "edges", &[lines, loops, paper(name), ours]);
    }
    let (chameleon, loops) = count("chameleon");
    assert_counts(&table, "chameleon", "edges", &[33544, 2020, count("film").0, chameleon, loops]);
}

#[test]
fn paper_lists_the_size_of_actor_for_chameleon() {
    let Some(folder) = data_folder() else { return };
    let table = compare_with_paper(&folder);
    let actor = load_from(&Store::only(&folder), "actor").unwrap();
    let paper = cell(&table, "chameleon", "nodes").paper;
    assert_eq!(paper, Some(actor.graph.n_nodes() as f64));
    assert_counts(&table, "chameleon", "nodes", &[7600]);
}

/// Formats a number with three decimals.
fn three_decimals(number: f64) -> String {
    format!("{number:.3}")
}

#[test]
fn homophily_of_the_paper_is_explained() {
    let Some(folder) = data_folder() else { return };
    let table = compare_with_paper(&folder);
    let load = |name: &str| load_from(&Store::only(&folder), name).unwrap();
    let why = |name: &str| cell(&table, name, "H").explanation.as_deref().unwrap();

    let Dataset { graph, y, .. } = load("chameleon");
    assert_eq!(three_decimals(edge_homophily(&graph, &y).unwrap()), "0.230");
    assert!(why("chameleon").contains("(0.230)") && why("chameleon").contains("0.247"));

    let y = load("texas").y;
    let (lines, _) = edge_lines(&folder, "texas");
    let same = lines.iter().filter(|(u, v)| y[*u] == y[*v]).count();
    assert_eq!(three_decimals(same as f64 / lines.len() as f64), "0.108");
    assert!(why("texas").contains("325") && why("texas").contains("(0.108)"));

    // The paper swaps Citeseer and PubMed, with isolated nodes of Citeseer counted as 0.
    let citeseer = load("citeseer");
    let (n, isolated) = (citeseer.graph.n_nodes(), Description::of(&citeseer).isolated);
    let h =
        node_homophily(&citeseer.graph, &citeseer.y).unwrap() * (n - isolated) as f64 / n as f64;
    assert_eq!((isolated, three_decimals(h)), (48, "0.706".into()));
    assert!(why("citeseer").contains("48 nodes") && why("citeseer").contains("0.706"));
    let [pubmed, citeseer] = ["pubmed", "citeseer"].map(|name| cell(&table, name, "H"));
    assert_eq!(pubmed.paper, Some(0.71));
    assert_eq!(format!("{h:.2}"), "0.71");
    assert_eq!(citeseer.paper, Some(0.79));
    assert_eq!(format!("{:.2}", pubmed.ours.unwrap()), "0.79");
}
