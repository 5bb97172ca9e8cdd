//! Reads and checks a data set from a graph file.

use super::header::{
    CHECKSUM_AT, FORMAT, GraphMetadata, LENGTH_BYTES, NO_CHECKSUM, OPENING, TensorElement, checksum,
};
use crate::data::{Dataset, Features, FixedSplit, Split, check_node_count, count};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::{Bytes, Mat, NodeOrder, Pattern, SharedSlice};
use safetensors::tensor::Metadata;

/// A graph file with a valid checksum and header.
pub struct GraphFile<'a> {
    place: &'a str,
    bytes: Bytes,
    metadata: GraphMetadata,
    /// Types, shapes and positions of the tensors.
    tensors: Metadata,
    /// Position of the first tensor in the file.
    data: usize,
}

/// A tensor of the file; `shape` matches the number of elements.
struct StoredTensor<T> {
    shape: Vec<usize>,
    elements: SharedSlice<T>,
}

impl<'a> GraphFile<'a> {
    /// Verifies the checksum and reads the header; an error if either is invalid. Errors refer to the file as
    /// `place`.
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
        let header = header_json(&bytes).ok_or_else(|| bad("the header is truncated".into()))?;
        let data = LENGTH_BYTES + header.len();
        let bad_header = |error| bad(format!("header: {error}"));
        let tensors: Metadata = serde_json::from_slice(header).map_err(bad_header)?;
        let metadata = serde_json::to_value(tensors.metadata()).and_then(serde_json::from_value);
        let metadata: GraphMetadata = metadata.map_err(bad_header)?;
        let format = &metadata.format;
        if format != FORMAT {
            return Err(bad(format!("format `{format}`; this program reads `{FORMAT}`")));
        }
        let (listed, stored) = (tensors.data_len(), bytes.len() - data);
        if listed != stored {
            return Err(bad(format!("{stored} bytes of tensors; expected {listed}")));
        }
        Ok(Self { place, bytes, metadata, tensors, data })
    }

    /// Returns the stamp of a cache entry; `None` for other graph files.
    pub fn stamp(&self) -> Option<&str> {
        self.metadata.stamp.as_deref()
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
        let graph = match self.find::<u32>("order")? {
            Some(order) => graph.with_node_order(self.node_order(&order.elements, n)?),
            None => graph,
        };
        let (x, y, node_names) = (self.features()?, self.labels()?, self.node_names(n)?);
        let splits = self.splits(n)?;
        let metadata = self.metadata;
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

    /// An error about a tensor or a metadata entry.
    fn error(&self, tensor: &str, problem: String) -> Error {
        Error::Data { place: format!("{}: `{tensor}`", self.place), problem }
    }

    /// Returns the tensor with this name, if it exists; an error if its elements are not of type `T`, or are
    /// too large for this machine.
    fn find<T: TensorElement>(&self, name: &str) -> Result<Option<StoredTensor<T>>> {
        let Some(info) = self.tensors.info(name) else { return Ok(None) };
        if info.dtype != T::DTYPE {
            let (found, expected) = (info.dtype, T::DTYPE);
            return Err(self.error(name, format!("type {found}; expected {expected}")));
        }
        let (start, end) = info.data_offsets;
        let elements = SharedSlice::from_bytes(&self.bytes, self.data + start..self.data + end);
        let too_large = || self.error(name, "a number is too large for this machine".into());
        let elements = elements.ok_or_else(too_large)?;
        Ok(Some(StoredTensor { shape: info.shape.clone(), elements }))
    }

    /// Returns the elements of a tensor; an error if it is missing.
    fn elements<T: TensorElement>(&self, name: &str) -> Result<SharedSlice<T>> {
        let absent = || self.error(name, "the tensor is missing".into());
        Ok(self.find(name)?.ok_or_else(absent)?.elements)
    }

    /// Returns the elements of a tensor; an error if it is missing or does not have `expected` elements.
    fn elements_of_length<T: TensorElement>(
        &self,
        name: &str,
        expected: usize,
    ) -> Result<SharedSlice<T>> {
        let numbers = self.elements(name)?;
        match numbers.len() {
            found if found == expected => Ok(numbers),
            found => {
                let found = count(found, "value", "values");
                Err(self.error(name, format!("{found}; expected {expected}")))
            }
        }
    }

    fn adjacency(&self) -> Result<Pattern> {
        let offsets = self.elements::<usize>("adjacency.offsets")?;
        let n = offsets.len().saturating_sub(1);
        check_node_count(&format!("{}: `adjacency.offsets`", self.place), n)?;
        let adjacency = Pattern::from_shared(n, offsets, self.elements("adjacency.indices")?);
        adjacency.map_err(|problem| self.error("adjacency", problem))
    }

    /// Returns the order of the nodes in memory; `None` if `nodes` is empty, which means the order of their
    /// numbers. Otherwise, `nodes` must contain every node once, or an error is returned.
    fn node_order(&self, nodes: &[u32], n_nodes: usize) -> Result<Option<NodeOrder>> {
        if nodes.is_empty() {
            return Ok(None);
        }
        let order = NodeOrder::new(nodes.to_vec()).filter(|order| order.n_nodes() == n_nodes);
        let problem = || format!("expected each of {n_nodes} nodes once");
        order.map(Some).ok_or_else(|| self.error("order", problem()))
    }

    fn features(&self) -> Result<Features> {
        if let Some(StoredTensor { shape, elements }) = self.find::<f32>("features")? {
            let &[rows, columns] = &shape[..] else {
                return Err(self.error("features", format!("shape {shape:?}; expected a matrix")));
            };
            return Ok(Features::Dense(Mat::from_shared(rows, columns, elements)));
        }
        let columns = self.metadata.columns.as_ref().and_then(|text| text.parse().ok());
        let columns = columns.ok_or_else(|| {
            self.error("columns", "expected the number of sparse features".into())
        })?;
        let (offsets, indices) =
            (self.elements("features.offsets")?, self.elements("features.indices")?);
        let pattern = Pattern::from_shared(columns, offsets, indices);
        let pattern = pattern.map_err(|problem| self.error("features", problem))?;
        let values = match self.tensors.info("features.values").is_some() {
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
                Err(self.error("labels", format!("label of node {node} is {label}; {expected}")))
            }
        };
        labels.iter().enumerate().map(label).collect()
    }

    fn splits(&self, n_nodes: usize) -> Result<Vec<FixedSplit>> {
        let names = &self.metadata.splits;
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(self.error("splits", format!("`{}` is listed twice", pair[0])));
        }
        let split = |name: &String| {
            let tensor = format!("split.{name}");
            let numbers = self.elements_of_length::<u8>(&tensor, n_nodes)?;
            if let Some(node) = numbers.iter().position(|&part| part > 3) {
                let problem = format!("value of node {node} is {}; expected 0 to 3", numbers[node]);
                return Err(self.error(&tensor, problem));
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

    /// Returns the names of the nodes; empty if they have none.
    fn node_names(&self, n_nodes: usize) -> Result<Vec<String>> {
        if self.tensors.info("names.offsets").is_none() {
            return Ok(vec![]);
        }
        let ends = self.elements_of_length::<usize>("names.offsets", n_nodes + 1)?;
        let bytes = self.elements::<u8>("names.bytes")?;
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            self.error("names.bytes", format!("byte {} is not valid UTF-8", e.valid_up_to()))
        })?;
        let name = |(node, ends): (usize, &[usize])| {
            let (start, end) = (ends[0], ends[1]);
            let name = text.get(start..end).map(str::to_owned);
            let problem =
                || format!("name of node {node} is at bytes {start} to {end}; expected UTF-8 text");
            name.ok_or_else(|| self.error("names.offsets", problem()))
        };
        ends.windows(2).enumerate().map(name).collect()
    }
}

/// Returns the JSON of the header of a file; `None` if the file ends before the header does.
fn header_json(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)
}
