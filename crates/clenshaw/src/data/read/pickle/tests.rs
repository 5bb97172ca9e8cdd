//! All protocols, unsupported and damaged pickles.

use super::samples::TUPLES;
use super::*;
use proptest::prelude::*;

fn read_error(bytes: &[u8]) -> String {
    read_bytes("it", bytes).unwrap_err().to_string()
}

#[test]
fn all_protocols_give_the_same_values() {
    for (protocol, bytes) in TUPLES.iter().enumerate() {
        let pickle = read_bytes("it", bytes).unwrap();
        let items = pickle.items(pickle.root()).unwrap();
        assert_eq!(items.len(), 17, "protocol {protocol}");
        let [matrix, array, empty, dict, objects, ..] = items[..] else { unreachable!() };

        let Some(&PickleNode::Object { class: Global::CsrMatrix, state }) = pickle.node(matrix)
        else {
            panic!("protocol {protocol}: no matrix")
        };
        let part = |name| pickle.array(pickle.get(state, name).unwrap(), name).unwrap();
        assert_eq!(part("data").to_f32().unwrap(), [1.0, 2.0, 3.0]);
        assert_eq!(part("indices").to_u32().unwrap(), [0, 2, 2]);
        assert_eq!(part("indptr").to_u32().unwrap(), [0, 2, 3]);

        let array = pickle.array(array, "array").unwrap();
        assert_eq!(array.shape(), [2, 3]);
        assert_eq!(array.to_i64().unwrap(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(pickle.array(empty, "empty").unwrap().shape(), [0, 2]);

        let lists = pickle.pairs(dict).unwrap().iter().map(|&(key, list)| {
            let PickleValue::Int(key) = key else { unreachable!() };
            (key, pickle.items(list).unwrap())
        });
        let one_two = &[PickleValue::Int(1), PickleValue::Int(2)][..];
        assert_eq!(lists.collect::<Vec<_>>(), [(0, one_two), (1, &[PickleValue::Int(0)])]);

        let (shape, objects) = pickle.objects(objects).unwrap();
        assert_eq!(shape, [2]);
        assert_eq!(pickle.items(pickle.get(objects[0], "train").unwrap()).unwrap(), one_two);

        use PickleValue::{Bool, Float, Int, None};
        let plain = [Float(0.5), Int(-3), Bool(true), None, Bool(true), Float(-2.5), Int(1 << 40)];
        assert_eq!(items[5..12], plain, "protocol {protocol}");
        assert_eq!(items[12], Int(-1));
        assert_eq!(pickle.text(items[13]), Some("hé ☃\n"));
        let Some(PickleNode::Bytes(bytes)) = pickle.node(items[14]) else { panic!("no bytes") };
        assert_eq!(&bytes[..], b"\xff\0'\"\\\n");
        let inner = pickle.items(items[15]).unwrap()[0];
        assert!(pickle.items(inner).unwrap().is_empty());
        let one = pickle.get(items[16], "k").unwrap();
        assert_eq!(pickle.items(one).unwrap(), [Int(1)]);
    }
}

#[test]
fn reads_python_2_strings() {
    let pickle = read_bytes("it", b"S'a\\x00\\n\\'\\\\\"\xe9'\np0\n.").unwrap();
    let Some(PickleNode::Bytes(bytes)) = pickle.node(pickle.root()) else { panic!("no bytes") };
    assert_eq!(&bytes[..], b"a\0\n'\\\"\xe9");
    assert!(read_error(b"S'a\\'\n.").contains("invalid string literal"));
    assert!(read_error(b"S'\n.").contains("invalid string literal"));
}

#[test]
fn reads_integers_of_all_widths() {
    let int = |bytes: &[u8]| match read_bytes("it", bytes).unwrap().root() {
        PickleValue::Int(int) => int,
        other => panic!("{other:?}"),
    };
    assert_eq!(int(b"\x8a\x00."), 0);
    assert_eq!(int(b"\x8a\x02\x00\xff."), -256);
    assert_eq!(int(b"\x8a\x02\xff\x00."), 255);
    assert_eq!(int(b"L-12345678901L\n."), -12345678901);
    assert_eq!(int(b"J\xff\xff\xff\xff."), -1);
    assert_eq!(
        read_error(b"\x8a\x09\0\0\0\0\0\0\0\0\x01."),
        "it: byte 0: an integer of 9 bytes; expected at most 8"
    );
    assert_eq!(read_bytes("it", b"I01\n.").unwrap().root(), PickleValue::Bool(true));
}

#[test]
fn rejects_globals_outside_the_allow_list() {
    let rest = "expected only NumPy arrays, SciPy CSR matrices and plain values";
    for (bytes, message) in [
        (&b"cos\nsystem\n(S'echo'\ntR."[..], "byte 0: global `os.system` is not allowed"),
        (
            b"\x80\x02cposix\nsystem\nU\x04echo\x85R.",
            "byte 2: global `posix.system` is not allowed",
        ),
        (
            b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93N\x85R.",
            "byte 18: global `builtins.eval` is not allowed",
        ),
        (b"cnumpy\nfromfile\n.", "byte 0: global `numpy.fromfile` is not allowed"),
        (b"c\x1b[2J\nx\n.", "byte 0: global `\\u{1b}[2J.x` is not allowed"),
    ] {
        assert_eq!(read_error(bytes), format!("it: {message}; {rest}"));
    }
    // INST, OBJ, EXT1, PERSID and NEWOBJ_EX could also call functions.
    for opcode in [b'i', b'o', 0x82, b'P', b'Q', 0x92, 0x97] {
        let message = read_error(&[b'N', opcode, b'.']);
        assert!(message.contains("byte 1: opcode `"), "{message}");
    }
}

#[test]
fn rejects_lengths_beyond_the_file() {
    for (bytes, message) in [
        (&b""[..], "byte 0: expected 1 bytes, 0 left: the file is truncated"),
        (
            b"T\xff\xff\xff\x7fab",
            "byte 0: expected 2147483647 bytes, 2 left: the file is truncated",
        ),
        (b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffa", "byte 0: expected 18446744073709551615 bytes"),
        (
            b"Nr\xff\xff\xff\xff.",
            "byte 1: memo entry 4294967295; expected less than the file size 7",
        ),
        (
            b"Np99999999999\n.",
            "byte 1: memo entry 99999999999; expected less than the file size 15",
        ),
        (b"\x95\x09\0\0\0\0\0\0\0N.", "byte 0: a frame of 9 bytes; only 2 are left"),
        (b"\x80\x06N.", "byte 0: pickle protocol 6; expected 0 to 5"),
    ] {
        let got = read_error(bytes);
        assert!(got.starts_with(&format!("it: {message}")), "{got}");
    }
}

#[test]
fn rejects_invalid_programs() {
    for (bytes, message) in [
        (&b"."[..], "byte 0: the stack is empty"),
        (b"NN.", "byte 2: the pickle ends with 1 extra values on the stack"),
        (b"N.N", "byte 1: 1 bytes after the end of the pickle"),
        (b"N(a.", "byte 2: the stack is empty"),
        (b"NNe.", "byte 2: no mark on the stack"),
        (b"NNa.", "byte 2: the target of an append is not a list"),
        (b"](Ns.", "byte 3: the stack is empty"),
        (b"}(Nu.", "byte 3: a dictionary key has no value"),
        (b"h\0.", "byte 0: memo entry 0 does not exist"),
        (b"N)R.", "byte 2: the called value is not callable"),
        (b"cnumpy\ndtype\nNR.", "byte 14: the arguments of a call are not a tuple"),
        (b"cnumpy\ndtype\n)R.", "byte 14: unexpected number of arguments in a call to Dtype: 0"),
        (b"cnumpy\ndtype\nU\x02V8\x85R.", "byte 18: entries of unsupported type `V8`"),
        (b"]Nb.", "byte 2: the state does not match its object"),
        (b"X\x01\0\0\0\xff.", "byte 0: text is not valid UTF-8"),
        (b"V\\u12\n.", "byte 0: invalid `\\u` escape"),
        (b"F1.x\n.", "byte 0: the number is invalid or too large"),
    ] {
        assert_eq!(read_error(bytes), format!("it: {message}"));
    }
}

#[test]
fn nested_shared_lists_are_not_expanded() {
    // Each list contains the previous one ten times: 10^30 leaves if expanded.
    let mut bytes = b"]q\0".to_vec();
    for level in 1..=30u8 {
        bytes.extend(b"](");
        (0..10).for_each(|_| bytes.extend([b'h', level - 1]));
        bytes.extend([b'e', b'q', level, b'0']);
    }
    bytes.splice(3..3, *b"0");
    bytes.extend(b"h\x1e.");
    let pickle = read_bytes("it", &bytes).unwrap();
    assert_eq!(pickle.nodes.len(), 31);
}

#[test]
fn deeply_nested_and_cyclic_lists_are_accepted() {
    // A million nested lists, then a list that contains itself.
    let bytes = [&b"]".repeat(1_000_000)[..], &b"a".repeat(999_999), b"."].concat();
    assert!(read_bytes("it", &bytes).is_ok());
    assert!(read_bytes("it", b"]q\0h\0a.").is_ok());
}

#[test]
fn total_encoded_text_is_limited() {
    let mut bytes = b"c_codecs\nencode\nq\0X\x40\0\0\0".to_vec();
    bytes.extend([b'a'; 64]);
    bytes.extend(b"X\x06\0\0\0latin1\x86q\x01R");
    (0..50).for_each(|_| bytes.extend(b"0h\0h\x01R"));
    bytes.push(b'.');
    assert!(read_error(&bytes).ends_with("more text is encoded than the file contains"));
}

/// A stack that was once long must not determine the capacity of later lists.
#[test]
fn lists_do_not_inherit_the_capacity_of_the_stack() {
    let long = [&b"("[..], &b"N".repeat(10_000), b"1"].concat();
    let bytes = [&long[..], &b"(t0".repeat(1000), b"N."].concat();
    let pickle = read_bytes("it", &bytes).unwrap();
    let capacities = pickle.nodes.iter().map(|node| match node {
        PickleNode::Tuple(items) => items.capacity(),
        _ => 0,
    });
    assert_eq!(capacities.sum::<usize>(), 0);
}

#[test]
fn inconsistent_array_is_rejected_on_access() {
    let array = |shape: &[u8], data: &[u8]| {
        let mut bytes =
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85U\x01btR".to_vec();
        bytes.extend(b"(K\x01");
        bytes.extend(shape);
        bytes.extend(b"cnumpy\ndtype\nU\x02f4\x85R\x89");
        bytes.extend(data);
        bytes.extend(b"tb.");
        bytes
    };
    let bytes = array(b"K\x02\x85", b"U\x08\0\0\0\0\0\0\x80\x3f");
    let pickle = read_bytes("it", &bytes).unwrap();
    assert_eq!(pickle.array(pickle.root(), "x").unwrap().to_f32().unwrap(), [0.0, 1.0]);
    for bytes in [array(b"K\x03\x85", b"U\x08\0\0\0\0\0\0\x80\x3f"), array(b"K\x03\x85", b"]")] {
        let pickle = read_bytes("it", &bytes).unwrap();
        assert!(pickle.array(pickle.root(), "x").is_err());
        assert!(pickle.objects(pickle.root()).is_none());
    }
    assert!(
        read_error(&array(b"J\xff\xff\xff\xff\x85", b"U\0")).ends_with("the array has no shape")
    );
}

/// Calls all accessors for all nodes.
fn visit(pickle: &Pickle) {
    for id in 0..pickle.nodes.len() as u32 {
        let value = PickleValue::Node(id);
        let _ = (pickle.get(value, "data"), pickle.items(value), pickle.objects(value));
        if let Ok(array) = pickle.array(value, "x") {
            let _ = (array.to_f32(), array.to_u32(), array.to_bool(), array.to_text());
        }
    }
}

proptest! {
    #[test]
    fn damaged_bytes_do_not_panic(
        protocol in 0..6usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut: prop::sample::Index,
    ) {
        let mut bytes = TUPLES[protocol].to_vec();
        prop_assert!(read_bytes("it", &bytes[..cut.index(bytes.len())]).is_err());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(pickle) = read_bytes("it", &bytes) {
            visit(&pickle);
        }
    }

    #[test]
    fn random_bytes_terminate(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(pickle) = read_bytes("it", &bytes) {
            visit(&pickle);
        }
    }

    /// Random opcodes reach further than random bytes.
    #[test]
    fn random_opcodes_terminate(
        bytes in prop::collection::vec(prop::sample::select(&b"(012NK]l)t}daesuqhRb\x85\x86\x87\x88\x94\x81\0\x01"[..]), 0..200)
    ) {
        let bytes = [&bytes[..], b"."].concat();
        if let Ok(pickle) = read_bytes("it", &bytes) {
            visit(&pickle);
        }
    }
}
