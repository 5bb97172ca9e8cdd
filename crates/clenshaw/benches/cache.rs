//! The first load of a graph, which parses its files, compared with the second, which maps the cache.
//!
//! ```text
//! CLENSHAW_DATA=... cargo bench -p clenshaw --bench cache
//! ```
//!
//! Twitch-Gamers is generated in the size and layout of the real one; the others are the public files,
//! if they are present.
//! Runs alternate, medians are printed, and the cache file is deleted before each first load.

mod common;

use clenshaw::data::{Store, load_from};
use common::{median, write_list, write_nodes};
use std::fs;
use std::path::Path;
use std::time::Instant;

const RUNS: usize = 7;
const PUBLIC: [&str; 3] = ["cornell5", "squirrel", "pubmed"];

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let twitch = folder.path().join("twitch-gamers");
    fs::create_dir(&twitch).expect("room for a folder");
    write_list(&twitch.join("large_twitch_edges.csv")).expect("room for the edges");
    write_nodes(&twitch.join("large_twitch_features.csv")).expect("room for the nodes");
    println!("graph          parsed   parsed, cached    mapped      cache file");
    print_medians(folder.path(), "twitch-gamers");
    let Some(data) = std::env::var_os("CLENSHAW_DATA") else {
        return println!("no public files: set CLENSHAW_DATA");
    };
    PUBLIC.iter().for_each(|name| print_medians(Path::new(&data), name));
}

fn print_medians(data: &Path, name: &str) {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let plain = Store::only(data);
    let caching = plain.clone().with_cache(Some(cache.path().into()));
    let parsed = caching.cache_folder().expect("it has a cache");
    let (mut fresh, mut first, mut second, mut bytes) = (vec![], vec![], vec![], 0);
    for _ in 0..RUNS {
        fresh.push(milliseconds(&plain, name));
        let _ = fs::remove_dir_all(parsed);
        first.push(milliseconds(&caching, name));
        second.push(milliseconds(&caching, name));
        let files = fs::read_dir(parsed).expect("the first load writes the cache");
        bytes =
            files.map(|file| file.and_then(|file| file.metadata()).map_or(0, |m| m.len())).sum();
    }
    let [fresh, first, second] = [fresh, first, second].map(|runs| median(runs.into_iter()));
    println!(
        "{name:<13} {fresh:7.1} ms    {first:7.1} ms    {second:6.1} ms   {:6.1} MB   {:.1} times as fast",
        bytes as f64 / 1e6,
        first / second
    );
}

fn milliseconds(store: &Store, name: &str) -> f64 {
    let start = Instant::now();
    let dataset = load_from(store, name).expect("the files are valid");
    let seconds = start.elapsed().as_secs_f64();
    assert!(dataset.graph.n_edges() > 0);
    1e3 * seconds
}
