//! Layouts of node tables, and error messages.

use super::*;
use crate::data::Split;
use proptest::prelude::*;

fn nodes(text: &str) -> NodeData {
    parse("n.csv", text, HeaderMode::Detect).unwrap()
}

fn parse_error(text: &str) -> String {
    parse("n.csv", text, HeaderMode::Detect).unwrap_err().to_string()
}

#[test]
fn reads_names_features_labels_and_split() {
    let table = nodes(
        "id,age,town,label,split\n\
         ann,31,York,tea,train\n\
         bob,27.5,Bath,coffee,val\n\
         \"cid, the 3rd\",-1e1,,,\n\
         \n\
         dot,0,York,tea,test\n",
    );
    assert_eq!(table.names, ["ann", "bob", "cid, the 3rd", "dot"]);
    assert_eq!(table.numbers["dot"], 3);
    assert_eq!(table.class_names, ["coffee", "tea"]);
    assert_eq!(table.y, [Some(1), Some(0), None, Some(1)]);
    // age, town is Bath, town is York
    let rows = [31.0, 0.0, 1.0, 27.5, 1.0, 0.0, -10.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    assert_eq!(table.x.to_dense().as_slice(), rows);
    let split = Split::new("own", [vec![0], vec![1], vec![3]]).unwrap();
    assert_eq!(table.split, Some(FixedSplit { name: "own".into(), split }));
    assert!(table.warnings.is_empty());
}

#[test]
fn detects_header() {
    let with = ["id,0,1,y\na,1,2,c\n", ",x,z,kind\na,1,2,c\n", "user,p,q,kind\na,1,2,c\n"];
    let without = ["a,1,2,c\n", "7,1,2,c\n", "a,1,2,y\n", "# comment\na,1,2,c\n"];
    for text in with.into_iter().chain(without) {
        let table = nodes(text);
        assert_eq!((table.names.len(), table.x.n_cols()), (1, 2), "{text}");
    }
    // If all fields are text, only a known name makes the first line a header.
    assert_eq!(nodes("user,town,label\na,York,c\n").names, ["a"]);
    assert_eq!(nodes("ann,York,tea\na,York,c\n").names, ["ann", "a"]);
}

#[test]
fn finds_columns_by_name_in_any_order() {
    let table = nodes("label,x,Node\n10,1,a\n9,2,b\n10,3,c\n");
    assert_eq!(table.names, ["a", "b", "c"]);
    assert_eq!(table.class_names, ["9", "10"]);
    assert_eq!(table.y, [Some(1), Some(0), Some(1)]);
    assert_eq!(table.x.values(), [1.0, 2.0, 3.0]);
    assert_eq!(nodes("id,x,label\na,1,10\nb,2,9\nc,3,x\n").class_names, ["10", "9", "x"]);
}

#[test]
fn ignored_columns_and_nodes_give_warnings() {
    let table = nodes(",id,x,note,label\n0,a,1,,c\n1,b,2,,d\n");
    assert_eq!(table.x.n_cols(), 1);
    assert_eq!(
        table.warnings,
        [
            "n.csv: ignored column 1, which has no name",
            "n.csv: ignored column `note`, which is empty"
        ]
    );
    let table = nodes("id,x,split,label\na,1,train,c\nb,2,test,\n");
    assert_eq!(table.warnings, ["n.csv: left out 1 nodes of the split that have no label"]);
}

#[test]
fn mostly_zero_features_are_sparse() {
    let row = |id, filled| format!("{id},{filled},0,0,0,c\n");
    let quarter = nodes(&(row("a", 5) + &row("b", 7)));
    assert!(matches!(&quarter.x, Features::Sparse { values, .. } if values[..] == [5.0, 7.0]));
    let more = nodes("a,5,0,0,0,c\nb,7,1,0,0,c\n");
    assert!(matches!(more.x, Features::Dense(_)));
    assert_eq!(more.x.values(), [5.0, 0.0, 0.0, 0.0, 7.0, 1.0, 0.0, 0.0]);
}

#[test]
fn errors_include_line_and_column() {
    let cases = [
        ("", "n.csv:1: the table is empty; expected one row per node"),
        ("id,x,label\n", "n.csv: the table has no rows; expected one row per node"),
        ("id,x,label\na,1,c\na,2,d\n", "n.csv:3: duplicate id `a`; it is also on line 2"),
        ("id,x,label\n,1,c\n", "n.csv:2: the id is empty"),
        ("id,x,label\na,1\n", "n.csv:2: the line has 2 fields; expected 3, as on line 1"),
        ("id,x,label\na,1,c,d\n", "n.csv:2: the line has 4 fields; expected 3, as on line 1"),
        ("id,x,label\na,nan,c\n", "n.csv:2: column `x` is `nan`; expected a finite number"),
        ("a,1,c\nb,-inf,c\n", "n.csv:2: column 2 is `-inf`; expected a finite number"),
        ("id,x,label\na,1e99,c\n", "n.csv:2: column `x` is `1e99`; expected a finite number"),
        ("id,x,label\na,1,c\nb,,c\n", "n.csv:3: column `x` is empty; expected a number"),
        (
            "id,x,label\na,1,c\nb,2,c\nc,two,c\n",
            "n.csv:4: column `x` has text, but line 2 has a number; expected one kind",
        ),
        (
            "id,x,label\na,one,c\nb,2,c\n",
            "n.csv:3: column `x` has a number, but line 2 has text; expected one kind",
        ),
        (
            "id,x,label\na,1,\nb,2,\n",
            "n.csv: no node has a label; expected labels of at least two classes",
        ),
        (
            "id,x,z\na,1,2\n",
            "n.csv: no label column; expected a column named label, class, y, target, or text in the \
            last column",
        ),
        ("id,label\na,c\n", "n.csv: no feature column; expected one besides id, label and split"),
        ("id,x,x,label\na,1,2,c\n", "n.csv:1: duplicate column `x`; expected distinct names"),
        (
            "id,x,split,label\na,1,dev,c\n",
            "n.csv:2: split value `dev`; expected train, val, test or an empty field",
        ),
        ("id,x,label\na,\"1,c\n", "n.csv:2: a quoted field is not closed"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_error(text), expected, "{text}");
    }
}

#[test]
fn rejects_too_many_categories_and_columns() {
    let rows = |n: usize| -> String { (0..n).map(|i| format!("{i},bio{i},c\n")).collect() };
    let head = "id,bio,label\n".to_owned();
    assert_eq!(nodes(&(head.clone() + &rows(100))).x.n_cols(), 100);
    assert_eq!(
        parse_error(&(head + &rows(101))),
        "n.csv: column `bio` has more than 100 categories; convert it to numbers, or remove it"
    );
    assert_eq!(
        parse_error(&",".repeat(MAX_COLUMNS)),
        "n.csv:1: 100001 columns; expected at most 100000"
    );
}

proptest! {
    #[test]
    fn random_text_does_not_panic(text in "[01.,;\t \"\r\nabi-]{0,60}") {
        let _ = parse("n", &text, HeaderMode::Detect);
        let _ = parse("n", &text, HeaderMode::Present);
    }

    #[test]
    fn result_does_not_depend_on_the_row_order(order in Just([0, 1, 2, 3]).prop_shuffle()) {
        let rows = ["a,1,red,x\n", "b,2,blue,y\n", "c,3,,x\n", "d,4,red,\n"];
        let text: String = order.iter().map(|&i| rows[i]).collect();
        let (table, plain) = (nodes(&text), nodes(&rows.concat()));
        prop_assert_eq!(&table.class_names, &plain.class_names);
        let (x, plain_x) = (table.x.to_dense(), plain.x.to_dense());
        for (at, &i) in order.iter().enumerate() {
            prop_assert_eq!(table.y[at], plain.y[i]);
            prop_assert_eq!(x.row(at), plain_x.row(i));
        }
    }
}
