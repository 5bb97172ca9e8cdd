//! Layering: which module may depend on which, which code may print, and which may be unsafe.
//!
//! `ARCHITECTURE.md` gives the reasons. This test reads the sources and reports each violation with file
//! and line.

use crate::common::source::{Source, Token};
use std::path::Path;

/// Modules that every other module may use.
const SHARED: [&str; 5] = ["error", "files", "hyper", "memory", "parallel"];

/// Every module, and the modules it may use besides itself and the shared ones.
const MODULES: [(&str, &[&str]); 8] = [
    ("tensor", &[]),
    ("graph", &["tensor"]),
    ("filter", &["tensor"]),
    ("data", &["graph", "tensor"]),
    ("model", &["graph", "filter", "tensor"]),
    ("train", &["model", "data", "graph", "filter", "tensor"]),
    ("report", &["filter"]),
    // Its summaries are the statistics that `report` prints.
    ("experiment", &["train", "model", "data", "graph", "filter", "tensor", "report"]),
];

/// Parts of the standard library that `model` must not use: it reads no files, clocks or terminals.
const OUTSIDE: [&str; 6] = ["env", "fs", "io", "net", "process", "time"];

/// Code that may print and end the process.
const PROGRAMS: [&str; 2] = ["crates/clenshaw-cli/", "xtask/"];

/// Files that may map memory: files, and pages of zeros.
const MAPS: [&str; 2] =
    ["crates/clenshaw/src/tensor/shared_slice.rs", "crates/clenshaw/src/tensor/aligned_vec.rs"];

/// Code that may read the time of day: trials and records are dated.
const CLOCK: [&str; 2] =
    ["crates/clenshaw-tune/src/storage/clock.rs", "crates/clenshaw/src/experiment/"];

/// Where unsafe code is allowed: the kernels, and the two calls that map a graph file.
const UNSAFE: [&str; 2] = ["crates/clenshaw/src/tensor/", "crates/clenshaw/src/data/graph_file.rs"];

const PRINTING: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];
const GENERATORS: [&str; 6] =
    ["StdRng", "SmallRng", "OsRng", "thread_rng", "getrandom", "RandomState"];

/// Code that may use the operating system's random numbers, because they must not be reproducible.
const SECRETS: [&str; 1] = ["crates/clenshaw-cli/src/watch/token.rs"];

const LIBRARY: &str = "crates/clenshaw/src/";

/// All violations in a source: `file:line: what`.
fn violations(source: &Source) -> Vec<String> {
    let tokens = source.tokens();
    let mut found = Vec::new();
    if !source.text.starts_with("//!") {
        found.push((1, "a file must start with a `//!` doc".to_owned()));
    }
    if let Some(module) = module_of(&source.path) {
        found.extend(module_violations(module, &source.path, &tokens));
        if module == "model" {
            let used = names_under("std", &tokens);
            let outside = used.into_iter().filter(|(_, name)| OUTSIDE.contains(&name.as_str()));
            let what =
                |name| format!("`model` may not read files, clocks or terminals: std::{name}");
            found.extend(outside.map(|(line, name)| (line, what(name))));
        }
    }
    found.extend(forbidden_names(&source.path, &tokens));
    found.sort();
    found.into_iter().map(|(line, what)| format!("{}:{line}: {what}", source.path)).collect()
}

/// The top-level module that a file of the library belongs to; `lib.rs` belongs to none.
fn module_of(path: &str) -> Option<&str> {
    let relative = path.strip_prefix(LIBRARY)?;
    let module = relative.split('/').next().unwrap_or(relative);
    Some(module.trim_end_matches(".rs")).filter(|module| *module != "lib")
}

fn module_violations(module: &str, path: &str, tokens: &[Token]) -> Vec<(usize, String)> {
    let listed = MODULES.iter().find(|(name, _)| *name == module);
    let allowed = match listed {
        Some((_, allowed)) => *allowed,
        None if SHARED.contains(&module) => &[],
        None => return vec![(1, format!("`{module}` is not listed in tests/suite/layering.rs"))],
    };
    let is_module = |name: &str| MODULES.iter().any(|(other, _)| *other == name);
    let used = names_under("crate", tokens).into_iter().chain(names_above(depth(path), tokens));
    let permitted = |other: &String| other == module || allowed.contains(&other.as_str());
    used.filter(|(_, other)| is_module(other) && !permitted(other))
        .map(|(line, other)| {
            let allowed =
                if allowed.is_empty() { "shared modules only".into() } else { allowed.join(", ") };
            (line, format!("`{module}` may not use `{other}`; allowed: {allowed}"))
        })
        .collect()
}

fn forbidden_names(path: &str, tokens: &[Token]) -> Vec<(usize, String)> {
    let may = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    let next = |i: usize| tokens.get(i + 1).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    for (i, Token { line, text }) in tokens.iter().enumerate() {
        let name = text.as_str();
        if PRINTING.contains(&name) && next(i) == "!" && !may(&PROGRAMS) {
            found.push((*line, format!("only programs may print: {name}!")));
        }
        if name == "process" && next(i + 1) == "exit" && !may(&PROGRAMS) {
            found.push((*line, "only programs may exit: process::exit".into()));
        }
        if name == "unsafe" && !may(&UNSAFE) {
            found.push((
                *line,
                "only `tensor` and `data/graph_file.rs` may contain unsafe code".into(),
            ));
        }
        if name == "memmap2" && !may(&MAPS) {
            found.push((*line, format!("only {} may map memory", MAPS.join(", "))));
        }
        if GENERATORS.contains(&name) && !may(&SECRETS) {
            found.push((*line, format!("random numbers come from `rng::Stream`, not {name}")));
        }
        if name == "SystemTime" && next(i + 1) == "now" && !may(&CLOCK) {
            found.push((*line, format!("only {} may read the clock", CLOCK.join(", "))));
        }
    }
    found
}

/// The names right under `root::`, whether written `root::name` or `root::{name, other::..}`.
fn names_under(root: &str, tokens: &[Token]) -> Vec<(usize, String)> {
    let starts = |pair: &[Token]| pair[0].text == root && pair[1].text == "::";
    let paths = tokens.windows(2).enumerate().filter(|(_, pair)| starts(pair));
    paths.flat_map(|(i, _)| first_names(&tokens[i + 2..])).collect()
}

/// The names that `depth` times `super::` leads to: those of the crate's root.
fn names_above(depth: usize, tokens: &[Token]) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let (mut above, mut i) = (0, 0);
    while i + 1 < tokens.len() {
        if tokens[i].text == "super" && tokens[i + 1].text == "::" {
            (above, i) = (above + 1, i + 2);
            continue;
        }
        if above == depth {
            names.extend(first_names(&tokens[i..]));
        }
        (above, i) = (0, i + 1);
    }
    names
}

/// `a` of `a::b`; `a` and `c` of `{a::b, c::{d, e}}`.
fn first_names(tokens: &[Token]) -> Vec<(usize, String)> {
    let named = |token: &Token| (token.line, token.text.clone());
    if tokens.first().is_none_or(|token| token.text != "{") {
        return tokens.first().map(named).into_iter().collect();
    }
    let (mut depth, mut names) = (0, Vec::new());
    for (i, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth == 1 && matches!(tokens[i - 1].text.as_str(), "{" | ",") => {
                names.push(named(token));
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// How many modules a file is below the crate's root: 1 for `graph/mod.rs`, 2 for `graph/operator.rs`.
fn depth(path: &str) -> usize {
    let relative = path.strip_prefix(LIBRARY).unwrap_or(path);
    relative.trim_end_matches("/mod.rs").split('/').count()
}

#[test]
fn sources_follow_the_layering() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels up");
    let crates = std::fs::read_dir(root.join("crates")).expect("the crates");
    let folders = crates.map(|entry| entry.unwrap().path().join("src"));
    let folders = folders.chain([root.join("xtask/src")]).filter(|folder| folder.is_dir());
    let mut sources: Vec<Source> =
        folders.flat_map(|folder| Source::read_all(root, &folder)).collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    for (module, _) in MODULES {
        let exists = sources.iter().any(|s| module_of(&s.path) == Some(module));
        assert!(exists, "there is no module `{module}`");
    }
    let found: Vec<String> = sources.iter().flat_map(violations).collect();
    assert!(found.is_empty(), "layering violations:\n{}", found.join("\n"));
}

/// The violations in a made-up file.
fn check(path: &str, text: &str) -> Vec<String> {
    violations(&Source { path: path.into(), text: text.into() })
}

#[test]
fn violations_are_reported_with_file_and_line() {
    let found = check(
        "crates/clenshaw/src/graph/offender.rs",
        "//! Doc.\n\nuse crate::model::Net;\nfn f() { println!(\"x\") }\n",
    );
    assert_eq!(
        found,
        [
            "crates/clenshaw/src/graph/offender.rs:3: `graph` may not use `model`; allowed: tensor",
            "crates/clenshaw/src/graph/offender.rs:4: only programs may print: println!",
        ]
    );
}

#[test]
fn detects_every_kind_of_violation() {
    let (graph, model) = ("crates/clenshaw/src/graph/x.rs", "crates/clenshaw/src/model/x.rs");
    let report = "crates/clenshaw/src/report/x.rs";
    let cases = [
        (
            graph,
            "use crate::{\n    tensor::{Mat, data},\n    train::fit,\n};",
            "4: `graph` may not",
        ),
        (graph, "fn f() -> crate::data::Dataset { loop {} }", "may not use `data`"),
        (graph, "use super::super::filter::Filter;", "may not use `filter`"),
        ("crates/clenshaw/src/graph/mod.rs", "use super::{tensor::Mat, report};", "use `report`"),
        ("crates/clenshaw/src/hyper.rs", "use crate::tensor::Mat;", "`hyper` may not use `tensor`"),
        (report, "use crate::experiment::Record;", "`report` may not use `experiment`"),
        ("crates/clenshaw/src/other/mod.rs", "", "`other` is not listed"),
        (model, "use std::fs;", "std::fs"),
        (model, "use std::{collections::BTreeMap, time::Instant};", "std::time"),
        (report, "fn f() { std::process::exit(1) }", "process::exit"),
        (model, "fn f() { let s = \"\\\"\"; eprint!(\"{s}\") }", "eprint!"),
        (graph, "fn f() { unsafe { g() } }", "unsafe"),
        ("crates/clenshaw-cli/src/x.rs", "unsafe fn f() {}", "unsafe"),
        (
            "crates/clenshaw/src/tensor/mat.rs",
            "use memmap2::Mmap;",
            "aligned_vec.rs may map memory",
        ),
        (graph, "use rand::rngs::StdRng;", "StdRng"),
        (report, "fn f() { std::time::SystemTime::now(); }", "may read the clock"),
        (
            graph,
            "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nuse crate::data::Split;",
            "6: `graph`",
        ),
    ];
    for (path, text, expected) in cases {
        let found = check(path, &format!("//! Doc.\n{text}\n"));
        assert!(found.len() == 1 && found[0].contains(expected), "{path}: {found:?} for\n{text}");
    }
    assert_eq!(check("crates/clenshaw/src/lib.rs", "mod x;\n").len(), 1, "a file without a doc");
}

#[test]
fn ignores_comments_literals_and_tests() {
    let valid = r##"//! Uses crate::model, println! and unsafe in prose.

use crate::error::Error;
use crate::{graph, tensor::{Mat, model}};
use super::model;
/* unsafe */
fn f<'a>(unsafe_looking: &'a str) -> char {
    let said = "println!(crate::data::X)";
    let raw = r#"say "unsafe" twice"#;
    '"'
}
// crate::data::Dataset
#[cfg(test)]
mod tests {
    use crate::data::Dataset;
    fn show() { println!("{}", '{'); }
}
"##;
    let none: Vec<String> = vec![];
    assert_eq!(check("crates/clenshaw/src/graph/x.rs", valid), none);
    let program = "//! Doc.\nfn main() { println!(\"x\"); std::process::exit(2) }\n";
    assert_eq!(check("crates/clenshaw-cli/src/main.rs", program), none);
}
