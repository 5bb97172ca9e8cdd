//! Tests that operations reject invalid operands.

use super::*;
use crate::tensor::{AttentionInputs, HeadLayout, Pattern, assert_panics};

fn identity_operator(n: usize) -> Operator {
    let pattern = Pattern::new(n, (0..=n).collect(), (0..n as u32).collect());
    Operator::new(Arc::new(pattern), vec![1.0; n])
}

type Operation<'a> = &'a dyn Fn(&mut Tape);

/// Asserts that every operation panics with a message that contains its text.
fn assert_rejected(tape: &Tape, operations: &[(&str, Operation<'_>)]) {
    for (expected, operation) in operations {
        assert_panics(&[(*expected, &|| operation(&mut tape.clone()))]);
    }
}

#[test]
fn values_of_another_tape_are_rejected() {
    let mut other = Tape::new();
    let theirs = other.features(Mat::zeros(2, 2));
    let their_p = other.operator(identity_operator(2));
    let mut t = Tape::new();
    let ours = t.features(Mat::zeros(2, 2));
    assert_rejected(
        &t,
        &[
            ("shape: a value of another tape", &|t| _ = t.shape(theirs)),
            ("name: a value of another tape", &|t| t.name("x", theirs)),
            ("zeros_like: a value of another tape", &|t| _ = t.zeros_like(theirs)),
            ("sum: a value of another tape", &|t| _ = t.sum([1.0 * theirs])),
            ("sum: a value of another tape", &|t| _ = t.sum([theirs.entry(0) * ours])),
            ("sum: a value of another tape", &|t| _ = t.sum([theirs.row(0) * ours])),
            ("operator_of: an operator of another tape", &|t| _ = t.operator_of(their_p)),
            ("sum: an operator of another tape", &|t| _ = t.sum([their_p.apply(ours)])),
            ("linear: a value of another tape", &|t| _ = t.linear(ours, theirs, None)),
            ("linear: a value of another tape", &|t| _ = t.linear(theirs, ours, None)),
            ("linear: a value of another tape", &|t| {
                _ = t.linear(FeatureVar::from(theirs), ours, None)
            }),
            ("linear: a value of another tape", &|t| _ = t.linear(ours, ours, Some(theirs))),
            ("relu: a value of another tape", &|t| _ = t.relu(theirs)),
            ("dropout: a value of another tape", &|t| _ = t.dropout(theirs, 0.0)),
            ("concat: a value of another tape", &|t| _ = t.concat(&[ours, theirs])),
            ("tanh: a value of another tape", &|t| _ = t.tanh(theirs)),
            ("max: a value of another tape", &|t| _ = t.max(ours, theirs)),
            ("scale_rows: a value of another tape", &|t| _ = t.scale_rows(ours, theirs, 0)),
            ("column_dots: a value of another tape", &|t| _ = t.column_dots(theirs, ours)),
            ("softmax: a value of another tape", &|t| _ = t.softmax(theirs)),
            ("layer_norm: a value of another tape", &|t| _ = t.layer_norm("ln", theirs, 1e-5, "g")),
            ("gelu: a value of another tape", &|t| _ = t.gelu(theirs)),
            ("batch_norm: a value of another tape", &|t| _ = t.batch_norm("bn", theirs, 1e-5, "g")),
        ],
    );
}

#[test]
fn invalid_operands_are_rejected() {
    let mut t = Tape::new();
    let x = t.features(Mat::zeros(3, 2));
    let row = t.constant(Mat::zeros(1, 2));
    t.param("w", 1, 2, Init::Zeros, "g");
    t.name("x", x);
    let p = t.operator(identity_operator(3));
    let small = t.operator(identity_operator(2));
    assert_rejected(
        &t,
        &[
            ("concat: no parts", &|t| _ = t.concat(&[])),
            ("concat: rows differ", &|t| _ = t.concat(&[x, row])),
            ("sum: no terms", &|t| _ = t.sum([])),
            ("sum: P of 3 nodes times a value of 1 rows", &|t| _ = t.sum([p.apply(row)])),
            ("sum: P of 3 nodes times a value of 1 rows", &|t| _ = t.sum([p.apply(row), 1.0 * x])),
            ("sum: P of 2 nodes times a value of 3 rows", &|t| _ = t.sum([small.apply(x)])),
            ("sum: a term of 1 rows in a sum of 3", &|t| _ = t.sum([2.0 * row, 1.0 * x])),
            ("sum: entry 2 of [1, 2]", &|t| _ = t.sum([row.entry(2) * x])),
            ("sum: row 1 of [1, 2]", &|t| _ = t.sum([row.row(1) * x])),
            ("dropout: rate 1", &|t| _ = t.dropout(x, 1.0)),
            ("dropout: rate NaN", &|t| _ = t.dropout(x, f64::NAN)),
            ("param: shape [0, 2]", &|t| _ = t.param("v", 0, 2, Init::Zeros, "g")),
            ("features: shape [3, 0]", &|t| _ = t.features(Mat::zeros(3, 0))),
            ("constant: shape [0, 4]", &|t| _ = t.constant(Mat::zeros(0, 4))),
            ("name: `w` given twice", &|t| t.name("w", row)),
            ("param: `w` declared twice", &|t| _ = t.param("w", 1, 2, Init::Zeros, "g")),
            ("param: `x` declared twice", &|t| _ = t.param("x", 1, 2, Init::Zeros, "g")),
        ],
    );
}

#[test]
fn sparse_features_stay_sparse_through_dropout() {
    let pattern = Pattern::new(3, vec![0, 1, 2], vec![0, 2]);
    let mut t = Tape::new();
    let x = t.sparse_features(Sparse::new(pattern, vec![1.0, 2.0]));
    let dropped = t.dropout(x, 0.5);
    let w = t.param("w", 3, 4, Init::Zeros, "g");
    let y = t.linear(dropped, w, None);
    assert_eq!((t.shape(dropped), t.shape(y)), ((2, 3), (2, 4)));
    assert!(matches!(t.nodes[y.node].op, Op::SparseLinear { matrix: 0, .. }));
}

#[test]
fn invalid_attention_is_rejected() {
    let mut t = Tape::new();
    let x = t.features(Mat::zeros(3, 4));
    let scores = t.features(Mat::zeros(3, 2));
    let others = t.features(Mat::zeros(3, 3));
    let many = t.features(Mat::zeros(3, 65));
    let row = t.constant(Mat::zeros(1, 2));
    let p = t.operator(identity_operator(3));
    let small = t.operator(identity_operator(2));
    let their_p = Tape::new().operator(identity_operator(3));
    let inputs = AttentionInputs {
        values: x,
        source: scores,
        destination: scores,
        layout: HeadLayout::Blocks,
        slope: 0.2,
        dropout: 0.0,
    };
    let with = |source, destination| AttentionInputs { source, destination, ..inputs };
    assert_rejected(
        &t,
        &[
            ("attention: an operator of another tape", &|t| _ = t.attention(their_p, inputs)),
            ("attention: 3 rows and 2 nodes", &|t| _ = t.attention(small, inputs)),
            ("attention: 1 rows of scores and 3 nodes", &|t| _ = t.attention(p, with(row, row))),
            ("scores differ in shape", &|t| _ = t.attention(p, with(scores, others))),
            ("attention: 65 heads; expected at most 64", &|t| _ = t.attention(p, with(many, many))),
            ("attention: 4 columns and 3 heads", &|t| _ = t.attention(p, with(others, others))),
            ("attention: dropout 1; expected", &|t| {
                _ = t.attention(p, AttentionInputs { dropout: 1.0, ..inputs });
            }),
        ],
    );
    // Interleaved heads fit any number of columns.
    let interleaved = AttentionInputs { layout: HeadLayout::Interleaved, ..with(others, others) };
    let y = t.attention(p, interleaved);
    assert_eq!((t.shape(y), t.reach(y)), ((3, 4), Some(1)));
}
