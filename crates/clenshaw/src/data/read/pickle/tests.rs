//! The reader against small files made here, whole and damaged.

use super::samples::TUPLES;
use super::*;
use proptest::prelude::*;

fn refused(bytes: &[u8]) -> String {
    read_bytes("it", bytes).unwrap_err().to_string()
}

#[test]
fn every_protocol_says_the_same() {
    for (protocol, bytes) in TUPLES.iter().enumerate() {
        let pickle = read_bytes("it", bytes).unwrap();
        let items = pickle.items(pickle.root()).unwrap();
        assert_eq!(items.len(), 17, "protocol {protocol}");
        let [matrix, array, empty, dict, objects, ..] = items[..] else { unreachable!() };

        let Some(&Node::Object { class: Global::CsrMatrix, state }) = pickle.node(matrix) else {
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
            let Value::Int(key) = key else { unreachable!() };
            (key, pickle.items(list).unwrap())
        });
        let one_two = &[Value::Int(1), Value::Int(2)][..];
        assert_eq!(lists.collect::<Vec<_>>(), [(0, one_two), (1, &[Value::Int(0)])]);

        let (shape, objects) = pickle.objects(objects).unwrap();
        assert_eq!(shape, [2]);
        assert_eq!(pickle.items(pickle.get(objects[0], "train").unwrap()).unwrap(), one_two);

        use Value::{Bool, Float, Int, None};
        let plain = [Float(0.5), Int(-3), Bool(true), None, Bool(true), Float(-2.5), Int(1 << 40)];
        assert_eq!(items[5..12], plain, "protocol {protocol}");
        assert_eq!(items[12], Int(-1));
        assert_eq!(pickle.text(items[13]), Some("hé ☃\n"));
        let Some(Node::Bytes(bytes)) = pickle.node(items[14]) else { panic!("no bytes") };
        assert_eq!(&bytes[..], b"\xff\0'\"\\\n");
        let inner = pickle.items(items[15]).unwrap()[0];
        assert!(pickle.items(inner).unwrap().is_empty());
        let one = pickle.get(items[16], "k").unwrap();
        assert_eq!(pickle.items(one).unwrap(), [Int(1)]);
    }
}

#[test]
fn strings_of_python_2_are_unquoted() {
    let pickle = read_bytes("it", b"S'a\\x00\\n\\'\\\\\"\xe9'\np0\n.").unwrap();
    let Some(Node::Bytes(bytes)) = pickle.node(pickle.root()) else { panic!("no bytes") };
    assert_eq!(&bytes[..], b"a\0\n'\\\"\xe9");
    assert!(refused(b"S'a\\'\n.").contains("not quoted"));
    assert!(refused(b"S'\n.").contains("not quoted"));
}

#[test]
fn numbers_of_every_width_are_read() {
    let int = |bytes: &[u8]| match read_bytes("it", bytes).unwrap().root() {
        Value::Int(int) => int,
        other => panic!("{other:?}"),
    };
    assert_eq!(int(b"\x8a\x00."), 0);
    assert_eq!(int(b"\x8a\x02\x00\xff."), -256);
    assert_eq!(int(b"\x8a\x02\xff\x00."), 255);
    assert_eq!(int(b"L-12345678901L\n."), -12345678901);
    assert_eq!(int(b"J\xff\xff\xff\xff."), -1);
    assert_eq!(
        refused(b"\x8a\x09\0\0\0\0\0\0\0\0\x01."),
        "it: byte 0: an integer of 9 bytes; expected at most 8"
    );
    assert_eq!(read_bytes("it", b"I01\n.").unwrap().root(), Value::Bool(true));
}

#[test]
fn other_names_are_refused_and_never_called() {
    let rest =
        "only NumPy arrays, SciPy CSR matrices and plain values are read, and nothing is run";
    for (bytes, message) in [
        (&b"cos\nsystem\n(S'echo'\ntR."[..], "byte 0: it names `os.system`"),
        (b"\x80\x02cposix\nsystem\nU\x04echo\x85R.", "byte 2: it names `posix.system`"),
        (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93N\x85R.", "byte 18: it names `builtins.eval`"),
        (b"cnumpy\nfromfile\n.", "byte 0: it names `numpy.fromfile`"),
        (b"c\x1b[2J\nx\n.", "byte 0: it names `\\u{1b}[2J.x`"),
    ] {
        assert_eq!(refused(bytes), format!("it: {message}; {rest}"));
    }
    // INST, OBJ, EXT1, PERSID and NEWOBJ_EX can call as well.
    for opcode in [b'i', b'o', 0x82, b'P', b'Q', 0x92, 0x97] {
        let message = refused(&[b'N', opcode, b'.']);
        assert!(message.contains("byte 1: opcode `"), "{message}");
    }
}

#[test]
fn claims_beyond_the_file_are_refused() {
    for (bytes, message) in [
        (&b""[..], "byte 0: 1 bytes expected, 0 left: the file is cut off"),
        (b"T\xff\xff\xff\x7fab", "byte 0: 2147483647 bytes expected, 2 left: the file is cut off"),
        (b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffa", "byte 0: 18446744073709551615 bytes expected"),
        (b"Nr\xff\xff\xff\xff.", "byte 1: memo entry 4294967295 in a file of 7 bytes"),
        (b"Np99999999999\n.", "byte 1: memo entry 99999999999 in a file of 15 bytes"),
        (b"\x95\x09\0\0\0\0\0\0\0N.", "byte 0: a frame of 9 bytes, 2 are left"),
        (b"\x80\x06N.", "byte 0: pickle protocol 6; expected 0 to 5"),
    ] {
        let got = refused(bytes);
        assert!(got.starts_with(&format!("it: {message}")), "{got}");
    }
}

#[test]
fn programs_that_make_no_sense_are_refused() {
    for (bytes, message) in [
        (&b"."[..], "byte 0: the stack is empty"),
        (b"NN.", "byte 2: the pickle ends with 1 values too many"),
        (b"N.N", "byte 1: the pickle ends, but 1 bytes follow"),
        (b"N(a.", "byte 2: the stack is empty"),
        (b"NNe.", "byte 2: there is no mark"),
        (b"NNa.", "byte 2: something is appended to what is no list"),
        (b"](Ns.", "byte 3: the stack is empty"),
        (b"}(Nu.", "byte 3: a key without a value"),
        (b"h\0.", "byte 0: memo entry 0, which was never made"),
        (b"N)R.", "byte 2: a call of what cannot be called"),
        (b"cnumpy\ndtype\nNR.", "byte 14: a call without a tuple of arguments"),
        (b"cnumpy\ndtype\n)R.", "byte 14: a call of Dtype with 0 unexpected arguments"),
        (b"cnumpy\ndtype\nU\x02V8\x85R.", "byte 18: entries of type `V8`"),
        (b"]Nb.", "byte 2: a state that does not fit its object"),
        (b"X\x01\0\0\0\xff.", "byte 0: text is not UTF-8"),
        (b"V\\u12\n.", "byte 0: a text with a broken `\\u`"),
        (b"F1.x\n.", "byte 0: a number that is none, or too large"),
    ] {
        assert_eq!(refused(bytes), format!("it: {message}"));
    }
}

#[test]
fn laughs_stay_shared() {
    // Each list holds the one before ten times: 10^30 leaves if it were written out.
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
fn depth_costs_nothing() {
    // A million lists, each in the next; then a list that contains itself.
    let bytes = [&b"]".repeat(1_000_000)[..], &b"a".repeat(999_999), b"."].concat();
    assert!(read_bytes("it", &bytes).is_ok());
    assert!(read_bytes("it", b"]q\0h\0a.").is_ok());
}

#[test]
fn a_text_cannot_be_encoded_again_and_again() {
    let mut bytes = b"c_codecs\nencode\nq\0X\x40\0\0\0".to_vec();
    bytes.extend([b'a'; 64]);
    bytes.extend(b"X\x06\0\0\0latin1\x86q\x01R");
    (0..50).for_each(|_| bytes.extend(b"0h\0h\x01R"));
    bytes.push(b'.');
    assert!(refused(&bytes).ends_with("one text is encoded again and again"));
}

/// A stack that was once long must not make every later list as large.
#[test]
fn marks_do_not_hand_out_the_stacks_capacity() {
    let long = [&b"("[..], &b"N".repeat(10_000), b"1"].concat();
    let bytes = [&long[..], &b"(t0".repeat(1000), b"N."].concat();
    let pickle = read_bytes("it", &bytes).unwrap();
    let held = pickle.nodes.iter().map(|node| match node {
        Node::Tuple(items) => items.capacity(),
        _ => 0,
    });
    assert_eq!(held.sum::<usize>(), 0);
}

#[test]
fn an_array_that_lies_is_refused_when_used() {
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
        refused(&array(b"J\xff\xff\xff\xff\x85", b"U\0")).ends_with("an array without a shape")
    );
}

/// Looks at everything a reader could look at.
fn visit(pickle: &Pickle) {
    for id in 0..pickle.nodes.len() as u32 {
        let value = Value::Node(id);
        let _ = (pickle.get(value, "data"), pickle.items(value), pickle.objects(value));
        if let Ok(array) = pickle.array(value, "x") {
            let _ = (array.to_f32(), array.to_u32(), array.to_bool(), array.to_text());
        }
    }
}

proptest! {
    #[test]
    fn damage_does_not_panic(
        protocol in 0..6usize,
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut: prop::sample::Index,
    ) {
        let mut bytes = TUPLES[protocol].to_vec();
        prop_assert!(read_bytes("it", &bytes[..cut.index(bytes.len())]).is_err());
        for (at, byte) in wounds {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(pickle) = read_bytes("it", &bytes) {
            visit(&pickle);
        }
    }

    #[test]
    fn any_program_ends(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(pickle) = read_bytes("it", &bytes) {
            visit(&pickle);
        }
    }

    /// Programs of opcodes alone reach further than random bytes.
    #[test]
    fn any_opcodes_end(
        bytes in prop::collection::vec(prop::sample::select(&b"(012NK]l)t}daesuqhRb\x85\x86\x87\x88\x94\x81\0\x01"[..]), 0..200)
    ) {
        let bytes = [&bytes[..], b"."].concat();
        if let Ok(pickle) = read_bytes("it", &bytes) {
            visit(&pickle);
        }
    }
}
