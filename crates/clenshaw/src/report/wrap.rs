//! Word wrapping.

/// Wraps text into lines of at most `width` characters; a longer word is put on a separate line.
///
/// ```
/// use clenshaw::report::wrap_text;
/// assert_eq!(wrap_text("one two three", 8), ["one two", "three"]);
/// assert_eq!(wrap_text("", 8), [""]);
/// ```
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        match line.chars().count() + 1 + word.chars().count() {
            _ if line.is_empty() => line.push_str(word),
            length if length <= width => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Maximum line length of pages in the text form.
pub(super) const PAGE_WIDTH: usize = 100;

/// A paragraph of a page in the text form.
pub(super) fn paragraph(text: &str) -> String {
    wrap_text(text, PAGE_WIDTH).join("\n") + "\n"
}
