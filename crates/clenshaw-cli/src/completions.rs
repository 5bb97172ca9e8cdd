//! `clenshaw completions`: shell completion scripts.

use crate::{RunSubcommand, output};
use clap::Parser;
use clap_complete::Shell;
use clenshaw::Result;

/// Print a shell completion script
#[derive(Parser)]
#[command(name = "completions", after_help = EXAMPLES)]
pub struct Completions {
    /// Shell that will load the script
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw completions bash > ~/.local/share/bash-completion/completions/clenshaw
  clenshaw completions fish > ~/.config/fish/completions/clenshaw.fish
  clenshaw completions zsh > ~/.zfunc/_clenshaw";

impl RunSubcommand for Completions {
    fn run(self) -> Result<()> {
        let mut script = vec![];
        clap_complete::generate(self.shell, &mut crate::command(), "clenshaw", &mut script);
        output::print(&String::from_utf8(script).expect("completion scripts are UTF-8"))
    }
}
