//! Experiments that train models on graphs and compare accuracies with the paper.

use super::{ExperimentOutput, RenderedFigure, Reproduce};
use crate::{output, progress};
use clenshaw::experiment::{Contest, ExperimentInfo, Only, Options, Order, Receipts, Summary};
use clenshaw::report::{Scores, image_line, svg_plot};
use clenshaw::{Error, Result};

impl Reproduce {
    /// Trains the missing cells, then writes and prints the table.
    pub(super) fn train_table(
        &self,
        info: &'static ExperimentInfo,
        contest: &Contest,
        only: &Only,
    ) -> Result<()> {
        let folder = self.folder();
        let mut planned = contest.plan(only, self.runs, &folder.join("runs"))?;
        let receipts_file = format!("{}.receipts.jsonl", info.name);
        let own_receipts = Receipts::of_file(&folder.join(&receipts_file))?;
        let other_receipts = self.receipts.as_deref().map(Receipts::read).transpose()?;
        for receipts in [Some(&own_receipts), other_receipts.as_ref()].into_iter().flatten() {
            receipts.answer(&mut planned, &self.data.store());
        }
        let results = self.train(info.name, &contest.orders(&planned));
        let table = contest.table(&planned, &results)?;

        output::create_folder(folder)?;
        let receipts = contest.receipts(&planned)?.and(own_receipts);
        output::save(&folder.join(&receipts_file), &receipts.to_jsonl())?;
        let (figures, images) = figures(info.name, contest, &table);
        let unfinished = unfinished(&results);
        let footer = self.footer(info.name, &[]);
        let markdown = format!(
            "{}\n{images}{unfinished}{footer}\
             {receipts_file} records the settings, data, machine and runs of every complete cell.\n",
            table.to_markdown()
        );
        let text = table.to_text() + &unfinished;
        let output = ExperimentOutput { name: info.name, result: &table, text, markdown, figures };
        self.write(Some(folder), output)?;

        let mut errors: Vec<Error> = results.into_iter().filter_map(Result::err).collect();
        errors.retain(|error| !error.is_absence());
        errors.sort_by_key(|error| matches!(error, Error::Interrupted));
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    fn train(&self, name: &'static str, orders: &[Order]) -> Vec<Result<Summary>> {
        let progress = self.quiet.progress();
        let options = Options {
            threads: self.threads.count(),
            store: &self.data.store(),
            resume: true,
            watch: &|_, _| {},
            cancel: &self.cancel(&progress),
        };
        progress::train_batch(name, orders, &vec![1; orders.len()], &progress, &options)
    }
}

/// Returns the figures of an experiment, and the Markdown that shows them.
fn figures(experiment: &str, contest: &Contest, table: &Scores) -> (Vec<RenderedFigure>, String) {
    let bars = contest.bars(table).map(|bars| {
        let (name, svg) = (experiment.to_owned(), bars.to_svg());
        (bars.title, RenderedFigure { name, svg })
    });
    let lines = contest.over_depth(table).into_iter().map(|(name, lines)| {
        let (name, svg) = (format!("{experiment}-{name}"), svg_plot(&lines));
        (lines.title, RenderedFigure { name, svg })
    });
    let (mut figures, mut images) = (vec![], String::new());
    for (title, figure) in bars.into_iter().chain(lines) {
        images += &(image_line(&figure.name, &title) + "\n");
        figures.push(figure);
    }
    (figures, images)
}

fn unfinished(results: &[Result<Summary>]) -> String {
    match results.iter().filter(|result| matches!(result, Err(Error::Interrupted))).count() {
        0 => String::new(),
        n => format!("Unfinished cells: {n}; rerun the same command to resume.\n"),
    }
}
