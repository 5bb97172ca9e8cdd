//! Which nodes train, validate and test.
//!
//! | typed | meaning |
//! |---|---|
//! | `balanced` | this line of papers' "60/20/20": `round(0.6 n / C)` nodes of each class train |
//! | `stratified` | a true 60/20/20 of each class |
//! | `ratio:a/b/c` | `a : b : c` of all labelled nodes, whatever their class |
//! | `file:PATH` | lines `node,part` with part `train`, `val` or `test` |
//! | `public`, `geom:3`, `linkx:0`, `fixed:2`, `own` | one that came with the data set |
//! | `all` | every published one in turn: the run of seed `s` takes number `s` |
//!
//! `n` counts labelled nodes; a node without a label is in no part.
//! `balanced` is what GPRGNN, BernNet, ChebNetII and ClenshawGCN report: small classes lend all their
//! nodes to training, so validation and test nodes are not distributed like the graph.

mod file;

#[cfg(fuzzing)]
pub use file::read_bytes as file_bytes;

use super::Dataset;
use super::fingerprint::Fingerprint;
use crate::error::{Error, Result};
use crate::rng::Stream;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Three disjoint lists of labelled nodes, each ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Whose labels the model learns from.
    pub train: Vec<u32>,
    /// Whose labels decide when to stop.
    pub val: Vec<u32>,
    /// Whose labels are read once, at the end.
    pub test: Vec<u32>,
    /// Kind, sizes and seed, in one sentence.
    pub provenance: String,
}

/// How nodes are dealt out.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitKind {
    /// `min(p, class size)` nodes of each class train, `v` of the rest validate, the others test,
    /// where `p = round(0.6 n / C)` and `v = round(0.2 n)`, halves to the even neighbour.
    Balanced,
    /// 60/20/20 within each class, at least one node of it in each part.
    Stratified,
    /// Shares of the labelled nodes; only their proportions matter, so 3/1/1 is 60/20/20.
    Ratio([f64; 3]),
    /// Read from a file.
    File(PathBuf),
    /// The one of this name that came with the data set.
    Published(String),
    /// Every one that came with the data set, by number.
    All,
}

/// The names of the parts, in the order of [`Split`]'s lists.
const PARTS: [&str; 3] = ["train", "val", "test"];

impl SplitKind {
    /// Whether it needs the order of nodes in which the data set was published.
    pub fn is_published(&self) -> bool {
        matches!(self, Self::Published(_) | Self::All)
    }

    /// One that came with the data set; nodes without a label are left out of it.
    fn published(&self, dataset: &Dataset, seed: u64) -> Result<Split> {
        let known = &dataset.splits;
        let names: Vec<&str> = known.iter().map(|fixed| fixed.name.as_str()).collect();
        let chosen = match self {
            Self::Published(name) => known.iter().find(|fixed| fixed.name == *name),
            _ => known.get((seed % known.len().max(1) as u64) as usize),
        };
        let fixed = chosen.ok_or_else(|| match &names[..] {
            [] => self.error(format!("no split came with {}", dataset.name)),
            names => self.error(format!("{} has {}", dataset.name, names.join(", "))),
        })?;
        let labelled = |part: &[u32]| -> Vec<u32> {
            part.iter().copied().filter(|&i| dataset.y[i as usize].is_some()).collect()
        };
        let Split { train, val, test, .. } = &fixed.split;
        let parts = [labelled(train), labelled(val), labelled(test)];
        let provenance = format!("{}: {}", fixed.name, sizes(&parts));
        Split::new(self, parts, provenance)
    }

    /// Deals out the nodes; the same seed gives the same split.
    ///
    /// ```
    /// use clenshaw::data::{self, SplitKind};
    /// let cora = data::load("cora")?;
    /// let split = "ratio:50/25/25".parse::<SplitKind>()?.draw(&cora, 1)?;
    /// assert_eq!((split.train.len(), split.val.len(), split.test.len()), (1354, 677, 677));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn draw(&self, dataset: &Dataset, seed: u64) -> Result<Split> {
        let mut stream = Stream::new(seed, "split");
        let parts = match self {
            Self::Balanced => balanced(dataset, &mut stream),
            Self::Stratified => self.stratified(dataset, &mut stream)?,
            Self::Ratio(shares) => ratio(dataset.labelled(), *shares, &mut stream),
            Self::File(path) => file::read(path, &dataset.y)?,
            Self::Published(_) | Self::All => return self.published(dataset, seed),
        };
        let sizes = sizes(&parts);
        let provenance = match self {
            Self::File(_) => format!("{self}: {sizes}"),
            _ => format!("{self}: {sizes}, seed {seed}"),
        };
        Split::new(self, parts, provenance)
    }

    fn stratified(&self, dataset: &Dataset, stream: &mut Stream) -> Result<[Vec<u32>; 3]> {
        let mut parts = [vec![], vec![], vec![]];
        for (class, mut nodes) in classes(dataset).into_iter().enumerate() {
            if nodes.len() < PARTS.len() {
                let (name, size) = (&dataset.class_names[class], nodes.len());
                return Err(self.error(format!(
                    "class {class} (`{name}`) has {size} labelled nodes; each part needs one"
                )));
            }
            stream.shuffle(&mut nodes);
            let fifth = round(0.2 * nodes.len() as f64).max(1);
            let train = nodes.len() - 2 * fifth;
            for (part, dealt) in parts.iter_mut().zip(deal(&nodes, train, fifth)) {
                part.extend(dealt);
            }
        }
        Ok(parts)
    }

    fn error(&self, problem: String) -> Error {
        Error::Split { split: self.to_string(), problem }
    }
}

/// `min(p, class size)` nodes of each class, then `v` of all that are left, then the others.
fn balanced(dataset: &Dataset, stream: &mut Stream) -> [Vec<u32>; 3] {
    let n = dataset.labelled().len() as f64;
    let p = round(0.6 * n / dataset.n_classes() as f64);
    let v = round(0.2 * n);
    let (mut train, mut rest) = (vec![], vec![]);
    for mut nodes in classes(dataset) {
        stream.shuffle(&mut nodes);
        let (taken, left) = nodes.split_at(p.min(nodes.len()));
        train.extend(taken);
        rest.extend(left);
    }
    stream.shuffle(&mut rest);
    let (val, test) = rest.split_at(v.min(rest.len()));
    [train, val.to_vec(), test.to_vec()]
}

fn ratio(mut nodes: Vec<u32>, shares: [f64; 3], stream: &mut Stream) -> [Vec<u32>; 3] {
    let [train, val, _] = shares.map(|share| share / shares.iter().sum::<f64>());
    let n = nodes.len() as f64;
    stream.shuffle(&mut nodes);
    deal(&nodes, round(train * n), round(val * n))
}

/// The first `train`, the next `val`, and the others.
fn deal(nodes: &[u32], train: usize, val: usize) -> [Vec<u32>; 3] {
    let (train, rest) = nodes.split_at(train.min(nodes.len()));
    let (val, test) = rest.split_at(val.min(rest.len()));
    [train, val, test].map(<[u32]>::to_vec)
}

/// The labelled nodes of each class, ascending.
fn classes(dataset: &Dataset) -> Vec<Vec<u32>> {
    let mut classes = vec![vec![]; dataset.n_classes()];
    for node in dataset.labelled() {
        classes[dataset.y[node as usize].expect("it is labelled") as usize].push(node);
    }
    classes
}

/// To the nearest whole number, halves to the even one, as Python and NumPy round.
fn round(x: f64) -> usize {
    x.round_ties_even() as usize
}

fn sizes(parts: &[Vec<u32>; 3]) -> String {
    let [train, val, test] = parts.each_ref().map(Vec::len);
    format!("{train} train, {val} val, {test} test")
}

impl Split {
    /// A published split; a part may be empty but no node may stand in two.
    pub(crate) fn fixed(name: &str, mut parts: [Vec<u32>; 3]) -> Result<Self> {
        parts.iter_mut().for_each(|part| part.sort_unstable());
        let mut all = parts.concat();
        all.sort_unstable();
        if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("node {} stands in it twice", pair[0]);
            return Err(Error::Split { split: name.into(), problem });
        }
        let provenance = format!("{name}: {}", sizes(&parts));
        let [train, val, test] = parts;
        Ok(Self { train, val, test, provenance })
    }

    /// Sorts the parts; refuses empty ones and nodes that stand in two.
    fn new(kind: &SplitKind, parts: [Vec<u32>; 3], provenance: String) -> Result<Self> {
        if let Some(empty) = parts.iter().position(Vec::is_empty) {
            let (part, sizes) = (PARTS[empty], sizes(&parts));
            return Err(kind.error(format!("no node is left for {part}: {sizes}")));
        }
        Ok(Self { provenance, ..Self::fixed(&kind.to_string(), parts)? })
    }

    /// The sha256 of the three lists, in hexadecimal.
    pub fn sha256(&self) -> String {
        let parts = [&self.train, &self.val, &self.test];
        let start = Fingerprint::of("clenshaw split 1");
        parts.iter().fold(start, |digest, part| digest.list(part.iter().copied())).hex()
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
                let expected = "three positive numbers as in `ratio:60/20/20`".into();
                Error::BadValue { key: "split".into(), value: text.into(), expected }
            }),
            ("file", path) if !path.is_empty() => Ok(Self::File(path.into())),
            ("all", "") => Ok(Self::All),
            ("public" | "own", "") => Ok(Self::Published(text.into())),
            ("geom" | "linkx" | "fixed", number) if number.parse::<u32>().is_ok() => {
                Ok(Self::Published(text.into()))
            }
            _ => {
                let known = [
                    "balanced",
                    "stratified",
                    "ratio:a/b/c",
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

fn parse_shares(text: &str) -> Option<[f64; 3]> {
    let shares = text.split('/').map(|share| share.trim().parse::<f64>().ok());
    let shares: [f64; 3] = shares.collect::<Option<Vec<_>>>()?.try_into().ok()?;
    let fine = |share: &f64| share.is_finite() && *share > 0.0;
    (shares.iter().all(fine) && shares.iter().sum::<f64>().is_finite()).then_some(shares)
}

/// As people type it.
impl fmt::Display for SplitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balanced => f.write_str("balanced"),
            Self::Stratified => f.write_str("stratified"),
            Self::Ratio([a, b, c]) => write!(f, "ratio:{a}/{b}/{c}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Published(name) => f.write_str(name),
            Self::All => f.write_str("all"),
        }
    }
}

#[cfg(test)]
mod tests;
