//! The functions of the fuzz targets: each reads its input and accesses the result.
//!
//! An input for several files contains them one after the other; all except the last are preceded by
//! their length in two bytes.

mod memory;

use clenshaw::data::read::{
    arrays, edges, facebook100, geom_gcn, geom_splits, graphml, heterophilous, linkx, matlab,
    nodes_bytes, npy, npz, pickle, planetoid, tables, text_bytes,
};
use clenshaw::data::read::array::NumpyArray;
use clenshaw::data::read::pickle::PickleValue;
use clenshaw::data::read::planetoid::PlanetoidFiles;
use clenshaw::data::{Dataset, graph_file, split};
use std::path::Path;

/// Defines a fuzz target that calls a function of this crate.
#[macro_export]
macro_rules! target {
    ($reader:ident) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$reader(bytes));
    };
}

pub fn arrays(bytes: &[u8]) {
    access_dataset(arrays::read_bytes("it", bytes));
}

/// The first byte is the number of nodes; 0 means that the table determines it.
pub fn edges(bytes: &[u8]) {
    let Some((&n_nodes, bytes)) = bytes.split_first() else { return };
    let n_nodes = (n_nodes > 0).then_some(n_nodes.into());
    let _ = edges::read_bytes("it", bytes, n_nodes);
}

pub fn facebook100(bytes: &[u8]) {
    access_dataset(facebook100::read_bytes("it", bytes));
}

pub fn geom_gcn(bytes: &[u8]) {
    let [nodes, edges] = files(bytes);
    access_dataset(geom_gcn::read_bytes("it", nodes, edges, None));
}

/// The first byte is the number of nodes.
pub fn geom_splits(bytes: &[u8]) {
    let Some((&n_nodes, bytes)) = bytes.split_first() else { return };
    let _ = geom_splits::read_bytes("it", "geom:0", bytes, n_nodes.into());
}

/// The checksum is not verified while fuzzing.
pub fn graph_file(bytes: &[u8]) {
    access_dataset(graph_file::read_bytes("it", bytes.to_vec()));
}

pub fn graphml(bytes: &[u8]) {
    access_dataset(graphml::read_bytes("it", bytes, None));
}

pub fn heterophilous(bytes: &[u8]) {
    access_dataset(heterophilous::read_bytes("it", bytes));
}

pub fn linkx(bytes: &[u8]) {
    let [nodes, edges] = files(bytes);
    access_dataset(linkx::read_bytes("it", nodes, edges, None));
}

/// The first byte is the number of nodes.
pub fn linkx_splits(bytes: &[u8]) {
    let Some((&n_nodes, bytes)) = bytes.split_first() else { return };
    let _ = linkx::read_splits("it", bytes, n_nodes.into());
}

pub fn matlab(bytes: &[u8]) {
    if let Ok(file) = matlab::MatFile::read_bytes("it", bytes) {
        file.variables.iter().for_each(|variable| drop(file.matrix(&variable.name)));
    }
}

pub fn nodes(bytes: &[u8]) {
    let _ = nodes_bytes(bytes);
}

pub fn npy(bytes: &[u8]) {
    if let Ok(array) = npy::read_bytes("it", bytes) {
        access_array(&array);
    }
    let _ = npy::read_objects("it", bytes);
}

pub fn npz(bytes: &[u8]) {
    let Ok(npz) = npz::read_bytes("it", bytes) else { return };
    for array in npz.names().filter_map(|name| npz.array(name).ok()) {
        access_array(&array);
    }
}

pub fn pickle(bytes: &[u8]) {
    let Ok(pickle) = pickle::read_bytes("it", bytes) else { return };
    let nodes = (0..).map(PickleValue::Node).take_while(|&node| pickle.node(node).is_some());
    for node in nodes {
        let _ = (pickle.get(node, "data"), pickle.items(node), pickle.objects(node));
        if let Ok(array) = pickle.array(node, "it") {
            access_array(&array);
        }
    }
}

pub fn planetoid(bytes: &[u8]) {
    let [x, tx, allx, y, ty, ally, graph, test_index] = files(bytes);
    let files = PlanetoidFiles { x, tx, allx, y, ty, ally, graph, test_index };
    access_dataset(planetoid::read_bytes("it", &files));
}

/// One of the five nodes has no label.
pub fn split_file(bytes: &[u8]) {
    let y = [Some(0), Some(1), Some(0), None, Some(1)];
    let _ = split::file_bytes("it", bytes, &y);
}

pub fn tables(bytes: &[u8]) {
    let [edges, nodes] = files(bytes);
    access_dataset(tables::read_bytes(edges, nodes));
}

pub fn text(bytes: &[u8]) {
    let _ = text_bytes(Path::new("it"), bytes);
}

/// Checks and fingerprints a data set, as the program does.
fn access_dataset(read: clenshaw::Result<Dataset>) {
    if let Ok(dataset) = read.and_then(Dataset::checked) {
        dataset.sha256();
    }
}

fn access_array(array: &NumpyArray) {
    let _ = (array.to_f32(), array.to_f64(), array.to_i64(), array.to_u32());
    let _ = (array.to_bool(), array.to_text());
}

/// Splits an input into files; missing files are empty.
fn files<const N: usize>(mut bytes: &[u8]) -> [&[u8]; N] {
    let mut files = [&[][..]; N];
    for file in &mut files[..N - 1] {
        let Some((length, rest)) = bytes.split_first_chunk() else { break };
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        (*file, bytes) = rest.split_at(length);
    }
    files[N - 1] = bytes;
    files
}
