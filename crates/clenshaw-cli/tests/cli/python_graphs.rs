//! Graphs that ship in PyPI packages, written by pandas, NetworkX and SciPy.
//!
//! `cargo xtask test` creates the Python environment and sets `CLENSHAW_PYTHON_GRAPHS` to its path.

use crate::common::{Sandbox, text};
use std::process::Command;

/// Runs a script in `tests/python`; its arguments are the program, an empty folder and `graphs`.
fn run_script(name: &str, graphs: &[&str]) -> String {
    let environment = std::env::var("CLENSHAW_PYTHON_GRAPHS");
    let environment = environment.expect("CLENSHAW_PYTHON_GRAPHS is set by `cargo xtask test`");
    let sandbox = Sandbox::new();
    let script = format!("{}/tests/python/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut python = Command::new(format!("{environment}/bin/python"));
    python.arg(script).arg(env!("CARGO_BIN_EXE_clenshaw")).arg(sandbox.path("")).args(graphs);
    let output = python.env("CLENSHAW_CACHE", "off").output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
#[ignore = "needs scikit-learn: cargo xtask test"]
fn default_training_is_as_good_as_regression_and_label_spreading() {
    println!("{}", run_script("own_graphs.py", &["iris", "karate", "davis"]));
}

#[test]
#[ignore = "needs scikit-learn: cargo xtask test"]
fn all_formats_written_by_pandas_networkx_and_scipy_give_the_same_graph() {
    assert_eq!(run_script("formats.py", &[]), "ok\n");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn default_training_is_as_good_as_regression_and_label_spreading_on_all_graphs() {
        println!("{}", run_script("own_graphs.py", &[]));
    }
}
