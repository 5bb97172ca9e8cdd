//! Password files of libpq (`~/.pgpass`), so that a password need not be part of a command.
//!
//! ```text
//! host:port:database:user:password
//! ```
//!
//! The first line whose fields match is used; `*` matches anything, and `:` and `\` in a field are
//! preceded by `\`. A file with permissions for other users is ignored.

use std::path::{Path, PathBuf};

/// The host, port, database and user by which a password is looked up.
pub(super) type ConnectionKey<'a> = [&'a str; 4];

/// The result of looking up a password.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundPassword {
    pub(super) password: Option<String>,
    /// Why an existing file was not read; `None` if it was, or if it does not exist.
    pub(super) problem: Option<String>,
}

/// The file to search: `passfile` of the URL, `PGPASSFILE` or `~/.pgpass`; `None` if the home folder is
/// unknown.
pub(super) fn path(passfile: Option<String>) -> Option<PathBuf> {
    let named =
        passfile.map(PathBuf::from).or_else(|| std::env::var_os("PGPASSFILE").map(PathBuf::from));
    let default = || std::env::home_dir().map(|home| home.join(".pgpass"));
    named.filter(|path| !path.as_os_str().is_empty()).or_else(default)
}

/// Looks up a password in a file; a file that does not exist contains none.
pub(super) fn find(path: &Path, key: ConnectionKey<'_>) -> FoundPassword {
    let problem = |problem: &str| FoundPassword {
        password: None,
        problem: Some(format!("the password file `{}` {problem}", path.display())),
    };
    let Ok(metadata) = std::fs::metadata(path) else { return FoundPassword::default() };
    if !metadata.is_file() {
        return problem("is ignored: it is not a regular file");
    }
    if accessible_to_others(&metadata) {
        return problem("is ignored because other users have access to it; run `chmod 600` on it");
    }
    match std::fs::read_to_string(path) {
        Ok(text) => FoundPassword { password: find_line(&text, key), problem: None },
        Err(error) => problem(&format!("cannot be read: {error}")),
    }
}

/// Whether the group or other users have any permission.
#[cfg(unix)]
fn accessible_to_others(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

/// `false`: permissions are checked on Unix only.
#[cfg(not(unix))]
fn accessible_to_others(_: &std::fs::Metadata) -> bool {
    false
}

/// The password of the first line that matches; `None` if no line does.
fn find_line(text: &str, key: ConnectionKey<'_>) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).map(split_fields);
    let matches = |fields: &Vec<(String, String)>| {
        let same = |((raw, field), key): (&(String, String), &&str)| raw == "*" || field == *key;
        fields.len() >= 5 && fields.iter().zip(&key).all(same)
    };
    // A `:` within the password needs no `\`.
    let password = |fields: Vec<(String, String)>| {
        fields[4..].iter().map(|(_, field)| field.as_str()).collect::<Vec<_>>().join(":")
    };
    lines.into_iter().find(matches).map(password)
}

/// Splits a line at `:`; returns every field as written and with `\` removed.
fn split_fields(line: &str) -> Vec<(String, String)> {
    let mut fields = vec![(String::new(), String::new())];
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        if char == ':' {
            fields.push((String::new(), String::new()));
            continue;
        }
        let Some((raw, field)) = fields.last_mut() else { break };
        raw.push(char);
        let escaped = if char == '\\' { chars.next() } else { None };
        raw.extend(escaped);
        field.push(escaped.unwrap_or(char));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_matching_line_is_used() {
        let text =
            "# h:1:d:u:comment\n\nh:1:d:other:a\nh:*:d:u:b\\:c\\\\d:e\n*:*:*:*:last\n\\*:1:d:u:x";
        for (key, password) in [
            (["h", "1", "d", "u"], "b:c\\d:e"),
            (["h", "1", "d", "other"], "a"),
            (["h2", "1", "d", "u"], "last"),
        ] {
            assert_eq!(find_line(text, key).as_deref(), Some(password));
        }
        assert_eq!(find_line("h:1:d:u", ["h", "1", "d", "u"]), None);
        assert_eq!(find_line("\\*:1:d:u:x", ["h", "1", "d", "u"]), None);
    }

    #[cfg(unix)]
    #[test]
    fn file_that_others_can_read_is_ignored() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "*:*:*:*:s3cret\n").unwrap();
        let found = |mode: u32| {
            std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
            find(file.path(), ["h", "1", "d", "u"])
        };
        assert_eq!(found(0o600).password.as_deref(), Some("s3cret"));
        let ignored = found(0o640);
        assert_eq!(ignored.password, None);
        assert!(ignored.problem.unwrap().contains("chmod 600"));
        assert_eq!(find(Path::new("/missing"), ["h", "1", "d", "u"]), FoundPassword::default());
    }
}
