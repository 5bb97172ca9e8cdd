//! The worker process of a trial, used to detect trials of dead workers.
//!
//! A process is identified by its id and start time, since ids are reused. They identify it only
//! within one boot of one machine and one PID namespace, and processes of other users may be hidden; a worker
//! elsewhere or of another user is never considered dead.

use crate::Attributes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fs, io};

/// The system attribute of a running trial that identifies its worker.
pub(super) const WORKER: &str = "clenshaw:worker";

/// A worker process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkerProcess {
    /// The name of the machine, for information only.
    host: String,
    /// The id of the machine's current boot.
    boot: String,
    /// The PID namespace.
    namespace: String,
    /// The user id.
    user: u32,
    pid: u32,
    /// Clock ticks from boot to the start of the process.
    started: u64,
}

impl WorkerProcess {
    /// This process; `None` if the operating system does not provide the information.
    #[cfg(target_os = "linux")]
    pub fn current() -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let line = |path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let pid = std::process::id();
        Some(Self {
            host: line("/proc/sys/kernel/hostname")?,
            boot: line("/proc/sys/kernel/random/boot_id")?,
            namespace: fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned(),
            user: fs::metadata("/proc/self").ok()?.uid(),
            pid,
            started: start_time(pid).ok()??,
        })
    }

    /// `None`: processes are identified on Linux only.
    #[cfg(not(target_os = "linux"))]
    pub fn current() -> Option<Self> {
        None
    }

    /// The system attribute that identifies a worker; empty for an unknown worker.
    pub fn to_attrs(worker: Option<&Self>) -> Attributes {
        let json = |worker: &Self| serde_json::to_value(worker).expect("strings and integers");
        worker.map(|worker| (WORKER.to_owned(), json(worker))).into_iter().collect()
    }

    /// Whether the worker in this attribute value has certainly ended; `false` if the value is invalid. `current`
    /// is this process.
    pub fn has_died(attr: Value, current: &Self) -> bool {
        serde_json::from_value::<Self>(attr).is_ok_and(|worker| worker.is_dead(current))
    }

    /// Whether the worker has certainly ended.
    fn is_dead(&self, current: &Self) -> bool {
        let is_visible = self.boot == current.boot
            && self.namespace == current.namespace
            && self.user == current.user;
        is_visible && start_time(self.pid).is_ok_and(|started| started != Some(self.started))
    }
}

/// The start time of a process; `None` if it does not exist or is a zombie. Fails if it cannot be read.
///
/// `/proc/PID/stat` contains `pid (name) state ppid ...`. The name may contain any bytes; the start time is
/// field 22.
fn start_time(pid: u32) -> io::Result<Option<u64>> {
    let stat = match fs::read(format!("/proc/{pid}/stat")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        stat => stat?,
    };
    let stat = String::from_utf8_lossy(&stat);
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut fields = fields.split_whitespace();
    match (fields.next(), fields.nth(18).map(str::parse::<u64>)) {
        (Some("Z" | "X"), _) => Ok(None),
        (_, Some(Ok(started))) => Ok(Some(started)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_visible_processes_are_considered_dead() {
        let current = WorkerProcess::current().unwrap();
        assert!(!current.is_dead(&current));
        let reused = WorkerProcess { started: current.started + 1, ..current.clone() };
        assert!(reused.is_dead(&current));
        assert!(!WorkerProcess { boot: "other".into(), ..reused.clone() }.is_dead(&current));
        assert!(!WorkerProcess { user: current.user + 1, ..reused }.is_dead(&current));
    }

    #[test]
    fn process_names_may_contain_any_bytes() {
        let name = fs::read("/proc/self/comm").unwrap();
        fs::write("/proc/self/comm", b"(\xff) ").unwrap();
        let current = WorkerProcess::current();
        fs::write("/proc/self/comm", name).unwrap();
        assert_eq!(current.unwrap(), WorkerProcess::current().unwrap());
    }

    #[test]
    fn zombie_processes_are_considered_dead() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let current = WorkerProcess::current().unwrap();
        let started = start_time(child.id()).unwrap().unwrap();
        let worker = WorkerProcess { pid: child.id(), started, ..current.clone() };
        assert!(!worker.is_dead(&current));
        child.kill().unwrap();
        while !worker.is_dead(&current) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(worker.is_dead(&current));
    }
}
