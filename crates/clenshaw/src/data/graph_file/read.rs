//! Reads and checks a data set from a graph file.

use super::header::{
    CHECKSUM_AT, FORMAT, GraphHeader, LENGTH_BYTES, NO_CHECKSUM, OPENING, TensorElement, checksum,
};
use crate::data::{Dataset, Features, FixedSplit, Split, check_node_count};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::{Bytes, Mat, Pattern, SharedSlice};

/// A graph file with a valid checksum and header.
pub struct GraphFile<'a> {
    place: &'a str,
    bytes: Bytes,
    header: GraphHeader,
    /// Position of the tensors in the file.
    data: usize,
}

/// The elements of a tensor and its matching shape.
struct StoredTensor<T> {
    shape: Vec<usize>,
    elements: SharedSlice<T>,
}

impl<'a> GraphFile<'a> {
    /// Verifies the checksum and reads the header.
    pub fn open(place: &'a str, bytes: Bytes) -> Result<Self> {
        let bad = |problem: String| Error::Data { place: place.into(), problem };
        let not_a_graph_file = || bad("not a graph file; `clenshaw data import` writes one".into());
        let opening = bytes.get(LENGTH_BYTES..CHECKSUM_AT).ok_or_else(not_a_graph_file)?;
        if opening != OPENING.as_bytes() {
            return Err(not_a_graph_file());
        }
        let end = CHECKSUM_AT + NO_CHECKSUM.len();
        let pieces = bytes.get(CHECKSUM_AT..end).zip(bytes.get(end..));
        let is_valid = |(stored, rest): (&[u8], &[u8])| {
            let found = checksum([&bytes[..CHECKSUM_AT], NO_CHECKSUM.as_bytes(), rest]);
            stored == found.as_bytes()
        };
        // A fuzzer cannot find valid checksums.
        if !cfg!(fuzzing) && !pieces.is_some_and(is_valid) {
            return Err(bad("the checksum is wrong; the file is damaged or truncated".into()));
        }
        let header = split_header(&bytes).ok_or_else(|| bad("the header is truncated".into()))?;
        let data = LENGTH_BYTES + header.len();
        let header: GraphHeader =
            serde_json::from_slice(header).map_err(|e| bad(format!("header: {e}")))?;
        let format = &header.metadata.format;
        if format != FORMAT {
            return Err(bad(format!("format `{format}`; this program reads `{FORMAT}`")));
        }
        if !tensors_fill_file(&header, bytes.len() - data) {
            return Err(bad("the tensors overlap, or do not fill the file".into()));
        }
        Ok(Self { place, bytes, header, data })
    }

    /// Returns the stamp of a cache entry.
    pub fn stamp(&self) -> Option<&str> {
        self.header.metadata.stamp.as_deref()
    }

    /// Reads and checks the data set.
    pub fn dataset(self) -> Result<Dataset> {
        let place = format!("{}: `adjacency`", self.place);
        let graph = Graph::from_adjacency(&place, self.adjacency()?)?;
        let graph = match self.find::<f32>("adjacency.weights")? {
            Some(weights) => {
                let place = format!("{}: `adjacency.weights`", self.place);
                graph.with_weights(&place, weights.elements.to_vec())?
            }
            None => graph,
        };
        let n = graph.n_nodes();
        let (x, y, node_names) = (self.features()?, self.labels()?, self.names(n)?);
        let splits = self.splits(n)?;
        let metadata = self.header.metadata;
        let schema = metadata.schema.map(|json| serde_json::from_str(&json)).transpose();
        let schema = schema.map_err(|error| Error::Data {
            place: self.place.into(),
            problem: format!("`schema`: {error}"),
        })?;
        let dataset = Dataset {
            source: metadata.source,
            warnings: metadata.warnings,
            notes: metadata.notes,
            schema,
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

    /// Returns the tensor with this name, if it exists; an error if its type differs.
    fn find<T: TensorElement>(&self, name: &str) -> Result<Option<StoredTensor<T>>> {
        let Some(entry) = self.header.tensors.get(name) else { return Ok(None) };
        if entry.dtype != T::DTYPE {
            let (found, expected) = (&entry.dtype, T::DTYPE);
            return Err(self.bad(name, format!("type {found}; expected {expected}")));
        }
        let [start, end] = entry.data_offsets;
        let ends = [start, end].map(|offset| offset.checked_add(self.data));
        let numbers = match ends {
            [Some(start), Some(end)] if start <= end => {
                SharedSlice::from_bytes(&self.bytes, start..end)
            }
            _ => None,
        };
        let outside = || format!("bytes {start} to {end} are not {} values of this file", T::DTYPE);
        let numbers: SharedSlice<T> = numbers.ok_or_else(|| self.bad(name, outside()))?;
        let (shape, found) = (&entry.shape, numbers.len());
        let count = shape.iter().try_fold(1usize, |count, &n| count.checked_mul(n));
        if count != Some(found) {
            return Err(self.bad(name, format!("{found} values; expected shape {shape:?}")));
        }
        Ok(Some(StoredTensor { shape: shape.clone(), elements: numbers }))
    }

    /// Returns the elements of a required tensor.
    fn elements<T: TensorElement>(&self, name: &str) -> Result<SharedSlice<T>> {
        let absent = || self.bad(name, "the tensor is missing".into());
        Ok(self.find(name)?.ok_or_else(absent)?.elements)
    }

    /// Returns the elements of a required tensor of this length.
    fn elements_of_length<T: TensorElement>(
        &self,
        name: &str,
        expected: usize,
    ) -> Result<SharedSlice<T>> {
        let numbers = self.elements(name)?;
        match numbers.len() {
            found if found == expected => Ok(numbers),
            found => Err(self.bad(name, format!("{found} values; expected {expected}"))),
        }
    }

    fn adjacency(&self) -> Result<Pattern> {
        let offsets = self.elements::<usize>("adjacency.offsets")?;
        let n = offsets.len().saturating_sub(1);
        check_node_count(&format!("{}: `adjacency.offsets`", self.place), n)?;
        let adjacency = Pattern::from_shared(n, offsets, self.elements("adjacency.indices")?);
        adjacency.map_err(|problem| self.bad("adjacency", problem))
    }

    fn features(&self) -> Result<Features> {
        if let Some(StoredTensor { shape, elements }) = self.find::<f32>("features")? {
            let &[rows, columns] = &shape[..] else {
                return Err(self.bad("features", format!("shape {shape:?}; expected a matrix")));
            };
            return Ok(Features::Dense(Mat::from_vec(rows, columns, elements.to_vec())));
        }
        let columns = self.header.metadata.columns.as_ref().and_then(|text| text.parse().ok());
        let columns = columns.ok_or_else(|| self.bad("columns", "expected a number".into()))?;
        let (offsets, indices) =
            (self.elements("features.offsets")?, self.elements("features.indices")?);
        let pattern = Pattern::from_shared(columns, offsets, indices);
        let pattern = pattern.map_err(|problem| self.bad("features", problem))?;
        let values = match self.header.tensors.contains_key("features.values") {
            true => self.elements_of_length("features.values", pattern.n_entries())?.to_vec(),
            false => vec![1.0; pattern.n_entries()],
        };
        Ok(Features::Sparse { pattern, values })
    }

    fn labels(&self) -> Result<Vec<Option<u32>>> {
        let labels = self.elements::<i32>("labels")?;
        let label = |(node, &label): (usize, &i32)| match u32::try_from(label) {
            Ok(class) => Ok(Some(class)),
            Err(_) if label == -1 => Ok(None),
            Err(_) => {
                let expected = "expected a class number, or -1 if unknown";
                Err(self.bad("labels", format!("label of node {node} is {label}; {expected}")))
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
            let numbers = self.elements_of_length::<u8>(&tensor, n_nodes)?;
            if let Some(node) = numbers.iter().position(|&part| part > 3) {
                let problem = format!("value of node {node} is {}; expected 0 to 3", numbers[node]);
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
        let ends = self.elements_of_length::<usize>("names.offsets", n_nodes + 1)?;
        let bytes = self.elements::<u8>("names.bytes")?;
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            self.bad("names.bytes", format!("byte {} is not valid UTF-8", e.valid_up_to()))
        })?;
        let name = |(node, ends): (usize, &[usize])| {
            let (start, end) = (ends[0], ends[1]);
            let name = text.get(start..end).map(str::to_owned);
            let problem =
                || format!("name of node {node} is at bytes {start} to {end}; expected UTF-8 text");
            name.ok_or_else(|| self.bad("names.offsets", problem()))
        };
        ends.windows(2).enumerate().map(name).collect()
    }
}

/// Whether the tensors cover all data without overlap.
fn tensors_fill_file(header: &GraphHeader, length: usize) -> bool {
    let mut ranges: Vec<_> = header.tensors.values().map(|entry| entry.data_offsets).collect();
    ranges.sort_unstable();
    let next = |at: usize, [start, end]: [usize; 2]| (start == at && end >= at).then_some(end);
    ranges.into_iter().try_fold(0, next) == Some(length)
}

/// Returns the text of the header.
fn split_header(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)
}
