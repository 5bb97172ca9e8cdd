//! Inference, encoding, and application to other tables.

use super::*;
use crate::data::read::text_table;
use crate::data::{Features, FixedSplit, Split};
use proptest::prelude::*;

fn encoded_with(text: &str, options: &TableOptions) -> EncodedNodes {
    encode(&text_table(text).unwrap(), options).unwrap()
}

fn encoded(text: &str) -> EncodedNodes {
    encoded_with(text, &TableOptions::default())
}

fn encode_error(text: &str) -> String {
    let table = text_table(text);
    table.and_then(|table| encode(&table, &TableOptions::default())).unwrap_err().to_string()
}

/// The kinds of all columns.
fn kinds(text: &str) -> Vec<&'static str> {
    encoded(text).schema.columns.iter().map(ColumnSchema::kind).collect()
}

#[test]
fn reads_names_features_labels_and_split() {
    let nodes = encoded(
        "id,town,age,label,split\n\
         ann,York,31,tea,train\n\
         bob,Bath,27.5,coffee,val\n\
         \"cid, the 3rd\",,-1e1,,\n\
         \n\
         dot,York,0,tea,test\n",
    );
    assert_eq!(nodes.names, ["ann", "bob", "cid, the 3rd", "dot"]);
    assert_eq!(nodes.numbers["dot"], 3);
    assert_eq!(nodes.class_names, ["coffee", "tea"]);
    assert_eq!(nodes.y, [Some(1), Some(0), None, Some(1)]);
    assert_eq!(nodes.schema.feature_names(), ["age", "town=Bath", "town=York"]);
    let rows = [31.0, 0.0, 1.0, 27.5, 1.0, 0.0, -10.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    assert_eq!(nodes.x.to_dense().as_slice(), rows);
    let split = Split::new("own", [vec![0], vec![1], vec![3]]).unwrap();
    assert_eq!(nodes.split, Some(FixedSplit { name: "own".into(), split }));
    assert!(nodes.warnings.is_empty(), "{:?}", nodes.warnings);
    let summary =
        ["id: id", "label: label", "split: split", "numbers: age", "categories: town (2 values)"];
    assert_eq!(nodes.schema.summary(), summary);
}

#[test]
fn kinds_are_inferred_from_cells() {
    let column = |cells: &[&str]| {
        let rows = cells.iter().enumerate();
        let rows = rows.map(|(i, cell)| format!("n{i};{cell};{}\n", ["a", "b"][i % 2]));
        kinds(&("id;it;label\n".to_owned() + &rows.collect::<String>()))[1]
    };
    let texts: Vec<String> = (0..30).map(|i| format!("a sentence about {i}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let numbers: Vec<String> = (7..37).map(|i| i.to_string()).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let cases: [(&[&str], &str); 13] = [
        (&["1", "2.5", "-3e2"], "number"),
        (&["1", "", "nan"], "number"),
        (&["1,5", "2", "0,25"], "number"),
        (&["true", "False", "TRUE"], "flag"),
        (&["yes", "no", "?"], "flag"),
        (&["2023-08-06", "1969-01-01", ""], "date"),
        (&["red", "blue", "red"], "category"),
        (&["1", "red", "2"], "category"),
        (&["", "NA", ""], "ignored"),
        (&["5", "5", "5"], "ignored"),
        (&texts, "ignored"),
        (&numbers, "ignored"),
        (&["1", "2", "4"], "number"),
    ];
    for (cells, kind) in cases {
        assert_eq!(column(cells), kind, "{cells:?}");
    }
}

#[test]
fn missing_numbers_are_filled_with_the_median_and_marked() {
    let text = "id,x,label\na,1,c\nb,,d\nc,5,c\nd,2,d\n";
    let nodes = encoded(text);
    assert_eq!(nodes.schema.feature_names(), ["x", "x missing"]);
    assert_eq!(nodes.x.to_dense().as_slice(), [1.0, 0.0, 2.0, 1.0, 5.0, 0.0, 2.0, 0.0]);
    assert_eq!(nodes.schema.columns[1].reason, "numbers; 1 missing, filled with 2");
    for (fill, value) in [(Fill::Mean, 8.0 / 3.0), (Fill::Zero, 0.0)] {
        let options = TableOptions { fill: Some(fill), ..TableOptions::default() };
        assert_eq!(encoded_with(text, &options).x.to_dense()[(1, 0)], value);
    }
    let even = encoded("id,x,label\na,1,c\nb,,d\nc,5,c\n");
    assert_eq!(even.x.to_dense()[(1, 0)], 3.0);
}

#[test]
fn few_cells_that_are_not_numbers_count_as_missing() {
    let rows: String = (0..19).map(|i| format!("n{i},{},c\n", i * i)).collect();
    let nodes = encoded(&format!("id,x,label\n{rows}last,unknown,d\n"));
    assert_eq!(nodes.schema.feature_names(), ["x", "x missing"]);
    let warning =
        "nodes: column `x`: 1 cell is not a finite number (`unknown`) and counts as missing";
    assert_eq!(nodes.warnings, [warning]);
}

#[test]
fn label_is_never_guessed() {
    let error = encode_error("id,age,town\na,1,York\nb,2,Bath\n");
    let expected = "nodes: no label column; expected one named `label` or `class`, or `target` or `y` without decimal numbers; columns: id, age, town";
    assert_eq!(error, expected);
    // `y` is a coordinate here.
    let error = encode_error("id,x,y\na,1.5,0.5\nb,2.5,1.5\n");
    assert!(error.starts_with("nodes: no label column; expected"), "{error}");
    assert_eq!(
        kinds("id,x,y,label\na,1.5,0.5,c\nb,2.5,1.5,d\n"),
        ["id", "number", "number", "label"]
    );
    let options = TableOptions { label: Some("Town".into()), ..TableOptions::default() };
    let nodes = encoded_with("id,age,town\na,1,York\nb,3,Bath\n", &options);
    assert_eq!(nodes.class_names, ["Bath", "York"]);
}

#[test]
fn options_choose_columns() {
    let text = "key,code,note,size,kind\nx,1,hi,2.5,c\ny,2,ho,3.5,d\nz,1,hi,0.5,c\n";
    let options = TableOptions {
        id: Some("key".into()),
        label: Some("kind".into()),
        ignore: vec!["note".into()],
        category: vec!["code".into()],
        ..TableOptions::default()
    };
    let nodes = encoded_with(text, &options);
    assert_eq!(nodes.schema.feature_names(), ["code=1", "code=2", "size"]);
    let only = TableOptions { features: vec!["size".into()], ..options.clone() };
    assert_eq!(encoded_with(text, &only).schema.feature_names(), ["size"]);
    let unknown = TableOptions { ignore: vec!["nota".into()], ..options };
    let error = encode(&text_table(text).unwrap(), &unknown).unwrap_err().to_string();
    let expected =
        "nodes: unknown column `nota`; did you mean `note`? known: key, code, note, size, kind";
    assert_eq!(error, expected);
}

#[test]
fn chosen_label_cannot_have_another_role() {
    let table = text_table("key,size,kind\nx,2.5,c\ny,3.5,d\n").unwrap();
    let label = TableOptions { label: Some("kind".into()), ..TableOptions::default() };
    let ignored = TableOptions { ignore: vec!["Kind".into()], ..label.clone() };
    let id = TableOptions { id: Some("kind".into()), ..label };
    for options in [ignored, id] {
        assert_eq!(
            encode(&table, &options).unwrap_err().to_string(),
            "nodes: column `kind` is chosen as the label, but also as the id, as the split or to be ignored; expected \
             one role"
        );
    }
}

#[test]
fn chosen_features_that_are_not_used_are_reported() {
    let row = |i: usize| format!("n{i},text {i},{i},{}\n", ["c", "d"][i % 2]);
    let rows: String = (0..120).map(row).collect();
    let table = text_table(&format!("id,text,who,label\n{rows}")).unwrap();
    let chosen = |features: &[&str], ignore: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let options = TableOptions {
            features: names(features),
            ignore: names(ignore),
            ..TableOptions::default()
        };
        encode(&table, &options)
    };
    let category = TableOptions { category: vec!["label".into()], ..TableOptions::default() };
    assert!(encode(&table, &category).is_ok());
    let warnings = chosen(&["text", "who"], &[]).unwrap().warnings;
    let expected =
        "nodes: the chosen column `text` is not used: too many different values: more than 100";
    assert_eq!(warnings, [expected]);
    for (features, ignore, role) in
        [("label", "", "the label"), ("id", "", "the id"), ("who", "who", "to be ignored")]
    {
        let ignore = if ignore.is_empty() { vec![] } else { vec![ignore] };
        let expected = format!(
            "nodes: column `{features}` is chosen as a feature, but is also {role}; expected one role"
        );
        assert_eq!(chosen(&[features], &ignore).unwrap_err().to_string(), expected);
    }
}

#[test]
fn columns_that_may_be_ids_are_named_if_nodes_are_numbered() {
    let rows: String =
        (0..30).map(|i| format!("{}.5,{},{}\n", i / 3, 29 - i, ["c", "d"][i % 2])).collect();
    let warnings = encoded(&format!("x,person,label\n{rows}")).warnings;
    let expected = "nodes: no id column; nodes are numbered from 0; if `person` contains the names of the nodes, \
                    choose it as the id, and do not ignore it";
    assert!(warnings.contains(&expected.to_owned()), "{warnings:?}");
}

#[test]
fn few_values_among_missing_cells_do_not_determine_the_labels() {
    let warnings = |text: &str| encoded(text).warnings;
    let few = "id,x,note,label\na,1,hi,c\nb,2,ho,d\nc,4,,c\nd,8,,d\n";
    assert!(warnings(few).is_empty(), "{:?}", warnings(few));
    let all = "id,x,note,label\na,1,hi,c\nb,2,ho,d\nc,4,hi,c\nd,8,ho,d\n";
    assert!(warnings(all)[0].contains("column `note` determines every known label"));
}

#[test]
fn extreme_whole_numbers_are_not_row_numbers() {
    let numbers = (0..8i64).chain([i64::MIN, i64::MAX]).enumerate();
    let row = |(i, number): (usize, i64)| format!("n{i},{number},{}\n", ["c", "d"][i % 2]);
    let rows: String = numbers.map(row).collect();
    assert_eq!(kinds(&format!("id,it,label\n{rows}")), ["id", "number", "label"]);
}

#[test]
fn ids_are_found_or_numbered() {
    assert_eq!(encoded("label,x,Node\n10,1,a\n9,2,b\n10,3,c\n").names, ["a", "b", "c"]);
    assert_eq!(encoded("user,x,label\nu7,1,a\nu8,2,b\n").names, ["u7", "u8"]);
    assert_eq!(encoded(",x,label\n4,1.5,a\n5,2.5,b\n").names, ["4", "5"]);
    // The first column has decimals or repeats, so it is a feature.
    let nodes = encoded("x,z,label\n0.5,1,a\n1.5,2,b\n");
    assert_eq!((nodes.names, nodes.x.n_cols()), (vec!["0".into(), "1".into()], 2));
    assert_eq!(nodes.warnings, ["nodes: no id column; nodes are numbered from 0"]);
    assert_eq!(encoded("age,z,label\n31,1,a\n31,2,b\n").x.n_cols(), 1);
}

#[test]
fn masks_are_a_split() {
    let nodes = encoded(
        "id,x,train_mask,val_mask,test_mask,label\n\
         a,1,True,False,False,c\nb,2,1,0,0,d\nc,4,0,1,0,c\nd,3,0,0,1,d\ne,5,0,0,1,\n",
    );
    assert_eq!(nodes.schema.feature_names(), ["x"]);
    assert_eq!(nodes.split.unwrap().split.parts(), [&[0, 1][..], &[2], &[3]]);
    assert_eq!(nodes.warnings, ["nodes: 1 node has no label and cannot be in the split"]);
}

#[test]
fn two_columns_cannot_assign_a_node_to_the_split() {
    let tables = [
        "id,x,split,train_mask,label\na,1,val,0,c\nb,2,test,1,d\n",
        "id,x,split,train_mask,label\na,1,val,0,c\nb,2,train,1,d\n",
    ];
    for text in tables {
        assert_eq!(
            encode_error(text),
            "nodes:3: `split` and `train_mask` both assign this node to a part of the split; correct \
             the cells, or exclude columns with --ignore"
        );
    }
    let masks = "id,x,train_mask,test_mask,label\na,1,0,1,c\nb,2,1,1,d\n";
    let error = encode_error(masks);
    assert!(error.starts_with("nodes:3: `train_mask` and `test_mask` both assign"), "{error}");
    // Distinct nodes may be assigned by different columns, and unlabelled nodes are left out.
    let nodes =
        encoded("id,x,split,train_mask,label\na,1,val,0,c\nb,2,,1,d\nc,4,,1,c\nd,3,test,1,\n");
    assert_eq!(nodes.split.unwrap().split.parts(), [&[1, 2][..], &[0], &[]]);
    assert_eq!(nodes.warnings, ["nodes: 1 node has no label and cannot be in the split"]);
}

#[test]
fn chosen_split_replaces_the_masks() {
    let table = text_table(
        "id,x,fold,train_mask,val_mask,test_mask,label\n\
         a,1,train,0,1,0,c\nb,2,test,1,0,0,d\nc,4,val,1,0,0,c\n",
    )
    .unwrap();
    let options = TableOptions { split: Some("fold".into()), ..TableOptions::default() };
    let nodes = encode(&table, &options).unwrap();
    assert_eq!(nodes.split.unwrap().split.parts(), [&[0][..], &[2], &[1]]);
    assert_eq!(nodes.schema.feature_names(), ["x"]);
    let reason = "another column is chosen as the split";
    assert_eq!(
        nodes.schema.summary().last(),
        Some(&format!("ignored: train_mask ({reason}), val_mask ({reason}), test_mask ({reason})"))
    );
    // Without the chosen column, the masks are the split.
    let ignored = TableOptions { ignore: vec!["fold".into()], ..options };
    let nodes = encode(&table, &ignored).unwrap();
    assert_eq!(nodes.split.unwrap().split.parts(), [&[1, 2][..], &[0], &[]]);
}

#[test]
fn mostly_zero_features_are_sparse() {
    let head = "id,p,q,r,s,label\n";
    let quarter = encoded(&(head.to_owned() + "a,5,0,0,0,c\nb,0,0,7,0,c\n"));
    assert_eq!(quarter.schema.feature_names(), ["p", "r"]);
    let head = "id,p,q,r,s,t,label\n";
    let sparse = encoded(
        &(head.to_owned()
            + "a,5,0,0,0,0,c\nb,0,7,0,0,0,c\nc,0,0,1,0,0,c\nd,0,0,0,1,0,c\ne,0,0,0,0,1,d\n"),
    );
    assert!(
        matches!(&sparse.x, Features::Sparse { values, .. } if values[..] == [5.0, 7.0, 1.0, 1.0, 1.0])
    );
    assert!(matches!(quarter.x, Features::Dense(_)));
}

#[test]
fn other_tables_are_matched_by_name() {
    let nodes = encoded(
        "id,age,town,note,label\na,31,York,x,tea\nb,27,Bath,y,coffee\nc,45,York,x,tea\nd,45,,x,tea\n",
    );
    let other = text_table("extra,town,id,age\n1,York,p,20\n2,Hull,q,\n3,,r,30\n").unwrap();
    let applied = encode_with_schema(&other, &nodes.schema, &nodes.class_names).unwrap();
    assert_eq!(applied.names, ["p", "q", "r"]);
    let names = ["age", "note=x", "note=y", "town=Bath", "town=York"];
    assert_eq!(nodes.schema.feature_names(), names);
    let x = applied.x.to_dense();
    assert_eq!(x.row(0), [20.0, 0.0, 0.0, 0.0, 1.0]);
    // An unknown town has no feature, and a missing age is filled with the median of the first table.
    assert_eq!(x.row(1), [38.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(applied.y, [None, None, None]);
    assert_eq!(applied.class_names, ["coffee", "tea"]);
    assert_eq!(
        applied.warnings,
        [
            "nodes: columns of the model missing from this table are filled: note",
            "nodes: columns that are not in the model are ignored: extra",
            "nodes: column `age`: 1 missing cell is filled with 38",
            "nodes: column `town`: 1 cell has a value that the training table does not have, such as \
             `Hull`; encoded as zeros"
        ]
    );
    let labelled = text_table("id,age,label\np,20,tea\nq,21,water\nr,22,\n").unwrap();
    let applied = encode_with_schema(&labelled, &nodes.schema, &nodes.class_names).unwrap();
    assert_eq!(applied.y, [Some(1), None, None]);
    let unknown = "nodes: 1 label is not a class of the model and is ignored, such as `water`";
    assert!(applied.warnings.contains(&unknown.to_owned()), "{:?}", applied.warnings);
    let error =
        encode_with_schema(&text_table("id,z\np,1\n").unwrap(), &nodes.schema, &[]).unwrap_err();
    assert!(error.to_string().contains("none of the feature columns of the model"), "{error}");
}

#[test]
fn id_column_of_another_table_may_have_another_name() {
    let nodes = encoded("user,age,label\nann,31,tea\nbob,27,coffee\n");
    let other = text_table("id,age\np,20\nq,30\n").unwrap();
    let applied = encode_with_schema(&other, &nodes.schema, &nodes.class_names).unwrap();
    assert_eq!(applied.names, ["p", "q"]);
    assert!(applied.warnings.is_empty(), "{:?}", applied.warnings);
}

#[test]
fn schema_survives_json() {
    let schema = encoded("id,x,town,when,label\na,1,York,2020-01-01,c\nb,,Bath,,d\n").schema;
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
}

#[test]
fn errors_include_line_and_column() {
    let cases = [
        ("", "nodes:1: the table is empty; expected one row per node"),
        ("id,x,label\n", "nodes: the table has no rows; expected one row per node"),
        ("id,x,label\na,1,c\na,2,d\n", "nodes:3: duplicate id `a`; it is also on line 2"),
        ("id,x,label\n,1,c\n", "nodes:2: the id is empty"),
        ("id,x,label\na,1\n", "nodes:2: the line has 2 fields; expected 3, as on line 1"),
        ("id,x,label\na,1,c,d\n", "nodes:2: the line has 4 fields; expected 3, as on line 1"),
        ("id,x,x,label\na,1,2,c\n", "nodes:1: duplicate column `x`; expected distinct names"),
        (
            "id,x,split,label\na,1,later,c\n",
            "nodes:2: `split` is `later`; expected train, val, test or an empty cell",
        ),
        ("id,x,label\na,1,c\n\nb,\"2,c\n", "nodes:4: a quoted field is not closed"),
    ];
    for (text, expected) in cases {
        assert_eq!(encode_error(text), expected, "{text}");
    }
    let error = encode_error(&",".repeat(100_000));
    assert_eq!(error, "nodes:1: 100001 columns; expected at most 100000");
}

#[test]
fn detects_header() {
    let with = [
        "id,0,1,y\na,1,2,c\nb,2,1,d\n",
        ",x,z,class\na,1,2,c\nb,2,1,d\n",
        "user,p,q,label\na,1,2,c\nb,2,1,d\n",
    ];
    for text in with {
        let nodes = encoded(text);
        assert_eq!((nodes.names.len(), nodes.x.n_cols()), (2, 2), "{text}");
    }
    let options = TableOptions { label: Some("4".into()), ..TableOptions::default() };
    for text in ["a,1,2,c\nb,2,1,d\n", "7,1,2,c\n8,2,1,d\n", "# comment\na 1  2 c\nb 2 1 \"d e\"\n"]
    {
        let nodes = encoded_with(text, &options);
        assert_eq!((nodes.names.len(), nodes.x.n_cols()), (2, 2), "{text}");
    }
}

#[test]
fn fields_may_span_lines() {
    let nodes = encoded("id,note,x,label\na,\"one\ntwo\",1,c\nb,\"5\"\" nail\",2,d\n");
    assert_eq!(nodes.schema.feature_names(), ["note=5\" nail", "note=one\ntwo", "x"]);
}

proptest! {
    #[test]
    fn random_text_does_not_cause_a_panic(text in "[01.,;\t \"\r\nabi-]{0,60}") {
        if let Ok(table) = text_table(&text) {
            let _ = encode(&table, &TableOptions::default());
        }
    }

    #[test]
    fn order_of_rows_and_columns_does_not_matter(
        rows in Just([0, 1, 2, 3]).prop_shuffle(),
        columns in Just([0, 1, 2, 3, 4]).prop_shuffle(),
    ) {
        let cells = [
            ["id", "age", "town", "when", "label"],
            ["a", "1", "red", "2020-01-01", "x"],
            ["b", "2", "blue", "", "y"],
            ["c", "", "", "2021-01-01", "x"],
            ["d", "4", "red", "2022-02-01", ""],
        ];
        let text = |rows: &[usize], columns: &[usize]| -> String {
            let row = |i: usize| columns.iter().map(|&j| cells[i][j]).collect::<Vec<_>>().join(",");
            let lines = std::iter::once(row(0)).chain(rows.iter().map(|&i| row(i + 1)));
            lines.collect::<Vec<_>>().join("\n")
        };
        let plain = encoded(&text(&[0, 1, 2, 3], &[0, 1, 2, 3, 4]));
        let shuffled = encoded(&text(&rows, &columns));
        prop_assert_eq!(&shuffled.class_names, &plain.class_names);
        prop_assert_eq!(shuffled.schema.feature_names(), plain.schema.feature_names());
        let (x, plain_x) = (shuffled.x.to_dense(), plain.x.to_dense());
        for (at, &i) in rows.iter().enumerate() {
            prop_assert_eq!(shuffled.y[at], plain.y[i]);
            prop_assert_eq!(x.row(at), plain_x.row(i));
        }
    }
}
