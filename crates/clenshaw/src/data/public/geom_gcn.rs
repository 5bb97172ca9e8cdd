//! Heterophilous graphs as Geom-GCN publishes them.

use crate::data::read::geom_gcn::read;
use crate::data::{DatasetInfo, Files, Metric, Origin};

const PAPER: &str = "Pei et al., Geom-GCN, ICLR 2020, arXiv:2002.05287";
const SOURCE: &str = "github.com/graphdml-uiuc-jlu/geom-gcn, new_data/ and splits/";
const LICENCE: &str = "none stated; the authors ask to cite the original sources";
const SPLITS: &str = "geom:0 to geom:9";

/// Chameleon: Wikipedia pages, linked by mutual links, classed by traffic.
pub static CHAMELEON: DatasetInfo = DatasetInfo {
    name: "chameleon",
    title: "Chameleon: Wikipedia pages, linked by mutual links, classed by traffic",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "chameleon",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[
            "duplicated nodes stand in training and test; results are lower without them: see chameleon-filtered",
        ],
        read: |folder| read(folder, "chameleon"),
    }),
};

/// Squirrel: Wikipedia pages, linked by mutual links, classed by traffic.
pub static SQUIRREL: DatasetInfo = DatasetInfo {
    name: "squirrel",
    title: "Squirrel: Wikipedia pages, linked by mutual links, classed by traffic",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "squirrel",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[
            "duplicated nodes stand in training and test; results are lower without them: see squirrel-filtered",
        ],
        read: |folder| read(folder, "squirrel"),
    }),
};

/// Actor: actors, linked by shared Wikipedia pages, classed by words.
pub static ACTOR: DatasetInfo = DatasetInfo {
    name: "actor",
    title: "Actor: actors, linked by shared Wikipedia pages, classed by words",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "film",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| read(folder, "film"),
    }),
};

/// Texas: web pages of a department, linked by hyperlinks, classed by role.
pub static TEXAS: DatasetInfo = DatasetInfo {
    name: "texas",
    title: "Texas: web pages of a department, linked by hyperlinks, classed by role",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "texas",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[
            "one class has a single node; under the balanced split two classes have no test node",
        ],
        read: |folder| read(folder, "texas"),
    }),
};

/// Cornell as used in the literature: its edges with the features and labels of Texas.
pub static CORNELL: DatasetInfo = DatasetInfo {
    name: "cornell",
    title: "Cornell as used in the literature: its edges with the features and labels of Texas",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "cornell",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[
            "features and labels are a copy of those of Texas, as in the published comparisons; see cornell-corrected",
        ],
        read: |folder| read(folder, "cornell"),
    }),
};

/// Cornell, corrected: web pages of a department, classed by role.
pub static CORNELL_CORRECTED: DatasetInfo = DatasetInfo {
    name: "cornell-corrected",
    title: "Cornell, corrected: web pages of a department, classed by role",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "cornell_corrected",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| read(folder, "cornell"),
    }),
};

/// Wisconsin: web pages of a department, linked by hyperlinks, classed by role.
pub static WISCONSIN: DatasetInfo = DatasetInfo {
    name: "wisconsin",
    title: "Wisconsin: web pages of a department, linked by hyperlinks, classed by role",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "wisconsin",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| read(folder, "wisconsin"),
    }),
};
