//! `clenshaw watch`: follow runs or a study in a browser while they run.

mod details;
mod http;
mod server;
mod state;
mod stream;
mod token;

use crate::options::{DataOption, whole};
use crate::progress::Progress;
use crate::report::open_study;
use crate::{RunSubcommand, interrupt, output, run_folder};
use clap::Parser;
use clenshaw::data::Store;
use clenshaw::experiment::{Report, ReportedStudy};
use clenshaw::{Error, Result};
use clenshaw_tune::{Storage, StorageLocation};
use http::AccessCheck;
use server::Server;
use state::{SharedState, WatchState, WatchedStudy};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

/// Watch runs or a study live in a browser, and stop them
#[derive(Parser)]
#[command(name = "watch", after_help = AFTER_HELP)]
pub struct Watch {
    /// What to watch: a folder that contains run folders; a run folder (a path, a name in `runs` or a unique
    /// prefix of one, or `latest` for the newest); or a study of `clenshaw tune` or Optuna: a journal file,
    /// sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE
    #[arg(value_name = "DIR|STUDY", default_value = run_folder::RUNS)]
    target: PathBuf,
    /// Name of the study [default: the journal's file name without its extension, or the only study]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Port to listen on [default: chosen by the system]
    #[arg(long, value_name = "PORT", value_parser = whole::<u16>, allow_negative_numbers = true)]
    port: Option<u16>,
    /// Open the page in the default browser
    #[arg(long)]
    open: bool,
    /// Disable the stop button
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    data: DataOption,
}

const AFTER_HELP: &str = "\
Prints the address of a page that shows learning curves and the filter as they change, the runs in
the newest 100 run folders with their states, and the full report of every finished run; for a
study, its trials as they arrive. The stop button stops the training program as Ctrl-C does, or all
clenshaw workers of a study, on all machines; to resume, rerun the command that started the training
or the study. Start `clenshaw watch` in the folder in which you run the training, before or after
you start the training. Ctrl-C stops `clenshaw watch` and does not affect the training.

The page can be reached only from the machine on which `clenshaw watch` runs, at the printed
address; the random part of the address acts as a password. To watch runs on another machine, choose
a port, forward it to your own machine, and open the printed address there:

  ssh -L 8000:127.0.0.1:8000 HOST             On your own machine
  clenshaw watch --port 8000                  On HOST, where the runs are

Examples:
  clenshaw watch
  clenshaw watch latest --open
  clenshaw watch runs/compare --read-only
  clenshaw watch studies/texas-clenshaw-gcn.journal
  clenshaw watch postgresql://me@db.example.org/studies --name texas-clenshaw-gcn";

/// The time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(500);
/// The number of updates per reading of a study.
const UPDATES_PER_STUDY: usize = 2;

/// What is followed.
enum Target {
    /// A folder that contains run folders.
    Folders(PathBuf),
    /// One run folder.
    Folder(PathBuf),
    Study(Box<FollowedStudy>),
}

/// A study and the report that is updated.
struct FollowedStudy {
    location: StorageLocation,
    storage: Arc<dyn Storage>,
    name: String,
    report: Report,
}

impl RunSubcommand for Watch {
    fn run(self) -> Result<()> {
        let store = self.data.store();
        let mut target = self.target(&store)?;
        let listener = self.listen()?;
        let port = listener.local_addr().map_err(Error::io("127.0.0.1"))?.port();
        let (jobs, job_queue) = mpsc::channel();
        let state = SharedState::new(WatchState::new(target.place(), jobs));
        target.update(&state, 0);
        let access = AccessCheck { port, token: token::random_hex() };
        let address = access.address();
        let server = Server::new(access, Arc::clone(&state), self.read_only);
        // These threads end with the program.
        let details_state = Arc::clone(&state);
        std::thread::spawn(move || details::compute(&job_queue, &details_state, &store));
        std::thread::spawn(move || server.serve(&listener));
        let cancel = interrupt::flag(&Progress::silent(), interrupt::Resume::Never);
        output::print(&format!("watch: {address}\n"))?;
        if self.open {
            open_browser(&address);
        }
        for update in 1.. {
            std::thread::sleep(UPDATE_INTERVAL);
            if cancel.load(Ordering::Relaxed) {
                break;
            }
            target.update(&state, update);
        }
        Ok(())
    }
}

impl Watch {
    /// Determines what to follow.
    fn target(&self, store: &Store) -> Result<Target> {
        let argument = &self.target;
        if let Some((location, storage)) = open_study(argument)? {
            let storage: Arc<dyn Storage> = storage.into();
            let (storage_ref, name) = (storage.as_ref(), self.name.as_deref());
            let study = ReportedStudy { storage: storage_ref, location: &location, name };
            let report = Report::from_study(&study, store)?;
            let name = report.study_name().unwrap_or_default().to_owned();
            let study = FollowedStudy { location, storage, name, report };
            return Ok(Target::Study(Box::new(study)));
        }
        if let Some(name) = &self.name {
            let expected =
                "no name unless a study is given, such as studies/texas-clenshaw-gcn.journal"
                    .into();
            return Err(Error::BadValue { key: "--name".into(), value: name.clone(), expected });
        }
        // The folder `runs` may be created later by the training.
        let is_parent = argument.is_dir() && !argument.join("run.toml").is_file();
        match is_parent || argument == Path::new(run_folder::RUNS) {
            true => Ok(Target::Folders(argument.clone())),
            false => run_folder::find(argument).map(Target::Folder),
        }
    }

    /// Listens on the port of `--port` or on a free one, for connections from this machine only.
    fn listen(&self) -> Result<TcpListener> {
        let port = self.port.unwrap_or(0);
        let address = (Ipv4Addr::LOCALHOST, port);
        TcpListener::bind(address).map_err(Error::io(format!("127.0.0.1:{port}")))
    }
}

impl Target {
    /// The path of the folder, or the name and the storage of the study.
    fn place(&self) -> String {
        match self {
            Self::Folders(path) | Self::Folder(path) => path.display().to_string(),
            Self::Study(study) => format!("{} in {}", study.name, study.location),
        }
    }

    /// Reads what has changed and announces it to the pages; a study only if `update`, the number of the update, is a
    /// multiple of [`UPDATES_PER_STUDY`].
    fn update(&mut self, state: &SharedState, update: usize) {
        match self {
            Self::Study(study) if update.is_multiple_of(UPDATES_PER_STUDY) => study.update(state),
            Self::Study(_) => return,
            Self::Folders(folder) => update_folders(state, run_folder::list(folder)),
            Self::Folder(folder) => update_folders(state, Ok(vec![folder.clone()])),
        }
        state.announce();
    }
}

/// Follows these folders and reads what has changed in them. Prints a warning about a folder that cannot be
/// opened; other errors are stored for the pages.
fn update_folders(state: &SharedState, paths: Result<Vec<PathBuf>>) {
    let mut state = state.lock();
    let result = paths.and_then(|paths| {
        for problem in state.follow(paths) {
            output::message(&format!("warning: not followed: {problem}"));
        }
        state.update_folders()
    });
    state.problem = result.err().map(|error| error.to_string());
}

impl FollowedStudy {
    /// Reads the trials and stores the report, and the error if they cannot be read. The state is not locked while
    /// they are read, because a database may be slow.
    fn update(&mut self, state: &SharedState) {
        let Self { location, storage, name, report } = self;
        let study = ReportedStudy { storage: storage.as_ref(), location, name: Some(name) };
        let problem = report.update_study(&study).err().map(|error| error.to_string());
        let data = serde_json::to_value(&*report).expect("the data of a page is plain");
        let (storage, name) = (Arc::clone(storage), name.clone());
        let mut state = state.lock();
        state.problem = problem;
        let is_same = state.study.as_ref().is_some_and(|study| *study.report == data);
        if !is_same {
            state.study = Some(WatchedStudy { storage, name, report: data.into() });
        }
    }
}

/// Opens an address with the program that the desktop uses for it; prints a warning if that program cannot be
/// started.
fn open_browser(address: &str) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    if let Err(error) = std::process::Command::new(program).args(arguments).arg(address).spawn() {
        output::message(&format!("warning: cannot open a browser with {program}: {error}"));
    }
}
