//! A data folder for downloads, and small manifests.

use super::server::Reply;
use clenshaw::data::fetch::{
    FetchOptions, FetchReport, FileState, Manifest, ManifestFile, Proxies, RetryPolicy, fetch,
};
use sha2::{Digest, Sha256};
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

pub const GOOD: &[u8] = b"Clenshaw sums from the far end, and two residuals suffice.";
pub const BAD: &[u8] = b"Clenshaw sums from the near end, and no residuals suffice.";
/// The end of the message if all sources failed.
pub const ADVICE: &str = "this file is unchanged if it exists; try again, or use another source";

/// The cancel flag of all fetches; never set.
static NOT_CANCELLED: AtomicBool = AtomicBool::new(false);

/// A temporary data folder and the settings of a fetch.
pub struct Fixture {
    pub folder: TempDir,
    pub retry: RetryPolicy,
    pub proxies: Proxies,
}

impl Fixture {
    pub fn new() -> Self {
        let ms = Duration::from_millis;
        let retry = RetryPolicy {
            connect_timeout: ms(2000),
            read_timeout: ms(2000),
            attempts: 3,
            first_delay: ms(1),
        };
        Self { folder: TempDir::new().unwrap(), retry, proxies: Proxies::default() }
    }

    /// A fixture with a read timeout of 0.3 seconds.
    pub fn with_short_timeout() -> Self {
        let fixture = Self::new();
        let read_timeout = Duration::from_millis(300);
        Self { retry: RetryPolicy { read_timeout, ..fixture.retry }, ..fixture }
    }

    pub fn write(&self, name: &str, content: &[u8]) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.path().join(name)).ok()
    }

    /// The paths of all files and folders in the data folder, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let name = entry.strip_prefix(self.folder.path()).unwrap();
                names.push(name.to_str().unwrap().to_owned());
                folders.extend(entry.is_dir().then_some(entry));
            }
        }
        names.sort();
        names
    }

    pub fn options(&self) -> FetchOptions<'_> {
        let (retry, proxies) = (self.retry, self.proxies.clone());
        FetchOptions { retry, proxies, ..FetchOptions::new(self.folder.path(), &NOT_CANCELLED) }
    }

    pub fn fetch(&self, manifest: &Manifest) -> clenshaw::Result<FetchReport> {
        fetch(manifest, &self.options())
    }

    /// Fetches and returns how the first file was obtained.
    pub fn fetch_state(&self, manifest: &Manifest) -> FileState {
        self.fetch(manifest).unwrap().files[0].state
    }

    /// Fetches and returns the error message, without the path of the first file.
    pub fn fetch_error(&self, manifest: &Manifest) -> String {
        let error = self.fetch(manifest).unwrap_err();
        assert!(!error.is_input(), "fetch errors are not input errors");
        let path = self.folder.path().join(&manifest.files[0].path).display().to_string();
        let text = error.to_string();
        text.strip_prefix(&format!("{path}: ")).unwrap_or(&text).to_owned()
    }
}

pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A manifest entry `toy/NAME` with the size and checksum of `content`.
pub fn file(name: &str, content: &[u8], urls: Vec<String>) -> ManifestFile {
    let (bytes, sha256) = (Some(content.len() as u64), Some(sha256(content)));
    ManifestFile { path: format!("toy/{name}"), bytes, sha256, urls }
}

/// A manifest of one file whose content is [`GOOD`].
pub fn toy_manifest(urls: impl IntoIterator<Item = String>) -> Manifest {
    Manifest { folder: "toy".into(), files: vec![file("a.txt", GOOD, urls.into_iter().collect())] }
}

/// The same manifest without size and checksum.
pub fn manifest_without_checksum(url: String) -> Manifest {
    let listed = ManifestFile { bytes: None, sha256: None, ..file("a.txt", GOOD, vec![url]) };
    Manifest { folder: "toy".into(), files: vec![listed] }
}

pub fn serve() -> Reply {
    Reply::Serve(GOOD.to_vec())
}
