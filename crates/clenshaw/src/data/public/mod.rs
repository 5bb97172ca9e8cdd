//! Public data sets that are read from files: what they are, where they come from, what to mind.
//!
//! The data folder has one folder a data set, with the files as their authors publish them; Geom-GCN's
//! ten splits stand in `splits/` below it.

mod planetoid;
mod geom_gcn;
mod heterophilous;
mod large;

pub use geom_gcn::{ACTOR, CHAMELEON, CORNELL, CORNELL_CORRECTED, SQUIRREL, TEXAS, WISCONSIN};
pub use heterophilous::{
    AMAZON_RATINGS, CHAMELEON_FILTERED, MINESWEEPER, QUESTIONS, ROMAN_EMPIRE, SQUIRREL_FILTERED,
    TOLOKERS,
};
pub use large::{CORNELL5, PENN94, TWITCH_GAMERS};
pub use planetoid::{CITESEER, CORA, PUBMED};

use super::{Dataset, DatasetInfo, Files, Metric, Origin};
use crate::error::Result;
use std::path::Path;

/// What data sets of one release share.
struct Family {
    paper: &'static str,
    source: &'static str,
    licence: &'static str,
    splits: &'static str,
}

impl Family {
    const fn entry(
        &self,
        name: &'static str,
        title: &'static str,
        folder: &'static str,
        metric: Metric,
        warnings: &'static [&'static str],
        read: fn(&Path) -> Result<Dataset>,
    ) -> DatasetInfo {
        let Self { paper, source, licence, splits } = *self;
        let files = Files { folder, licence, splits, metric, warnings, read };
        DatasetInfo { name, title, paper, source, origin: Origin::Files(files) }
    }
}
