//! Tests of the computation of terms; `tests/suite/precompute.rs` tests training with them.

use super::*;
use crate::data;
use crate::filter::Basis;
use crate::graph::{Normalisation, operator};
use crate::hyper::Scaling;
use crate::tensor::Pattern;
use std::fs;

const N: usize = 90;
const F: usize = 21;

fn dataset() -> Dataset {
    data::load(&format!("csbm:nodes={N},features={F}")).unwrap()
}

/// The terms of the Legendre basis up to order 3, with raw features.
fn compute(dataset: &Dataset, options: &PrecomputeOptions<'_>) -> PrecomputedTerms {
    let p = operator(&dataset.graph, Normalisation::Plain);
    let (scaler, terms) = (&Scaler::Raw, &FilterTerms::each(&Basis::Legendre, 3));
    let source = TermSource { dataset, scaler, p: &p, operator: "plain", terms };
    PrecomputedTerms::compute(source, options).unwrap()
}

/// All rows of all matrices.
fn all_rows(terms: &PrecomputedTerms) -> Vec<Vec<f32>> {
    let nodes: Vec<u32> = (0..N as u32).collect();
    let matrix = |matrix| {
        let mut rows = vec![0.0; N * F];
        terms.read(matrix, &nodes, &mut rows).unwrap();
        rows
    };
    (0..4).map(matrix).collect()
}

/// Buffers of at most this many columns fit into the budget.
fn narrow(folder: &Path, width: usize) -> PrecomputeOptions<'_> {
    let budget = Some((2 * width * N * size_of::<f32>()) as u64);
    PrecomputeOptions { budget, folder: Some(folder), ..PrecomputeOptions::default() }
}

fn block_files(folder: &Path) -> Vec<String> {
    let terms = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
    let mut names: Vec<String> =
        fs::read_dir(terms).unwrap().map(|entry| name(entry).unwrap()).collect();
    names.sort();
    names
}

#[test]
fn columns_are_split_into_blocks_of_permitted_widths() {
    assert_eq!(split_columns(0..21, 16), [0..16, 16..20, 20..21]);
    assert_eq!(split_columns(3..8, 2), [3..5, 5..7, 7..8]);
    assert_eq!(split_columns(4..4, 16), []);
}

#[test]
fn blocks_of_scaled_columns_are_those_of_all_scaled_features() {
    let dense = dataset();
    let pattern = Pattern::new(F, (0..=N).map(|i| 2 * i).collect(), {
        (0..N as u32).flat_map(|i| [i % 10, 10 + i % 11]).collect()
    });
    let values = (0..2 * N).map(|e| 1.0 + (e % 7) as f32).collect();
    let sparse = Dataset { x: Features::Sparse { pattern, values }, ..dense.clone() };
    let p = operator(&dense.graph, Normalisation::Plain);
    let terms = FilterTerms::each(&Basis::Monomial, 1);
    for dataset in [&dense, &sparse] {
        for scaling in [Scaling::Raw, Scaling::Row, Scaling::Row0, Scaling::ZScore] {
            let scaler = &Scaler::fit(scaling, &dataset.x);
            let all = scaler.apply(&dataset.x).to_dense();
            let source = TermSource { dataset, scaler, p: &p, operator: "plain", terms: &terms };
            for columns in [0..16, 5..9, 20..21] {
                let block = source.scaled_columns(&columns, 2);
                let expected: Vec<f32> =
                    (0..N).flat_map(|i| all.row(i)[columns.clone()].to_vec()).collect();
                assert_eq!(*block, expected, "{scaling:?} {columns:?}");
            }
        }
    }
}

#[test]
fn files_of_another_budget_are_used_and_missing_columns_computed() {
    let dataset = dataset();
    let expected = all_rows(&compute(&dataset, &PrecomputeOptions::default()));
    let folder = tempfile::tempdir().unwrap();
    assert!(all_rows(&compute(&dataset, &narrow(folder.path(), 4))) == expected);
    let names = block_files(folder.path());
    let blocks = ["0-4", "12-16", "16-20", "20-21", "4-8", "8-12"];
    assert_eq!(names, blocks.map(|columns| format!("columns-{columns}.terms")));
    let terms = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    for removed in ["4-8", "8-12", "20-21"] {
        fs::remove_file(terms.join(format!("columns-{removed}.terms"))).unwrap();
    }
    // A block of another process that overlaps the first one is not read.
    fs::write(terms.join("columns-2-6.terms"), "unreadable").unwrap();
    assert!(all_rows(&compute(&dataset, &narrow(folder.path(), 8))) == expected);
    assert!(block_files(folder.path()).contains(&"columns-4-12.terms".to_owned()));
}

#[test]
fn terms_of_other_features_or_filters_have_other_folders() {
    let folder = tempfile::tempdir().unwrap();
    let n_folders = || fs::read_dir(folder.path()).unwrap().count();
    let mut dataset = dataset();
    compute(&dataset, &narrow(folder.path(), 8));
    compute(&dataset, &narrow(folder.path(), 8));
    dataset.y[0] = None;
    compute(&dataset, &narrow(folder.path(), 8));
    assert_eq!(n_folders(), 1);
    let Features::Dense(x) = &mut dataset.x else { panic!("csbm has dense features") };
    x.as_mut_slice()[0] += 1.0;
    compute(&dataset, &narrow(folder.path(), 8));
    assert_eq!(n_folders(), 2);
    let names = [["a", "bc"], ["ab", "c"], ["a", "bd"]].map(|texts| files::folder_name(&texts));
    assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2]);
}

#[test]
fn rows_of_any_nodes_are_read_in_their_order() {
    let dataset = dataset();
    let folder = tempfile::tempdir().unwrap();
    let terms = compute(&dataset, &narrow(folder.path(), 2));
    let all = all_rows(&terms);
    let nodes = [7, 8, 9, 3, 89, 0, 1];
    for (matrix, all) in all.iter().enumerate() {
        let mut rows = vec![0.0; nodes.len() * F];
        terms.read(matrix, &nodes, &mut rows).unwrap();
        let expected: Vec<f32> =
            nodes.iter().flat_map(|&i| &all[i as usize * F..][..F]).copied().collect();
        assert_eq!(rows, expected);
    }
}
