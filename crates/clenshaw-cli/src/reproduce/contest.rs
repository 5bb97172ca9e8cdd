//! Experiments that train models on graphs: progress, a budget, and an end at any time.

use super::{Reproduce, draw};
use crate::output;
use crate::progress::Progress;
use clenshaw::experiment::{
    Contest, Event, ExperimentInfo, Only, Options, Order, Planned, Summary, run_all,
};
use clenshaw::report::{Scores, svg_plot};
use clenshaw::{Error, Result};
use serde::Serialize;
use std::path::Path;

/// What `--json` prints and NAME.json holds.
#[derive(Serialize)]
struct Document<'a> {
    experiment: &'static str,
    version: &'static str,
    #[serde(flatten)]
    table: &'a Scores,
}

impl Reproduce {
    /// Trains what is not trained yet, then prints and keeps the table.
    pub(super) fn compete(
        &self,
        info: &'static ExperimentInfo,
        contest: &Contest,
        only: &Only,
    ) -> Result<()> {
        let folder = self.folder();
        let planned = contest.plan(only, self.runs, &folder.join("runs"))?;
        let results = self.train(info.name, &planned);
        let table = contest.table(&planned, &results)?;
        let (experiment, version) = (info.name, env!("CARGO_PKG_VERSION"));
        let document = Document { experiment, version, table: &table };

        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let file = |ending: &str| folder.join(format!("{experiment}.{ending}"));
        let receipts = format!(
            "{experiment}.receipts.jsonl has settings, data, machine and runs of every cell.\n"
        );
        let markdown = table.to_markdown() + "\n" + &self.markdown_end(experiment, &[]) + &receipts;
        output::save(&file("md"), &markdown)?;
        output::save(&file("json"), &output::json(&document))?;
        output::save(&file("receipts.jsonl"), &contest.receipts(&planned)?)?;
        let bars = contest.bars(&table).map(|bars| (experiment.to_owned(), bars.to_svg()));
        let lines = contest.over_depth(&table).into_iter();
        let lines = lines.map(|(name, lines)| (format!("{experiment}-{name}"), svg_plot(&lines)));
        draw(&folder.join("figures"), bars.into_iter().chain(lines))?;
        match self.json {
            true => output::print_json(&document)?,
            false => output::print(&page(&table, folder))?,
        }
        let fatal = |error: &Error| !matches!(error, Error::Absent { .. } | Error::Interrupted);
        results.into_iter().filter_map(Result::err).find(fatal).map_or(Ok(()), Err)
    }

    fn train(&self, name: &'static str, planned: &[Planned]) -> Vec<Result<Summary>> {
        let orders: Vec<Order> = planned.iter().map(|planned| planned.order.clone()).collect();
        let progress = if self.quiet { Progress::silent() } else { Progress::on_stderr() };
        let followers = progress.follow_all(name, &orders);
        let watch = |order: usize, event: Event<'_>| followers.see(order, &event);
        let cancel = self.cancel(&progress);
        let options = Options {
            threads: self.threads.count(),
            store: &self.data.store(),
            resume: true,
            watch: &watch,
            cancel: &cancel,
        };
        let results = run_all(&orders, &options);
        followers.finish();
        results
    }
}

fn page(table: &Scores, folder: &Path) -> String {
    let unfinished = table.cells.iter().filter(|cell| cell.missing.as_deref() == Some("not run"));
    let mut page = table.to_text();
    match unfinished.count() {
        0 => {}
        n => page += &format!("Cells without a run: {n}; the same command goes on.\n"),
    }
    page + &format!("written to {}\n", folder.display())
}
