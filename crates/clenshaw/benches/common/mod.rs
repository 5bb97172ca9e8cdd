//! Shared by benches: medians, peak memory, and a graph of the size and layout of Twitch-Gamers, whose
//! 168,114 nodes have a skewed degree distribution.
#![allow(dead_code, reason = "each bench uses a part of it")]

use clenshaw::rng::Stream;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

pub const N_NODES: usize = 168_114;
pub const N_EDGES: usize = 6_797_557;

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The peak memory of this process; NaN where the system does not report it.
pub fn peak_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| 1024.0 * kilobytes)
}

/// Writes an edge list whose degrees follow a power of the rank, without loops.
pub fn write_list(path: &Path) -> std::io::Result<()> {
    let mut stream = Stream::new(0, "bench");
    let mut ids: Vec<usize> = (0..N_NODES).collect();
    stream.shuffle(&mut ids);
    let mut end = |power| ids[(N_NODES as f64 * stream.unit().powi(power)) as usize];
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "numeric_id_1,numeric_id_2")?;
    let mut left = N_EDGES;
    while left > 0 {
        let (u, v) = (end(3), end(2));
        if u != v {
            writeln!(file, "{u},{v}")?;
            left -= 1;
        }
    }
    file.flush()
}

/// Writes a line per node, in the layout of `large_twitch_features.csv`.
pub fn write_nodes(path: &Path) -> std::io::Result<()> {
    let mut stream = Stream::new(1, "bench");
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(
        file,
        "views,mature,life_time,created_at,updated_at,numeric_id,dead_account,language,affiliate"
    )?;
    for node in 0..N_NODES {
        let mut below = |n: f64| (n * stream.unit()) as usize;
        let (views, mature, days) = (below(1e5), below(2.0), below(3000.0));
        let (month, day, affiliate) = (1 + below(12.0), 1 + below(28.0), below(2.0));
        let language = ["EN", "DE", "FR", "ES"][below(4.0)];
        writeln!(
            file,
            "{views},{mature},{days},2015-{month:02}-{day:02},2018-10-05,{node},0,{language},{affiliate}"
        )?;
    }
    file.flush()
}
