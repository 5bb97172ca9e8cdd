//! The cost of a training step as the graph grows: more nodes of degree ten, then more edges only.
//!
//! ```text
//! cargo bench -p clenshaw --bench growth -- [FOLDER]
//! ```
//!
//! ClenshawGCN of order 4 and width 64 on `csbm`, with two threads.
//! Every size is measured in a separate process, which prints its edges, the median and the fastest of
//! its steps, the plan's workspace, and how far its memory rose above that at its start, including the
//! generation of the graph.
//! `x` is the ratio to the previous line, whose graph is half as large.
//! With a folder, relative to the repository's root, `growth.txt` and `growth.svg` are written there.

mod common;

use clenshaw::data::{self, SplitKind};
use clenshaw::model;
use clenshaw::report::{LineChart, LineSeries, Scale, Table};
use clenshaw::rng::Stream;
use clenshaw::tensor::ThreadTeam;
use clenshaw::train::{Setup, optimiser};
use common::{median, peak_bytes};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The argument that makes this program measure one size.
const ONCE: &str = "--once";
const THREADS: usize = 2;
/// The time for which steps are measured, and the range of their number.
const SECONDS: f64 = 2.0;
const STEPS: std::ops::Range<usize> = 7..1000;

/// `(nodes, degree)`: 61 to a million nodes, ten neighbours each; every size twice the one before.
fn more_nodes() -> Vec<(usize, f64)> {
    (0..15).rev().map(|k| ((1e6 / f64::from(1 << k)).round() as usize, 10.0)).collect()
}

/// A hundred thousand nodes, 1.6 to 200 neighbours each.
fn more_edges() -> Vec<(usize, f64)> {
    (0..8).rev().map(|k| (100_000, 200.0 / f64::from(1 << k))).collect()
}

/// The measurements of one process.
#[derive(Clone, Copy)]
struct StepCost {
    n_edges: f64,
    median: f64,
    fastest: f64,
    workspace: f64,
    memory: f64,
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [ONCE, graph] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return once(graph);
    }
    let mut report = String::from("$ cargo bench -p clenshaw --bench growth\n");
    let mut lines = vec![];
    let all = [("nodes grow", more_nodes()), ("edges grow", more_edges())];
    for (name, sizes) in all {
        let costs: Vec<StepCost> = sizes.iter().map(|&size| measure(size)).collect();
        let page = format!("\n{name}\n\n{}", table(&sizes, &costs).to_text());
        print!("{page}");
        report += &page;
        let over_edges =
            |f: fn(&StepCost) -> f64| costs.iter().map(|c| (c.n_edges, f(c))).collect();
        let time =
            LineSeries { name: format!("ms, {name}"), points: over_edges(|c| 1e3 * c.median) };
        let memory =
            LineSeries { name: format!("MB, {name}"), points: over_edges(|c| c.memory / 1e6) };
        lines.extend([time, memory]);
    }
    if let Some(folder) = arguments.first() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        fs::create_dir_all(&folder).expect("room for a folder");
        fs::write(folder.join("growth.txt"), report).expect("room for the table");
        fs::write(folder.join("growth.svg"), figure(lines).to_svg()).expect("room for the plot");
    }
}

fn table(sizes: &[(usize, f64)], costs: &[StepCost]) -> Table {
    let mut table = Table::new([
        "nodes",
        "edges",
        "ms",
        "fastest",
        "x",
        "ns/edge",
        "workspace MB",
        "x",
        "memory MB",
        "x",
    ]);
    for (i, (&(n_nodes, _), cost)) in sizes.iter().zip(costs).enumerate() {
        let ratio = |f: fn(&StepCost) -> f64| match i {
            0 => "-".to_owned(),
            _ => format!("{:.2}", f(cost) / f(&costs[i - 1])),
        };
        table.add_row([
            n_nodes.to_string(),
            cost.n_edges.to_string(),
            format!("{:.3}", 1e3 * cost.median),
            format!("{:.3}", 1e3 * cost.fastest),
            ratio(|cost| cost.median),
            format!("{:.1}", 1e9 * cost.median / cost.n_edges),
            format!("{:.2}", cost.workspace / 1e6),
            ratio(|cost| cost.workspace),
            format!("{:.2}", cost.memory / 1e6),
            ratio(|cost| cost.memory),
        ]);
    }
    table
}

/// All lines, and a line of slope 1 through the end of the first.
fn figure(mut series: Vec<LineSeries>) -> LineChart {
    let (edges, y) = series[0].points.last().copied().expect("the first line has points");
    let proportional = [1e3, edges].map(|x| (x, y * x / edges)).to_vec();
    series.push(LineSeries { name: "proportional".into(), points: proportional });
    LineChart {
        title: "A training step of ClenshawGCN as the graph grows".into(),
        x_label: "edges".into(),
        y_label: "ms per step, MB of memory".into(),
        x_scale: Scale::Log10,
        y_scale: Scale::Log10,
        series,
        ..LineChart::default()
    }
}

fn measure((n_nodes, degree): (usize, f64)) -> StepCost {
    let graph = format!("csbm:nodes={n_nodes},degree={degree},features=8");
    let this = std::env::current_exe().expect("this program has a path");
    let output = Command::new(this).args([ONCE, &graph]).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [n_edges, median, fastest, workspace, memory] => {
            StepCost { n_edges, median, fastest, workspace, memory }
        }
        _ => panic!("{graph}: {text}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Measures one size and prints it in the format that [`measure`] parses.
fn once(graph: &str) {
    let before = peak_bytes();
    let graph = data::load(graph).expect("the generator takes these settings");
    let info = model::find("clenshaw-gcn").expect("the model exists");
    let mut hp = info.defaults();
    for (key, value) in [("K", "4"), ("hidden", "64")] {
        hp.set(key, value).expect("the model has this setting");
    }
    let split = SplitKind::Balanced.draw(&graph, 0).expect("every node has a class");
    let setup = Setup::new(graph, info, hp).expect("the generated graph is consistent");
    let targets = setup.targets(&split).expect("the split is of this graph");
    let plan = setup.plan();
    let mut work = plan.workspace(ThreadTeam::new(THREADS));
    let mut params = setup.initial(0);
    let mut optimiser = optimiser(plan, info, setup.hp());
    let chance = Stream::new(0, "dropout");
    let mut step = |i: usize| {
        let start = Instant::now();
        plan.gradient(&mut work, &params, &targets, &chance.numbered(i as u64));
        optimiser.step(&mut params, work.gradients());
        start.elapsed().as_secs_f64()
    };
    // The first step touches the memory for the first time.
    let warm = step(0).min(step(1));
    let n_steps = ((SECONDS / warm) as usize).clamp(STEPS.start, STEPS.end);
    let times: Vec<f64> = (2..n_steps + 2).map(step).collect();
    let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let (middle, edges) = (median(times.into_iter()), setup.dataset().graph.n_edges());
    println!("{edges} {middle} {fastest} {} {}", plan.workspace_bytes(), peak_bytes() - before);
}
