//! Splits partition the labelled nodes; impossible splits are rejected.

use super::*;
use crate::data::{Features, load};
use crate::graph::Graph;
use crate::tensor::Mat;
use proptest::prelude::*;

/// A graph without edges whose nodes have these labels of three classes.
fn labelled(y: Vec<Option<u32>>) -> Dataset {
    let n = y.len();
    let graph = Graph::from_edges("test", n, &[]).unwrap();
    let names = ["ant", "bee", "cat"].map(String::from).to_vec();
    Dataset::new("test", graph, Features::Dense(Mat::zeros(n, 1)), y, names)
}

/// A data set whose classes have these sizes.
fn sized(sizes: [usize; 3]) -> Dataset {
    let class = |(class, size)| vec![Some(class); size];
    labelled((0..3).zip(sizes).flat_map(class).collect())
}

fn kind(text: &str) -> SplitKind {
    text.parse().unwrap()
}

fn class_counts(dataset: &Dataset, nodes: &[u32]) -> Vec<usize> {
    let mut counts = vec![0; dataset.n_classes()];
    nodes.iter().for_each(|&node| counts[dataset.y[node as usize].unwrap() as usize] += 1);
    counts
}

fn sizes(split: &Split) -> [usize; 3] {
    split.parts().map(<[u32]>::len)
}

#[test]
fn balanced_on_cora_has_the_sizes_in_the_papers() {
    let cora = load("cora").unwrap();
    for seed in 0..5 {
        let split = SplitKind::Balanced.draw(&cora, seed).unwrap();
        assert_eq!(sizes(&split), [1557, 542, 609]);
        assert_eq!(class_counts(&cora, split.train()), [232, 217, 232, 232, 232, 232, 180]);
        assert_eq!(
            split.provenance(),
            format!("balanced: 1557 train, 542 val, 609 test, seed {seed}")
        );
    }
}

#[test]
fn stratified_keeps_the_shares_of_every_class() {
    let dataset = sized([3, 10, 101]);
    let split = SplitKind::Stratified.draw(&dataset, 4).unwrap();
    assert_eq!(class_counts(&dataset, split.train()), [1, 6, 61]);
    assert_eq!(class_counts(&dataset, split.val()), [1, 2, 20]);
    assert_eq!(class_counts(&dataset, split.test()), [1, 2, 20]);
}

#[test]
fn rare_classes_go_to_training_first_and_are_reported() {
    let dataset = sized([97, 2, 1]);
    let split = SplitKind::Stratified.draw(&dataset, 4).unwrap();
    assert_eq!(class_counts(&dataset, split.train()), [59, 1, 1]);
    assert_eq!(class_counts(&dataset, split.val()), [19, 0, 0]);
    assert_eq!(class_counts(&dataset, split.test()), [19, 1, 0]);
    let warning =
        "class `cat` has no test node in the split `stratified`: test scores do not cover it";
    assert_eq!(split.class_warnings(&dataset), [warning]);
    let untrained = Split::new("mine", [vec![0], vec![1], vec![2, 97, 99]]).unwrap();
    let warning = "2 classes (`bee`, `cat`) have no training node in the split `mine`: \
                   they cannot be predicted";
    assert_eq!(untrained.class_warnings(&dataset), [warning]);
}

#[test]
fn all_labels_or_shares_of_zero_leave_parts_empty() {
    let dataset = labelled(vec![Some(0), None, Some(1), Some(2), Some(2)]);
    assert_eq!(sizes(&kind("all-labels").draw(&dataset, 1).unwrap()), [4, 0, 0]);
    assert_eq!(sizes(&kind("ratio:1/0/0").draw(&dataset, 1).unwrap()), [4, 0, 0]);
    assert_eq!(sizes(&kind("ratio:1/0/1").draw(&dataset, 1).unwrap()), [2, 0, 2]);
    assert_eq!(sizes(&kind("ratio:1/1/0").draw(&sized([2, 2, 1]), 1).unwrap()), [2, 3, 0]);
    let all = kind("all-labels").draw(&dataset, 1).unwrap();
    assert!(all.class_warnings(&dataset).is_empty());
}

#[test]
fn ratios_are_proportions() {
    let dataset = sized([4, 8, 8]);
    let first = kind("ratio:60/20/20").draw(&dataset, 2).unwrap();
    assert_eq!(sizes(&first), [12, 4, 4]);
    for text in ["ratio:3/1/1", "ratio:0.6/0.2/0.2"] {
        assert_eq!(kind(text).draw(&dataset, 2).unwrap().sha256(), first.sha256(), "{text}");
    }
}

#[test]
fn rejects_impossible_splits() {
    let draw_error = |text: &str, sizes| kind(text).draw(&sized(sizes), 0).unwrap_err().to_string();
    assert_eq!(
        draw_error("stratified", [2, 2, 1]),
        "cannot make the split `stratified`: no node is left for val: 3 train, 0 val, 2 test; 3 of 3 \
         classes have fewer than 3 labelled nodes"
    );
    assert_eq!(
        draw_error("ratio:98/1/1", [5, 5, 5]),
        "cannot make the split `ratio:98/1/1`: no node is left for val: 15 train, 0 val, 0 test"
    );
    assert_eq!(
        draw_error("balanced", [2, 1, 1]),
        "cannot make the split `balanced`: no node is left for test: 3 train, 1 val, 0 test; 3 of 3 \
         classes have fewer than 3 labelled nodes; if the label is a name or number of the node, choose \
         another column with --label"
    );
}

#[test]
fn splits_are_read_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("split.csv");
    std::fs::write(&path, "node,part\n2,test\n1,train\n0,train\n4,val\n").unwrap();
    let text = format!("file:{}", path.display());
    let split = kind(&text).draw(&sized([2, 2, 2]), 9).unwrap();
    assert_eq!(split.parts(), [&[0, 1][..], &[4], &[2]]);
    assert_eq!(split.provenance(), format!("{text}: 2 train, 1 val, 1 test"));

    std::fs::write(&path, "2,test\n1,train\n").unwrap();
    assert_eq!(sizes(&kind(&text).draw(&sized([2, 2, 2]), 9).unwrap()), [1, 0, 1]);
    std::fs::write(&path, "2,test\n1,val\n").unwrap();
    let error = kind(&text).draw(&sized([2, 2, 2]), 9).unwrap_err().to_string();
    assert!(error.ends_with("no node is left for train: 0 train, 1 val, 1 test"), "{error}");
}

#[test]
fn rejects_malformed_split_names() {
    for text in ["balanced", "stratified", "ratio:1/2.5/3", "file:a/b.csv"] {
        assert_eq!(kind(text).to_string(), text);
    }
    let parse_error = |text: &str| text.parse::<SplitKind>().unwrap_err().to_string();
    assert_eq!(
        parse_error("balance"),
        "unknown split `balance`; did you mean `balanced`? \
         known: balanced, stratified, ratio:a/b/c, all-labels, file:PATH, \
         public, geom:N, linkx:N, fixed:N, own, all"
    );
    for text in ["ratio:", "ratio:60/40", "ratio:0/60/40", "ratio:1/nan/1", "ratio:1/2/-3"] {
        let expected = "expected three numbers as in `ratio:60/20/20`, the first one positive";
        assert_eq!(parse_error(text), format!("`split` is `{text}`; {expected}"));
    }
}

#[test]
fn rejects_overlapping_parts() {
    let parts = [vec![1, 2], vec![3], vec![2]];
    let error = Split::new("balanced", parts).unwrap_err().to_string();
    assert_eq!(error, "cannot make the split `balanced`: node 2 occurs twice");
}

proptest! {
    #[test]
    fn every_labelled_node_is_in_one_part(
        y in prop::collection::vec(prop::option::of(0..3u32), 1..60),
        seed: u64,
        which in 0..3usize,
    ) {
        let dataset = labelled(y);
        let kind = kind(["balanced", "stratified", "ratio:2/1/1"][which]);
        let Ok(split) = kind.draw(&dataset, seed) else { return Ok(()) };
        for part in split.parts() {
            prop_assert!(!part.is_empty() && part.is_sorted_by(|a, b| a < b));
        }
        let mut all = split.parts().concat();
        all.sort_unstable();
        prop_assert_eq!(all, dataset.labelled());
        prop_assert_eq!(kind.draw(&dataset, seed).unwrap(), split);
    }

    #[test]
    fn different_seeds_give_different_splits(seed: u64) {
        let dataset = sized([30, 30, 30]);
        let draw = |seed| SplitKind::Balanced.draw(&dataset, seed).unwrap().sha256();
        prop_assert_ne!(draw(seed), draw(seed.wrapping_add(1)));
    }
}
