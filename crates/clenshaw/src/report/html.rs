//! Report pages: one HTML file with all scripts and data, which loads nothing from elsewhere.

use serde::Serialize;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
/// The scripts; each uses functions of the ones before it.
const SCRIPTS: [&str; 10] = [
    include_str!("html/dom.js"),
    include_str!("html/charts.js"),
    include_str!("html/table.js"),
    include_str!("html/microscope.js"),
    include_str!("html/drawing.js"),
    include_str!("html/run.js"),
    include_str!("html/comparison.js"),
    include_str!("html/study.js"),
    include_str!("html/choice.js"),
    include_str!("html/page.js"),
];

/// The script of pages that are updated while a run trains; it uses all of the above.
const LIVE: &str = include_str!("html/live.js");

/// Returns a page that displays this data, which is embedded as JSON in the format that `html/page.js`
/// reads.
///
/// # Panics
/// If the data cannot be serialised, for example because a map has keys that are not text.
pub fn html_page(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("the data of a page is plain");
    // A class may be named `</script>`.
    let json = json.replace('<', "\\u003c");
    page(&PAGE.replace("/*CSP*/", "").replace("/*NONCE*/", ""), &json, &SCRIPTS.join("\n"))
}

/// Returns a page without data that receives it as events from its server, in the format that
/// `html/live.js` reads. `nonce` marks its script and its style; it must be safe in an attribute.
pub fn live_page(nonce: &str) -> String {
    let own = format!(" nonce=\"{nonce}\"");
    let frame = PAGE.replace("/*CSP*/", "; connect-src 'self'").replace("/*NONCE*/", &own);
    page(&frame, "", &(SCRIPTS.join("\n") + LIVE))
}

fn page(frame: &str, data: &str, scripts: &str) -> String {
    let [before, after_style] = split(frame, "/*CSS*/");
    let [between, after_data] = split(after_style, "/*DATA*/");
    let [before_script, after] = split(after_data, "/*JS*/");
    [before, STYLE, between, data, before_script, scripts, after].concat()
}

fn split<'a>(text: &'a str, placeholder: &str) -> [&'a str; 2] {
    let (before, after) =
        text.split_once(placeholder).expect("the page has every placeholder once");
    [before, after]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_script() {
        let page = html_page(&["</script><script>alert(1)</script>", "/*JS*/"]);
        assert!(page.contains(r#"["\u003c/script>\u003cscript>alert(1)\u003c/script>","/*JS*/"]"#));
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(page.contains("function render(data)"));
    }

    #[test]
    fn live_page_has_the_nonce_of_its_policy() {
        let page = live_page("abc");
        assert_eq!(page.matches("nonce=\"abc\"").count(), 2, "style and script");
        assert!(page.contains("form-action 'none'; connect-src 'self'\""));
        assert!(page.contains("new EventSource"));
        assert!(!html_page(&()).contains("EventSource"), "a report connects to nothing");
        assert!(!html_page(&()).contains("/*NONCE*/"));
    }

    #[test]
    fn page_is_small_and_loads_nothing() {
        let page = html_page(&());
        assert!(page.len() < 400_000, "{}", page.len());
        for reference in ["src=\"http", "href=\"http", "url(http", "import(", "@import"] {
            assert!(!page.contains(reference), "{reference}");
        }
    }
}
