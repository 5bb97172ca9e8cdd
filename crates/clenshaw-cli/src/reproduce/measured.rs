//! Experiments of many cells: their progress, their page and their files.

use super::{Reproduce, draw, missing_lines};
use crate::output;
use crate::progress::Progress;
use clenshaw::Result;
use clenshaw::experiment::{Done, Errand, ExperimentInfo, Only};
use clenshaw::report::{Findings, svg_plot};
use serde::Serialize;

/// What `--json` prints and NAME.json holds.
#[derive(Serialize)]
struct Document<'a> {
    experiment: &'static str,
    version: &'static str,
    #[serde(flatten)]
    findings: &'a Findings,
}

impl Reproduce {
    /// Does an experiment, or goes on with it, and writes what it found.
    pub(super) fn measure(
        &self,
        info: &'static ExperimentInfo,
        only: &Only,
        experiment: impl FnOnce(&Errand<'_>) -> Result<Findings>,
    ) -> Result<()> {
        let folder = self.folder();
        let progress = if self.quiet { Progress::silent() } else { Progress::on_stderr() };
        let bar = progress.total(info.name, 0);
        let watch = |Done { done, all, cell }: Done<'_>| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            if let Some(cell) = cell {
                progress.note(&format!("{cell}: {done} of {all}"));
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
        let (experiment, version) = (info.name, env!("CARGO_PKG_VERSION"));
        let document = Document { experiment, version, findings };
        let missing: Vec<&str> = findings.missing.iter().map(String::as_str).collect();
        let markdown = findings.to_markdown() + "\n" + &self.markdown_end(experiment, &missing);
        output::save(&folder.join(format!("{experiment}.md")), &markdown)?;
        output::save(&folder.join(format!("{experiment}.json")), &output::json(&document))?;
        let figures =
            findings.figures.iter().map(|(name, figure)| (name.clone(), svg_plot(figure)));
        draw(&folder.join("figures"), figures)?;
        match self.json {
            true => output::print_json(&document),
            false => {
                let place = format!("\nwritten to {}\n", folder.display());
                output::print(&(findings.to_text() + &missing_lines(&missing) + &place))
            }
        }
    }
}
