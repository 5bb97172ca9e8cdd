//! The nodes on which the score is estimated, and the splits on which configurations are compared.
//!
//! The training and validation nodes of the split are the development nodes. Test nodes are in none of the
//! validation splits, and predictions for them are scored only at the end, by `answer.rs`.

use super::{AutoRequest, GraphOrigin};
use crate::data::{Dataset, Split, SplitKind, count};
use crate::error::{Error, Result};
use crate::rng::Stream;

/// A stratified default split is replaced by `all-labels` below this number of labelled nodes.
const MIN_FOR_TEST: usize = 50;
/// With fewer development nodes than this, configurations cannot be compared.
const MIN_LABELLED: usize = 8;
/// The share of development nodes used for validation, if the split has no validation nodes.
const VALIDATION_SHARE: f64 = 0.25;
/// A class needs this many development nodes to have both training and validation nodes.
const MIN_PER_CLASS: usize = 2;

/// Test nodes and validation splits.
#[derive(Clone, Debug)]
pub(super) struct HoldOut {
    /// The training, validation and test nodes; the latter two may be empty.
    pub split: Split,
    /// The splits on which configurations are compared, without test nodes. Models on split `i` are trained with
    /// seed `request.seed + i`.
    pub validation: Vec<Split>,
    /// Warnings about few or no test nodes.
    pub notes: Vec<String>,
}

impl HoldOut {
    /// Draws the split, and divides its development nodes into training and validation nodes `request.splits` times.
    /// If the split has validation nodes, the first division is its own; the others are drawn anew or, if the split is
    /// not random, equal the first. Without validation nodes, all are drawn.
    ///
    /// # Errors
    /// If the split cannot be drawn, or has too few development nodes to compare models.
    pub fn new(dataset: &Dataset, request: &AutoRequest, origin: GraphOrigin) -> Result<Self> {
        check_size(dataset, &dataset.labelled())?;
        let mut notes = vec![];
        let kind = match &request.split {
            Some(kind) => kind.clone(),
            None => default_split(dataset, origin, &mut notes),
        };
        let split = kind.draw(dataset, request.seed)?;
        let development: Vec<u32> = [split.train(), split.val()].concat();
        check_size(dataset, &development)?;
        if let n @ 1..10 = split.test().len() {
            notes.push(format!(
                "only {}: the expected score is hardly more than a guess",
                count(n, "test node", "test nodes")
            ));
        }
        let is_fixed = !is_drawn(&kind) && !split.val().is_empty();
        let validation = (0..request.splits).map(|i| match (i, is_fixed) {
            (_, true) | (0, _) if !split.val().is_empty() => {
                Split::new(&kind.to_string(), [split.train().into(), split.val().into(), vec![]])
            }
            _ => redraw(dataset, &split, &development, request.seed, i),
        });
        Ok(Self { validation: validation.collect::<Result<_>>()?, split, notes })
    }

    /// The labels of all nodes, with `None` for test nodes.
    pub fn visible_labels(&self, dataset: &Dataset) -> Vec<Option<u32>> {
        let mut y = dataset.y.clone();
        self.split.test().iter().for_each(|&node| y[node as usize] = None);
        y
    }
}

/// Whether the parts are drawn at random.
fn is_drawn(kind: &SplitKind) -> bool {
    matches!(kind, SplitKind::Balanced | SplitKind::Stratified | SplitKind::Ratio(_))
}

/// The default split: that of the user's own graph (`all` if it comes with several), otherwise `stratified` or, with
/// fewer than [`MIN_FOR_TEST`] labelled nodes, `all-labels`, about which a note is added.
fn default_split(dataset: &Dataset, origin: GraphOrigin, notes: &mut Vec<String>) -> SplitKind {
    let n = dataset.labelled().len();
    let kind = match origin {
        GraphOrigin::Own => SplitKind::default_for(dataset),
        GraphOrigin::Public => SplitKind::Stratified,
    };
    match kind {
        SplitKind::Stratified if n < MIN_FOR_TEST => {
            notes.push(format!(
                "only {n} nodes have a label, too few to set some aside: no score is estimated \
                 (pass --split stratified to do it nevertheless)"
            ));
            SplitKind::AllLabels
        }
        kind => kind,
    }
}

/// Fails if there are too few nodes, or too few classes with enough of them, to compare models.
fn check_size(dataset: &Dataset, nodes: &[u32]) -> Result<()> {
    let mut sizes = vec![0; dataset.n_classes()];
    for class in nodes.iter().filter_map(|&node| dataset.y[node as usize]) {
        sizes[class as usize] += 1;
    }
    let n_classes = sizes.iter().filter(|&&size| size >= MIN_PER_CLASS).count();
    if nodes.len() >= MIN_LABELLED && n_classes >= 2 {
        return Ok(());
    }
    Err(Error::Data {
        place: dataset.name.clone(),
        problem: format!(
            "too small to compare models: {} to learn from, and {n_classes} of the classes with at least \
             {MIN_PER_CLASS} of these nodes; expected at least {MIN_LABELLED} nodes and two such classes; to train \
             a single model, run `clenshaw train {} --split all-labels`",
            count(nodes.len(), "labelled node", "labelled nodes"),
            dataset.name
        ),
    })
}

/// Draws validation split `i` from the development nodes `nodes`, within each class and with about the same share of
/// validation nodes as in the split, or [`VALIDATION_SHARE`] if it has none.
fn redraw(dataset: &Dataset, split: &Split, nodes: &[u32], seed: u64, i: usize) -> Result<Split> {
    let share = match split.val().len() {
        0 => VALIDATION_SHARE,
        n => n as f64 / nodes.len() as f64,
    };
    let mut stream = Stream::new(seed, "auto").named("split").numbered(i as u64);
    let mut classes = vec![vec![]; dataset.n_classes()];
    for &node in nodes {
        let class = dataset.y[node as usize].expect("nodes of a split are labelled");
        classes[class as usize].push(node);
    }
    let (mut train, mut val) = (vec![], vec![]);
    for mut class in classes {
        stream.shuffle(&mut class);
        let n = class.len();
        let n_val = (share * n as f64).round().max(1.0) as usize;
        let (first, rest) = class.split_at(if n < MIN_PER_CLASS { 0 } else { n_val.min(n - 1) });
        val.extend_from_slice(first);
        train.extend_from_slice(rest);
    }
    Split::new(&format!("auto {i}"), [train, val, vec![]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    fn request(split: Option<&str>) -> AutoRequest {
        let split = split.map(|text| text.parse().unwrap());
        AutoRequest { split, seed: 4, splits: 3, ..AutoRequest::new("csbm", "s") }
    }

    #[test]
    fn validation_splits_cover_the_development_nodes_and_no_test_node() {
        let dataset = data::load("csbm:nodes=200").unwrap();
        let hold_out = HoldOut::new(&dataset, &request(None), GraphOrigin::Own).unwrap();
        let drawn = SplitKind::Stratified.draw(&dataset, 4).unwrap();
        assert_eq!(hold_out.split.test(), drawn.test());
        assert_eq!(hold_out.validation[0].train(), drawn.train());
        let mut development = [drawn.train(), drawn.val()].concat();
        development.sort_unstable();
        for split in &hold_out.validation {
            let mut nodes = [split.train(), split.val()].concat();
            nodes.sort_unstable();
            assert_eq!(nodes, development);
            // Rounded once per class.
            assert!(split.val().len().abs_diff(drawn.val().len()) <= 1);
            assert!(split.test().is_empty());
        }
        assert_ne!(hold_out.validation[1].val(), hold_out.validation[2].val());
        let visible = hold_out.visible_labels(&dataset);
        assert!(drawn.test().iter().all(|&node| visible[node as usize].is_none()));
        assert_eq!(visible.iter().flatten().count(), development.len());
    }

    #[test]
    fn given_validation_nodes_are_kept() {
        let dataset = data::load("cora").unwrap();
        let fixed = SplitKind::Published("public".into());
        let published = data::load_published(&data::Store::new(None), "cora");
        // The public split refers to Planetoid's files; without them, there is nothing to compare.
        let Ok(published) = published else { return drop(dataset) };
        let hold_out =
            HoldOut::new(&published, &request(Some("public")), GraphOrigin::Public).unwrap();
        let split = fixed.draw(&published, 4).unwrap();
        assert!(hold_out.validation.iter().all(|other| other.val() == split.val()));
    }

    #[test]
    fn splits_that_come_with_a_graph_are_the_default_of_own_graphs_only() {
        let mut dataset = data::load("csbm:nodes=60").unwrap();
        let parts = [(0..30).collect(), (30..40).collect(), (40..60).collect()];
        let split = Split::new("own", parts).unwrap();
        dataset.splits = vec![data::FixedSplit { name: "own".into(), split: split.clone() }];
        let test =
            |origin| HoldOut::new(&dataset, &request(None), origin).unwrap().split.test().to_vec();
        assert_eq!(test(GraphOrigin::Own), split.test());
        assert_ne!(test(GraphOrigin::Public), split.test());
    }

    #[test]
    fn few_labels_are_reported_and_too_few_rejected() {
        let mut dataset = data::load("csbm:nodes=60").unwrap();
        dataset.y[40..].fill(None);
        let hold_out = HoldOut::new(&dataset, &request(None), GraphOrigin::Own).unwrap();
        assert!(hold_out.split.test().is_empty());
        assert!(
            hold_out.notes[0].starts_with("only 40 nodes have a label"),
            "{:?}",
            hold_out.notes
        );
        assert!(hold_out.validation.iter().all(|split| !split.val().is_empty()));
        let hold_out =
            HoldOut::new(&dataset, &request(Some("stratified")), GraphOrigin::Own).unwrap();
        assert!(hold_out.notes[0].starts_with("only 8 test nodes"), "{:?}", hold_out.notes);
        dataset.y[7..].fill(None);
        let error =
            HoldOut::new(&dataset, &request(None), GraphOrigin::Own).unwrap_err().to_string();
        assert!(error.contains("too small to compare models: 7 labelled nodes"), "{error}");
    }
}
