//! Which files a data set has, and where each may come from.

use super::partial::Digest;
use super::trouble::Trouble;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The files of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Its folder below the data folder, which is its name here.
    pub folder: String,
    /// What it needs, in the order in which it is fetched.
    pub files: Vec<Listed>,
}

/// A file as it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Below the data folder, with `/` between folders.
    pub path: String,
    /// Its size, if known.
    pub bytes: Option<u64>,
    /// Its checksum in hexadecimal, if known.
    pub sha256: Option<String>,
    /// Where it is published; after `#` stands a member of a zip archive.
    pub urls: Vec<String>,
}

impl Listed {
    /// Refuses content that is not what was published.
    pub(super) fn check(&self, found: &Digest) -> std::result::Result<(), Trouble> {
        match &self.sha256 {
            Some(expected) if *expected != found.sha256 => {
                Err(Trouble::Digest { found: found.sha256.clone(), expected: expected.clone() })
            }
            _ => Ok(()),
        }
    }
}

static SETS: LazyLock<Vec<Set>> =
    LazyLock::new(|| parse(include_str!("../../../assets/sources.toml")));

/// Every data set that can be fetched.
pub fn sets() -> &'static [Set] {
    &SETS
}

/// The data set of that folder.
///
/// ```
/// let texas = clenshaw::data::fetch::find("texas")?;
/// assert_eq!(texas.files[0].path, "texas/out1_graph_edges.txt");
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn find(folder: &str) -> Result<&'static Set> {
    let known = || sets().iter().map(|set| set.folder.as_str());
    let set = sets().iter().find(|set| set.folder == folder);
    set.ok_or_else(|| Error::unknown("data set", folder, known()))
}

#[derive(Deserialize)]
struct Document {
    group: Vec<Group>,
}

/// Files that lie side by side, here and where they are published.
#[derive(Deserialize)]
struct Group {
    sets: Vec<String>,
    below: String,
    from: Vec<String>,
    files: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    bytes: Option<u64>,
    sha256: Option<String>,
}

/// Sets in the order of their first group.
fn parse(text: &str) -> Vec<Set> {
    let document: Document = toml::from_str(text).expect("the list is ours");
    let mut sets: Vec<Set> = Vec::new();
    for group in &document.group {
        let files: Vec<Listed> = group.files.iter().map(|entry| group.listed(entry)).collect();
        for folder in &group.sets {
            match sets.iter_mut().find(|set| set.folder == *folder) {
                Some(set) => set.files.extend(files.clone()),
                None => sets.push(Set { folder: folder.clone(), files: files.clone() }),
            }
        }
    }
    sets
}

impl Group {
    fn listed(&self, entry: &Entry) -> Listed {
        Listed {
            path: format!("{}/{}", self.below, entry.name),
            bytes: entry.bytes,
            sha256: entry.sha256.clone(),
            urls: self.from.iter().map(|base| format!("{base}{}", entry.name)).collect(),
        }
    }
}

/// What all sources of a run have in common.
pub(super) enum Base<'a> {
    /// Every file knows its own.
    Published,
    /// The data folder's layout below a URL.
    Url(&'a str),
    /// The data folder's layout in another folder.
    Folder(&'a Path),
}

impl<'a> Base<'a> {
    /// What somebody typed after `--from`.
    pub(super) fn of(from: Option<&'a str>) -> Result<Self> {
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

    /// Where a file may come from, best first.
    pub(super) fn places(&self, listed: &Listed) -> Vec<Place> {
        match self {
            Self::Published => listed.urls.iter().map(|url| Place::of(url)).collect(),
            Self::Url(base) => vec![Place::Url(format!("{base}/{}", listed.path))],
            Self::Folder(folder) => vec![Place::Folder(folder.join(&listed.path))],
        }
    }
}

/// Where a file may come from.
pub(super) enum Place {
    Url(String),
    Member { archive: String, member: String },
    Folder(PathBuf),
}

impl Place {
    pub(super) fn of(url: &str) -> Self {
        match url.split_once('#') {
            Some((archive, member)) => {
                Self::Member { archive: archive.into(), member: member.into() }
            }
            None => Self::Url(url.into()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::Member { archive, member } => write!(f, "{archive}#{member}"),
            Self::Folder(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Component;

    #[test]
    fn every_listed_file_has_a_safe_path_a_source_and_a_proper_checksum() {
        let hex = |digit: char| matches!(digit, '0'..='9' | 'a'..='f');
        for set in sets() {
            for file in &set.files {
                let mut parts = Path::new(&file.path).components();
                assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{}", file.path);
                assert!(file.urls.iter().all(|url| url.starts_with("https://")), "{}", file.path);
                assert!(!file.urls.is_empty(), "{}", file.path);
                assert_eq!(file.sha256.is_some(), file.bytes.is_some(), "{}", file.path);
                let proper = |sum: &String| sum.len() == 64 && sum.chars().all(hex);
                assert!(file.sha256.iter().all(proper), "{}", file.path);
            }
        }
    }

    #[test]
    fn the_list_is_whole_and_says_what_cannot_be_checked() {
        let sizes: Vec<(&str, usize)> =
            sets().iter().map(|set| (set.folder.as_str(), set.files.len())).collect();
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
        let unknown = |set: &&Set| set.files.iter().any(|file| file.sha256.is_none());
        let unknown: Vec<&str> = sets().iter().filter(unknown).map(|s| &*s.folder).collect();
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
    fn the_corrected_cornell_brings_the_other_whose_splits_it_shares() {
        let [both, plain] = ["cornell_corrected", "cornell"].map(|name| &find(name).unwrap().files);
        assert!(plain.iter().all(|file| both.contains(file)));
        assert_eq!(plain[5].path, "cornell/splits/cornell_split_0.6_0.2_3.npz");
    }

    #[test]
    fn wrong_words_are_answered() {
        let refused = |from| Base::of(Some(from)).err().unwrap().to_string();
        let expected = "expected a folder, or a URL that begins with http:// or https://";
        assert_eq!(refused("ftp://x/y"), format!("`from` is `ftp://x/y`; {expected}"));
        assert_eq!(refused("no/such"), format!("`from` is `no/such`; {expected}"));
        let error = find("texsa").unwrap_err().to_string();
        assert!(error.starts_with("unknown data set `texsa`; did you mean `texas`? known: cora,"));
    }
}
