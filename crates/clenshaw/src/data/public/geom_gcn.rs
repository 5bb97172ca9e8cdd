//! Heterophilous graphs as Geom-GCN publishes them.

use crate::data::read::geom_gcn::read;
use crate::data::{Dataset, DatasetInfo, Files, Metric, Origin};
use crate::error::Result;
use std::path::Path;

const PAPER: &str = "Pei et al., Geom-GCN, ICLR 2020, arXiv:2002.05287";
const SOURCE: &str = "github.com/graphdml-uiuc-jlu/geom-gcn, new_data/ and splits/";
const LICENCE: &str = "none stated; the authors ask to cite the original sources";
const SPLITS: &str = "geom:0 to geom:9";

/// Chameleon: Wikipedia pages, linked by mutual links, classed by traffic.
pub static CHAMELEON: DatasetInfo = entry(
    "chameleon",
    "Chameleon: Wikipedia pages, linked by mutual links, classed by traffic",
    "chameleon",
    &[
        "duplicated nodes stand in training and test; results are lower without them: see chameleon-filtered",
    ],
    |folder| read(folder, "chameleon"),
);

/// Squirrel: Wikipedia pages, linked by mutual links, classed by traffic.
pub static SQUIRREL: DatasetInfo = entry(
    "squirrel",
    "Squirrel: Wikipedia pages, linked by mutual links, classed by traffic",
    "squirrel",
    &[
        "duplicated nodes stand in training and test; results are lower without them: see squirrel-filtered",
    ],
    |folder| read(folder, "squirrel"),
);

/// Actor: actors, linked by shared Wikipedia pages, classed by words.
pub static ACTOR: DatasetInfo = entry(
    "actor",
    "Actor: actors, linked by shared Wikipedia pages, classed by words",
    "film",
    &[],
    |folder| read(folder, "film"),
);

/// Texas: web pages of a department, linked by hyperlinks, classed by role.
pub static TEXAS: DatasetInfo = entry(
    "texas",
    "Texas: web pages of a department, linked by hyperlinks, classed by role",
    "texas",
    &["one class has a single node; under the balanced split two classes have no test node"],
    |folder| read(folder, "texas"),
);

/// Cornell as used in the literature: its edges with the features and labels of Texas.
pub static CORNELL: DatasetInfo = entry(
    "cornell",
    "Cornell as used in the literature: its edges with the features and labels of Texas",
    "cornell",
    &[
        "features and labels are a copy of those of Texas, as in the published comparisons; see cornell-corrected",
    ],
    |folder| read(folder, "cornell"),
);

/// Cornell, corrected: web pages of a department, classed by role.
pub static CORNELL_CORRECTED: DatasetInfo = entry(
    "cornell-corrected",
    "Cornell, corrected: web pages of a department, classed by role",
    "cornell_corrected",
    &[],
    |folder| read(folder, "cornell"),
);

/// Wisconsin: web pages of a department, linked by hyperlinks, classed by role.
pub static WISCONSIN: DatasetInfo = entry(
    "wisconsin",
    "Wisconsin: web pages of a department, linked by hyperlinks, classed by role",
    "wisconsin",
    &[],
    |folder| read(folder, "wisconsin"),
);

/// What all of them share.
const fn entry(
    name: &'static str,
    title: &'static str,
    folder: &'static str,
    warnings: &'static [&'static str],
    read: fn(&Path) -> Result<Dataset>,
) -> DatasetInfo {
    let files = Files {
        folder,
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings,
        read,
    };
    DatasetInfo { name, title, paper: PAPER, source: SOURCE, origin: Origin::Files(files) }
}
