//! Experiments that train: models on graphs, with progress, a budget, and an end at any time.

use crate::progress::Progress;
use crate::reproduce::Reproduce;
use crate::{interrupt, output};
use clenshaw::experiment::{self, Contest, Event, ExperimentInfo, Only, Options, Order, Planned};
use clenshaw::report::{Scores, svg_plot};
use clenshaw::{Error, Result};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ON_INTERRUPT: &str = "finishing up; run again to go on (Ctrl-C once more stops at once)";

/// What `--json` prints and NAME.json holds.
#[derive(Serialize)]
struct Document<'a> {
    experiment: &'static str,
    version: &'static str,
    #[serde(flatten)]
    table: &'a Scores,
}

/// Trains what is not trained yet, then prints and keeps the table.
pub fn run(asked: &Reproduce, info: &ExperimentInfo, text: &str, only: &Only) -> Result<()> {
    let contest = Contest::from_toml(&info.place(), text)?;
    let folder = asked.out.as_deref().unwrap_or(Path::new("reproduce"));
    let planned = contest.plan(only, asked.runs, &folder.join("runs"))?;
    let results = train(asked, info.name, &planned);
    let table = contest.table(&planned, &results)?;
    let (experiment, version) = (info.name, env!("CARGO_PKG_VERSION"));
    let document = Document { experiment, version, table: &table };

    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let file = |ending: &str| folder.join(format!("{experiment}{ending}"));
    output::save(&file(".md"), &markdown(asked, &document))?;
    output::save(&file(".json"), &output::json(&document))?;
    output::save(&file(".receipts.jsonl"), &contest.receipts(&planned)?)?;
    if let Some(bars) = contest.bars(&table) {
        output::save(&file(".svg"), &bars.to_svg())?;
    }
    for (name, figure) in contest.over_depth(&table) {
        output::save(&file(&format!("-{name}.svg")), &svg_plot(&figure))?;
    }
    match asked.json {
        true => output::print_json(&document)?,
        false => output::print(&page(&table, folder))?,
    }
    let fatal = |error: &Error| !matches!(error, Error::Absent { .. } | Error::Interrupted);
    results.into_iter().filter_map(Result::err).find(fatal).map_or(Ok(()), Err)
}

fn train(
    asked: &Reproduce,
    name: &'static str,
    planned: &[Planned],
) -> Vec<Result<experiment::Summary>> {
    let orders: Vec<Order> = planned.iter().map(|planned| planned.order.clone()).collect();
    let progress = if asked.quiet { Progress::silent() } else { Progress::on_stderr() };
    let followers = progress.follow_all(name, &orders);
    let watch = |order: usize, event: Event<'_>| followers.see(order, &event);
    let cancel = interrupt::flag(&progress, ON_INTERRUPT);
    if let Some(budget) = asked.budget {
        stop_after(budget, &cancel);
    }
    let options = Options {
        threads: asked.threads.count(),
        store: &asked.data.store(),
        resume: true,
        watch: &watch,
        cancel: &cancel,
    };
    let results = experiment::run_all(&orders, &options);
    followers.finish();
    results
}

/// Sets a flag when the time is over; the program does not wait for it.
fn stop_after(budget: Duration, flag: &Arc<AtomicBool>) {
    // No time at all means that nothing is begun; a thread could come too late for that.
    flag.store(budget.is_zero(), Ordering::Relaxed);
    let flag = Arc::clone(flag);
    std::thread::spawn(move || {
        std::thread::sleep(budget);
        flag.store(true, Ordering::Relaxed);
    });
}

fn markdown(asked: &Reproduce, document: &Document) -> String {
    let Document { experiment, version, table } = document;
    let only = asked.only.as_ref().map_or(String::new(), |only| format!(" --only {only}"));
    let runs = asked.runs.map_or(String::new(), |runs| format!(" --runs {runs}"));
    format!(
        "{}\nMade by `clenshaw reproduce {experiment}{only}{runs}`, version {version}; \
         {experiment}.receipts.jsonl has settings, data, machine and runs of every cell.\n",
        table.to_markdown()
    )
}

fn page(table: &Scores, folder: &Path) -> String {
    let unfinished = table.cells.iter().filter(|cell| cell.missing.as_deref() == Some("not run"));
    let mut page = table.to_text();
    match unfinished.count() {
        0 => {}
        n => page += &format!("Cells without a run: {n}; the same command goes on.\n"),
    }
    page + &format!("table, receipts and run folders in {}\n", folder.display())
}
