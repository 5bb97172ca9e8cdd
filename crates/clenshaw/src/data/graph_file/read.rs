//! From a file to a data set; nothing is believed.

use super::header::{CHECKSUM_AT, FORMAT, Header, NO_CHECKSUM, OPENING, PREFIX, Stored, checksum};
use crate::data::{Dataset, Features, FixedSplit, Split};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::{Bytes, Mat, Pattern, SharedSlice};

/// A file whose checksum is good.
pub struct File<'a> {
    place: &'a str,
    bytes: Bytes,
    header: Header,
    /// Where the tensors begin.
    data: usize,
}

/// Numbers and their shape, which fits them.
struct Tensor<T> {
    shape: Vec<usize>,
    numbers: SharedSlice<T>,
}

impl<'a> File<'a> {
    /// Verifies the checksum and reads the header.
    pub fn open(place: &'a str, bytes: Bytes) -> Result<Self> {
        let bad = |problem: String| Error::Data { place: place.into(), problem };
        let foreign = || bad("not a graph file; `clenshaw data import` writes one".into());
        let opening = bytes.get(PREFIX..CHECKSUM_AT).ok_or_else(foreign)?;
        if opening != OPENING.as_bytes() {
            return Err(foreign());
        }
        let behind = CHECKSUM_AT + NO_CHECKSUM.len();
        let pieces = bytes.get(CHECKSUM_AT..behind).zip(bytes.get(behind..));
        let is_good = |(told, rest): (&[u8], &[u8])| {
            let found = checksum([&bytes[..CHECKSUM_AT], NO_CHECKSUM.as_bytes(), rest]);
            told == found.as_bytes()
        };
        // A fuzzer cannot guess checksums, and needs not.
        if !cfg!(fuzzing) && !pieces.is_some_and(is_good) {
            return Err(bad("the checksum does not fit; the file is damaged or cut off".into()));
        }
        let header = split_header(&bytes).ok_or_else(|| bad("the header does not end".into()))?;
        let data = PREFIX + header.len();
        let header: Header =
            serde_json::from_slice(header).map_err(|e| bad(format!("header: {e}")))?;
        let format = &header.metadata.format;
        if format != FORMAT {
            return Err(bad(format!("format `{format}`; this program reads `{FORMAT}`")));
        }
        if !fills(&header, bytes.len() - data) {
            return Err(bad("the tensors do not fill the file, or share parts of it".into()));
        }
        Ok(Self { place, bytes, header, data })
    }

    /// The cache's mark.
    pub fn stamp(&self) -> Option<&str> {
        self.header.metadata.stamp.as_deref()
    }

    /// Everything in it, checked; `graph` says how the adjacency is.
    pub fn dataset(self, graph: fn(&str, Pattern) -> Result<Graph>) -> Result<Dataset> {
        let graph = graph(&format!("{}: `adjacency`", self.place), self.adjacency()?)?;
        let n = graph.n_nodes();
        let (x, y, node_names) = (self.features()?, self.labels()?, self.names(n)?);
        let splits = self.splits(n)?;
        let metadata = self.header.metadata;
        let dataset = Dataset {
            source: metadata.source,
            warnings: metadata.warnings,
            node_names,
            splits,
            metric: metadata.metric,
            ..Dataset::new(metadata.name, graph, x, y, metadata.classes)
        };
        dataset.checked().map_err(|error| match error {
            Error::Data { problem, .. } => Error::Data { place: self.place.into(), problem },
            other => other,
        })
    }

    fn bad(&self, tensor: &str, problem: String) -> Error {
        Error::Data { place: format!("{}: `{tensor}`", self.place), problem }
    }

    /// The tensor of that name and type, if there is one of that name.
    fn find<T: Stored>(&self, name: &str) -> Result<Option<Tensor<T>>> {
        let Some(entry) = self.header.tensors.get(name) else { return Ok(None) };
        if entry.dtype != T::DTYPE {
            let (found, expected) = (&entry.dtype, T::DTYPE);
            return Err(self.bad(name, format!("numbers are {found}; expected {expected}")));
        }
        let [start, end] = entry.data_offsets;
        let ends = [start, end].map(|offset| offset.checked_add(self.data));
        let numbers = match ends {
            [Some(start), Some(end)] if start <= end => {
                SharedSlice::from_bytes(&self.bytes, start..end)
            }
            _ => None,
        };
        let outside = || format!("bytes {start} to {end} are no {} of this file", T::DTYPE);
        let numbers: SharedSlice<T> = numbers.ok_or_else(|| self.bad(name, outside()))?;
        let (shape, found) = (&entry.shape, numbers.len());
        let count = shape.iter().try_fold(1usize, |count, &n| count.checked_mul(n));
        if count != Some(found) {
            return Err(self.bad(name, format!("{found} numbers, but the shape is {shape:?}")));
        }
        Ok(Some(Tensor { shape: shape.clone(), numbers }))
    }

    /// The numbers of a tensor that must be there.
    fn numbers<T: Stored>(&self, name: &str) -> Result<SharedSlice<T>> {
        let absent = || self.bad(name, "no such tensor".into());
        Ok(self.find(name)?.ok_or_else(absent)?.numbers)
    }

    /// One number a node, or a place between nodes.
    fn numbers_of<T: Stored>(&self, name: &str, expected: usize) -> Result<SharedSlice<T>> {
        let numbers = self.numbers(name)?;
        match numbers.len() {
            found if found == expected => Ok(numbers),
            found => Err(self.bad(name, format!("{found} numbers; expected {expected}"))),
        }
    }

    fn adjacency(&self) -> Result<Pattern> {
        let offsets = self.numbers::<usize>("adjacency.offsets")?;
        let n = offsets.len().saturating_sub(1);
        if u32::try_from(n).is_err() {
            return Err(self.bad("adjacency.offsets", format!("{n} nodes are too many")));
        }
        let adjacency = Pattern::from_shared(n, offsets, self.numbers("adjacency.indices")?);
        adjacency.map_err(|problem| self.bad("adjacency", problem))
    }

    fn features(&self) -> Result<Features> {
        if let Some(Tensor { shape, numbers }) = self.find::<f32>("features")? {
            let &[rows, columns] = &shape[..] else {
                return Err(self.bad("features", format!("shape {shape:?}; expected a matrix")));
            };
            return Ok(Features::Dense(Mat::from_vec(rows, columns, numbers.to_vec())));
        }
        let columns = self.header.metadata.columns.as_ref().and_then(|text| text.parse().ok());
        let columns = columns.ok_or_else(|| self.bad("columns", "expected a number".into()))?;
        let (offsets, indices) =
            (self.numbers("features.offsets")?, self.numbers("features.indices")?);
        let pattern = Pattern::from_shared(columns, offsets, indices);
        let pattern = pattern.map_err(|problem| self.bad("features", problem))?;
        let values = match self.header.tensors.contains_key("features.values") {
            true => self.numbers_of("features.values", pattern.n_entries())?.to_vec(),
            false => vec![1.0; pattern.n_entries()],
        };
        Ok(Features::Sparse { pattern, values })
    }

    fn labels(&self) -> Result<Vec<Option<u32>>> {
        let labels = self.numbers::<i32>("labels")?;
        let label = |(node, &label): (usize, &i32)| match u32::try_from(label) {
            Ok(class) => Ok(Some(class)),
            Err(_) if label == -1 => Ok(None),
            Err(_) => {
                let expected = "expected a class, or -1 where none is known";
                Err(self.bad("labels", format!("node {node} has {label}; {expected}")))
            }
        };
        labels.iter().enumerate().map(label).collect()
    }

    fn splits(&self, n_nodes: usize) -> Result<Vec<FixedSplit>> {
        let names = &self.header.metadata.splits;
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(self.bad("splits", format!("`{}` is listed twice", pair[0])));
        }
        let split = |name: &String| {
            let tensor = format!("split.{name}");
            let numbers = self.numbers_of::<u8>(&tensor, n_nodes)?;
            if let Some(node) = numbers.iter().position(|&part| part > 3) {
                let problem = format!("node {node} has {}; expected 0 to 3", numbers[node]);
                return Err(self.bad(&tensor, problem));
            }
            let part = |part| {
                let nodes = (0u32..).zip(&numbers[..]).filter(move |(_, found)| **found == part);
                nodes.map(|(node, _)| node).collect()
            };
            let split = Split::new(name, [part(1), part(2), part(3)])?;
            Ok(FixedSplit { name: name.clone(), split })
        };
        names.iter().map(split).collect()
    }

    fn names(&self, n_nodes: usize) -> Result<Vec<String>> {
        if !self.header.tensors.contains_key("names.offsets") {
            return Ok(vec![]);
        }
        let ends = self.numbers_of::<usize>("names.offsets", n_nodes + 1)?;
        let bytes = self.numbers::<u8>("names.bytes")?;
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            self.bad("names.bytes", format!("not UTF-8 from byte {}", e.valid_up_to()))
        })?;
        let name = |(node, ends): (usize, &[usize])| {
            let (start, end) = (ends[0], ends[1]);
            let name = text.get(start..end).map(str::to_owned);
            let problem = || format!("node {node} has bytes {start} to {end}; expected a text");
            name.ok_or_else(|| self.bad("names.offsets", problem()))
        };
        ends.windows(2).enumerate().map(name).collect()
    }
}

/// Whether every byte of the data belongs to one tensor: none is read twice.
fn fills(header: &Header, length: usize) -> bool {
    let mut ranges: Vec<_> = header.tensors.values().map(|entry| entry.data_offsets).collect();
    ranges.sort_unstable();
    let next = |at: usize, [start, end]: [usize; 2]| (start == at && end >= at).then_some(end);
    ranges.into_iter().try_fold(0, next) == Some(length)
}

/// The header's text.
fn split_header(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<PREFIX>()?;
    rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)
}
