//! Long sentences in lines that fit a page.

/// The words in lines of at most `width` characters, as far as the words allow.
///
/// ```
/// use clenshaw::report::wrapped;
/// assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
/// assert_eq!(wrapped("", 8), [""]);
/// ```
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
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
