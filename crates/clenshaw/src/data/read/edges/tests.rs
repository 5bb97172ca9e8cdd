//! Layouts of edge tables, and error messages.

use super::*;
use crate::data::read::text::tests::{gzip, zstd};
use crate::parallel::with_threads;
use proptest::prelude::*;
use std::fmt::Write;

fn read_error(bytes: &[u8], n_nodes: Option<usize>) -> String {
    read_bytes("e.csv", bytes, n_nodes).unwrap_err().to_string()
}

fn edges(text: &str) -> Vec<EdgeEnds> {
    read_bytes("e.csv", text.as_bytes(), None).unwrap().edges().collect()
}

#[test]
fn all_layouts_give_the_same_graph() {
    let layouts = [
        "0,1\n1,2\n",
        "0,1\r\n1,2\r\n",
        "0,1\n\n1,2",
        "numeric_id_1,numeric_id_2\n0,1\n1,2\n",
        "Source;weight;Target\n0;0,5;1\n1;1,5;2\n",
        "# a comment\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n",
        " 0   1\n 1   2 \n",
        "\u{feff}\"src\",\"dst\"\n\"0\", \"1\"\n1,\"2\"\n",
        ",a,b\n0,0,1\n1,1,2\n",
        "0,1,7\n1,2,8\n",
        "0000000000,1\n1,0000000002\n",
    ];
    for text in layouts {
        assert_eq!(edges(text), [(0, 1), (1, 2)], "{text}");
    }
}

#[test]
fn reads_compressed_tables() {
    let text = b"0,1\n1,2\n";
    for packed in [gzip(text), zstd(text)] {
        let graph = read_bytes("e", &packed, Some(5)).unwrap();
        assert_eq!((graph.n_nodes(), graph.n_edges()), (5, 2));
    }
    let bomb = gzip(&b"0,1\n".repeat(8 << 20));
    assert_eq!(
        read_error(&bomb, None),
        "e.csv: decompresses to more than 200 times its size; if this is intended, decompress it first"
    );
}

#[test]
fn errors_include_the_line() {
    let cases: [(&[u8], &str); 14] = [
        (b"", "e.csv:1: the table is empty; expected lines with two ids"),
        (b"# only\n", "e.csv:2: the table is empty; expected lines with two ids"),
        (b"7\n", "e.csv:1: `7`; expected two ids separated by a comma, tab, semicolon or space"),
        (b"0,1\n1,-2\n", "e.csv:2: id `-2`; expected a non-negative integer"),
        (b"-1,0\n", "e.csv:1: id `-1`; expected a non-negative integer"),
        (b"0,1\n1,x\n", "e.csv:2: id `x`; expected a non-negative integer"),
        (b"0,1\n1,0.5\n", "e.csv:2: id `0.5`; expected a non-negative integer"),
        (b"a,b\n0,1\n1,\n", "e.csv:3: the id is empty"),
        (b"a,b\n0,1\n1\n", "e.csv:3: the line has 1 field; expected 2, as on line 1"),
        (b"0,1\n\n1,2,3\n", "e.csv:3: the line has 3 fields; expected 2, as on line 1"),
        (b"0,1\n1,1099511627776\n", "e.csv:2: id 1099511627776; expected at most 4294967295"),
        (b"0,1\n1,10\n", "e.csv:2: node 10; expected node numbers below 10"),
        (b"0,1\n1,\xff\n", "e.csv:2: not valid UTF-8"),
        (b"0,1\n\"1,2\n", "e.csv:2: a quoted field is not closed"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read_error(bytes, Some(10)), expected);
    }
}

#[test]
fn rejects_ids_too_large_for_the_number_of_edges() {
    assert_eq!(
        read_error(b"0,1\n1,4000000000\n", None),
        "e.csv: node 4000000000 in a table of 2 edges; expected node numbers from 0 without \
        large gaps, or a node table"
    );
    assert_eq!(read_error(b"u,v\n", None), "e.csv: the graph has no nodes; expected at least one");
    assert_eq!(read_bytes("e", b"u,v\n", Some(3)).unwrap().n_edges(), 0);
}

/// Lines with two numbers are parsed by the fast path only if neither is a weight.
#[test]
fn an_id_column_can_be_chosen_as_the_weight() {
    let nodes: HashMap<String, u32> = (0..3).map(|node: u32| (node.to_string(), node)).collect();
    let text = format!("u,v\n{}", "0,1\n1,2\n".repeat(3));
    let (path, choice) = (Path::new("e.csv"), WeightChoice::Column("v"));
    let edges = read_named(path, text.as_bytes(), &nodes, HeaderMode::Detect, choice).unwrap();
    assert_eq!(edges.graph.weights(), Some(&[3.0, 3.0, 6.0, 6.0][..]));
}

#[test]
fn error_contains_a_weight_as_it_is_in_the_file() {
    let nodes: HashMap<String, u32> = (0..2).map(|node: u32| (node.to_string(), node)).collect();
    let (path, text) = (Path::new("e.csv"), &b"u;v;weight\n0;1;1,234,5\n"[..]);
    let edges = read_named(path, text, &nodes, HeaderMode::Detect, WeightChoice::ByName);
    let expected = "e.csv:2: the weight is `1,234,5`; expected a finite, non-negative number";
    assert_eq!(edges.err().unwrap().to_string(), expected);
}

/// A table of `n` edges that spans several blocks.
fn long_list(n: usize) -> String {
    let mut text = String::from("numeric_id_1,numeric_id_2\n");
    for i in 0..n {
        writeln!(text, "{},{}", i % 1009, i % 1013 + 1000).unwrap();
    }
    text
}

#[test]
fn result_does_not_depend_on_the_number_of_threads() {
    let n = 1_000_000;
    let text = long_list(n);
    assert!(text.len() > 2 * BLOCK_SIZE);
    let read = || read_bytes("e.csv", text.as_bytes(), None).unwrap();
    let expected: Vec<EdgeEnds> = with_threads(1, || read().edges().collect());
    let distinct: std::collections::BTreeSet<EdgeEnds> = (0..n as u32)
        .map(|i| (i % 1009, i % 1013 + 1000))
        .filter(|(u, v)| u != v)
        .map(|(u, v)| (u.min(v), u.max(v)))
        .collect();
    assert!(expected.iter().eq(&distinct));
    assert_eq!(with_threads(3, || read().edges().collect::<Vec<_>>()), expected);

    let bad = text.clone() + "1,2\n1,oops\n1,2\n" + &text[26..] + "1,worse\n";
    for threads in [1, 2, 5] {
        let error = with_threads(threads, || read_error(bad.as_bytes(), None));
        assert_eq!(error, format!("e.csv:{}: id `oops`; expected a non-negative integer", n + 3));
    }
}

#[test]
fn accepts_long_lines_up_to_a_limit() {
    let long = format!("0,1,{}\n1,2,x\n", "y".repeat(2 * BLOCK_SIZE));
    assert_eq!(edges(&long), [(0, 1), (1, 2)]);
    let too_long = vec![b'1'; MAX_LINE + BLOCK_SIZE];
    assert_eq!(read_error(&too_long, None), "e.csv: a line is longer than 64 MiB");
}

#[test]
fn fast_path_parses_up_to_seven_digits() {
    for number in ["0", "7", "42", "100", "168113", "9999999"] {
        let line = format!("{number},12345678\n");
        let (value, rest) = parse_simple_number(line.as_bytes()).unwrap();
        assert_eq!((value, rest), (number.parse().unwrap(), &line.as_bytes()[number.len()..]));
    }
    // These are left to the general parser, as are the last bytes of a chunk.
    for line in ["12345678,1\n", "007,12345\n", ",1234567\n", "-1,23456\n", "1,2\n"] {
        assert_eq!(parse_simple_number(line.as_bytes()), None, "{line}");
    }
}

proptest! {
    #[test]
    fn damaged_bytes_do_not_panic(
        at: prop::sample::Index,
        bit in 0..8u8,
        n_nodes in prop::option::of(0..20usize),
    ) {
        for text in ["u,v\n0,1\n1,2\n10,3\n", "0\t1\n\"2\"\t1\n", "# x\n0 1 5\n1 2 6\n"] {
            let mut bytes = text.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let _ = read_bytes("e", &bytes, n_nodes);
            let _ = read_bytes("e", &text.as_bytes()[..at], n_nodes);
        }
    }

    #[test]
    fn fast_path_agrees_with_the_standard_parser(bytes: [u8; 8]) {
        let n_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let expected = str::from_utf8(&bytes[..n_digits]).unwrap().parse().ok();
        let is_simple = n_digits < 8 && (n_digits == 1 || bytes[0] != b'0');
        let expected = expected.filter(|_| is_simple).map(|number| (number, &bytes[n_digits..]));
        prop_assert_eq!(parse_simple_number(&bytes), expected);
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = read_bytes("e", &bytes, None);
    }

    #[test]
    fn random_text_does_not_panic(text in "[0-9,;\t \"\r\n#a-]{0,40}") {
        let _ = read_bytes("e", text.as_bytes(), None);
    }
}
