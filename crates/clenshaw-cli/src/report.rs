//! `clenshaw report`: write a page about finished runs or a study.

mod study;

use crate::options::{DataOption, ThreadsOption, whole};
use crate::{RunSubcommand, open_page, output, run_folder};
use clap::Parser;
use clenshaw::experiment::{self, Figure, ReportedRun};
use clenshaw::report::{html_page, svg_to_png};
use clenshaw::{Error, Result};
use std::path::{Path, PathBuf};
pub use study::open_study;

/// Write an HTML report on runs or a study: scores, learned filter, mistakes, trials
#[derive(Parser)]
#[command(name = "report", after_help = AFTER_HELP)]
pub struct Report {
    /// Run folders: paths, names in `runs` or unique prefixes of names, or `latest` for the newest; or a
    /// folder that contains run folders, such as `runs/compare`; or one study of `clenshaw tune` or Optuna:
    /// a journal file, sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Show the run with this seed in detail [default: the run with the lowest validation loss]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Name of the study [default: the journal's file name without its extension, or the only study]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// File to write [default: report.html in the first run folder, or NAME.html beside the journal or, for a
    /// database, in the folder `studies`]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write every figure of the page to this folder, as SVG
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// With --figures, write every figure as PNG as well
    #[arg(long, requires = "figures")]
    png: bool,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
}

const AFTER_HELP: &str = "\
The page is one HTML file that opens offline in any browser. It shows the test score, the learned
filter over the spectrum of the graph and its changes during training, learning curves, the
confusion matrix, scores by class, degree and local homophily, calibration, the most confident
mistakes, the settings and a drawing of the graph. If you pass several runs on the same graph, they
are compared. The page of a study shows the value of every trial, the importance of the
hyper-parameters, and the best settings with the command to train with them; the study may still be
running.

Examples:
  clenshaw report latest
  clenshaw report latest --out page.html --open
  clenshaw report latest --figures figures --png
  clenshaw report cora-gcn cora-clenshaw-gcn --out comparison.html
  clenshaw report runs/compare --out comparison.html
  clenshaw report studies/texas-clenshaw-gcn.journal
  clenshaw report postgresql://me@db.example.org/studies --name texas-clenshaw-gcn";

/// A report, and the file that it is written to unless `--out` is given.
struct Subject {
    report: experiment::Report,
    default_file: PathBuf,
}

impl RunSubcommand for Report {
    fn run(self) -> Result<()> {
        let Subject { report, default_file } = self.subject()?;
        let path = self.out.as_ref().unwrap_or(&default_file);
        output::create_folder(path.parent().unwrap_or(Path::new("")))?;
        output::save(path, html_page(&report))?;
        output::message(&format!("page: {}", path.display()));
        if let Some(folder) = &self.figures {
            let figures = report.figures();
            save_figures(folder, &figures, self.png)?;
            let count = output::count(figures.len(), "figure");
            output::message(&format!("{count}: {}", folder.display()));
        }
        if self.open {
            open_page::open(path);
        }
        Ok(())
    }
}

impl Report {
    /// Collects the report on the runs or the study that the arguments name. Fails if a study is combined with
    /// other arguments or `--seed`, or runs with `--name`.
    fn subject(&self) -> Result<Subject> {
        match (&self.runs[..], &self.name) {
            ([argument], name) if study::is_study(argument) => {
                self.check_no_seed()?;
                study::read(argument, name.as_deref(), &self.data.store())
            }
            (arguments, name) => {
                match (arguments.iter().find(|path| study::is_study(path)), name) {
                    (Some(study), _) => Err(Error::Data {
                        place: study.display().to_string(),
                        problem: "a study is reported on its own page; pass no other study or run"
                            .into(),
                    }),
                    (None, Some(name)) => Err(Error::BadValue {
                        key: "--name".into(),
                        value: name.clone(),
                        expected: "no name unless a study is given, such as \
                               studies/texas-clenshaw-gcn.journal"
                            .into(),
                    }),
                    (None, None) => self.run_report(),
                }
            }
        }
    }

    /// Rejects `--seed`, which has no meaning for a study.
    fn check_no_seed(&self) -> Result<()> {
        let Some(seed) = self.seed else { return Ok(()) };
        let expected = "no seed with a study; pass a run folder to choose one of its runs".into();
        Err(Error::BadValue { key: "--seed".into(), value: seed.to_string(), expected })
    }

    /// Collects the report on runs.
    fn run_report(&self) -> Result<Subject> {
        let mut folders = vec![];
        for argument in &self.runs {
            folders.extend(find_all(argument)?);
        }
        let reported = |folder: &PathBuf| ReportedRun { folder: folder.clone(), seed: self.seed };
        let runs: Vec<ReportedRun> = folders.iter().map(reported).collect();
        let report = experiment::Report::new(&runs, &self.data.store(), self.threads.count())?;
        Ok(Subject { report, default_file: folders[0].join("report.html") })
    }
}

/// Writes every figure as NAME.svg and, on request, as NAME.png.
fn save_figures(folder: &Path, figures: &[Figure], with_png: bool) -> Result<()> {
    output::create_folder(folder)?;
    for Figure { name, svg } in figures {
        output::save(&folder.join(format!("{name}.svg")), svg)?;
        if with_png {
            output::save(&folder.join(format!("{name}.png")), svg_to_png(svg)?)?;
        }
    }
    Ok(())
}

/// The run folders that an argument refers to, at least one; fails if there is none.
fn find_all(argument: &Path) -> Result<Vec<PathBuf>> {
    if !argument.join("run.toml").is_file() && argument.is_dir() {
        let contained = run_folder::list(argument)?;
        if !contained.is_empty() {
            return Ok(contained);
        }
    }
    Ok(vec![run_folder::find(argument)?])
}
