//! `clenshaw verify`: train finished runs again and compare the results.

use crate::options::{DataOption, JsonOption, QuietOption, ThreadsOption, whole};
use crate::{RunSubcommand, interrupt, output, progress, run_folder};
use clap::Parser;
use clenshaw::experiment::{
    ACCURACY_TOLERANCE, MIN_AGREEMENT, RunOptions, RunVerifier, Verification, VerificationMode,
    read_run,
};
use clenshaw::report::Table;
use clenshaw::{Error, Result, tensor};
use std::path::{Path, PathBuf};

/// Retrain finished runs and compare the results with the stored ones
#[derive(Parser)]
#[command(name = "verify", after_help = AFTER_HELP)]
pub struct Verify {
    /// Run folder, as written by `clenshaw train`, `compare` or `demo`: a path, a name in `runs` or a unique
    /// prefix of one, or `latest` for the newest
    run: PathBuf,
    /// Verify only the run with this seed [default: all finished runs]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    quiet: QuietOption,
}

const AFTER_HELP: &str = "\
The settings are read from run.toml. The new results are written to a temporary folder, which is
deleted afterwards; the run folder is not changed.

Epochs, filters, weights, predictions and scores must be bit-identical if the run was trained by the
same version and with instructions of the same class: portable, or vector (avx2 and avx512). A
portable run is retrained with portable instructions unless CLENSHAW_CPU is set. If the version or
the class differs, the test accuracy may differ by up to 3 percentage points, and the predicted
class must be the same for at least 95% of the nodes.

Exits with 0 only if everything agrees.

Examples:
  clenshaw verify latest
  clenshaw verify runs/cora-clenshaw-gcn-0a1b2c3d --seed 3
  clenshaw verify latest --json --quiet";

impl RunSubcommand for Verify {
    fn run(self) -> Result<()> {
        let folder = run_folder::find(&self.run)?;
        self.select_instructions(&folder)?;
        let verifier = RunVerifier::new(&folder, self.seed)?;
        let (store, progress) = (self.data.store(), self.quiet.progress());
        let options = RunOptions {
            threads: self.threads.count(),
            store: &store,
            resume: false,
            on_event: &|_, _| {},
            cancel: &interrupt::flag(&progress, interrupt::Resume::Never),
        };
        let costs = vec![1; verifier.jobs.len()];
        let results = progress::train_batch("verify", &verifier.jobs, &costs, &progress, &options);
        results.into_iter().try_for_each(|result| result.map(drop))?;
        let verification = verifier.compare()?;
        self.json.print(&verification, || page(&verification))?;
        match verification.reproduced {
            true => Ok(()),
            false => Err(Error::NotReproduced { folder }),
        }
    }
}

impl Verify {
    /// Selects portable instructions for a portable run, unless CLENSHAW_CPU is set.
    fn select_instructions(&self, folder: &Path) -> Result<()> {
        let recorded = read_run(folder, self.seed)?.record.instructions;
        match recorded == "portable" && std::env::var_os("CLENSHAW_CPU").is_none() {
            true => tensor::select_instruction_set("portable"),
            false => Ok(()),
        }
    }
}

/// Formats the table of everything that was compared, how it was compared, and the conclusion.
fn page(verification: &Verification) -> String {
    let mut table = Table::new(["seed", "compared", "stored", "trained again", "result"]);
    for check in &verification.checks {
        let result = if check.agrees { "ok" } else { "DIFFERS" };
        let seed = check.seed.to_string();
        table.add_row([&seed, check.what, &check.stored, &check.again, result]);
    }
    let how = match &verification.comparison {
        VerificationMode::Exact => {
            format!("compared bit for bit ({} instructions)", verification.instructions)
        }
        VerificationMode::Approximate { reason } => format!(
            "compared approximately, because the run was {reason}; expected: test accuracies that \
             differ by at most {} percentage points, same class for at least {}% of the nodes",
            100.0 * ACCURACY_TOLERANCE,
            100.0 * MIN_AGREEMENT
        ),
    };
    let differing = verification.checks.iter().filter(|check| !check.agrees).count();
    let tolerance = match &verification.comparison {
        VerificationMode::Exact => "",
        VerificationMode::Approximate { .. } => ", within the tolerances",
    };
    let conclusion = match differing {
        0 => format!("verified: training again gives the stored results{tolerance}"),
        n => format!("not verified: {}", output::count(n, "difference")),
    };
    format!("{}\n{how}\n{conclusion}\n", table.to_text())
}
