//! Experiments that measure independent cells and write a page: the theorems, the learned filters and `auto`.

use super::{ExperimentOutput, RenderedFigure, Reproduce, missing_graphs_text};
use clenshaw::Result;
use clenshaw::experiment::{CellProgress, ExperimentInfo, ExperimentOptions, Selection};
use clenshaw::report::ResultPage;

impl Reproduce {
    /// Calls `run`, which runs or resumes an experiment, then writes and prints the page it returns. If `run`
    /// fails or is interrupted, no page is written.
    pub(super) fn measure(
        &self,
        info: &'static ExperimentInfo,
        selection: &Selection,
        run: impl FnOnce(&ExperimentOptions<'_>) -> Result<ResultPage>,
    ) -> Result<()> {
        let folder = self.output_folder();
        let progress = self.quiet.progress();
        let bar = progress.total(info.name, 0);
        let on_progress = |CellProgress { done, total, cell }: CellProgress<'_>| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
            if let Some(cell) = cell {
                progress.line(&format!("{cell}: {done} of {total}"));
            }
        };
        let page = run(&ExperimentOptions {
            threads: self.threads.count(),
            store: &self.data.store(),
            folder,
            selection,
            runs: self.runs,
            on_progress: &on_progress,
            cancel: &self.cancel_flag(&progress),
        });
        bar.finish_and_clear();
        let page = &page?;
        let missing: Vec<&str> = page.missing.iter().map(String::as_str).collect();
        let figures = page
            .figures
            .iter()
            .map(|(name, figure)| RenderedFigure { name: name.clone(), svg: figure.to_svg() });
        let output = ExperimentOutput {
            name: info.name,
            result: page,
            text: page.to_text() + &missing_graphs_text(&missing) + "\n",
            markdown: page.to_markdown() + "\n" + &self.footer(info.name, &missing),
            figures: figures.collect(),
        };
        self.write(Some(folder), output)
    }
}
