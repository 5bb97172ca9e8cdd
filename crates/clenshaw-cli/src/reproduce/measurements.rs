//! Experiments that measure independent cells: the theorems and the learned filters.

use super::{ExperimentOutput, RenderedFigure, Reproduce, missing_lines};
use clenshaw::Result;
use clenshaw::experiment::{Done, Errand, ExperimentInfo, Only};
use clenshaw::report::{Findings, svg_plot};

impl Reproduce {
    /// Runs or resumes an experiment, then writes and prints its findings.
    pub(super) fn measure(
        &self,
        info: &'static ExperimentInfo,
        only: &Only,
        experiment: impl FnOnce(&Errand<'_>) -> Result<Findings>,
    ) -> Result<()> {
        let folder = self.folder();
        let progress = self.quiet.progress();
        let bar = progress.total(info.name, 0);
        let watch = |Done { done, all, cell }: Done<'_>| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            if let Some(cell) = cell {
                progress.line(&format!("{cell}: {done} of {all}"));
            }
        };
        let findings = experiment(&Errand {
            threads: self.threads.count(),
            store: &self.data.store(),
            folder,
            only,
            runs: self.runs,
            watch: &watch,
            cancel: &self.cancel(&progress),
        });
        bar.finish_and_clear();
        let findings = &findings?;
        let missing: Vec<&str> = findings.missing.iter().map(String::as_str).collect();
        let figures = findings
            .figures
            .iter()
            .map(|(name, figure)| RenderedFigure { name: name.clone(), svg: svg_plot(figure) });
        let output = ExperimentOutput {
            name: info.name,
            result: findings,
            text: findings.to_text() + &missing_lines(&missing) + "\n",
            markdown: findings.to_markdown() + "\n" + &self.footer(info.name, &missing),
            figures: figures.collect(),
        };
        self.write(Some(folder), output)
    }
}
