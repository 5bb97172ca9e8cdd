//! The published files give the published numbers.

use super::{facebook100, geom_gcn};
use crate::data::{Dataset, Features};
use crate::graph::{edge_homophily, node_homophily};
use std::path::PathBuf;

/// A folder of the public files, or `None` where there are none; in CI there must be.
fn folder(name: &str) -> Option<PathBuf> {
    match std::env::var_os("CLENSHAW_DATA") {
        Some(data) => Some(PathBuf::from(data).join(name)),
        None if std::env::var_os("CI").is_some() => panic!("CI needs CLENSHAW_DATA"),
        None => {
            println!("skipped: no data");
            None
        }
    }
}

/// Nodes, edges, features and classes; then edge and node homophily to three decimals.
fn statistics(dataset: &Dataset) -> ([usize; 4], [String; 2]) {
    let Dataset { graph, x, y, .. } = dataset;
    let homophily = [edge_homophily(graph, y), node_homophily(graph, y)];
    let sizes = [graph.n_nodes(), graph.n_edges(), x.n_cols(), dataset.n_classes()];
    (sizes, homophily.map(|share| format!("{:.3}", share.unwrap())))
}

fn empty_rows(x: &Features) -> usize {
    match x {
        Features::Sparse { pattern, .. } => {
            pattern.offsets().windows(2).filter(|row| row[0] == row[1]).count()
        }
        Features::Dense(_) => panic!("dense features"),
    }
}

fn geom(name: &str) -> Option<Dataset> {
    // The splits are called after the first release.
    let first = name.trim_end_matches("_corrected");
    Some(geom_gcn::read(&folder(name)?, first).unwrap().checked().unwrap())
}

#[test]
fn geom_gcn_graphs_have_the_published_statistics() {
    let published = [
        ("chameleon", [2277, 31371, 2325, 5], ["0.230", "0.247"]),
        ("squirrel", [5201, 198353, 2089, 5], ["0.222", "0.217"]),
        ("film", [7600, 26659, 932, 5], ["0.217", "0.220"]),
        ("texas", [183, 279, 1703, 5], ["0.061", "0.057"]),
        ("cornell", [183, 277, 1703, 5], ["0.296", "0.301"]),
        ("cornell_corrected", [183, 277, 1703, 5], ["0.123", "0.111"]),
    ];
    for (name, sizes, homophily) in published {
        let Some(dataset) = geom(name) else { return };
        let found = statistics(&dataset);
        assert_eq!((found.0, [&found.1[0][..], &found.1[1]]), (sizes, homophily), "{name}");
        assert_eq!(dataset.splits.len(), 10, "{name}");
    }
}

#[test]
fn rows_without_features_are_where_they_should_be() {
    for (name, empty) in [("chameleon", 233), ("squirrel", 165)] {
        let Some(dataset) = geom(name) else { return };
        assert_eq!(empty_rows(&dataset.x), empty, "{name}");
    }
}

#[test]
fn texas_lends_cornell_its_features_and_labels() {
    let (Some(texas), Some(cornell)) = (geom("texas"), geom("cornell")) else { return };
    assert_eq!(texas.class_sizes(), [33, 1, 18, 101, 30]);
    assert_eq!(texas.y[25], Some(1));
    assert_eq!((texas.x, texas.y), (cornell.x.clone(), cornell.y.clone()));
    let corrected = geom("cornell_corrected").unwrap();
    assert_ne!(cornell.sha256(), corrected.sha256());
}

#[test]
fn cornell5_has_the_published_statistics() {
    let Some(folder) = folder("fb100-cornell5") else { return };
    let file = folder.join("Cornell5.mat");
    let dataset = facebook100::read(&file, "cornell5").unwrap().checked().unwrap();
    let (sizes, homophily) = statistics(&dataset);
    assert_eq!(sizes, [18660, 790_777, 4735, 2]);
    assert_eq!(homophily, ["0.546", "0.559"]);
    assert_eq!(dataset.y.iter().filter(|label| label.is_none()).count(), 1838);
    assert_eq!(empty_rows(&dataset.x), 0);
}
