//! Experiments that train models on graphs and compare the scores with published ones, if there are any.

use super::{ExperimentOutput, RenderedFigure, Reproduce};
use crate::{output, progress};
use clenshaw::experiment::{
    ExperimentInfo, Receipts, ResultTable, RunOptions, Selection, Summary, TrainingJob,
};
use clenshaw::report::{ScoreTable, image_markdown};
use clenshaw::{Error, Result};

impl Reproduce {
    /// Trains the cells without a receipt, saves the receipts and the table, and prints the table. It then fails
    /// if the training of a cell has failed, except because of missing files, or was interrupted.
    pub(super) fn train_table(
        &self,
        info: &'static ExperimentInfo,
        experiment_table: &ResultTable,
        selection: &Selection,
    ) -> Result<()> {
        let folder = self.output_folder();
        let mut cells = experiment_table.plan(selection, self.runs, &folder.join("runs"))?;
        let receipts_file = format!("{}.receipts.jsonl", info.name);
        let own_receipts = Receipts::read_file(&folder.join(&receipts_file))?;
        let other_receipts = self.receipts.as_deref().map(Receipts::read_folder).transpose()?;
        for receipts in [Some(&own_receipts), other_receipts.as_ref()].into_iter().flatten() {
            receipts.apply_to(&mut cells, &self.data.store());
        }
        let results = self.train(info.name, &experiment_table.jobs(&cells));
        let table = experiment_table.score_table(&cells, &results)?;

        output::create_folder(folder)?;
        {
            // Another process may have added receipts since they were read.
            let _lock = output::lock(&folder.join(format!(".{receipts_file}.lock")))?;
            let stored = Receipts::read_file(&folder.join(&receipts_file))?;
            let receipts = experiment_table.receipts(&cells)?.merge(stored);
            output::save(&folder.join(&receipts_file), receipts.to_jsonl())?;
        }
        let (figures, images) = figures(info.name, experiment_table, &table);
        let unfinished = unfinished_cells_note(&results);
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
        errors.retain(|error| !error.is_not_found());
        errors.sort_by_key(|error| matches!(error, Error::Interrupted));
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    /// Trains the jobs, resuming earlier ones; returns one result per job.
    fn train(&self, name: &'static str, jobs: &[TrainingJob]) -> Vec<Result<Summary>> {
        let progress = self.quiet.progress();
        let options = RunOptions {
            threads: self.threads.count(),
            store: &self.data.store(),
            resume: true,
            on_event: &|_, _| {},
            cancel: &self.cancel_flag(&progress),
        };
        progress::train_batch(name, jobs, &vec![1; jobs.len()], &progress, &options)
    }
}

/// Returns the figures of an experiment, and the Markdown that shows them.
fn figures(
    experiment: &str,
    experiment_table: &ResultTable,
    table: &ScoreTable,
) -> (Vec<RenderedFigure>, String) {
    let bars = experiment_table.bar_chart(table).map(|bars| {
        let (name, svg) = (experiment.to_owned(), bars.to_svg());
        (bars.title, RenderedFigure { name, svg })
    });
    let lines = experiment_table.depth_charts(table).into_iter().map(|(name, lines)| {
        let (name, svg) = (format!("{experiment}-{name}"), lines.to_svg());
        (lines.title, RenderedFigure { name, svg })
    });
    let (mut figures, mut images) = (vec![], String::new());
    for (title, figure) in bars.into_iter().chain(lines) {
        images += &(image_markdown(&figure.name, &title) + "\n");
        figures.push(figure);
    }
    (figures, images)
}

/// Returns the number of interrupted cells and how to resume; empty if there are none.
fn unfinished_cells_note(results: &[Result<Summary>]) -> String {
    match results.iter().filter(|result| matches!(result, Err(Error::Interrupted))).count() {
        0 => String::new(),
        n => format!("Unfinished cells: {n}; rerun the same command to resume.\n"),
    }
}
