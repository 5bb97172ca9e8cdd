//! What optuna-dashboard shows beside the trials: a note, the objective's name, plots of our own.
//!
//! All are system attributes of the study. Long texts are cut into numbered pieces; a text that got
//! shorter leaves empty pieces behind, for attributes cannot be removed.
//!
//! ```text
//! dashboard:note_ver           1, 2, ...: a page whose number is old may not save
//! dashboard:note_str:0, :1     Markdown
//! dashboard:plot_data:ID:0     Plotly's {"data": [...], "layout": {...}}
//! study:metric_names           ["validation accuracy"]
//! ```

use super::Attributes;
use serde_json::{Value, json};

/// The length of a piece in characters, as the dashboard has it.
const PIECE: usize = 2045;

/// The attributes that set a study's note, in Markdown; `now` are its present system attributes.
pub fn note(now: &Attributes, text: &str) -> Attributes {
    let version = now.get("dashboard:note_ver").and_then(Value::as_u64).unwrap_or(0) + 1;
    let mut attrs = pieces(now, "dashboard:note_str:", text);
    attrs.insert("dashboard:note_ver".into(), json!(version));
    attrs
}

/// The attribute that names the objective.
pub fn metric_name(name: &str) -> Attributes {
    [("study:metric_names".to_owned(), json!([name]))].into()
}

/// The attributes that set a plot, a figure of Plotly's; `now` are the study's present system
/// attributes. The id is made of letters, digits, `-`, `_` and `.`; setting it again replaces the plot.
pub fn plot(now: &Attributes, id: &str, figure: &Value) -> Attributes {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    assert!(!id.is_empty() && id.chars().all(fits), "plot: `{id}` is no id");
    pieces(now, &format!("dashboard:plot_data:{id}:"), &figure.to_string())
}

/// A text in pieces, and nothing in those that an earlier text had beyond it.
fn pieces(now: &Attributes, prefix: &str, text: &str) -> Attributes {
    let characters: Vec<char> = text.chars().collect();
    let mut texts: Vec<String> = characters.chunks(PIECE).map(String::from_iter).collect();
    let before = now.keys().filter(|key| key.starts_with(prefix)).count();
    texts.resize(texts.len().max(before), String::new());
    texts.into_iter().enumerate().map(|(i, text)| (format!("{prefix}{i}"), json!(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_comes_in_pieces_and_a_short_one_clears_them() {
        let mut now = note(&Attributes::new(), &"ä".repeat(2 * PIECE + 1));
        assert_eq!(now["dashboard:note_ver"], 1);
        assert_eq!(now["dashboard:note_str:1"], "ä".repeat(PIECE));
        assert_eq!(now["dashboard:note_str:2"], "ä");
        now.extend(note(&now, "short"));
        assert_eq!(now["dashboard:note_ver"], 2);
        assert_eq!(now["dashboard:note_str:0"], "short");
        assert_eq!(
            (&now["dashboard:note_str:1"], &now["dashboard:note_str:2"]),
            (&json!(""), &json!(""))
        );
    }

    #[test]
    fn a_plot_is_its_text() {
        let figure = json!({"data": [{"y": [1, 2]}], "layout": {"title": "t"}});
        let attrs = plot(&Attributes::new(), "filter", &figure);
        let text = attrs["dashboard:plot_data:filter:0"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), figure);
    }
}
