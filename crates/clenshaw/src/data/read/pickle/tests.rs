//! Valid, unsupported and damaged pickles.

use super::*;
use proptest::prelude::*;

/// This tuple in protocol 3, as written by Python 3.11, NumPy 2.4 and SciPy 1.17:
///
/// ```text
/// (csr_matrix([[1, 0, 2], [0, 0, 3]], float32), asfortranarray([[1, 2, 3], [4, 5, 6]], '>i2'),
///  zeros((0, 2)), defaultdict(list, {0: [1, 2], 1: [0]}), [{'train': [1, 2]}, {'train': [0]}] as
///  an array of objects, None, True, 300, 70000, -1, 'hé ☃\n', b'\xff\0\'"\\\n', [[]], {'k': (1,)})
/// ```
const TUPLE: &[u8] =
    b"\x80\x03(cscipy.sparse._csr\ncsr_matrix\nq\0)\x81q\x01}q\x02(X\x06\0\0\0_shapeq\x03K\x02K\
      \x03\x86q\x04X\x08\0\0\0maxprintq\x05K2X\x06\0\0\0indptrq\x06cnumpy._core.multiarray\n_recon\
      struct\nq\x07cnumpy\nndarray\nq\x08K\0\x85q\tC\x01bq\n\x87q\x0bRq\x0c(K\x01K\x03\x85q\rcnump\
      y\ndtype\nq\x0eX\x02\0\0\0i4q\x0f\x89\x88\x87q\x10Rq\x11(K\x03X\x01\0\0\0<q\x12NNNJ\xff\xff\
      \xff\xffJ\xff\xff\xff\xffK\0tq\x13b\x89C\x0c\0\0\0\0\x02\0\0\0\x03\0\0\0q\x14tq\x15bX\x07\0\
      \0\0indicesq\x16h\x07h\x08K\0\x85q\x17h\n\x87q\x18Rq\x19(K\x01K\x03\x85q\x1ah\x11\x89C\x0c\0\
      \0\0\0\x02\0\0\0\x02\0\0\0q\x1btq\x1cbX\x04\0\0\0dataq\x1dh\x07h\x08K\0\x85q\x1eh\n\x87q\x1f\
      Rq (K\x01K\x03\x85q!h\x0eX\x02\0\0\0f4q\"\x89\x88\x87q#Rq$(K\x03h\x12NNNJ\xff\xff\xff\xffJ\
      \xff\xff\xff\xffK\0tq%b\x89C\x0c\0\0\x80?\0\0\0@\0\0@@q&tq'bubh\x07h\x08K\0\x85q(h\n\x87q)Rq\
      *(K\x01K\x02K\x03\x86q+h\x0eX\x02\0\0\0i2q,\x89\x88\x87q-Rq.(K\x03X\x01\0\0\0>q/NNNJ\xff\xff\
      \xff\xffJ\xff\xff\xff\xffK\0tq0b\x88C\x0c\0\x01\0\x04\0\x02\0\x05\0\x03\0\x06q1tq2bh\x07h\
      \x08K\0\x85q3h\n\x87q4Rq5(K\x01K\0K\x02\x86q6h\x0eX\x02\0\0\0f8q7\x89\x88\x87q8Rq9(K\x03h\
      \x12NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tq:b\x89C\0q;tq<bccollections\ndefaultdict\nq=cb\
      uiltins\nlist\nq>\x85q?Rq@(K\0]qA(K\x01K\x02eK\x01]qBK\0auh\x07h\x08K\0\x85qCh\n\x87qDRqE(K\
      \x01K\x02\x85qFh\x0eX\x02\0\0\0O8qG\x89\x88\x87qHRqI(K\x03X\x01\0\0\0|qJNNNJ\xff\xff\xff\xff\
      J\xff\xff\xff\xffK?tqKb\x89]qL(}qMX\x05\0\0\0trainqN]qO(K\x01K\x02es}qPhN]qQK\0asetqRbN\x88M\
      ,\x01Jp\x11\x01\0J\xff\xff\xff\xffX\x08\0\0\0h\xc3\xa9 \xe2\x98\x83\nqSC\x06\xff\0'\"\\\nqT]\
      qU]qVa}qWX\x01\0\0\0kqXK\x01\x85qYstqZ.";

fn read_error(bytes: &[u8]) -> String {
    read_bytes("it", bytes).unwrap_err().to_string()
}

#[test]
fn reads_all_kinds_of_values() {
    let pickle = read_bytes("it", TUPLE).unwrap();
    let items = pickle.items(pickle.root()).unwrap();
    let [matrix, array, empty, dict, objects, ..] = items[..] else { panic!("{items:?}") };

    let Some(&PickleNode::CsrMatrix(state)) = pickle.node(matrix) else { panic!("no matrix") };
    let part = |name| pickle.array(pickle.get(state, name).unwrap(), name).unwrap();
    assert_eq!(part("data").to_f32().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(part("indices").to_u32().unwrap(), [0, 2, 2]);
    assert_eq!(part("indptr").to_u32().unwrap(), [0, 2, 3]);

    let array = pickle.array(array, "array").unwrap();
    assert_eq!(array.shape(), [2, 3]);
    assert_eq!(array.to_i64().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(pickle.array(empty, "empty").unwrap().shape(), [0, 2]);

    use PickleValue::{Bool, Int, None};
    let one_two = &[Int(1), Int(2)][..];
    let lists = pickle.pairs(dict).unwrap().iter();
    let lists: Vec<_> = lists.map(|&(key, list)| (key, pickle.items(list).unwrap())).collect();
    assert_eq!(lists, [(Int(0), one_two), (Int(1), &[Int(0)])]);

    let (shape, objects) = pickle.objects(objects).unwrap();
    assert_eq!(shape, [2]);
    assert_eq!(pickle.items(pickle.get(objects[0], "train").unwrap()).unwrap(), one_two);

    assert_eq!(items[5..10], [None, Bool(true), Int(300), Int(70_000), Int(-1)]);
    assert!(matches!(pickle.node(items[10]), Some(PickleNode::Text("hé ☃\n"))));
    assert!(matches!(pickle.node(items[11]), Some(PickleNode::Bytes(b"\xff\0'\"\\\n"))));
    let inner = pickle.items(items[12]).unwrap()[0];
    assert!(pickle.items(inner).unwrap().is_empty());
    let one = pickle.get(items[13], "k").unwrap();
    assert_eq!(pickle.items(one).unwrap(), [Int(1)]);
}

#[test]
fn rejects_globals_outside_the_allow_list() {
    let rest = "expected only NumPy arrays, SciPy CSR matrices and plain values";
    for (bytes, message) in [
        (&b"cos\nsystem\n(U\x04echotR."[..], "byte 0: global `os.system` is not allowed"),
        (
            b"\x80\x02cposix\nsystem\nU\x04echo\x85R.",
            "byte 2: global `posix.system` is not allowed",
        ),
        (b"\x80\x03cbuiltins\neval\nN\x85R.", "byte 2: global `builtins.eval` is not allowed"),
        (b"cnumpy\nfromfile\n.", "byte 0: global `numpy.fromfile` is not allowed"),
        (b"c\x1b[2J\nx\n.", "byte 0: global `\\u{1b}[2J.x` is not allowed"),
    ] {
        assert_eq!(read_error(bytes), format!("it: {message}; {rest}"));
    }
    // INST, OBJ, EXT1, PERSID, BINPERSID, NEWOBJ_EX, STACK_GLOBAL and NEXT_BUFFER import or call functions, or
    // refer to data outside the file.
    for opcode in [b'i', b'o', 0x82, b'P', b'Q', 0x92, 0x93, 0x97] {
        let message = read_error(&[b'N', opcode, b'.']);
        assert!(message.contains("byte 1: opcode `"), "{message}");
    }
}

#[test]
fn rejects_lengths_beyond_the_file() {
    for (bytes, message) in [
        (&b""[..], "byte 0: the file is truncated: 0 bytes left, expected 1"),
        (
            b"T\xff\xff\xff\x7fab",
            "byte 0: the file is truncated: 2 bytes left, expected 2147483647",
        ),
        (
            b"Nr\xff\xff\xff\xff.",
            "byte 1: memo entry 4294967295; expected less than the file size 7",
        ),
        (b"\x80\x04N.", "byte 0: pickle protocol 4; expected 2 or 3"),
    ] {
        let got = read_error(bytes);
        assert!(got.starts_with(&format!("it: {message}")), "{got}");
    }
}

#[test]
fn rejects_invalid_programs() {
    for (bytes, message) in [
        (&b"."[..], "byte 0: too few values on the stack"),
        (b"NN.", "byte 2: the pickle ends with 1 extra value on the stack"),
        (b"N.N", "byte 1: 1 byte after the end of the pickle"),
        (b"N(a.", "byte 2: too few values on the stack"),
        (b"NNe.", "byte 2: no mark on the stack"),
        (b"NNa.", "byte 2: the target of an append is not a list"),
        (b"](Ns.", "byte 3: too few values on the stack"),
        (b"}(Nu.", "byte 3: a dictionary key has no value"),
        (b"h\0.", "byte 0: memo entry 0 does not exist"),
        (b"N)R.", "byte 2: the called value is not callable"),
        (b"cnumpy\ndtype\nNR.", "byte 14: the arguments of a call are not a tuple"),
        (b"cnumpy\ndtype\n)R.", "byte 14: unsupported call to Dtype with 0 arguments"),
        (b"cnumpy\ndtype\nU\x02V8\x85R.", "byte 18: entries of unsupported type `V8`"),
        (b"]Nb.", "byte 2: the state does not match its object"),
        (b"X\x01\0\0\0\xff.", "byte 0: text is not valid UTF-8"),
    ] {
        assert_eq!(read_error(bytes), format!("it: {message}"));
    }
}

#[test]
fn nested_shared_lists_are_not_expanded() {
    // Each list contains the previous one ten times: 10^30 leaves if expanded.
    let mut bytes = b"(]q\0".to_vec();
    for level in 1..=30u8 {
        bytes.extend(b"](");
        (0..10).for_each(|_| bytes.extend([b'h', level - 1]));
        bytes.extend([b'e', b'q', level]);
    }
    bytes.extend(b"t.");
    let pickle = read_bytes("it", &bytes).unwrap();
    assert_eq!(pickle.nodes.len(), 32);
}

#[test]
fn deeply_nested_and_cyclic_lists_are_accepted() {
    // A million nested lists, then a list that contains itself.
    let bytes = [&b"]".repeat(1_000_000)[..], &b"a".repeat(999_999), b"."].concat();
    assert!(read_bytes("it", &bytes).is_ok());
    assert!(read_bytes("it", b"]q\0h\0a.").is_ok());
}

/// A stack that was once long must not determine the capacity of later lists.
#[test]
fn lists_do_not_inherit_the_capacity_of_the_stack() {
    let long = [&b"(("[..], &b"N".repeat(10_000), b"t"].concat();
    let bytes = [&long[..], &b"(t".repeat(1000), b"t."].concat();
    let pickle = read_bytes("it", &bytes).unwrap();
    let capacities = pickle.nodes.iter().map(|node| match node {
        PickleNode::Tuple(items) => items.capacity(),
        _ => 0,
    });
    assert_eq!(capacities.sum::<usize>(), 10_000 + 1001);
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
        read_error(&array(b"J\xff\xff\xff\xff\x85", b"U\0"))
            .ends_with("the shape of the array is not a tuple of sizes")
    );
}

proptest! {
    /// Random opcodes reach further than random bytes.
    #[test]
    fn random_opcodes_cause_no_panic(
        bytes in prop::collection::vec(prop::sample::select(&b"(NK])t}aesuqhRb\x85\x86\x87\x88\x81\0\x01"[..]), 0..200)
    ) {
        let bytes = [&bytes[..], b"."].concat();
        if let Ok(pickle) = read_bytes("it", &bytes) {
            for id in 0..pickle.nodes.len() as u32 {
                let value = PickleValue::Node(id);
                let _ = (pickle.get(value, "data"), pickle.items(value), pickle.objects(value));
                let _ = pickle.array(value, "x");
            }
        }
    }
}
