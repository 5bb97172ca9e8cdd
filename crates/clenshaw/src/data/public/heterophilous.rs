//! Graphs of the critical look at heterophily, with duplicated nodes removed where there were any.

use super::Family;
use crate::data::read::heterophilous::read;
use crate::data::{DatasetInfo, Metric};

const FAMILY: Family = Family {
    paper: "Platonov et al., ICLR 2023, arXiv:2302.11640",
    source: "github.com/yandex-research/heterophilous-graphs, data/",
    licence: "MIT (repository)",
    splits: "fixed:0 to fixed:9",
};

/// Chameleon without duplicated nodes.
pub static CHAMELEON_FILTERED: DatasetInfo = FAMILY.entry(
    "chameleon-filtered",
    "Chameleon without duplicated nodes",
    "chameleon_filtered",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("chameleon_filtered.npz")),
);

/// Squirrel without duplicated nodes.
pub static SQUIRREL_FILTERED: DatasetInfo = FAMILY.entry(
    "squirrel-filtered",
    "Squirrel without duplicated nodes",
    "squirrel_filtered",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("squirrel_filtered.npz")),
);

/// Minesweeper: cells of a grid, classed as mines or not.
pub static MINESWEEPER: DatasetInfo = FAMILY.entry(
    "minesweeper",
    "Minesweeper: cells of a grid, classed as mines or not",
    "minesweeper",
    Metric::RocAuc,
    &[],
    |folder| read(&folder.join("minesweeper.npz")),
);

/// Tolokers: crowd workers, linked by shared tasks, classed as banned or not.
pub static TOLOKERS: DatasetInfo = FAMILY.entry(
    "tolokers",
    "Tolokers: crowd workers, linked by shared tasks, classed as banned or not",
    "tolokers",
    Metric::RocAuc,
    &[],
    |folder| read(&folder.join("tolokers.npz")),
);

/// Roman-empire: words of an article, linked by syntax, classed by role.
pub static ROMAN_EMPIRE: DatasetInfo = FAMILY.entry(
    "roman-empire",
    "Roman-empire: words of an article, linked by syntax, classed by role",
    "roman_empire",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("roman_empire.npz")),
);

/// Amazon-ratings: products bought together, classed by rating.
pub static AMAZON_RATINGS: DatasetInfo = FAMILY.entry(
    "amazon-ratings",
    "Amazon-ratings: products bought together, classed by rating",
    "amazon_ratings",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("amazon_ratings.npz")),
);

/// Questions: users who answered each other, classed as active or not.
pub static QUESTIONS: DatasetInfo = FAMILY.entry(
    "questions",
    "Questions: users who answered each other, classed as active or not",
    "questions",
    Metric::RocAuc,
    &[],
    |folder| read(&folder.join("questions.npz")),
);
