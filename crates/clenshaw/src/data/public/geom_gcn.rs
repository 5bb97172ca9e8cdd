//! Heterophilous graphs in the format of Geom-GCN.

use super::DatasetRelease;
use crate::data::read::geom_gcn::read;
use crate::data::{DatasetInfo, Metric};

const RELEASE: DatasetRelease = DatasetRelease {
    paper: "Pei et al., Geom-GCN, ICLR 2020, arXiv:2002.05287",
    source: "github.com/graphdml-uiuc-jlu/geom-gcn, new_data/ and splits/",
    licence: "none stated; the authors request citation of the original sources",
    splits: "geom:0 to geom:9",
};

pub static CHAMELEON: DatasetInfo = RELEASE.entry(
    "chameleon",
    "Chameleon: Wikipedia pages, linked by mutual links, classified by traffic",
    "chameleon",
    Metric::Accuracy,
    &[
        "duplicate nodes occur in both training and test; results without them are lower: see chameleon-filtered",
    ],
    |folder| read(folder, "chameleon"),
);

pub static SQUIRREL: DatasetInfo = RELEASE.entry(
    "squirrel",
    "Squirrel: Wikipedia pages, linked by mutual links, classified by traffic",
    "squirrel",
    Metric::Accuracy,
    &[
        "duplicate nodes occur in both training and test; results without them are lower: see squirrel-filtered",
    ],
    |folder| read(folder, "squirrel"),
);

pub static ACTOR: DatasetInfo = RELEASE.entry(
    "actor",
    "Actor: actors, linked by shared Wikipedia pages, classified by words",
    "film",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "film"),
);

pub static TEXAS: DatasetInfo = RELEASE.entry(
    "texas",
    "Texas: web pages of a department, linked by hyperlinks, classified by role",
    "texas",
    Metric::Accuracy,
    &["one class has a single node; under the balanced split two classes have no test node"],
    |folder| read(folder, "texas"),
);

pub static CORNELL: DatasetInfo = RELEASE.entry(
    "cornell",
    "Cornell as used in the literature: its edges with the features and labels of Texas",
    "cornell",
    Metric::Accuracy,
    &[
        "features and labels are copies of those of Texas, as in the published comparisons; see cornell-corrected",
    ],
    |folder| read(folder, "cornell"),
);

pub static CORNELL_CORRECTED: DatasetInfo = RELEASE.entry(
    "cornell-corrected",
    "Cornell, corrected: web pages of a department, classified by role",
    "cornell_corrected",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "cornell"),
);

pub static WISCONSIN: DatasetInfo = RELEASE.entry(
    "wisconsin",
    "Wisconsin: web pages of a department, linked by hyperlinks, classified by role",
    "wisconsin",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "wisconsin"),
);
