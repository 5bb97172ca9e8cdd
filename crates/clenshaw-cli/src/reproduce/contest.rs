//! Experiments that train models on graphs: progress, a budget, and an end at any time.

use super::{Reproduce, draw};
use crate::output;
use crate::progress::Progress;
use clenshaw::experiment::{
    Contest, Event, ExperimentInfo, Only, Options, Order, Receipts, Summary, run_all,
};
use clenshaw::report::{Scores, image_line, svg_plot};
use clenshaw::{Error, Result};
use serde::Serialize;

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
        let mut planned = contest.plan(only, self.runs, &folder.join("runs"))?;
        let file = |ending: &str| folder.join(format!("{}.{ending}", info.name));
        let kept = Receipts::of_file(&file("receipts.jsonl"))?;
        let elsewhere = self.receipts.as_deref().map(Receipts::read).transpose()?;
        for receipts in [Some(&kept), elsewhere.as_ref()].into_iter().flatten() {
            receipts.answer(&mut planned, &self.data.store());
        }
        let results = self.train(info.name, &contest.orders(&planned));
        let table = contest.table(&planned, &results)?;
        let (experiment, version) = (info.name, env!("CARGO_PKG_VERSION"));
        let document = Document { experiment, version, table: &table };

        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let receipts = format!(
            "{experiment}.receipts.jsonl has settings, data, machine and runs of every complete cell.\n"
        );
        let (figures, unfinished) = (figures(experiment, contest, &table), unfinished(&results));
        let end = self.markdown_end(experiment, &[]) + &receipts;
        let markdown = format!("{}\n{}{unfinished}{end}", table.to_markdown(), images(&figures));
        output::save(&file("md"), &markdown)?;
        output::save(&file("json"), &output::json(&document))?;
        let receipts = contest.receipts(&planned)?.and(kept);
        output::save(&file("receipts.jsonl"), &receipts.to_jsonl())?;
        let drawn = figures.into_iter().map(|figure| (figure.name, figure.svg));
        draw(&folder.join("figures"), drawn)?;
        match self.json {
            true => output::print_json(&document)?,
            false => {
                let place = format!("written to {}\n", folder.display());
                output::print(&(table.to_text() + &unfinished + &place))?;
            }
        }
        let mut errors: Vec<Error> = results.into_iter().filter_map(Result::err).collect();
        errors.retain(|error| !error.is_absence());
        errors.sort_by_key(|error| matches!(error, Error::Interrupted));
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    fn train(&self, name: &'static str, orders: &[Order]) -> Vec<Result<Summary>> {
        let progress = if self.quiet { Progress::silent() } else { Progress::on_stderr() };
        let followers = progress.follow_all(name, orders);
        let watch = |order: usize, event: Event<'_>| followers.see(order, &event);
        let cancel = self.cancel(&progress);
        let options = Options {
            threads: self.threads.count(),
            store: &self.data.store(),
            resume: true,
            watch: &watch,
            cancel: &cancel,
        };
        let results = run_all(orders, &options);
        followers.finish();
        results
    }
}

/// A figure of the experiment.
struct Drawn {
    name: String,
    title: String,
    svg: String,
}

fn figures(experiment: &str, contest: &Contest, table: &Scores) -> Vec<Drawn> {
    let bars = contest.bars(table).map(|bars| {
        let (name, svg) = (experiment.to_owned(), bars.to_svg());
        Drawn { name, title: bars.title, svg }
    });
    let lines = contest.over_depth(table).into_iter().map(|(name, lines)| {
        let (name, svg) = (format!("{experiment}-{name}"), svg_plot(&lines));
        Drawn { name, title: lines.title, svg }
    });
    bars.into_iter().chain(lines).collect()
}

fn images(figures: &[Drawn]) -> String {
    let line = |Drawn { name, title, .. }: &Drawn| image_line(name, title) + "\n";
    figures.iter().map(line).collect()
}

fn unfinished(results: &[Result<Summary>]) -> String {
    match results.iter().filter(|result| matches!(result, Err(Error::Interrupted))).count() {
        0 => String::new(),
        n => format!("Unfinished cells: {n}; the same command goes on.\n"),
    }
}
