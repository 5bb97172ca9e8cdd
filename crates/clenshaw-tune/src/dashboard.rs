//! Study attributes that optuna-dashboard displays: a note, the name of the objective, and plots.
//!
//! Each function returns system attributes to pass to
//! [`Storage::set_study_attrs`](crate::Storage::set_study_attrs). Long text is split into numbered
//! chunks. Attributes cannot be removed, so surplus chunks of earlier, longer text are set to the empty
//! string.
//!
//! ```text
//! dashboard:note_ver           1, 2, ...: the dashboard rejects an edit of an earlier version
//! dashboard:note_str:0, :1     Markdown
//! dashboard:plot_data:ID:0     Plotly's {"data": [...], "layout": {...}}
//! study:metric_names           ["validation accuracy"]
//! ```

use crate::Attributes;
use serde_json::{Value, json};

/// The maximum length of a chunk in characters, as in optuna-dashboard.
const CHUNK_LENGTH: usize = 2045;

/// Returns the attributes that replace a study's note with `text`, in Markdown, and increment its version.
/// `current` contains the study's system attributes.
pub fn note(current: &Attributes, text: &str) -> Attributes {
    let version = current.get("dashboard:note_ver").and_then(Value::as_u64).unwrap_or(0) + 1;
    let mut attrs = chunk_attrs(current, "dashboard:note_str:", text);
    attrs.insert("dashboard:note_ver".into(), json!(version));
    attrs
}

/// Returns the attribute that sets the name of the objective.
pub fn metric_name(name: &str) -> Attributes {
    [("study:metric_names".to_owned(), json!([name]))].into()
}

/// Returns the attributes that add a Plotly figure to a study; a figure that already has this id is replaced.
/// `current` contains the study's system attributes.
///
/// # Panics
/// If the id is empty or contains characters other than ASCII letters, digits, `-`, `_` and `.`.
pub fn plot(current: &Attributes, id: &str, figure: &Value) -> Attributes {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_valid = !id.is_empty() && id.chars().all(is_allowed);
    assert!(is_valid, "dashboard::plot: invalid id `{id}`; use letters, digits, `-`, `_` and `.`");
    chunk_attrs(current, &format!("dashboard:plot_data:{id}:"), &figure.to_string())
}

/// Returns one attribute per chunk of the text, named `prefix` followed by the index of the chunk; surplus
/// chunks of earlier, longer text are set to the empty string.
fn chunk_attrs(current: &Attributes, prefix: &str, text: &str) -> Attributes {
    let characters: Vec<char> = text.chars().collect();
    let mut texts: Vec<String> = characters.chunks(CHUNK_LENGTH).map(String::from_iter).collect();
    let n_before = current.keys().filter(|key| key.starts_with(prefix)).count();
    texts.resize(texts.len().max(n_before), String::new());
    texts.into_iter().enumerate().map(|(i, text)| (format!("{prefix}{i}"), json!(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_long_notes_and_clears_surplus_chunks() {
        let mut current = note(&Attributes::new(), &"ä".repeat(2 * CHUNK_LENGTH + 1));
        assert_eq!(current["dashboard:note_ver"], 1);
        assert_eq!(current["dashboard:note_str:1"], "ä".repeat(CHUNK_LENGTH));
        assert_eq!(current["dashboard:note_str:2"], "ä");
        current.extend(note(&current, "short"));
        assert_eq!(current["dashboard:note_ver"], 2);
        assert_eq!(current["dashboard:note_str:0"], "short");
        assert_eq!(
            (&current["dashboard:note_str:1"], &current["dashboard:note_str:2"]),
            (&json!(""), &json!(""))
        );
    }

    #[test]
    fn plots_are_stored_as_json_text() {
        let figure = json!({"data": [{"y": [1, 2]}], "layout": {"title": "t"}});
        let attrs = plot(&Attributes::new(), "filter", &figure);
        let text = attrs["dashboard:plot_data:filter:0"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), figure);
    }
}
