//! Registry entries of the public data sets that are read from files.
//!
//! Each data set has a folder in the data folder, with the files as published; Geom-GCN's ten splits
//! are in its subfolder `splits/`.

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

use super::{Dataset, DatasetInfo, DatasetOrigin, FileDataset, Metric};
use crate::error::Result;
use std::path::Path;

/// The common properties of data sets that were released together.
struct DatasetRelease {
    paper: &'static str,
    source: &'static str,
    licence: &'static str,
    splits: &'static str,
}

impl DatasetRelease {
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
        let files = FileDataset { folder, licence, splits, metric, warnings, read };
        DatasetInfo { name, title, paper, source, origin: DatasetOrigin::Files(files) }
    }
}
