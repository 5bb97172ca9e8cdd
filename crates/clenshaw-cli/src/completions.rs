//! `clenshaw completions`: what a shell needs to complete our words.

use crate::{Run, output};
use clap::Parser;
use clap_complete::Shell;
use clenshaw::Result;

/// Print the completions of a shell
#[derive(Parser)]
#[command(name = "completions", after_help = EXAMPLES)]
pub struct Completions {
    /// Whose completions
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw completions bash > ~/.local/share/bash-completion/completions/clenshaw
  clenshaw completions fish > ~/.config/fish/completions/clenshaw.fish";

impl Run for Completions {
    fn run(self) -> Result<()> {
        let mut script = vec![];
        clap_complete::generate(self.shell, &mut crate::command(), "clenshaw", &mut script);
        output::print(&String::from_utf8(script).expect("our words are UTF-8"))
    }
}
