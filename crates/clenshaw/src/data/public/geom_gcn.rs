//! Heterophilous graphs as Geom-GCN publishes them.

use super::Family;
use crate::data::read::geom_gcn::read;
use crate::data::{DatasetInfo, Metric};

const FAMILY: Family = Family {
    paper: "Pei et al., Geom-GCN, ICLR 2020, arXiv:2002.05287",
    source: "github.com/graphdml-uiuc-jlu/geom-gcn, new_data/ and splits/",
    licence: "none stated; the authors ask to cite the original sources",
    splits: "geom:0 to geom:9",
};

/// Chameleon: Wikipedia pages, linked by mutual links, classed by traffic.
pub static CHAMELEON: DatasetInfo = FAMILY.entry(
    "chameleon",
    "Chameleon: Wikipedia pages, linked by mutual links, classed by traffic",
    "chameleon",
    Metric::Accuracy,
    &[
        "duplicated nodes stand in training and test; results are lower without them: see chameleon-filtered",
    ],
    |folder| read(folder, "chameleon"),
);

/// Squirrel: Wikipedia pages, linked by mutual links, classed by traffic.
pub static SQUIRREL: DatasetInfo = FAMILY.entry(
    "squirrel",
    "Squirrel: Wikipedia pages, linked by mutual links, classed by traffic",
    "squirrel",
    Metric::Accuracy,
    &[
        "duplicated nodes stand in training and test; results are lower without them: see squirrel-filtered",
    ],
    |folder| read(folder, "squirrel"),
);

/// Actor: actors, linked by shared Wikipedia pages, classed by words.
pub static ACTOR: DatasetInfo = FAMILY.entry(
    "actor",
    "Actor: actors, linked by shared Wikipedia pages, classed by words",
    "film",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "film"),
);

/// Texas: web pages of a department, linked by hyperlinks, classed by role.
pub static TEXAS: DatasetInfo = FAMILY.entry(
    "texas",
    "Texas: web pages of a department, linked by hyperlinks, classed by role",
    "texas",
    Metric::Accuracy,
    &["one class has a single node; under the balanced split two classes have no test node"],
    |folder| read(folder, "texas"),
);

/// Cornell as used in the literature: its edges with the features and labels of Texas.
pub static CORNELL: DatasetInfo = FAMILY.entry(
    "cornell",
    "Cornell as used in the literature: its edges with the features and labels of Texas",
    "cornell",
    Metric::Accuracy,
    &[
        "features and labels are a copy of those of Texas, as in the published comparisons; see cornell-corrected",
    ],
    |folder| read(folder, "cornell"),
);

/// Cornell, corrected: web pages of a department, classed by role.
pub static CORNELL_CORRECTED: DatasetInfo = FAMILY.entry(
    "cornell-corrected",
    "Cornell, corrected: web pages of a department, classed by role",
    "cornell_corrected",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "cornell"),
);

/// Wisconsin: web pages of a department, linked by hyperlinks, classed by role.
pub static WISCONSIN: DatasetInfo = FAMILY.entry(
    "wisconsin",
    "Wisconsin: web pages of a department, linked by hyperlinks, classed by role",
    "wisconsin",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "wisconsin"),
);
