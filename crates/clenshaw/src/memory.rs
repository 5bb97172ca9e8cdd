//! The memory that this process uses, and the memory that it can still get.
//!
//! ```text
//! available = min( MemAvailable of the machine,
//!                  limit - usage of every enclosing control group (cgroup v1 and v2),
//!                  limit - usage of address space and data segment (ulimit -v and -d),
//!                  limit of `set_limit` - memory of this process )
//! ```
//!
//! All numbers are read from `/proc` and `/sys/fs/cgroup`; on systems without them, nothing is known.

use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Smaller allocations are not compared with the memory that is available.
const MIN_CHECKED: u64 = 16 << 20;

/// The memory that can still be allocated, and what limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableMemory {
    /// Bytes.
    pub bytes: u64,
    /// The limit that is reached first.
    pub limit: MemoryLimit,
}

/// What limits the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// The free memory of the machine.
    Machine,
    /// The limit of a control group, such as a container.
    ControlGroup,
    /// The limit of the process, as set by `ulimit`.
    Process,
    /// The limit of [`set_limit`].
    Requested,
}

impl MemoryLimit {
    /// The name of the limit in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "free memory of the machine",
            Self::ControlGroup => "memory limit of the container or control group",
            Self::Process => "memory limit of the process (ulimit)",
            Self::Requested => "requested memory limit",
        }
    }
}

/// The limit of [`set_limit`] in bytes; `u64::MAX` if there is none.
static REQUESTED: AtomicU64 = AtomicU64::new(u64::MAX);

/// Limits the memory of this process, in bytes, for everything that is started after the call; `None` removes the
/// limit. Pages of mapped files, such as graph files, do not count, because the system can drop them. Training that would need more recomputes values in the backward pass or, if this is not enough, is
/// refused. It is a limit of what is planned: memory that is allocated without a forecast is not limited.
pub fn set_limit(bytes: Option<u64>) {
    REQUESTED.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// The memory that this process can still allocate; `None` if the system does not provide it.
pub fn available() -> Option<AvailableMemory> {
    available_in(Path::new("/"), REQUESTED.load(Ordering::Relaxed))
}

/// Checks that `needed` bytes are available, before that many are allocated. `what` describes the allocation
/// in the error, and `advice` is what to do instead.
///
/// # Errors
/// [`Error::OutOfMemory`] if they are not.
pub(crate) fn require(needed: u64, what: impl FnOnce() -> String, advice: &str) -> Result<()> {
    if needed < MIN_CHECKED {
        return Ok(());
    }
    require_within(available(), needed, what, advice)
}

/// [`require`], with this much memory.
fn require_within(
    available: Option<AvailableMemory>,
    needed: u64,
    what: impl FnOnce() -> String,
    advice: &str,
) -> Result<()> {
    match available.filter(|available| needed > available.bytes) {
        None => Ok(()),
        Some(AvailableMemory { bytes, limit }) => Err(Error::OutOfMemory {
            what: what(),
            needed,
            available: Some(bytes),
            limit: limit.name(),
            advice: advice.into(),
        }),
    }
}

/// The memory of this process that is in RAM, in bytes; `None` if the system does not provide it.
pub fn resident_bytes() -> Option<u64> {
    status_field(Path::new("/"), "VmRSS")
}

/// The largest value of [`resident_bytes`] since the process was started.
pub fn peak_resident_bytes() -> Option<u64> {
    status_field(Path::new("/"), "VmHWM")
}

/// [`available`], reading the files below `root`, with this limit of [`set_limit`].
fn available_in(root: &Path, requested: u64) -> Option<AvailableMemory> {
    let machine = kilobytes(&read(root, "proc/meminfo")?, "MemAvailable");
    let in_use = (requested < u64::MAX).then(|| status_field(root, "RssAnon"));
    let requested = in_use.map(|bytes| requested.saturating_sub(bytes.unwrap_or(0)));
    let limits = [
        (machine, MemoryLimit::Machine),
        (control_group(root), MemoryLimit::ControlGroup),
        (process(root), MemoryLimit::Process),
        (requested, MemoryLimit::Requested),
    ];
    let known = limits.into_iter().filter_map(|(bytes, limit)| Some((bytes?, limit)));
    let (bytes, limit) = known.min_by_key(|(bytes, _)| *bytes)?;
    Some(AvailableMemory { bytes, limit })
}

fn read(root: &Path, path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(root.join(path)).ok()
}

/// The bytes of a line `NAME:   123 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let number: u64 = line.trim().trim_end_matches("kB").trim_end().parse().ok()?;
    number.checked_mul(1024)
}

fn status_field(root: &Path, name: &str) -> Option<u64> {
    kilobytes(&read(root, "proc/self/status")?, name)
}

/// What the limits of address space and data segment leave; `None` without limits.
fn process(root: &Path) -> Option<u64> {
    let limits = read(root, "proc/self/limits")?;
    let left = |limit: &str, used: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(limit.saturating_sub(status_field(root, used)?))
    };
    [left("Max address space", "VmSize"), left("Max data size", "VmData")]
        .into_iter()
        .flatten()
        .min()
}

/// What the limits of the process's control groups leave; `None` without limits.
fn control_group(root: &Path) -> Option<u64> {
    let groups = read(root, "proc/self/cgroup")?;
    // hierarchy:controllers:path; version 2 has hierarchy 0 and no controllers.
    let left = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_v1 = controllers.split(',').any(|name| name == "memory");
        match (id, controllers) {
            ("0", "") => smallest_left(root, "sys/fs/cgroup", path, &VERSION_2),
            _ if is_v1 => smallest_left(root, "sys/fs/cgroup/memory", path, &VERSION_1),
            _ => None,
        }
    };
    groups.lines().filter_map(left).min()
}

/// The files of a control group with its limit and its usage, and the name of the cached file pages, which
/// the kernel frees when memory is needed, in `memory.stat`.
struct GroupFiles {
    limit: &'static str,
    usage: &'static str,
    cached: &'static str,
}

const VERSION_1: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: "total_inactive_file",
};
const VERSION_2: GroupFiles =
    GroupFiles { limit: "memory.max", usage: "memory.current", cached: "inactive_file" };

/// The least memory left in a group and the groups that contain it. Inside a container, the path of the group
/// may be that of the host, so the mounted root is always examined too.
fn smallest_left(root: &Path, mount: &str, path: &str, files: &GroupFiles) -> Option<u64> {
    let mount = root.join(mount);
    let group = mount.join(path.trim_start_matches('/'));
    let folders = group.ancestors().take_while(|folder| folder.starts_with(&mount));
    folders.filter_map(|folder| left_in_group(folder.to_owned(), files)).min()
}

fn left_in_group(folder: PathBuf, files: &GroupFiles) -> Option<u64> {
    // A group without a limit contains `max` or, in version 1, a number close to 2^63.
    let limit: u64 = read(&folder, files.limit)?.trim().parse().ok()?;
    let usage: u64 = read(&folder, files.usage)?.trim().parse().ok()?;
    let stat = read(&folder, "memory.stat").unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix(files.cached)?.trim().parse().ok());
    Some(limit.saturating_sub(usage.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MACHINE: (&str, &str) =
        ("proc/meminfo", "MemTotal:       100 kB\nMemAvailable:        80 kB\n");

    fn expect(files: &[(&str, &str)], bytes: u64, limit: MemoryLimit) {
        let root = system(files);
        assert_eq!(available_in(root.path(), u64::MAX), Some(AvailableMemory { bytes, limit }));
    }

    #[test]
    fn machine_is_the_limit_without_others() {
        expect(&[MACHINE], 80 * 1024, MemoryLimit::Machine);
        assert_eq!(available_in(system(&[]).path(), u64::MAX), None);
    }

    #[test]
    fn the_smallest_enclosing_group_of_version_2_counts() {
        let files = [
            MACHINE,
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "10\n"),
            ("sys/fs/cgroup/outer/memory.max", "50000\n"),
            ("sys/fs/cgroup/outer/memory.current", "20000\n"),
            ("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 5000\n"),
        ];
        expect(&files, 35_000, MemoryLimit::ControlGroup);
    }

    #[test]
    fn version_1_uses_the_memory_controller_and_the_mounted_root() {
        let files = [
            MACHINE,
            ("proc/self/cgroup", "5:cpu:/a\n4:memory:/docker/of-the-host\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "9500\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 1500\n"),
        ];
        expect(&files, 1000, MemoryLimit::ControlGroup);
    }

    #[test]
    fn limits_of_the_process_count() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         40000                unlimited            bytes\n";
        let files = [
            MACHINE,
            ("proc/self/limits", limits),
            ("proc/self/status", "VmSize:\t      30 kB\nVmData:\t 1 kB\n"),
        ];
        expect(&files, 40_000 - 30 * 1024, MemoryLimit::Process);
    }

    #[test]
    fn a_requested_limit_includes_the_memory_in_use() {
        let root = system(&[MACHINE, ("proc/self/status", "RssAnon:\t      30 kB\n")]);
        let available = |requested| available_in(root.path(), requested);
        let requested = |bytes| Some(AvailableMemory { bytes, limit: MemoryLimit::Requested });
        assert_eq!(available(50 * 1024), requested(20 * 1024));
        assert_eq!(available(20 * 1024), requested(0));
        let machine = AvailableMemory { bytes: 80 * 1024, limit: MemoryLimit::Machine };
        assert_eq!(available(200 * 1024), Some(machine));
    }

    #[test]
    fn a_requirement_states_both_numbers() {
        let available = Some(AvailableMemory { bytes: 2_000_000_000, limit: MemoryLimit::Machine });
        let require = |needed| require_within(available, needed, || "x.npy".into(), "use a part");
        assert!(require(2_000_000_000).is_ok());
        let error = require(3_500_000_000).unwrap_err().to_string();
        assert_eq!(
            error,
            "x.npy needs 3.50 GB, but 2.00 GB are available (free memory of the machine); use a part"
        );
        assert!(require_within(None, u64::MAX, || "x".into(), "").is_ok(), "nothing is known");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn no_machine_has_eight_exabytes() {
        let require = |needed| require(needed, || "x".into(), "");
        assert!(require(MIN_CHECKED - 1).is_ok());
        assert!(matches!(require(1 << 63), Err(Error::OutOfMemory { .. })));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_uses_memory_and_has_some_left() {
        let (resident, peak) = (resident_bytes().unwrap(), peak_resident_bytes().unwrap());
        assert!(resident > 100_000 && resident <= peak, "{resident} and {peak}");
        assert!(available().unwrap().bytes > 0);
    }
}
