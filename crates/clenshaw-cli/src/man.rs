//! `clenshaw man`: man pages.

use crate::{RunSubcommand, output};
use clap::Parser;
use clenshaw::{Error, Result};
use std::path::PathBuf;

/// Print the man page, or write one page per command
#[derive(Parser)]
#[command(name = "man", after_help = EXAMPLES)]
pub struct Man {
    /// Write the pages of all commands to this folder: clenshaw.1, clenshaw-train.1, ...
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw man | man -l -
  clenshaw man --out ~/.local/share/man/man1";

impl RunSubcommand for Man {
    fn run(self) -> Result<()> {
        let command = crate::command().disable_help_subcommand(true);
        match self.out {
            Some(folder) => {
                output::create_folder(&folder)?;
                clap_mangen::generate_to(command, &folder).map_err(Error::io(&folder))
            }
            None => {
                let mut page = vec![];
                let rendered = clap_mangen::Man::new(command).render(&mut page);
                rendered.expect("writing to memory cannot fail");
                output::print(&String::from_utf8(page).expect("man pages are UTF-8"))
            }
        }
    }
}
