//! `clenshaw man`: the help as man pages.

use crate::{Run, output};
use clap::Parser;
use clenshaw::{Error, Result};
use std::path::PathBuf;

/// Print the man page, or write one page a verb
#[derive(Parser)]
#[command(name = "man", after_help = EXAMPLES)]
pub struct Man {
    /// A folder for the pages of all verbs: clenshaw.1, clenshaw-train.1, ...
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw man | man -l -
  clenshaw man --out ~/.local/share/man/man1";

impl Run for Man {
    fn run(self) -> Result<()> {
        let command = crate::command().disable_help_subcommand(true);
        match self.out {
            Some(folder) => {
                std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
                clap_mangen::generate_to(command, &folder).map_err(Error::io(&folder))
            }
            None => {
                let mut page = vec![];
                let rendered = clap_mangen::Man::new(command).render(&mut page);
                rendered.expect("writing to memory cannot fail");
                output::print(&String::from_utf8(page).expect("our words are UTF-8"))
            }
        }
    }
}
