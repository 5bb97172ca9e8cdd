//! Graphs of the critical look at heterophily, with duplicated nodes removed where there were any.

use crate::data::read::heterophilous::read;
use crate::data::{DatasetInfo, Files, Metric, Origin};

const PAPER: &str = "Platonov et al., ICLR 2023, arXiv:2302.11640";
const SOURCE: &str = "github.com/yandex-research/heterophilous-graphs, data/";
const LICENCE: &str = "MIT (repository)";
const SPLITS: &str = "fixed:0 to fixed:9";

/// Chameleon without duplicated nodes.
pub static CHAMELEON_FILTERED: DatasetInfo = DatasetInfo {
    name: "chameleon-filtered",
    title: "Chameleon without duplicated nodes",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "chameleon_filtered",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| read(&folder.join("chameleon_filtered.npz")),
    }),
};

/// Squirrel without duplicated nodes.
pub static SQUIRREL_FILTERED: DatasetInfo = DatasetInfo {
    name: "squirrel-filtered",
    title: "Squirrel without duplicated nodes",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "squirrel_filtered",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| read(&folder.join("squirrel_filtered.npz")),
    }),
};

/// Minesweeper: cells of a grid, classed as mines or not.
pub static MINESWEEPER: DatasetInfo = DatasetInfo {
    name: "minesweeper",
    title: "Minesweeper: cells of a grid, classed as mines or not",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "minesweeper",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::RocAuc,
        warnings: &[],
        read: |folder| read(&folder.join("minesweeper.npz")),
    }),
};

/// Tolokers: crowd workers, linked by shared tasks, classed as banned or not.
pub static TOLOKERS: DatasetInfo = DatasetInfo {
    name: "tolokers",
    title: "Tolokers: crowd workers, linked by shared tasks, classed as banned or not",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "tolokers",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::RocAuc,
        warnings: &[],
        read: |folder| read(&folder.join("tolokers.npz")),
    }),
};

/// Roman-empire: words of an article, linked by syntax, classed by role.
pub static ROMAN_EMPIRE: DatasetInfo = DatasetInfo {
    name: "roman-empire",
    title: "Roman-empire: words of an article, linked by syntax, classed by role",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "roman_empire",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| read(&folder.join("roman_empire.npz")),
    }),
};

/// Amazon-ratings: products bought together, classed by rating.
pub static AMAZON_RATINGS: DatasetInfo = DatasetInfo {
    name: "amazon-ratings",
    title: "Amazon-ratings: products bought together, classed by rating",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "amazon_ratings",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| read(&folder.join("amazon_ratings.npz")),
    }),
};

/// Questions: users who answered each other, classed as active or not.
pub static QUESTIONS: DatasetInfo = DatasetInfo {
    name: "questions",
    title: "Questions: users who answered each other, classed as active or not",
    paper: PAPER,
    source: SOURCE,
    origin: Origin::Files(Files {
        folder: "questions",
        licence: LICENCE,
        splits: SPLITS,
        metric: Metric::RocAuc,
        warnings: &[],
        read: |folder| read(&folder.join("questions.npz")),
    }),
};
