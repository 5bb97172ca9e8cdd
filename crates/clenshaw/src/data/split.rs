//! Splits of the labelled nodes into training, validation and test nodes.
//!
//! | name | meaning |
//! |---|---|
//! | `balanced` | the "60/20/20" of spectral GNN papers: up to `round(0.6 n / C)` training nodes per class |
//! | `stratified` | 60/20/20 of each class |
//! | `ratio:a/b/c` | `a : b : c` of all labelled nodes, regardless of class; `b` and `c` may be 0 |
//! | `all-labels` | all labelled nodes for training, none for validation and testing |
//! | `file:PATH` | lines `node,part` with part `train`, `val` or `test` |
//! | `public`, `geom:3`, `linkx:0`, `fixed:2`, `own` | a split that comes with the data set |
//! | `all` | all splits that come with the data set: seed `s` selects the one with index `s` modulo their count |
//!
//! `n` counts labelled nodes and `C` classes; a node without a label is in no part.
//! `balanced` is what GPRGNN, BernNet, ChebNetII and ClenshawGCN report. Small classes may have no
//! nodes left for validation and testing, so the classes in these parts are not distributed as in the graph.

mod file;

#[cfg(any(test, fuzzing))]
pub use file::read_bytes as file_bytes;

use super::Dataset;
use super::fingerprint::Fingerprint;
use crate::error::{Error, Result};
use crate::rng::Stream;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Disjoint lists of training, validation and test nodes, each ascending.
///
/// A part may be empty: without validation nodes, training runs for all epochs, see
/// [`Epoch`](crate::train::Epoch).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    train: Vec<u32>,
    val: Vec<u32>,
    test: Vec<u32>,
    provenance: String,
}

/// How nodes are assigned to the parts.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitKind {
    /// `min(p, class size)` training nodes per class, then `v` validation nodes from the rest, then
    /// test nodes, with `p = round(0.6 n / C)` and `v = round(0.2 n)`, ties to even.
    Balanced,
    /// 60/20/20 within each class; a class with three or more nodes has at least one in each part. Of two nodes,
    /// one is used for training and one for testing; a single node is used for training.
    Stratified,
    /// Shares of the labelled nodes; only their proportions matter, so 3/1/1 is 60/20/20. A part whose share is 0
    /// is empty.
    Ratio([f64; 3]),
    /// All labelled nodes for training.
    AllLabels,
    /// Read from a file.
    File(PathBuf),
    /// The split of this name that comes with the data set.
    Published(String),
    /// Of the splits that come with the data set, the one whose index is the seed modulo their count.
    All,
}

/// The names of the parts.
const PARTS: [&str; 3] = ["train", "val", "test"];
/// The words for each part in files.
const PART_WORDS: [&[&str]; 3] =
    [&["train", "training"], &["val", "valid", "validation", "dev"], &["test", "testing"]];

/// Returns the index of the part that a word in a file refers to; `None` if the word is unknown.
pub(super) fn part_named(word: &str) -> Option<usize> {
    PART_WORDS.iter().position(|words| words.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

impl SplitKind {
    /// The default for a user's own graph: the split that comes with it; `all` if there are several, and
    /// `stratified` if there is none.
    pub fn default_for(dataset: &Dataset) -> Self {
        match &dataset.splits[..] {
            [] => Self::Stratified,
            [only] => Self::Published(only.name.clone()),
            _ => Self::All,
        }
    }

    /// Whether the split comes with the data set, and therefore refers to nodes in their published order.
    pub fn is_published(&self) -> bool {
        matches!(self, Self::Published(_) | Self::All)
    }

    /// A split that comes with the data set, without unlabelled nodes; an error if there is no such split, or if it
    /// does not fit the data set.
    fn published(&self, dataset: &Dataset, seed: u64) -> Result<Split> {
        let known = &dataset.splits;
        let names: Vec<&str> = known.iter().map(|fixed| fixed.name.as_str()).collect();
        let chosen = match self {
            Self::Published(name) => known.iter().find(|fixed| fixed.name == *name),
            _ => known.get((seed % known.len().max(1) as u64) as usize),
        };
        let fixed = chosen.ok_or_else(|| match &names[..] {
            [] => self.error(format!(
                "{} comes with no split; use balanced, stratified, ratio:a/b/c, all-labels or file:PATH",
                dataset.name
            )),
            [only] => self.error(format!("{} comes with only one split, {only}", dataset.name)),
            names => {
                let names = names.join(", ");
                self.error(format!("{} comes with the splits {names}", dataset.name))
            }
        })?;
        fixed.split.check_range(dataset)?;
        let is_labelled = |i: &u32| dataset.y[*i as usize].is_some();
        let labelled = |part: &[u32]| part.iter().copied().filter(is_labelled).collect();
        let parts = fixed.split.parts().map(labelled);
        let provenance = format!("{}: {}", fixed.name, describe_sizes(&parts));
        self.build(parts, provenance, dataset)
    }

    /// Assigns labelled nodes to the parts; the same seed gives the same split.
    ///
    /// # Errors
    /// If the training part would be empty or, for `Balanced`, `Stratified` and the shares above 0 of `Ratio`, any part;
    /// if the data set comes with no such split or an invalid one; or if the file of a split cannot be read or is
    /// invalid.
    ///
    /// ```
    /// use clenshaw::data::{self, SplitKind};
    /// let cora = data::load("cora")?;
    /// let split = "ratio:50/25/25".parse::<SplitKind>()?.draw(&cora, 1)?;
    /// assert_eq!((split.train().len(), split.val().len(), split.test().len()), (1354, 677, 677));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn draw(&self, dataset: &Dataset, seed: u64) -> Result<Split> {
        let mut stream = Stream::new(seed, "split");
        let parts = match self {
            Self::Balanced => balanced(dataset, &mut stream),
            Self::Stratified => stratified(dataset, &mut stream),
            Self::Ratio(shares) => ratio(dataset.labelled(), *shares, &mut stream),
            Self::AllLabels => [dataset.labelled(), vec![], vec![]],
            Self::File(path) => file::read(path, dataset)?,
            Self::Published(_) | Self::All => return self.published(dataset, seed),
        };
        let sizes = describe_sizes(&parts);
        let provenance = match self {
            Self::File(_) | Self::AllLabels => format!("{self}: {sizes}"),
            _ => format!("{self}: {sizes}, seed {seed}"),
        };
        self.build(parts, provenance, dataset)
    }

    /// Creates the split; an error if a part that must not be empty is empty, or if a node occurs twice.
    fn build(&self, parts: [Vec<u32>; 3], provenance: String, dataset: &Dataset) -> Result<Split> {
        let may_be_empty = match self {
            Self::Balanced | Self::Stratified => [false; 3],
            Self::Ratio(shares) => shares.map(|share| share == 0.0),
            Self::AllLabels | Self::File(_) | Self::Published(_) | Self::All => [false, true, true],
        };
        let is_empty = |part: &usize| parts[*part].is_empty() && !may_be_empty[*part];
        if let Some(empty) = (0..3).find(is_empty) {
            let (part, sizes) = (PARTS[empty], describe_sizes(&parts));
            let reason = match self {
                Self::Balanced | Self::Stratified => small_classes(dataset),
                _ => String::new(),
            };
            return Err(self.error(format!("no node is left for {part}: {sizes}{reason}")));
        }
        Ok(Split { provenance, ..Split::new(&self.to_string(), parts)? })
    }

    /// An error about this kind of split.
    fn error(&self, problem: String) -> Error {
        Error::Split { split: self.to_string(), problem }
    }
}

/// The end of an error about an empty part: how many classes are too small to be divided into three parts, if
/// any, and advice if most classes have at most one node.
fn small_classes(dataset: &Dataset) -> String {
    let sizes = dataset.class_sizes();
    let n_smaller = |than: usize| sizes.iter().filter(|&&size| size < than).count();
    let small = match n_smaller(3) {
        0 => String::new(),
        n => format!("; {n} of {} classes have fewer than 3 labelled nodes", sizes.len()),
    };
    match 2 * n_smaller(2) > sizes.len() {
        false => small,
        true => format!(
            "{small}; if the label is a name or number of the node, choose another column with --label"
        ),
    }
}

/// 60/20/20 of each class. Each part has at least one node of every class with three or more nodes; of two nodes,
/// one is for training and one for testing.
fn stratified(dataset: &Dataset, stream: &mut Stream) -> [Vec<u32>; 3] {
    let mut parts = [vec![], vec![], vec![]];
    for mut nodes in nodes_by_class(dataset) {
        stream.shuffle(&mut nodes);
        let n = nodes.len();
        let fifth = round(0.2 * n as f64).max(1);
        let (train, val) = match n {
            0..=2 => (n.min(1), 0),
            _ => (n - 2 * fifth, fifth),
        };
        for (part, nodes) in parts.iter_mut().zip(consecutive_parts(&nodes, train, val)) {
            part.extend(nodes);
        }
    }
    parts
}

/// `min(p, class size)` nodes of each class, then `v` of the rest, then the remaining nodes.
fn balanced(dataset: &Dataset, stream: &mut Stream) -> [Vec<u32>; 3] {
    let n = dataset.labelled().len() as f64;
    let p = round(0.6 * n / dataset.n_classes() as f64);
    let v = round(0.2 * n);
    let (mut train, mut rest) = (vec![], vec![]);
    for mut nodes in nodes_by_class(dataset) {
        stream.shuffle(&mut nodes);
        let (taken, left) = nodes.split_at(p.min(nodes.len()));
        train.extend(taken);
        rest.extend(left);
    }
    stream.shuffle(&mut rest);
    let (val, test) = rest.split_at(v.min(rest.len()));
    [train, val.to_vec(), test.to_vec()]
}

/// Randomly assigns nodes to the parts, in proportion to the shares; a part whose share is 0 is empty.
fn ratio(mut nodes: Vec<u32>, shares: [f64; 3], stream: &mut Stream) -> [Vec<u32>; 3] {
    let [train, val, _] = shares.map(|share| share / shares.iter().sum::<f64>());
    let n = nodes.len() as f64;
    stream.shuffle(&mut nodes);
    // `round` may round both parts of an odd number down, such as 2.5 and 2.5 to 2 and 2.
    let n_val = if shares[2] == 0.0 { nodes.len() } else { round(val * n) };
    consecutive_parts(&nodes, round(train * n), n_val)
}

/// The first `train` nodes, the next `val` nodes, and the rest; fewer if there are not as many nodes.
fn consecutive_parts(nodes: &[u32], train: usize, val: usize) -> [Vec<u32>; 3] {
    let (train, rest) = nodes.split_at(train.min(nodes.len()));
    let (val, test) = rest.split_at(val.min(rest.len()));
    [train, val, test].map(<[u32]>::to_vec)
}

/// The labelled nodes of each class, ascending.
fn nodes_by_class(dataset: &Dataset) -> Vec<Vec<u32>> {
    let mut classes = vec![vec![]; dataset.n_classes()];
    for node in dataset.labelled() {
        classes[dataset.y[node as usize].expect("the node is labelled") as usize].push(node);
    }
    classes
}

/// Rounds to the nearest integer, ties to even, like Python and NumPy.
fn round(x: f64) -> usize {
    x.round_ties_even() as usize
}

fn describe_sizes(parts: &[Vec<u32>; 3]) -> String {
    let [train, val, test] = parts.each_ref().map(Vec::len);
    format!("{train} train, {val} val, {test} test")
}

impl Split {
    /// Creates a split from the nodes of `[train, val, test]`; parts may be empty.
    ///
    /// # Errors
    /// If a node occurs twice; the error refers to the split as `name`.
    ///
    /// ```
    /// use clenshaw::data::Split;
    /// let split = Split::new("mine", [vec![3, 0], vec![1], vec![]])?;
    /// assert_eq!(split.train(), [0, 3]);
    /// let error = Split::new("mine", [vec![3, 0], vec![3], vec![]]).unwrap_err();
    /// assert_eq!(error.to_string(), "cannot make the split `mine`: node 3 occurs twice");
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn new(name: &str, mut parts: [Vec<u32>; 3]) -> Result<Self> {
        parts.iter_mut().for_each(|part| part.sort_unstable());
        let mut all = parts.concat();
        all.sort_unstable();
        if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("node {} occurs twice", pair[0]);
            return Err(Error::Split { split: name.into(), problem });
        }
        let provenance = format!("{name}: {}", describe_sizes(&parts));
        let [train, val, test] = parts;
        Ok(Self { train, val, test, provenance })
    }

    /// The nodes whose labels the model learns from.
    pub fn train(&self) -> &[u32] {
        &self.train
    }

    /// The nodes for validation, such as early stopping and the choice of settings.
    pub fn val(&self) -> &[u32] {
        &self.val
    }

    /// The nodes for the evaluation of the trained model.
    pub fn test(&self) -> &[u32] {
        &self.test
    }

    /// The training, validation and test nodes.
    pub fn parts(&self) -> [&[u32]; 3] {
        [&self.train, &self.val, &self.test]
    }

    /// The name, the sizes and, for a random split, the seed, for display.
    pub fn provenance(&self) -> &str {
        &self.provenance
    }

    /// Returns warnings about classes without training nodes, which cannot be predicted, and, if there are test
    /// nodes, about classes without any of them, which the scores do not cover. Classes without labelled nodes are
    /// not reported.
    pub fn class_warnings(&self, dataset: &Dataset) -> Vec<String> {
        let missing = |nodes: &[u32]| -> Vec<&str> {
            let mut found = vec![false; dataset.n_classes()];
            for class in nodes.iter().filter_map(|&node| dataset.y[node as usize]) {
                found[class as usize] = true;
            }
            let sizes = dataset.class_sizes();
            let missing = (0..found.len()).filter(|&class| !found[class] && sizes[class] > 0);
            missing.map(|class| dataset.class_names[class].as_str()).collect()
        };
        let warning = |names: &[&str], part: &str, [one, many]: [&str; 2]| {
            let (list, effect) = match names {
                [] => return None,
                [name] => (format!("class `{name}` has"), one),
                names => (format!("{} classes (`{}`) have", names.len(), names.join("`, `")), many),
            };
            Some(format!("{list} no {part} node in the split `{}`: {effect}", self.name()))
        };
        let test = if self.test.is_empty() { vec![] } else { missing(&self.test) };
        let unlearned = ["it cannot be predicted", "they cannot be predicted"];
        let unscored = ["test scores do not cover it", "test scores do not cover them"];
        let train = warning(&missing(&self.train), "training", unlearned);
        train.into_iter().chain(warning(&test, "test", unscored)).collect()
    }

    /// The name of the split, without its sizes.
    fn name(&self) -> &str {
        self.provenance.rsplit_once(": ").map_or(&self.provenance, |(name, _)| name)
    }

    /// Returns an error unless every node is a labelled node of the data set.
    pub fn check(&self, dataset: &Dataset) -> Result<()> {
        self.check_range(dataset)?;
        let mut nodes = self.parts().into_iter().flatten();
        match nodes.find(|&&node| dataset.y[node as usize].is_none()) {
            Some(node) => {
                Err(self.data_error(format!("node {node} of {} has no label", dataset.name)))
            }
            None => Ok(()),
        }
    }

    /// Returns an error if a node is not in the graph.
    fn check_range(&self, dataset: &Dataset) -> Result<()> {
        let n = dataset.y.len();
        let last = self.parts().into_iter().filter_map(<[u32]>::last).max();
        match last.filter(|&&node| node as usize >= n) {
            Some(node) => {
                let name = &dataset.name;
                Err(self
                    .data_error(format!("node {node} is not in {name}: the graph has {n} nodes")))
            }
            None => Ok(()),
        }
    }

    /// An error about the nodes of the split.
    fn data_error(&self, problem: String) -> Error {
        Error::Data { place: format!("split `{}`", self.provenance), problem }
    }

    /// A fingerprint of the three lists: a SHA-256 in hexadecimal.
    pub fn sha256(&self) -> String {
        let start = Fingerprint::new("clenshaw split 1");
        self.parts().iter().fold(start, |digest, part| digest.list(part.iter().copied())).hex()
    }
}

impl FromStr for SplitKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match (kind, rest) {
            ("balanced", "") => Ok(Self::Balanced),
            ("stratified", "") => Ok(Self::Stratified),
            ("ratio", shares) => parse_shares(shares).map(Self::Ratio).ok_or_else(|| {
                let expected =
                    "three numbers as in `ratio:60/20/20`, the first one positive".into();
                Error::BadValue { key: "split".into(), value: text.into(), expected }
            }),
            ("file", path) if !path.is_empty() => Ok(Self::File(path.into())),
            ("all", "") => Ok(Self::All),
            ("all-labels", "") => Ok(Self::AllLabels),
            ("public" | "own", "") => Ok(Self::Published(text.into())),
            ("geom" | "linkx" | "fixed", number) if number.parse::<u32>().is_ok() => {
                Ok(Self::Published(text.into()))
            }
            _ => {
                let known = [
                    "balanced",
                    "stratified",
                    "ratio:a/b/c",
                    "all-labels",
                    "file:PATH",
                    "public",
                    "geom:N",
                    "linkx:N",
                    "fixed:N",
                    "own",
                    "all",
                ];
                Err(Error::unknown("split", text, known))
            }
        }
    }
}

/// Parses `a/b/c`; `None` unless these are finite non-negative numbers, the first one positive.
fn parse_shares(text: &str) -> Option<[f64; 3]> {
    let shares = text.split('/').map(|share| share.trim().parse::<f64>().ok());
    let shares: [f64; 3] = shares.collect::<Option<Vec<_>>>()?.try_into().ok()?;
    let is_valid = |share: &f64| share.is_finite() && *share >= 0.0;
    (shares.iter().all(is_valid) && shares[0] > 0.0 && shares.iter().sum::<f64>().is_finite())
        .then_some(shares)
}

/// The name as in [`SplitKind::from_str`].
impl fmt::Display for SplitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balanced => f.write_str("balanced"),
            Self::Stratified => f.write_str("stratified"),
            Self::AllLabels => f.write_str("all-labels"),
            Self::Ratio([a, b, c]) => write!(f, "ratio:{a}/{b}/{c}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Published(name) => f.write_str(name),
            Self::All => f.write_str("all"),
        }
    }
}

#[cfg(test)]
mod tests;
