//! The doors of the house: which room may use which, who prints, who may be unsafe.
//!
//! `ARCHITECTURE.md` says why; this reads the sources and names file, line and the door broken.

use crate::common;

use common::source::{Source, Word};
use std::path::Path;

/// The hall: shared vocabulary, open to every room.
const HALL: [&str; 3] = ["error", "rng", "hyper"];

/// Every room, and the rooms it may use besides itself and the hall.
const ROOMS: [(&str, &[&str]); 10] = [
    // Receipts are dated, and so are the trials of studies; nobody else has a day.
    ("calendar", &[]),
    ("tensor", &[]),
    ("graph", &["tensor"]),
    ("filter", &["tensor"]),
    ("data", &["graph", "tensor"]),
    ("model", &["graph", "filter", "tensor"]),
    ("train", &["model", "data", "graph", "filter", "tensor"]),
    ("tune", &["calendar"]),
    ("report", &["filter"]),
    // Its summaries are the statistics that `report` prints.
    (
        "experiment",
        &["train", "tune", "model", "data", "graph", "filter", "tensor", "report", "calendar"],
    ),
];

/// Parts of the standard library that `model` does without: it reads no files, clocks or terminals.
const OUTSIDE: [&str; 6] = ["env", "fs", "io", "net", "process", "time"];

/// Who may print and end the process.
const SPEAKERS: [&str; 2] = ["crates/clenshaw-cli/", "xtask/"];

/// Who may ask for pages: of files, by one unsafe line whose reason stands beside it, and of zeros.
const MAPS: [&str; 2] =
    ["crates/clenshaw/src/tensor/slab.rs", "crates/clenshaw/src/tensor/lines.rs"];

/// Who may tell the time of day.
const CALENDAR: &str = "crates/clenshaw/src/calendar.rs";

const PRINTING: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];
const CHANCE: [&str; 6] = ["StdRng", "SmallRng", "OsRng", "thread_rng", "getrandom", "RandomState"];

const LIBRARY: &str = "crates/clenshaw/src/";

/// Every door that a source breaks: `file:line: what`.
fn broken_doors(source: &Source) -> Vec<String> {
    let words = source.words();
    let mut broken = Vec::new();
    if !source.text.starts_with("//!") {
        broken.push((1, "a file starts with its `//!` doc".to_owned()));
    }
    if let Some(room) = room_of(&source.path) {
        broken.extend(between_rooms(room, &source.path, &words));
        if room == "model" {
            let used = names_under("std", &words);
            let outside = used.into_iter().filter(|(_, name)| OUTSIDE.contains(&name.as_str()));
            let what = |name| format!("`model` reads no files, clocks or terminals: std::{name}");
            broken.extend(outside.map(|(line, name)| (line, what(name))));
        }
    }
    broken.extend(words_out_of_place(&source.path, &words));
    broken.sort();
    broken.into_iter().map(|(line, what)| format!("{}:{line}: {what}", source.path)).collect()
}

/// The room a file of the library stands in; the hall's files are rooms of their own, `lib.rs` none.
fn room_of(path: &str) -> Option<&str> {
    let within = path.strip_prefix(LIBRARY)?;
    let room = within.split('/').next().unwrap_or(within);
    Some(room.trim_end_matches(".rs")).filter(|room| *room != "lib")
}

fn between_rooms(room: &str, path: &str, words: &[Word]) -> Vec<(usize, String)> {
    let doors = ROOMS.iter().find(|(name, _)| *name == room).map(|(_, doors)| *doors);
    let doors = match doors {
        Some(doors) => doors,
        None if HALL.contains(&room) => &[],
        None => {
            return vec![(1, format!("`{room}` has no doors; list it in tests/suite/layering.rs"))];
        }
    };
    let is_room = |name: &str| ROOMS.iter().any(|(other, _)| *other == name);
    let used = names_under("crate", words).into_iter().chain(names_above(depth(path), words));
    used.filter(|(_, other)| is_room(other) && other != room && !doors.contains(&other.as_str()))
        .map(|(line, other)| {
            let open = if doors.is_empty() { "the hall only".into() } else { doors.join(", ") };
            (line, format!("`{room}` may not use `{other}`; its doors: {open}"))
        })
        .collect()
}

fn words_out_of_place(path: &str, words: &[Word]) -> Vec<(usize, String)> {
    let may = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    let next = |i: usize| words.get(i + 1).map_or("", |word| word.text.as_str());
    let mut broken = Vec::new();
    for (i, Word { line, text }) in words.iter().enumerate() {
        let name = text.as_str();
        if PRINTING.contains(&name) && next(i) == "!" && !may(&SPEAKERS) {
            broken.push((*line, format!("only the program prints, not the library: {name}!")));
        }
        if name == "process" && next(i + 1) == "exit" && !may(&SPEAKERS) {
            broken.push((*line, "only the program ends itself: process::exit".into()));
        }
        if name == "unsafe" && !path.starts_with("crates/clenshaw/src/tensor/") {
            broken.push((*line, "unsafe code stays in `tensor`".into()));
        }
        if name == "memmap2" && !may(&MAPS) {
            broken.push((*line, format!("only {} ask for pages", MAPS.join(", "))));
        }
        if CHANCE.contains(&name) {
            broken.push((*line, format!("chance comes from `rng::Stream` alone, not {name}")));
        }
        if name == "SystemTime" && next(i + 1) == "now" && path != CALENDAR {
            broken.push((*line, format!("only {CALENDAR} tells the time of day")));
        }
    }
    broken
}

/// The names right under `root::`, whether written `root::name` or `root::{name, other::..}`.
fn names_under(root: &str, words: &[Word]) -> Vec<(usize, String)> {
    let starts = |pair: &[Word]| pair[0].text == root && pair[1].text == "::";
    let paths = words.windows(2).enumerate().filter(|(_, pair)| starts(pair));
    paths.flat_map(|(i, _)| first_names(&words[i + 2..])).collect()
}

/// The names that `depth` times `super::` leads to: those of the crate's root.
fn names_above(depth: usize, words: &[Word]) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let (mut above, mut i) = (0, 0);
    while i + 1 < words.len() {
        if words[i].text == "super" && words[i + 1].text == "::" {
            (above, i) = (above + 1, i + 2);
            continue;
        }
        if above == depth {
            names.extend(first_names(&words[i..]));
        }
        (above, i) = (0, i + 1);
    }
    names
}

/// `a` of `a::b`; `a` and `c` of `{a::b, c::{d, e}}`.
fn first_names(words: &[Word]) -> Vec<(usize, String)> {
    let named = |word: &Word| (word.line, word.text.clone());
    if words.first().is_none_or(|word| word.text != "{") {
        return words.first().map(named).into_iter().collect();
    }
    let (mut depth, mut names) = (0, Vec::new());
    for (i, word) in words.iter().enumerate() {
        match word.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth == 1 && matches!(words[i - 1].text.as_str(), "{" | ",") => {
                names.push(named(word));
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// How many modules a file stands below the root: 1 for `graph/mod.rs`, 2 for `graph/operator.rs`.
fn depth(path: &str) -> usize {
    let within = path.strip_prefix(LIBRARY).unwrap_or(path);
    within.trim_end_matches("/mod.rs").split('/').count()
}

#[test]
fn every_door_is_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels up");
    let crates = std::fs::read_dir(root.join("crates")).expect("the crates");
    let folders = crates.map(|entry| entry.unwrap().path().join("src"));
    let folders = folders.chain([root.join("xtask/src")]).filter(|folder| folder.is_dir());
    let mut sources: Vec<Source> =
        folders.flat_map(|folder| Source::below(root, &folder)).collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    for (room, _) in ROOMS {
        assert!(sources.iter().any(|s| room_of(&s.path) == Some(room)), "no room `{room}`");
    }
    let broken: Vec<String> = sources.iter().flat_map(broken_doors).collect();
    assert!(broken.is_empty(), "doors broken:\n{}", broken.join("\n"));
}

/// What is said about a made-up file of the library.
fn said(path: &str, text: &str) -> Vec<String> {
    broken_doors(&Source { path: path.into(), text: text.into() })
}

#[test]
fn an_offender_is_named_with_its_line() {
    let told = said(
        "crates/clenshaw/src/graph/offender.rs",
        "//! Doc.\n\nuse crate::model::Net;\nfn f() { println!(\"x\") }\n",
    );
    assert_eq!(
        told,
        [
            "crates/clenshaw/src/graph/offender.rs:3: `graph` may not use `model`; its doors: tensor",
            "crates/clenshaw/src/graph/offender.rs:4: only the program prints, not the library: println!",
        ]
    );
}

#[test]
fn every_way_of_breaking_a_door_is_caught() {
    let (graph, model) = ("crates/clenshaw/src/graph/x.rs", "crates/clenshaw/src/model/x.rs");
    let report = "crates/clenshaw/src/report/x.rs";
    let offences = [
        (
            graph,
            "use crate::{\n    tensor::{Mat, data},\n    train::fit,\n};",
            "4: `graph` may not",
        ),
        (graph, "fn f() -> crate::data::Dataset { loop {} }", "may not use `data`"),
        (graph, "use super::super::filter::Filter;", "may not use `filter`"),
        ("crates/clenshaw/src/graph/mod.rs", "use super::{tensor::Mat, report};", "use `report`"),
        ("crates/clenshaw/src/rng.rs", "use crate::tensor::Mat;", "`rng` may not use `tensor`"),
        (report, "use crate::experiment::Record;", "`report` may not use `experiment`"),
        (model, "use crate::calendar;", "`model` may not use `calendar`"),
        ("crates/clenshaw/src/cellar/mod.rs", "", "`cellar` has no doors"),
        (model, "use std::fs;", "std::fs"),
        (model, "use std::{collections::BTreeMap, time::Instant};", "std::time"),
        (report, "fn f() { std::process::exit(1) }", "process::exit"),
        (model, "fn f() { let s = \"\\\"\"; eprint!(\"{s}\") }", "eprint!"),
        (graph, "fn f() { unsafe { g() } }", "unsafe"),
        ("crates/clenshaw-cli/src/x.rs", "unsafe fn f() {}", "unsafe"),
        ("crates/clenshaw/src/tensor/mat.rs", "use memmap2::Mmap;", "lines.rs ask for pages"),
        (graph, "use rand::rngs::StdRng;", "StdRng"),
        (report, "fn f() { std::time::SystemTime::now(); }", "time of day"),
        (
            graph,
            "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nuse crate::data::Split;",
            "6: `graph`",
        ),
    ];
    for (path, text, expected) in offences {
        let told = said(path, &format!("//! Doc.\n{text}\n"));
        assert!(told.len() == 1 && told[0].contains(expected), "{path}: {told:?} about\n{text}");
    }
    assert_eq!(said("crates/clenshaw/src/lib.rs", "mod x;\n").len(), 1, "a file without a doc");
}

#[test]
fn what_only_looks_like_an_offence_is_let_be() {
    let innocent = r##"//! Uses crate::model, println! and unsafe in prose.

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
    assert_eq!(said("crates/clenshaw/src/graph/x.rs", innocent), none);
    let program = "//! Doc.\nfn main() { println!(\"x\"); std::process::exit(2) }\n";
    assert_eq!(said("crates/clenshaw-cli/src/main.rs", program), none);
}
