//! Who runs a trial, so that trials of the dead can be told from trials that take long.
//!
//! A worker is a process: its number, and when it started, for numbers are used again. They mean
//! something only on one machine since its last start, among processes that see each other: one boot,
//! one namespace of processes, one user. Of a worker elsewhere we never say that it is dead.

use crate::Attributes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;

/// The system attribute of a running trial that names its worker.
pub(super) const WORKER: &str = "clenshaw:worker";

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Worker {
    /// For people who read the study.
    host: String,
    boot: String,
    namespace: String,
    user: u32,
    pid: u32,
    /// Ticks from boot to the process's start.
    started: u64,
}

impl Worker {
    /// This process; nothing, where the system does not tell.
    #[cfg(target_os = "linux")]
    pub fn me() -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let line = |path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let pid = std::process::id();
        Some(Self {
            host: line("/proc/sys/kernel/hostname")?,
            boot: line("/proc/sys/kernel/random/boot_id")?,
            namespace: fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned(),
            user: fs::metadata("/proc/self").ok()?.uid(),
            pid,
            started: started(pid)?,
        })
    }

    /// This process; nothing, where the system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub fn me() -> Option<Self> {
        None
    }

    /// The attribute with which a worker signs its trials; none, where the system does not tell.
    pub fn signature(me: Option<&Self>) -> Attributes {
        let written = |me: &Self| serde_json::to_value(me).expect("texts and numbers");
        me.map(|me| (WORKER.to_owned(), written(me))).into_iter().collect()
    }

    /// Whether the worker who signed so is certain to be dead.
    pub fn has_died(signed: Value, me: &Self) -> bool {
        serde_json::from_value::<Self>(signed).is_ok_and(|worker| worker.is_dead(me))
    }

    /// Whether it is certain that it works no more.
    fn is_dead(&self, me: &Self) -> bool {
        let seen = self.boot == me.boot && self.namespace == me.namespace && self.user == me.user;
        seen && started(self.pid) != Some(self.started)
    }
}

/// When a process started; nothing, if there is none, or if it has ended and nobody has asked how.
///
/// `pid (name) state ppid ...`: the name may hold spaces and brackets, the start is field 22.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    fields.nth(18).filter(|_| !matches!(state, "Z" | "X"))?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_we_would_see_is_called_dead() {
        let me = Worker::me().unwrap();
        assert!(!me.is_dead(&me));
        let reused = Worker { started: me.started + 1, ..me.clone() };
        assert!(reused.is_dead(&me));
        assert!(!Worker { boot: "other".into(), ..reused.clone() }.is_dead(&me));
        assert!(!Worker { user: me.user + 1, ..reused }.is_dead(&me));
    }

    #[test]
    fn a_process_that_has_ended_is_dead_before_anybody_asks() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let me = Worker::me().unwrap();
        let worker =
            Worker { pid: child.id(), started: started(child.id()).unwrap(), ..me.clone() };
        assert!(!worker.is_dead(&me));
        child.kill().unwrap();
        while !worker.is_dead(&me) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(worker.is_dead(&me));
    }
}
