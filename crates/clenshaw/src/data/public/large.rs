//! Larger graphs of the LINKX comparison.

use crate::data::read::{facebook100, linkx};
use crate::data::{DatasetInfo, Files, Metric, Origin};

/// Twitch-Gamers: accounts that follow each other, classed by mature content.
pub static TWITCH_GAMERS: DatasetInfo = DatasetInfo {
    name: "twitch-gamers",
    title: "Twitch-Gamers: accounts that follow each other, classed by mature content",
    paper: "Rozemberczki & Sarkar 2021, arXiv:2101.03091; splits of Lim et al., NeurIPS 2021",
    source: "snap.stanford.edu/data/twitch_gamers.zip; splits: github.com/CUAI/Non-Homophily-Large-Scale",
    origin: Origin::Files(Files {
        folder: "twitch-gamers",
        licence: "MIT (data set)",
        splits: "linkx:0 to linkx:4",
        metric: Metric::Accuracy,
        warnings: &[],
        read: linkx::read,
    }),
};

/// Facebook100, Cornell: students who are friends, classed by gender.
pub static CORNELL5: DatasetInfo = DatasetInfo {
    name: "cornell5",
    title: "Facebook100, Cornell: students who are friends, classed by gender",
    paper: "Traud, Mucha & Porter, Physica A 2012; task of Lim et al., NeurIPS 2021, arXiv:2110.14446",
    source: "github.com/CUAI/Non-Homophily-Large-Scale, data/facebook100/",
    origin: Origin::Files(Files {
        folder: "fb100-cornell5",
        licence: "none stated",
        splits: "none",
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| facebook100::read(&folder.join("Cornell5.mat"), "cornell5"),
    }),
};

/// Facebook100, Penn: students who are friends, classed by gender.
pub static PENN94: DatasetInfo = DatasetInfo {
    name: "penn94",
    title: "Facebook100, Penn: students who are friends, classed by gender",
    paper: "Traud, Mucha & Porter, Physica A 2012; task of Lim et al., NeurIPS 2021, arXiv:2110.14446",
    source: "github.com/CUAI/Non-Homophily-Large-Scale, data/facebook100/",
    origin: Origin::Files(Files {
        folder: "fb100-penn94",
        licence: "none stated",
        splits: "none",
        metric: Metric::Accuracy,
        warnings: &[],
        read: |folder| facebook100::read(&folder.join("Penn94.mat"), "penn94"),
    }),
};
