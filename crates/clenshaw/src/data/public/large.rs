//! Large graphs of the LINKX benchmark.

use super::DatasetRelease;
use crate::data::read::{facebook100, linkx};
use crate::data::{DatasetInfo, Metric};

const TWITCH: DatasetRelease = DatasetRelease {
    paper: "Rozemberczki & Sarkar 2021, arXiv:2101.03091; splits of Lim et al., NeurIPS 2021",
    source: "snap.stanford.edu/data/twitch_gamers.zip; splits: github.com/CUAI/Non-Homophily-Large-Scale",
    licence: "MIT (data set)",
    splits: "linkx:0 to linkx:4",
};

const FACEBOOK100: DatasetRelease = DatasetRelease {
    paper: "Traud, Mucha & Porter, Physica A 2012; task of Lim et al., NeurIPS 2021, arXiv:2110.14446",
    source: "github.com/CUAI/Non-Homophily-Large-Scale, data/facebook100/",
    licence: "none stated",
    splits: "none",
};

pub static TWITCH_GAMERS: DatasetInfo = TWITCH.entry(
    "twitch-gamers",
    "Twitch-Gamers: accounts that follow each other, classified by mature content",
    "twitch-gamers",
    Metric::Accuracy,
    &[],
    linkx::read,
);

pub static CORNELL5: DatasetInfo = FACEBOOK100.entry(
    "cornell5",
    "Facebook100, Cornell: students who are friends, classified by gender",
    "fb100-cornell5",
    Metric::Accuracy,
    &[],
    |folder| facebook100::read(&folder.join("Cornell5.mat"), "cornell5"),
);

pub static PENN94: DatasetInfo = FACEBOOK100.entry(
    "penn94",
    "Facebook100, Penn: students who are friends, classified by gender",
    "fb100-penn94",
    Metric::Accuracy,
    &[],
    |folder| facebook100::read(&folder.join("Penn94.mat"), "penn94"),
);
