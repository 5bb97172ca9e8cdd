//! Seed inputs of the fuzz targets: small files of every format.
//!
//! `cargo xtask fuzz` sets `CLENSHAW_SEEDS` to the folder that they are written to.

use super::array::MemoryOrder;
use super::npy::tests::file;
use super::npz::tests::npz;
use super::text::tests::{gzip, zstd};
use super::{arrays, graphml, heterophilous, linkx, matlab, pickle, planetoid, tables};
use crate::data::graph_file;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

type Seeds = Vec<Vec<u8>>;

/// Returns the seeds of each target.
fn seeds() -> Vec<(&'static str, Seeds)> {
    vec![
        ("arrays", arrays_seeds()),
        ("graph_file", graph_file_seeds()),
        (
            "edges",
            EDGES.iter().flat_map(|text| packed(text)).map(|s| [vec![0], s].concat()).collect(),
        ),
        ("facebook100", facebook100_seeds()),
        ("geom_gcn", GEOM_GCN.map(|nodes| joined(&[nodes, GEOM_EDGES])).into()),
        ("geom_splits", geom_splits_seeds()),
        ("graphml", vec![graphml::tests::NETWORKX_FILE.into(), GRAPHML.into()]),
        ("heterophilous", vec![npz(&heterophilous::tests::arrays())]),
        ("linkx", vec![joined(&[linkx::tests::NODE_TABLE, linkx::tests::EDGE_TABLE])]),
        ("linkx_splits", vec![[&[4], linkx::tests::SPLITS_FILE].concat()]),
        ("matlab", [vec![matlab::tests::scipy_file()], facebook100_seeds()].concat()),
        ("nodes", NODES.iter().flat_map(|text| packed(text)).collect()),
        ("npy", npy_seeds()),
        ("npz", vec![npz(&heterophilous::tests::arrays()), arrays::tests::SCIPY_FILE.into()]),
        ("pickle", pickle_seeds()),
        ("planetoid", planetoid_seeds()),
        (
            "split_file",
            [&b"node,part\n4,train\n1,val\n"[..], b"0\ttrain\r\n2 test"].map(Vec::from).into(),
        ),
        ("tables", tables_seeds()),
        ("text", packed(b"0,1\n1,2\n0,1\n1,2\n0,1\n1,2\n0,1\n1,2\n0,7\n")),
    ]
}

/// Layouts of edge tables.
const EDGES: [&[u8]; 5] = [
    b"numeric_id_1,numeric_id_2\n0,1\n1,2\n12,34\n",
    b"# FromNodeId\tToNodeId\n0\t1\n1\t2\r\n\n3\t4",
    b"Source;weight;Target\n0;0,5;1\n1;1,5;2\n",
    b"\xef\xbb\xbf\"src\",\"dst\"\n\"0\", \"1\"\n1,\"2\"\n",
    b",a,b\n0,0,1\n1,1,0000002\n",
];

/// Layouts of node tables.
const NODES: [&[u8]; 4] = [
    b"id,age,town,label,split\nann,31,York,tea,train\nbob,27.5,Bath,coffee,val\n\"c, d\",-1e1,,,\n",
    b"node;x;y;class\na;1;2;c\nb;3;4;d\n",
    b"% comment\n7 1 2 red\n8 3 4 blue\n",
    b"\xef\xbb\xbf,f,label\n0,1,\"say \"\"a\"\"\"\n1,0,2\n",
];

/// Zeros and ones, and Actor's index lists with a duplicate index and unordered nodes.
const GEOM_GCN: [&[u8]; 2] = [
    b"node_id\tfeature\tlabel\n0\t1,1,0\t0\n1\t0,0,0\t1\n2\t0,1,0\t1\n",
    b"node_id\tfeature(feature_amount:931)\tlabel\n2\t931,4,4\t1\n0\t0\t0\n1\t\t1\n",
];
const GEOM_EDGES: &[u8] = b"node_id\tnode_id\n0\t1\n1\t0\n2\t2\n2\t1\n2\t1\n";

/// Defaults, an entity, a CDATA section and an edge before its nodes.
const GRAPHML: &str = r#"<?xml version="1.0"?><graphml>
<key id="f" for="node" attr.name="size" attr.type="int"><default>3</default></key>
<key id="y" for="all" attr.name="class" attr.type="string"><default>red</default></key>
<graph id="g" edgedefault="undirected"><edge source="a" target="b"/>
<node id="a"><data key="y"><![CDATA[blue]]></data></node><!-- b has defaults -->
<node id="b"><data key="f">4</data></node><node id="&#99;&lt;"/></graph></graphml>"#;

/// A text file, plain and compressed.
fn packed(text: &[u8]) -> Seeds {
    vec![text.to_vec(), gzip(text), zstd(text)]
}

/// Several files as one input; all except the last are preceded by their length.
fn joined(files: &[&[u8]]) -> Vec<u8> {
    let (last, others) = files.split_last().unwrap();
    let length = |file: &[u8]| u16::try_from(file.len()).unwrap().to_le_bytes();
    let others = others.iter().flat_map(|file| [&length(file)[..], file].concat());
    others.chain(last.iter().copied()).collect()
}

fn arrays_seeds() -> Seeds {
    let array = |descr, shape: &[usize], data: &[u8]| file(descr, MemoryOrder::C, shape, data);
    let masks = ["train_mask", "val_mask", "test_mask"].into_iter().enumerate();
    let masks = masks.map(|(i, name)| {
        let mut mask = [0; 6];
        (mask[2 * i], mask[(2 * i + 3) % 6]) = (1, 1);
        (name, file("|b1", MemoryOrder::C, &[3, 2], &mask))
    });
    let x = ("x", array("<f2", &[3, 1], &[0, 0x3c, 0, 0, 0, 0x40]));
    let y = ("y", array("<U1", &[3], b"a\0\0\0b\0\0\0\0\0\0\0"));
    let pyg = [vec![x.clone(), ("y", array("|i1", &[3], &[1, 0, 255]))], masks.collect()].concat();
    vec![arrays::tests::path(&pyg), arrays::tests::path(&[x, y]), arrays::tests::SCIPY_FILE.into()]
}

fn graph_file_seeds() -> Seeds {
    let dataset = tables::read_bytes(b"ann,bob\n", b"id,x,label\nann,1,a\nbob,0,b\ncid,0,\n");
    vec![graph_file::to_bytes(&dataset.unwrap())]
}

/// The path 0 - 1 - 2, plain and compressed.
fn facebook100_seeds() -> Seeds {
    let a = matlab::tests::LITTLE.sparse(&[3, 3], &[1, 0, 2, 1], &[0, 1, 3, 4], &[1; 4]);
    let info = [1, 1, 2, 2, 0, 1, 9, 0, 9, 0, 0, 0, 3, 1, 2, 7, 7, 7, 0, 5, 5];
    let info = matlab::tests::LITTLE.dense("local_info", &[3, 7], &info);
    let compressed = [&a, &info].map(|variable| matlab::tests::deflated(variable));
    [[a, info], compressed].map(|variables| matlab::tests::LITTLE.file(&variables)).into()
}

fn geom_splits_seeds() -> Seeds {
    let mask = |descr, mask: &[u8; 4]| file(descr, MemoryOrder::C, &[4], mask);
    let masks = npz(&[
        ("train_mask", mask("|b1", &[0, 1, 0, 1])),
        ("val_mask", mask("|u1", &[1, 0, 0, 0])),
        ("test_mask", mask("|u1", &[0; 4])),
    ]);
    vec![[vec![4], masks].concat()]
}

fn npy_seeds() -> Seeds {
    let text = file("<U2", MemoryOrder::C, &[1], "h\0\0\0i\0\0\0".as_bytes());
    let fortran = file(">i2", MemoryOrder::Fortran, &[2, 3], &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
    let python2 = b"\x93NUMPY\x02\0\x39\0\0\0{'descr':'|S3','fortran_order':False,'shape':(1L,2L,),}    \nabcd\0\0";
    let floats =
        file("<f8", MemoryOrder::C, &[2, 1], &[1.5f64, -0.0].map(f64::to_le_bytes).concat());
    let float = |bits: u16| bits.to_le_bytes();
    let halves = file("<f2", MemoryOrder::C, &[3], &[0x3c00, 0x7c00, 1].map(float).concat());
    vec![text, fortran, python2.to_vec(), floats, halves, linkx::tests::SPLITS_FILE.to_vec()]
}

fn pickle_seeds() -> Seeds {
    let planetoid = planetoid::tests::SmallPlanetoid::new().0.into_iter().take(7);
    pickle::samples::TUPLES.map(Vec::from).into_iter().chain(planetoid).collect()
}

fn planetoid_seeds() -> Seeds {
    let planetoid::tests::SmallPlanetoid(files) = planetoid::tests::SmallPlanetoid::new();
    vec![joined(&files.each_ref().map(Vec::as_slice))]
}

fn tables_seeds() -> Seeds {
    let named: &[u8] = b"source,target,weight\nann,bob,1\nbob,\"c, d\",2\nann,ann,3\n";
    let numbered: &[u8] = b"7 8\n8 7\n";
    vec![
        joined(&[named, NODES[0]]),
        joined(&[numbered, NODES[2]]),
        joined(&[&gzip(named), &zstd(NODES[0])]),
    ]
}

#[test]
fn every_fuzz_target_has_seeds() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let targets = std::fs::read_dir(targets).unwrap().map(|entry| entry.unwrap().path());
    let targets: BTreeSet<_> =
        targets.filter_map(|path| path.file_stem().map(PathBuf::from)).collect();
    let seeds = seeds();
    assert_eq!(targets, seeds.iter().map(|(target, _)| PathBuf::from(target)).collect());
    let Some(folder) = std::env::var_os("CLENSHAW_SEEDS") else { return };
    for (target, seeds) in seeds {
        let folder = Path::new(&folder).join(target);
        std::fs::create_dir_all(&folder).unwrap();
        for (i, seed) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{i}")), seed).unwrap();
        }
    }
}
