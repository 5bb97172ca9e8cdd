//! The manifest: the files of each public data set, their checksums and sources.

use super::failure::SourceError;
use super::partial_file::FileDigest;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The files of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Folder name inside the data folder, which identifies the data set.
    pub folder: String,
    /// The files, in the order in which they are fetched.
    pub files: Vec<ManifestFile>,
}

/// A published file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// Path inside the data folder, such as `texas/out1_graph_edges.txt`.
    pub path: String,
    /// Size in bytes, if known.
    pub bytes: Option<u64>,
    /// SHA-256 in hexadecimal, if known.
    pub sha256: Option<String>,
    /// The URLs of the file; `ARCHIVE#MEMBER` refers to a member of a zip archive.
    pub urls: Vec<String>,
}

impl ManifestFile {
    /// Returns an error if a checksum is known and differs.
    pub(super) fn check(&self, found: &FileDigest) -> std::result::Result<(), SourceError> {
        match &self.sha256 {
            Some(expected) if *expected != found.sha256 => Err(SourceError::Checksum {
                found: found.sha256.clone(),
                expected: expected.clone(),
            }),
            _ => Ok(()),
        }
    }
}

static MANIFESTS: LazyLock<Vec<Manifest>> =
    LazyLock::new(|| parse(include_str!("../../../assets/manifest.toml")));

/// Returns the manifests of all data sets that can be fetched.
pub fn manifests() -> &'static [Manifest] {
    &MANIFESTS
}

/// Returns the manifest of the data set with this folder name; an error if there is none.
///
/// ```
/// let texas = clenshaw::data::fetch::manifest("texas")?;
/// assert_eq!(texas.files[0].path, "texas/out1_graph_edges.txt");
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn manifest(folder: &str) -> Result<&'static Manifest> {
    let known = || manifests().iter().map(|manifest| manifest.folder.as_str());
    let manifest = manifests().iter().find(|manifest| manifest.folder == folder);
    manifest.ok_or_else(|| Error::unknown("data set", folder, known()))
}

/// The manifest file.
#[derive(Deserialize)]
struct ManifestToml {
    group: Vec<ManifestGroup>,
}

/// Files with a common folder and common base URLs.
#[derive(Deserialize)]
struct ManifestGroup {
    /// The folder names that identify the data sets that need these files.
    datasets: Vec<String>,
    /// The folder of the files inside the data folder.
    folder: String,
    /// The beginnings of the URLs, to which the name of each file is appended.
    base_urls: Vec<String>,
    files: Vec<ManifestEntry>,
}

/// A file of a group.
#[derive(Deserialize)]
struct ManifestEntry {
    name: String,
    bytes: Option<u64>,
    sha256: Option<String>,
}

/// Parses the manifest file into one manifest per data set, ordered by their first group.
fn parse(text: &str) -> Vec<Manifest> {
    let document: ManifestToml = toml::from_str(text).expect("the embedded manifest is valid");
    let mut manifests: Vec<Manifest> = Vec::new();
    for group in &document.group {
        let files: Vec<ManifestFile> = group.files.iter().map(|entry| group.file(entry)).collect();
        for folder in &group.datasets {
            match manifests.iter_mut().find(|manifest| manifest.folder == *folder) {
                Some(manifest) => manifest.files.extend(files.clone()),
                None => manifests.push(Manifest { folder: folder.clone(), files: files.clone() }),
            }
        }
    }
    manifests
}

impl ManifestGroup {
    /// The file of an entry, with its path and URLs.
    fn file(&self, entry: &ManifestEntry) -> ManifestFile {
        ManifestFile {
            path: format!("{}/{}", self.folder, entry.name),
            bytes: entry.bytes,
            sha256: entry.sha256.clone(),
            urls: self.base_urls.iter().map(|base| format!("{base}{}", entry.name)).collect(),
        }
    }
}

/// Where all files of a fetch come from.
pub(super) enum SourceBase<'a> {
    /// The published URLs of each file.
    Published,
    /// A URL with the layout of the data folder.
    Url(&'a str),
    /// Another folder with the layout of the data folder.
    Folder(&'a Path),
}

impl<'a> SourceBase<'a> {
    /// Parses [`FetchOptions::from`](super::FetchOptions::from); an error if it is neither an HTTP or HTTPS URL
    /// nor an existing folder.
    pub(super) fn parse(from: Option<&'a str>) -> Result<Self> {
        let Some(from) = from else { return Ok(Self::Published) };
        let scheme = from.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https") => Ok(Self::Url(from.trim_end_matches('/'))),
            None if Path::new(from).is_dir() => Ok(Self::Folder(Path::new(from))),
            _ => Err(Error::BadValue {
                key: "from".into(),
                value: from.into(),
                expected: "a folder, or a URL that begins with http:// or https://".into(),
            }),
        }
    }

    /// Returns the sources of a file, in order of preference.
    pub(super) fn sources(&self, listed: &ManifestFile) -> Vec<FileSource> {
        match self {
            Self::Published => listed.urls.iter().map(|url| FileSource::parse(url)).collect(),
            Self::Url(base) => vec![FileSource::Url(format!("{base}/{}", listed.path))],
            Self::Folder(folder) => vec![FileSource::Path(folder.join(&listed.path))],
        }
    }
}

/// A source of a file.
pub(super) enum FileSource {
    Url(String),
    /// The file with the name `member`, in any folder of the zip archive at the URL `archive`.
    ZipMember {
        archive: String,
        member: String,
    },
    Path(PathBuf),
}

impl FileSource {
    /// Parses `URL` or `ARCHIVE#MEMBER`.
    pub(super) fn parse(url: &str) -> Self {
        match url.split_once('#') {
            Some((archive, member)) => {
                Self::ZipMember { archive: archive.into(), member: member.into() }
            }
            None => Self::Url(url.into()),
        }
    }
}

impl fmt::Display for FileSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::ZipMember { archive, member } => write!(f, "{archive}#{member}"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Component;

    #[test]
    fn manifest_has_safe_paths_https_sources_and_valid_checksums() {
        let hex = |digit: char| matches!(digit, '0'..='9' | 'a'..='f');
        for manifest in manifests() {
            for file in &manifest.files {
                let mut parts = Path::new(&file.path).components();
                assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{}", file.path);
                assert!(file.urls.iter().all(|url| url.starts_with("https://")), "{}", file.path);
                assert!(!file.urls.is_empty(), "{}", file.path);
                assert_eq!(file.sha256.is_some(), file.bytes.is_some(), "{}", file.path);
                let is_sha256 = |sum: &String| sum.len() == 64 && sum.chars().all(hex);
                assert!(file.sha256.iter().all(is_sha256), "{}", file.path);
            }
        }
    }

    #[test]
    fn manifests_have_the_expected_numbers_of_files_and_checksums() {
        let sizes: Vec<(&str, usize)> = manifests()
            .iter()
            .map(|manifest| (manifest.folder.as_str(), manifest.files.len()))
            .collect();
        let expected = [
            ("cora", 18),
            ("citeseer", 18),
            ("pubmed", 18),
            ("chameleon", 12),
            ("squirrel", 12),
            ("film", 12),
            ("texas", 12),
            ("cornell", 12),
            ("cornell_corrected", 14),
            ("wisconsin", 12),
            ("chameleon_filtered", 1),
            ("squirrel_filtered", 1),
            ("minesweeper", 1),
            ("tolokers", 1),
            ("roman_empire", 1),
            ("amazon_ratings", 1),
            ("questions", 1),
            ("twitch-gamers", 3),
            ("fb100-cornell5", 1),
            ("fb100-penn94", 1),
        ];
        assert_eq!(sizes, expected);
        let unknown =
            |manifest: &&Manifest| manifest.files.iter().any(|file| file.sha256.is_none());
        let unknown: Vec<&str> = manifests().iter().filter(unknown).map(|s| &*s.folder).collect();
        let expected = [
            "wisconsin",
            "tolokers",
            "roman_empire",
            "amazon_ratings",
            "questions",
            "fb100-penn94",
        ];
        assert_eq!(unknown, expected);
    }

    #[test]
    fn corrected_cornell_includes_the_files_of_cornell() {
        let [both, plain] =
            ["cornell_corrected", "cornell"].map(|name| &manifest(name).unwrap().files);
        assert!(plain.iter().all(|file| both.contains(file)));
        assert_eq!(plain[5].path, "cornell/splits/cornell_split_0.6_0.2_3.npz");
    }

    #[test]
    fn unknown_datasets_and_sources_are_rejected() {
        let parse_error = |from| SourceBase::parse(Some(from)).err().unwrap().to_string();
        let expected = "expected a folder, or a URL that begins with http:// or https://";
        assert_eq!(parse_error("ftp://x/y"), format!("`from` is `ftp://x/y`; {expected}"));
        assert_eq!(parse_error("no/such"), format!("`from` is `no/such`; {expected}"));
        let error = manifest("texsa").unwrap_err().to_string();
        assert!(error.starts_with("unknown data set `texsa`; did you mean `texas`? known: cora,"));
    }
}
