//! Checks a graph for problems before training.
//!
//! ```
//! use clenshaw::data::{Store, TableOptions, check::check};
//! let cora = check(&Store::only("nowhere"), "cora", &TableOptions::default())?;
//! assert_eq!(cora.format, "embedded");
//! let kinds: Vec<&str> = cora.findings.iter().map(|finding| finding.kind).collect();
//! // The constant feature is word 444, which no paper contains.
//! assert_eq!(kinds, ["duplicate-nodes", "components", "constant-features"]);
//! # Ok::<(), clenshaw::Error>(())
//! ```

use super::fetch::{self, FetchEvent, FetchOptions};
use super::{
    Dataset, DatasetOrigin, Description, Features, FixedSplit, ResolvedGraph, Schema, Store,
    TableOptions, count, load_as, read, resolve,
};
use crate::error::Result;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The result of checking a graph that could be loaded.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// Input format: `tables`, `npz`, `graphml`, `gml`, `gexf`, `node-link json`, `pajek`, `edge list`,
    /// `metis`, `tables with npz edges`, `graph file`, `embedded`, ...
    pub format: &'static str,
    /// The comparison of the local files with the published checksums; `None` if the data set has no published
    /// files or its folder does not exist.
    pub files: Option<ChecksumSummary>,
    /// The findings, warnings first.
    pub findings: Vec<Finding>,
    /// Statistics of the data set.
    pub description: Description,
    /// The schema by which the graph was read, if any.
    pub schema: Option<Schema>,
}

/// Comparison of the local files with the published checksums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChecksumSummary {
    /// Number of files in the manifest, including missing and invalid ones.
    pub listed: usize,
    /// Number of files with the published checksum.
    pub good: usize,
    /// Number of present files without a known checksum.
    pub unknown: usize,
}

/// A property of the data that the user should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Identifier of the kind of finding, such as `duplicate-nodes`.
    pub kind: &'static str,
    /// Importance.
    pub severity: Severity,
    /// Number of affected nodes, classes, features, splits, components or files; 1 for a `reader` finding.
    pub count: usize,
    /// Description for the user.
    pub text: String,
}

/// Importance of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// May invalidate results.
    Warning,
    /// For information.
    Note,
}

/// Loads a graph without the cache and reports what may be wrong with it; an error if it cannot be loaded.
///
/// `text` is the name or path of the graph, and `options` apply to the tables of a user's own graph.
pub fn check(store: &Store, text: &str, options: &TableOptions) -> Result<CheckReport> {
    let uncached = store.clone().with_cache(None);
    let dataset = load_as(&uncached, text, read::Interpretation::Inferred(options))?;
    let description = Description::of(&dataset);
    let mut findings = findings(&dataset, &description);
    let (format, files) = match resolve(&uncached, text)? {
        ResolvedGraph::Imported(_) => ("graph file", None),
        ResolvedGraph::Path => (read::format(Path::new(text)), None),
        ResolvedGraph::Known(info) => {
            let folder = info
                .files()
                .and_then(|files| Some((files, uncached.dataset_folder(files.folder)?)));
            let files = folder.map(|(files, folder)| check_files(files.folder, &folder));
            let (files, checksum_findings) = files.transpose()?.unzip();
            findings.extend(checksum_findings.into_iter().flatten());
            match info.origin {
                DatasetOrigin::Files(_) => ("published files", files),
                _ => (info.kind(), files),
            }
        }
    };
    findings.sort_by_key(|finding| finding.severity);
    Ok(CheckReport { format, files, findings, description, schema: dataset.schema })
}

/// Verifies the files of the manifest `name` in `folder`; the finding, if any, lists those that are missing,
/// invalid or unreadable.
fn check_files(name: &str, folder: &Path) -> Result<(ChecksumSummary, Option<Finding>)> {
    let manifest = fetch::manifest(name)?;
    let root = folder.parent().unwrap_or(folder);
    let (checked, cancel) = (RefCell::new(vec![]), AtomicBool::new(false));
    let on_event = |event: FetchEvent<'_>| {
        if let FetchEvent::Done(file) = event {
            checked.borrow_mut().push(file.checked);
        }
    };
    let options =
        FetchOptions { offline: true, on_event: &on_event, ..FetchOptions::new(root, &cancel) };
    let error = fetch::fetch(manifest, &options).err();
    let checked = checked.into_inner();
    let good = checked.iter().filter(|checked| **checked).count();
    let (listed, unknown) = (manifest.files.len(), checked.len() - good);
    let finding = error.map(|error| {
        finding("files", Severity::Warning, listed - checked.len(), |_| error.to_string())
    });
    Ok((ChecksumSummary { listed, good, unknown }, finding))
}

/// Creates a finding; `text` describes it, given the count.
fn finding(
    kind: &'static str,
    severity: Severity,
    count: usize,
    text: impl FnOnce(usize) -> String,
) -> Finding {
    Finding { kind, severity, count, text: text(count) }
}

/// Returns the warnings and notes of the data set, and findings from its contents and statistics.
fn findings(dataset: &Dataset, d: &Description) -> Vec<Finding> {
    use Severity::{Note, Warning};
    let reader = |text: &String| finding("reader", Warning, 1, |_| text.clone());
    let mut findings: Vec<Finding> = dataset.warnings.iter().map(reader).collect();
    findings.extend(dataset.notes.iter().map(|text| finding("reader", Note, 1, |_| text.clone())));
    let mut add = |kind, severity, count: usize, text: &dyn Fn(usize) -> String| {
        if count > 0 {
            findings.push(finding(kind, severity, count, text));
        }
    };
    let sizes = &d.class_sizes;
    let classes = |size: usize| {
        let named = sizes.iter().zip(&d.class_names).filter(move |(found, _)| **found == size);
        named.map(|(_, name)| format!("`{name}`")).collect::<Vec<String>>()
    };
    add("one-node-classes", Warning, classes(1).len(), &|n| {
        format!("{} a single node: {}", count(n, "class has", "classes have"), list(&classes(1)))
    });
    add("empty-classes", Warning, classes(0).len(), &|n| {
        format!("{} no nodes: {}", count(n, "class has", "classes have"), list(&classes(0)))
    });
    add("duplicate-nodes", Warning, d.duplicates, &|n| {
        let nodes = count(n, "node has", "nodes have");
        format!("{nodes} the same neighbours and class as an earlier node")
    });
    let [empty, missing, incomplete] = split_problems(dataset);
    let n_splits = d.splits.len();
    add("empty-parts", Warning, empty.len(), &|n| {
        format!("a part is empty in {n} of {n_splits} splits: {}", list(&empty))
    });
    add("class-not-in-train", Warning, missing.len(), &|n| {
        format!("a class has no training nodes in {n} of {n_splits} splits: {}", list(&missing))
    });
    add("incomplete-splits", Note, incomplete.len(), &|n| {
        format!(
            "some labelled nodes are in no part in {n} of {n_splits} splits: {}",
            list(&incomplete)
        )
    });
    add("unlabelled-nodes", Note, d.unlabelled, &|n| {
        format!("{} no label", count(n, "node has", "nodes have"))
    });
    add("isolated-nodes", Note, d.isolated, &|n| {
        format!("{} no neighbours", count(n, "node has", "nodes have"))
    });
    add("components", Note, if d.components > 1 { d.components } else { 0 }, &|n| {
        let nodes = count(d.largest_component, "node", "nodes");
        format!("the graph has {n} components; the largest has {nodes}")
    });
    add("zero-features", Note, zero_rows(&dataset.x), &|n| {
        format!("{} only zero features", count(n, "node has", "nodes have"))
    });
    add("constant-features", Note, constant_columns(&dataset.x), &|n| {
        format!("{} the same for every node", count(n, "feature is", "features are"))
    });
    findings
}

/// Joins at most three names; `...` stands for the others.
fn list(names: &[String]) -> String {
    match names {
        [a, b, c, _, ..] => format!("{a}, {b}, {c}, ..."),
        names => names.join(", "),
    }
}

/// Returns the names of the splits with an empty part, of the splits that have a class without training nodes,
/// and of the splits that leave labelled nodes out.
fn split_problems(dataset: &Dataset) -> [Vec<String>; 3] {
    let labelled = dataset.labelled();
    let classes = |nodes: &[u32]| {
        let classes = nodes.iter().filter_map(|&node| dataset.y[node as usize]);
        classes.collect::<BTreeSet<u32>>().len()
    };
    let all = classes(&labelled);
    let is_empty =
        |FixedSplit { split, .. }: &FixedSplit| split.parts().iter().any(|part| part.is_empty());
    let lacks_class = |fixed: &FixedSplit| classes(fixed.split.train()) < all;
    let is_incomplete = |FixedSplit { split, .. }: &FixedSplit| {
        let parts = split.parts().into_iter().flatten();
        parts.filter(|node| dataset.y[**node as usize].is_some()).count() < labelled.len()
    };
    let names = |is_bad: &dyn Fn(&FixedSplit) -> bool| {
        let bad = dataset.splits.iter().filter(|fixed| is_bad(fixed));
        bad.map(|fixed| fixed.name.clone()).collect()
    };
    [names(&is_empty), names(&lacks_class), names(&is_incomplete)]
}

/// Counts the nodes whose features are all zero.
fn zero_rows(x: &Features) -> usize {
    let is_zero = |row: &[f32]| row.iter().all(|&value| value == 0.0);
    match x {
        Features::Dense(x) => (0..x.rows()).filter(|&i| is_zero(x.row(i))).count(),
        Features::Sparse { pattern, values } => {
            let rows = pattern.offsets().windows(2);
            rows.filter(|row| is_zero(&values[row[0]..row[1]])).count()
        }
    }
}

/// Counts the columns with the same value for every node.
fn constant_columns(x: &Features) -> usize {
    match x {
        Features::Dense(x) => {
            let is_constant = |j: &usize| (1..x.rows()).all(|i| x[(i, *j)] == x[(0, *j)]);
            (0..x.cols()).filter(is_constant).count()
        }
        Features::Sparse { pattern, values } => {
            let mut entries: Vec<(u32, f32)> =
                pattern.indices().iter().copied().zip(values.iter().copied()).collect();
            entries.sort_unstable_by_key(|&(column, _)| column);
            let columns = entries.chunk_by(|a, b| a.0 == b.0);
            let varies = |column: &&[(u32, f32)]| {
                let zero = (0, 0.0);
                // Entries that are not stored are zero.
                let first = if column.len() < pattern.n_rows() { zero } else { column[0] };
                column.iter().any(|&(_, value)| value != first.1)
            };
            pattern.n_cols() - columns.filter(varies).count()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Split;
    use crate::graph::Graph;
    use crate::tensor::{Mat, Pattern};

    /// The path 0 - 1 - 2 and the isolated node 3.
    fn path(x: Features) -> Dataset {
        let graph = Graph::from_edges("path", 4, &[(0, 1), (1, 2)]).unwrap();
        let classes = ["a", "b", "c"].map(String::from).to_vec();
        let y = vec![Some(0), Some(1), Some(0), None];
        let parts = [vec![0], vec![2], vec![]];
        let split = Split::new("own", parts).unwrap();
        let splits = vec![FixedSplit { name: "own".into(), split }];
        Dataset { splits, ..Dataset::new("path", graph, x, y, classes) }
    }

    fn dense() -> Features {
        let values = vec![1.0, 7.0, 0.0, 2.0, 7.0, 0.0, 3.0, 7.0, 0.0, 0.0, 7.0, 0.0];
        Features::Dense(Mat::from_vec(4, 3, values))
    }

    #[test]
    fn reports_every_finding_of_a_small_graph() {
        let dataset = path(dense());
        let found = findings(&dataset, &Description::of(&dataset));
        let found: Vec<(&str, usize, &str)> =
            found.iter().map(|finding| (finding.kind, finding.count, &*finding.text)).collect();
        let expected = [
            ("one-node-classes", 1, "1 class has a single node: `b`"),
            ("empty-classes", 1, "1 class has no nodes: `c`"),
            ("duplicate-nodes", 1, "1 node has the same neighbours and class as an earlier node"),
            ("empty-parts", 1, "a part is empty in 1 of 1 splits: own"),
            ("class-not-in-train", 1, "a class has no training nodes in 1 of 1 splits: own"),
            ("incomplete-splits", 1, "some labelled nodes are in no part in 1 of 1 splits: own"),
            ("unlabelled-nodes", 1, "1 node has no label"),
            ("isolated-nodes", 1, "1 node has no neighbours"),
            ("components", 2, "the graph has 2 components; the largest has 3 nodes"),
            ("constant-features", 2, "2 features are the same for every node"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn counts_are_equal_for_sparse_and_dense_features() {
        // 1 7 0 0    2 7 0 0    0 0 0 0    with a stored zero
        let pattern = Pattern::new(4, vec![0, 3, 5, 5], vec![0, 1, 2, 0, 1]);
        let x = Features::Sparse { pattern, values: vec![1.0, 7.0, 0.0, 2.0, 7.0] };
        assert_eq!((zero_rows(&x), constant_columns(&x)), (1, 2));
        let x = Features::Dense(x.to_dense());
        assert_eq!((zero_rows(&x), constant_columns(&x)), (1, 2));
        let full = Pattern::new(1, vec![0, 1, 2], vec![0, 0]);
        let full = |values| Features::Sparse { pattern: full.clone(), values };
        assert_eq!(constant_columns(&full(vec![3.0, 3.0])), 1);
        assert_eq!(constant_columns(&full(vec![3.0, 4.0])), 0);
    }
}
