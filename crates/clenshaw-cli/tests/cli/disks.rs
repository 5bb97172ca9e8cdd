//! Disks that are full, read-only or vanish: an error that names the file, nothing damaged, and the same command
//! gives the right results once the disk is available again.
//!
//! The disks are small tmpfs file systems, which only root can mount; otherwise the tests are skipped.

use crate::common::{Sandbox, text};
use crate::kills::{Results, TUNE, files, points, write_space};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const TRAIN: &str =
    "train csbm:nodes=100 --model gcn --set max_epochs=4 --runs 2 --quiet --out disk/out";
const IMPORT: &str = "data import csbm:nodes=200 --out disk/out/it.graph";
/// The study of [`TUNE`].
const JOURNAL: &str = "disk/out/s.journal --name s";

/// The commands that are disturbed.
fn commands() -> [String; 3] {
    [TRAIN.into(), IMPORT.into(), format!("{TUNE} {JOURNAL}")]
}

/// A file system mounted in the folder `disk` of a sandbox, unmounted on drop.
struct Disk(PathBuf);

impl Disk {
    /// Mounts a disk of this many KiB; prints that the test is skipped if that is not possible.
    fn mount(sandbox: &Sandbox, kib: usize) -> Option<Self> {
        let path = sandbox.path("disk");
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "none"]).arg(&path);
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: only root can mount a tmpfs");
        }
        mounted.then(|| Self(path))
    }

    /// Changes the options of the mounted disk.
    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let status = Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap();
        assert!(status.success(), "mount -o {options}");
    }

    /// Removes the disk, even while files are open.
    fn vanish(&self) {
        let status = Command::new("umount").arg("--lazy").arg(&self.0).status().unwrap();
        assert!(status.success(), "umount");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let mut umount = Command::new("umount");
        let _ = umount.arg("--lazy").arg(&self.0).stderr(Stdio::null()).status();
    }
}

/// The results of a command on an ordinary disk.
fn undisturbed(arguments: &str) -> Results {
    let sandbox = Sandbox::new();
    write_space(&sandbox);
    sandbox.stdout(arguments);
    results(&sandbox, arguments)
}

/// The files that a command has written or, for a study, the values of its trials.
fn results(sandbox: &Sandbox, arguments: &str) -> Results {
    match arguments.starts_with("tune") {
        true => points(sandbox, JOURNAL),
        false => files(&sandbox.path("disk/out")),
    }
}

/// Asserts that a command has failed with exit code 1, without a panic and with this text in its message.
fn assert_failure(output: &Output, part: &str, context: &str) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{context}: {message}");
    assert!(message.contains(part) && !message.contains("panicked"), "{context}: {message}");
}

#[test]
fn full_disk_is_an_error_and_the_command_can_be_repeated() {
    for arguments in &commands() {
        let expected = undisturbed(arguments);
        let mut failures = 0;
        // From a disk that is full at once to one that is full with the last file.
        for kib in [4, 16, 32, 64, 128] {
            let sandbox = Sandbox::new();
            write_space(&sandbox);
            let Some(disk) = Disk::mount(&sandbox, kib) else { return };
            let output = sandbox.run(arguments);
            disk.remount("size=64m");
            if !output.status.success() {
                assert_failure(
                    &output,
                    "No space left on device",
                    &format!("{arguments}: {kib} KiB"),
                );
                failures += 1;
                sandbox.stdout(arguments);
            }
            assert_eq!(results(&sandbox, arguments), expected, "{arguments}: {kib} KiB");
        }
        println!("full disk: {failures} failures of `{}`", arguments.split(' ').next().unwrap());
        assert!(failures > 0, "{arguments}: no disk was full");
    }
}

#[test]
fn read_only_disk_is_an_error_and_the_command_can_be_repeated() {
    for arguments in &commands() {
        let sandbox = Sandbox::new();
        write_space(&sandbox);
        let Some(disk) = Disk::mount(&sandbox, 64 << 10) else { return };
        disk.remount("ro");
        assert_failure(&sandbox.run(arguments), "Read-only file system", arguments);
        disk.remount("rw");
        sandbox.stdout(arguments);
        assert_eq!(results(&sandbox, arguments), undisturbed(arguments), "{arguments}");
    }
}

/// A cache that cannot be written does not disturb a command.
#[test]
fn full_and_read_only_caches_are_ignored() {
    let sandbox = Sandbox::new();
    sandbox.write_graph_with_html_names("graph");
    let show = |cache: &str| {
        let output =
            sandbox.command("data show graph").env("CLENSHAW_CACHE", cache).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let expected = show("off");
    let Some(disk) = Disk::mount(&sandbox, 4) else { return };
    assert_eq!(show("disk/cache"), expected);
    disk.remount("size=64m,ro");
    assert_eq!(show("disk/cache"), expected);
    disk.remount("rw");
    assert_eq!(show("disk/cache"), expected);
    assert_eq!(files(&sandbox.path("disk/cache")).len(), 1);
}

#[test]
fn vanished_disk_is_an_error_and_the_command_can_be_repeated() {
    let arguments = "train csbm:nodes=400 --model gcn --set max_epochs=3000 --set patience=3000 \
                     --threads 1 --quiet --out disk/out";
    let sandbox = Sandbox::new();
    let Some(disk) = Disk::mount(&sandbox, 64 << 10) else { return };
    let mut command = sandbox.command(arguments);
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !sandbox.path("disk/out/runs/0.progress.jsonl").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    disk.vanish();
    let output = process.wait_with_output().unwrap();
    assert_failure(&output, "this folder was deleted or replaced during the run", arguments);
    assert_eq!(fs::read_dir(sandbox.path("disk")).unwrap().count(), 0, "files beside the disk");
    let _disk = Disk::mount(&sandbox, 64 << 10);
    sandbox.stdout(arguments);
    assert_eq!(results(&sandbox, arguments), undisturbed(arguments));
}
