//! The graphs of "A critical look at the evaluation of GNNs under heterophily".

use super::DatasetRelease;
use crate::data::read::heterophilous::read;
use crate::data::{DatasetInfo, Metric};

const RELEASE: DatasetRelease = DatasetRelease {
    paper: "Platonov et al., ICLR 2023, arXiv:2302.11640",
    source: "github.com/yandex-research/heterophilous-graphs, data/",
    licence: "MIT (repository)",
    splits: "fixed:0 to fixed:9",
};

pub static CHAMELEON_FILTERED: DatasetInfo = RELEASE.entry(
    "chameleon-filtered",
    "Chameleon without duplicate nodes",
    "chameleon_filtered",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("chameleon_filtered.npz")),
);

pub static SQUIRREL_FILTERED: DatasetInfo = RELEASE.entry(
    "squirrel-filtered",
    "Squirrel without duplicate nodes",
    "squirrel_filtered",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("squirrel_filtered.npz")),
);

pub static MINESWEEPER: DatasetInfo = RELEASE.entry(
    "minesweeper",
    "Minesweeper: cells of a grid, classified as mines or not",
    "minesweeper",
    Metric::RocAuc,
    &[],
    |folder| read(&folder.join("minesweeper.npz")),
);

pub static TOLOKERS: DatasetInfo = RELEASE.entry(
    "tolokers",
    "Tolokers: crowd workers, linked by shared tasks, classified as banned or not",
    "tolokers",
    Metric::RocAuc,
    &[],
    |folder| read(&folder.join("tolokers.npz")),
);

pub static ROMAN_EMPIRE: DatasetInfo = RELEASE.entry(
    "roman-empire",
    "Roman-empire: words of an article, linked by syntax, classified by role",
    "roman_empire",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("roman_empire.npz")),
);

pub static AMAZON_RATINGS: DatasetInfo = RELEASE.entry(
    "amazon-ratings",
    "Amazon-ratings: products bought together, classified by rating",
    "amazon_ratings",
    Metric::Accuracy,
    &[],
    |folder| read(&folder.join("amazon_ratings.npz")),
);

pub static QUESTIONS: DatasetInfo = RELEASE.entry(
    "questions",
    "Questions: users who answered each other, classified as active or not",
    "questions",
    Metric::RocAuc,
    &[],
    |folder| read(&folder.join("questions.npz")),
);
