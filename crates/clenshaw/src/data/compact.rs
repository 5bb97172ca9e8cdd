//! One small checksummed file for a whole data set: how Cora travels inside the binary.
//!
//! ```text
//! file     = "clenshaw" version body sha256(all before)
//! body     = name source warnings graph features labels
//! graph    = n, then for each node u the ascending neighbours v > u
//! features = columns, encoding: 0 dense | 1 sparse | 2 sparse, all values 1
//!            then rows of ascending columns (sparse) and little-endian f32 values (0, 1)
//! labels   = class names, then for each node 0 (not known) or 1 + class
//! ```
//!
//! Numbers are LEB128 varints, texts are a length and UTF-8, an ascending list is its length and the
//! gaps between its members.
//! Every count is bounded by the bytes that are left, so a hostile file cannot make the reader
//! allocate more than a small multiple of its own size.

use super::fingerprint::sha256;
use super::{Dataset, Features};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::{Mat, Pattern};

const MAGIC: &[u8] = b"clenshaw";
const VERSION: u64 = 1;
const DIGEST_LEN: usize = 32;

const DENSE: usize = 0;
const SPARSE: usize = 1;
const SPARSE_ONES: usize = 2;

/// The whole data set as bytes.
pub fn write(dataset: &Dataset) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    out.number(VERSION);
    out.text(&dataset.name);
    out.text(&dataset.source);
    out.texts(&dataset.warnings);
    out.graph(&dataset.graph);
    out.features(&dataset.x);
    out.texts(&dataset.class_names);
    for label in &dataset.y {
        out.number(label.map_or(0, |class| u64::from(class) + 1));
    }
    let digest = sha256(&out.0);
    out.0.extend(digest);
    out.0
}

/// Reads what [`write()`] wrote, and checks it; `place` names the bytes in errors.
pub fn read(place: &str, bytes: &[u8]) -> Result<Dataset> {
    let mut input = Reader { place, body: verified(place, bytes)?, at: MAGIC.len() };
    let version = input.number()?;
    if version != VERSION {
        return Err(input.bad(format!("version {version}; this program reads {VERSION}")));
    }
    let (name, source, warnings) = (input.text()?, input.text()?, input.texts()?);
    let graph = input.graph()?;
    let x = input.features(graph.n_nodes())?;
    let class_names = input.texts()?;
    let y = (0..graph.n_nodes()).map(|_| input.label(class_names.len())).collect::<Result<_>>()?;
    if input.left() > 0 {
        return Err(input.bad(format!("{} bytes after the last label", input.left())));
    }
    Dataset { source, warnings, ..Dataset::new(name, graph, x, y, class_names) }.checked()
}

/// All bytes but the digest, once magic and digest are right.
fn verified<'a>(place: &str, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let data_error =
        |problem: &str| Err(Error::Data { place: place.into(), problem: problem.into() });
    if !bytes.starts_with(MAGIC) {
        return data_error("not a compact graph; it does not begin with `clenshaw`");
    }
    match bytes.split_last_chunk::<DIGEST_LEN>() {
        Some((body, digest)) if body.len() >= MAGIC.len() && sha256(body) == *digest => Ok(body),
        _ => data_error("the checksum does not fit; the file is damaged or cut off"),
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        texts.iter().for_each(|text| self.text(text));
    }

    /// The length, then each member's distance from the lowest value it could have.
    fn ascending(&mut self, members: &[u32], mut lowest: u32) {
        self.number(members.len() as u64);
        for &member in members {
            self.number(u64::from(member - lowest));
            lowest = member.wrapping_add(1);
        }
    }

    fn graph(&mut self, graph: &Graph) {
        self.number(graph.n_nodes() as u64);
        for u in 0..graph.n_nodes() {
            let neighbours = graph.neighbours(u);
            let above = neighbours.partition_point(|&v| v as usize <= u);
            self.ascending(&neighbours[above..], u as u32 + 1);
        }
    }

    fn features(&mut self, x: &Features) {
        self.number(x.n_cols() as u64);
        let encoding = match x {
            Features::Dense(_) => DENSE,
            Features::Sparse { values, .. } if values.iter().all(|&v| v == 1.0) => SPARSE_ONES,
            Features::Sparse { .. } => SPARSE,
        };
        self.number(encoding as u64);
        if let Features::Sparse { pattern, .. } = x {
            (0..pattern.n_rows()).for_each(|i| self.ascending(pattern.row(i), 0));
        }
        if encoding != SPARSE_ONES {
            x.values().iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        }
    }
}

struct Reader<'a> {
    place: &'a str,
    body: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn bad(&self, problem: String) -> Error {
        Error::Data { place: format!("{}: byte {}", self.place, self.at), problem }
    }

    fn left(&self) -> usize {
        self.body.len() - self.at
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.left() {
            return Err(self.bad(format!("{count} bytes expected, {} left", self.left())));
        }
        let taken = &self.body[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.bad("a number of more than 64 bits".into()))
    }

    /// A number of at most `most`.
    fn at_most(&mut self, most: usize, what: &str) -> Result<usize> {
        let number = self.number()?;
        self.within(number, most, what)
    }

    /// A number of things that take at least one byte each.
    fn count(&mut self, what: &str) -> Result<usize> {
        let number = self.number()?;
        self.within(number, self.left(), what)
    }

    fn within(&self, number: u64, most: usize, what: &str) -> Result<usize> {
        let fits = usize::try_from(number).ok().filter(|&number| number <= most);
        fits.ok_or_else(|| self.bad(format!("{number} {what}; expected at most {most}")))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.count("bytes of text")?;
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.bad("text is not UTF-8".into()))?;
        Ok(text.to_owned())
    }

    fn texts(&mut self) -> Result<Vec<String>> {
        let count = self.count("texts")?;
        (0..count).map(|_| self.text()).collect()
    }

    /// Ascending members of `lowest..end`, each handed to `each`.
    fn ascending(&mut self, lowest: usize, end: usize, mut each: impl FnMut(u32)) -> Result<()> {
        let count = self.count("list members")?;
        let mut lowest = lowest;
        for _ in 0..count {
            if lowest >= end {
                return Err(self.bad(format!("a list member beyond {end}")));
            }
            let member = lowest + self.at_most(end - 1 - lowest, "as a gap")?;
            each(member as u32);
            lowest = member + 1;
        }
        Ok(())
    }

    fn graph(&mut self) -> Result<Graph> {
        let n = self.at_most(self.left().min(u32::MAX as usize), "nodes")?;
        let mut edges = vec![];
        for u in 0..n {
            self.ascending(u + 1, n, |v| edges.push((u as u32, v)))?;
        }
        Graph::from_edges(self.place, n, &edges)
    }

    fn features(&mut self, n_rows: usize) -> Result<Features> {
        let n_cols = self.at_most(u32::MAX as usize, "columns of features")?;
        match self.at_most(SPARSE_ONES, "as the encoding of features")? {
            DENSE => {
                let values = self.values(n_rows.saturating_mul(n_cols))?;
                Ok(Features::Dense(Mat::from_vec(n_rows, n_cols, values)))
            }
            encoding => {
                let pattern = self.pattern(n_rows, n_cols)?;
                let values = match encoding {
                    SPARSE_ONES => vec![1.0; pattern.n_entries()],
                    _ => self.values(pattern.n_entries())?,
                };
                Ok(Features::Sparse { pattern, values })
            }
        }
    }

    fn pattern(&mut self, n_rows: usize, n_cols: usize) -> Result<Pattern> {
        let (mut offsets, mut indices) = (vec![0], vec![]);
        for _ in 0..n_rows {
            self.ascending(0, n_cols, |column| indices.push(column))?;
            offsets.push(indices.len());
        }
        Ok(Pattern::new(n_cols, offsets, indices))
    }

    fn values(&mut self, count: usize) -> Result<Vec<f32>> {
        let (words, _) = self.take(count.saturating_mul(4))?.as_chunks();
        Ok(words.iter().map(|&word| f32::from_le_bytes(word)).collect())
    }

    fn label(&mut self, n_classes: usize) -> Result<Option<u32>> {
        let label = self.at_most(n_classes, "as a label")?;
        Ok(label.checked_sub(1).map(|class| class as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(a: &Dataset, b: &Dataset) -> bool {
        a.sha256() == b.sha256()
            && a.x == b.x
            && (&a.name, &a.source, &a.warnings) == (&b.name, &b.source, &b.warnings)
            && a.class_names == b.class_names
    }

    /// Small graphs with either kind of features, some labels missing, names beyond ASCII.
    fn datasets() -> impl Strategy<Value = Dataset> {
        let sizes = (2..12usize, 1..5usize, 0..3usize);
        sizes.prop_flat_map(|(n, d, encoding)| {
            let edges = prop::collection::vec((0..n as u32, 0..n as u32), 0..20);
            let values = prop::collection::vec(-2..3i8, n * d);
            let labels = prop::collection::vec(prop::option::of(0..3u32), n);
            (edges, values, labels, "\\PC{0,8}").prop_map(move |(edges, values, y, name)| {
                let mut y = y;
                (y[0], y[1]) = (Some(0), Some(2));
                let values: Vec<f32> = values.into_iter().map(f32::from).collect();
                let graph = Graph::from_edges("test", n, &edges).unwrap();
                let x = features(n, d, &values, encoding);
                let class_names = ["é", "", "third"].map(String::from).to_vec();
                Dataset {
                    source: "generated".into(),
                    warnings: vec![name.clone(); d],
                    ..Dataset::new(name, graph, x, y, class_names)
                }
            })
        })
    }

    fn features(n: usize, d: usize, values: &[f32], encoding: usize) -> Features {
        if encoding == DENSE {
            return Features::Dense(Mat::from_vec(n, d, values.to_vec()));
        }
        let (mut offsets, mut indices, mut stored) = (vec![0], vec![], vec![]);
        for row in values.chunks(d) {
            for (j, &value) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                stored.push(if encoding == SPARSE_ONES { 1.0 } else { value });
            }
            offsets.push(indices.len());
        }
        Features::Sparse { pattern: Pattern::new(d, offsets, indices), values: stored }
    }

    fn is_data_error(outcome: Result<Dataset>) -> bool {
        matches!(outcome, Err(Error::Data { .. }))
    }

    fn sealed(body: &[u8]) -> Vec<u8> {
        [body, &sha256(body)].concat()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(dataset in datasets()) {
            let back = read("test", &write(&dataset)).unwrap();
            prop_assert!(same(&dataset, &back));
        }

        #[test]
        fn damage_is_noticed(dataset in datasets(), at: prop::sample::Index, bit in 0..8u8) {
            let bytes = write(&dataset);
            let cut = &bytes[..at.index(bytes.len())];
            prop_assert!(is_data_error(read("test", cut)));
            let mut flipped = bytes.clone();
            flipped[at.index(bytes.len())] ^= 1 << bit;
            prop_assert!(is_data_error(read("test", &flipped)));
        }

        /// Damage under a fresh checksum: whatever it means, reading it is no accident.
        #[test]
        fn hostile_bytes_do_not_panic(
            dataset in datasets(),
            wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut: prop::sample::Index,
        ) {
            let bytes = write(&dataset);
            let mut body = bytes[..bytes.len() - DIGEST_LEN].to_vec();
            for (at, byte) in wounds {
                let at = MAGIC.len() + at.index(body.len() - MAGIC.len());
                body[at] = byte;
            }
            let _ = read("test", &sealed(&body));
            body.truncate(MAGIC.len() + cut.index(body.len() - MAGIC.len()));
            prop_assert!(read("test", &sealed(&body)).is_err());
        }
    }

    #[test]
    fn claims_beyond_the_file_are_refused() {
        let mut out = Writer(MAGIC.to_vec());
        out.number(VERSION);
        out.number(1 << 60);
        let error = read("big", &sealed(&out.0)).unwrap_err().to_string();
        let claim = 1u64 << 60;
        assert_eq!(error, format!("big: byte 18: {claim} bytes of text; expected at most 0"));
    }

    #[test]
    fn other_files_and_versions_are_named() {
        let refused = |bytes: &[u8]| read("it", bytes).unwrap_err().to_string();
        assert_eq!(refused(b"PK"), "it: not a compact graph; it does not begin with `clenshaw`");
        assert_eq!(
            refused(b"clenshaw"),
            "it: the checksum does not fit; the file is damaged or cut off"
        );
        assert_eq!(
            refused(&sealed(b"clenshaw\x07")),
            "it: byte 9: version 7; this program reads 1"
        );
    }
}
