//! The readers of data files as functions of one input, for fuzzing and for the test of damaged files
//! (`experiment/fuzz.rs`).
//!
//! An input for several files is their concatenation; all except the last are preceded by their length in two
//! bytes, little-endian.

use super::array::NumpyArray;
use super::pickle::PickleValue;
use super::planetoid::PlanetoidFiles;
use super::tables::EdgeFormat;
use super::{
    Interpretation, arrays, edges, facebook100, geom_gcn, geom_splits, gexf, gml, graphml,
    heterophilous, linkx, matlab, node_link, npy, npz, pickle, planetoid, tables, text,
};
use crate::data::{Dataset, TableOptions, graph_file, split};
use crate::error::Result;
use std::path::Path;

/// Reads the input of a fuzz target and returns whether the reader accepted it; also accesses most results.
///
/// # Panics
/// If the target is unknown.
pub fn is_valid(target: &str, bytes: &[u8]) -> bool {
    // Some inputs start with the number of nodes in one byte.
    let (n_nodes, rest) = bytes.split_first().map_or((0, bytes), |(&n, rest)| (n.into(), rest));
    match target {
        "npz_edges" => {
            let [edges, nodes] = files(bytes);
            access(tables::read_bytes_as(EdgeFormat::Npz, edges, nodes, Interpretation::default()))
        }
        "arrays" => access(arrays::read_bytes("it", bytes)),
        "edge_list" => {
            let [edges, nodes] = files(bytes);
            access(tables::read_bytes_as(
                EdgeFormat::EdgeList,
                edges,
                nodes,
                Interpretation::default(),
            ))
        }
        // 0 means that the table determines the number of nodes.
        "edges" => edges::read_bytes("it", rest, (n_nodes > 0).then_some(n_nodes)).is_ok(),
        "facebook100" => access(facebook100::read_bytes("it", bytes)),
        "geom_gcn" => {
            let [nodes, edges] = files(bytes);
            access(geom_gcn::read_bytes("it", nodes, edges))
        }
        "geom_splits" => geom_splits::read_bytes("it", "geom:0", rest, n_nodes).is_ok(),
        "gexf" => access(gexf::read_bytes("it", bytes, Interpretation::default())),
        "gml" => access(gml::read_bytes("it", bytes, Interpretation::default())),
        "graph_file" => access(graph_file::read_bytes("it", bytes.to_vec())),
        "graphml" => access(graphml::read_bytes("it", bytes, Interpretation::default())),
        "heterophilous" => access(heterophilous::read_bytes("it", bytes)),
        "linkx" => {
            let [nodes, edges] = files(bytes);
            access(linkx::read_bytes("it", nodes, edges, None))
        }
        "linkx_splits" => linkx::read_splits("it", rest, n_nodes).is_ok(),
        "matlab" => matlab::MatFile::read_bytes("it", bytes).is_ok(),
        "nodes" => tables::read_nodes(bytes).is_ok(),
        "metis" => {
            let [edges, nodes] = files(bytes);
            access(tables::read_bytes_as(
                EdgeFormat::Metis,
                edges,
                nodes,
                Interpretation::default(),
            ))
        }
        "node_link" => access(node_link::read_bytes("it", bytes, Interpretation::default())),
        "npy" => {
            access_array(npy::read_bytes("it", bytes)) || npy::read_objects("it", bytes).is_ok()
        }
        "npz" => npz::read_bytes("it", bytes)
            .is_ok_and(|npz| npz.names().all(|name| access_array(npz.array(name)))),
        "pajek" => {
            let [edges, nodes] = files(bytes);
            access(tables::read_bytes_as(
                EdgeFormat::Pajek,
                edges,
                nodes,
                Interpretation::default(),
            ))
        }
        "pickle" => pickle::read_bytes("it", bytes).is_ok_and(|pickle| {
            for value in (0..).map(PickleValue::Node).take_while(|&v| pickle.node(v).is_some()) {
                let _ = (pickle.get(value, "data"), pickle.items(value), pickle.objects(value));
                access_array(pickle.array(value, "it"));
            }
            true
        }),
        "planetoid" => {
            let [x, tx, allx, y, ty, ally, graph, test_index] = files(bytes);
            let files = PlanetoidFiles { x, tx, allx, y, ty, ally, graph, test_index };
            access(planetoid::read_bytes("it", &files))
        }
        "schema_toml" => {
            let text = String::from_utf8_lossy(bytes);
            TableOptions::from_toml("schema.toml", &text).is_ok_and(|options| {
                options.names().count();
                true
            })
        }
        "split_file" => {
            let y = [Some(0), Some(1), Some(0), None, Some(1)];
            split::file_bytes("it", bytes, &[], &y).is_ok()
        }
        "tables" => {
            let [edges, nodes] = files(bytes);
            access(tables::read_bytes(edges, nodes, Interpretation::default()))
        }
        "text" => text::read_bytes(Path::new("it"), bytes).is_ok(),
        _ => panic!("unknown fuzz target `{target}`"),
    }
}

/// Checks a data set and, if it is valid, fingerprints it, as the program does; returns whether it was read.
fn access(read: Result<Dataset>) -> bool {
    let is_valid = read.is_ok();
    if let Ok(dataset) = read.and_then(Dataset::checked) {
        dataset.sha256();
    }
    is_valid
}

/// Converts an array to all types; returns whether it was read.
fn access_array(array: Result<NumpyArray<'_>>) -> bool {
    array.is_ok_and(|array| {
        let _ = (array.to_f32(), array.to_f64(), array.to_i64(), array.to_u32());
        let _ = (array.to_bool(), array.to_text());
        true
    })
}

/// Splits an input into `N` files; missing files are empty.
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
