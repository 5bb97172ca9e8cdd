//! A data folder to download into, and small sets of files to put there.

use super::server::Act;
use clenshaw::data::fetch::{Listed, Options, Patience, Proxies, Report, Set, State, fetch};
use sha2::{Digest, Sha256};
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

pub const GOOD: &[u8] = b"Clenshaw sums from the far end, and two residuals suffice.";
pub const BAD: &[u8] = b"Clenshaw sums from the near end, and no residuals suffice.";
pub const ADVICE: &str = "nothing that was there is changed; try again, or name another source";

/// Nobody wants to stop.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// A data folder, and what is done to it.
pub struct Desk {
    pub folder: TempDir,
    pub patience: Patience,
    pub proxies: Proxies,
}

impl Desk {
    pub fn new() -> Self {
        let ms = Duration::from_millis;
        let patience = Patience { connect: ms(2000), stall: ms(2000), tries: 3, pause: ms(1) };
        Self { folder: TempDir::new().unwrap(), patience, proxies: Proxies::default() }
    }

    /// For servers that fall silent.
    pub fn impatient() -> Self {
        let desk = Self::new();
        let stall = Duration::from_millis(300);
        Self { patience: Patience { stall, ..desk.patience }, ..desk }
    }

    pub fn write(&self, name: &str, content: &[u8]) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.path().join(name)).ok()
    }

    /// All files below the data folder.
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

    pub fn options(&self) -> Options<'_> {
        let (patience, proxies) = (self.patience, self.proxies.clone());
        Options { patience, proxies, ..Options::new(self.folder.path(), &GO_ON) }
    }

    pub fn fetch(&self, set: &Set) -> clenshaw::Result<Report> {
        fetch(set, &self.options())
    }

    pub fn state(&self, set: &Set) -> State {
        self.fetch(set).unwrap().files[0].state
    }

    /// The error, after the path that it begins with.
    pub fn refused(&self, set: &Set) -> String {
        let error = self.fetch(set).unwrap_err();
        assert!(!error.is_input(), "the words were right");
        let path = self.folder.path().join(&set.files[0].path).display().to_string();
        let text = error.to_string();
        text.strip_prefix(&format!("{path}: ")).unwrap_or(&text).to_owned()
    }
}

pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn file(name: &str, content: &[u8], urls: Vec<String>) -> Listed {
    let (bytes, sha256) = (Some(content.len() as u64), Some(sha256(content)));
    Listed { path: format!("toy/{name}"), bytes, sha256, urls }
}

/// A data set of one file whose content should be [`GOOD`].
pub fn toy(urls: impl IntoIterator<Item = String>) -> Set {
    Set { folder: "toy".into(), files: vec![file("a.txt", GOOD, urls.into_iter().collect())] }
}

/// The same file, of which neither size nor checksum is known.
pub fn unchecked(url: String) -> Set {
    let listed = Listed { bytes: None, sha256: None, ..file("a.txt", GOOD, vec![url]) };
    Set { folder: "toy".into(), files: vec![listed] }
}

pub fn serve() -> Act {
    Act::Serve(GOOD.to_vec())
}
