//! Runs the examples of `docs/your-own-graph.md`.
//!
//! A block with a title is a file to write. In a block `console`, lines after `$ ` are commands; the lines
//! below a command must occur in its output in this order, and `...` stands for any text.

use crate::common::{Sandbox, text};

#[test]
fn examples_of_the_page_on_your_own_graph_work() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/your-own-graph.md");
    let page = std::fs::read_to_string(path).unwrap();
    let sandbox = Sandbox::new();
    let mut commands = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (info, content) = block.split_once('\n').unwrap();
        if let Some((_, title)) = info.split_once("title=\"") {
            sandbox.write(title.trim_end_matches('"'), &format!("{content}\n"));
        } else if info == "console" {
            for example in content.split("$ clenshaw ").skip(1) {
                let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
                check(&sandbox, command, expected);
                commands += 1;
            }
        }
    }
    assert!(commands >= 6, "{commands} commands in {path}");
}

/// Runs a command and compares its output with the expected lines.
fn check(sandbox: &Sandbox, command: &str, expected: &str) {
    let output = sandbox.run(command);
    let (page, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command}: {errors}");
    let mut rest = page.as_str();
    for line in expected.lines().filter(|line| !line.is_empty() && *line != "...") {
        for part in line.split("...").filter(|part| !part.is_empty()) {
            let at = rest.find(part);
            let at = at.unwrap_or_else(|| panic!("{command}: no `{part}` in\n{page}"));
            rest = &rest[at + part.len()..];
        }
    }
}
