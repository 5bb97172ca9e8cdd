//! The registry of the built-in data sets.
//!
//! A data set that is read from files has a folder in the data folder, with the files as published; Geom-GCN's
//! ten splits, if it has them, are in the subfolder `splits/`.

use super::read::{facebook100, geom_gcn, heterophilous, linkx, planetoid};
use super::{Dataset, DatasetInfo, DatasetOrigin, FileDataset, Metric};
use super::{cora, csbm, grid, power_law};
use crate::error::Result;
use std::path::Path;

/// All built-in data sets. Imported graphs can also be loaded by name, see
/// [`Store::imported_graphs`](super::Store::imported_graphs).
pub static DATASETS: &[DatasetInfo] = &[
    cora::INFO,      // Sen et al. 2008
    csbm::INFO,      // Deshpande et al. 2018
    grid::INFO,      // after Shuman et al. 2013
    power_law::INFO, // Barabasi & Albert 1999
    DatasetRelease { read: read_citeseer, ..PLANETOID }
        .warnings(&[
            "15 nodes have neither features nor a label; as in the published comparisons they are assigned class 0",
            "48 nodes have no neighbours",
        ])
        .info("citeseer", "Citeseer: computer-science papers, linked by citations, classified by field"),
    PLANETOID.info("pubmed", "PubMed: papers on diabetes, linked by citations, classified by type"),
    GEOM_GCN
        .warnings(&["duplicate nodes occur in both training and test; results without them are lower: see chameleon-filtered"])
        .info("chameleon", "Chameleon: Wikipedia pages, linked by mutual links, classified by traffic"),
    GEOM_GCN
        .warnings(&["duplicate nodes occur in both training and test; results without them are lower: see squirrel-filtered"])
        .info("squirrel", "Squirrel: Wikipedia pages, linked by mutual links, classified by traffic"),
    GEOM_GCN
        .stored_as("film", "film")
        .info("actor", "Actor: actors, linked by shared Wikipedia pages, classified by words"),
    GEOM_GCN
        .warnings(&["one class has a single node"])
        .info("texas", "Texas: web pages of a department, linked by hyperlinks, classified by role"),
    GEOM_GCN
        .warnings(&["features and labels are copies of those of Texas, as in the published comparisons; see cornell-corrected"])
        .info("cornell", "Cornell as used in the literature: its edges with the features and labels of Texas"),
    GEOM_GCN
        .stored_as("cornell_corrected", "cornell")
        .info("cornell-corrected", "Cornell, corrected: web pages of a department, classified by role"),
    GEOM_GCN.info("wisconsin", "Wisconsin: web pages of a department, linked by hyperlinks, classified by role"),
    HETEROPHILOUS
        .stored_as("chameleon_filtered", "chameleon_filtered")
        .info("chameleon-filtered", "Chameleon without duplicate nodes"),
    HETEROPHILOUS
        .stored_as("squirrel_filtered", "squirrel_filtered")
        .info("squirrel-filtered", "Squirrel without duplicate nodes"),
    HETEROPHILOUS
        .metric(Metric::RocAuc)
        .info("minesweeper", "Minesweeper: cells of a grid, classified as mines or not"),
    HETEROPHILOUS
        .metric(Metric::RocAuc)
        .info("tolokers", "Tolokers: crowd workers, linked by shared tasks, classified as banned or not"),
    HETEROPHILOUS
        .stored_as("roman_empire", "roman_empire")
        .info("roman-empire", "Roman-empire: words of an article, linked by syntax, classified by role"),
    HETEROPHILOUS
        .stored_as("amazon_ratings", "amazon_ratings")
        .info("amazon-ratings", "Amazon-ratings: products bought together, classified by rating"),
    HETEROPHILOUS
        .metric(Metric::RocAuc)
        .info("questions", "Questions: users who answered each other, classified as active or not"),
    TWITCH.info("twitch-gamers", "Twitch-Gamers: accounts that follow each other, classified by mature content"),
    FACEBOOK100
        .stored_as("fb100-penn94", "Penn94")
        .info("penn94", "Facebook100, Penn: students who are friends, classified by gender"),
    FACEBOOK100
        .stored_as("fb100-cornell5", "Cornell5")
        .info("cornell5", "Facebook100, Cornell: students who are friends, classified by gender"),
];

/// Cora in Planetoid's node order, which the published splits use.
pub(super) static PLANETOID_CORA: FileDataset = PLANETOID
    .warnings(&["the geom splits only cover the 2,485 nodes of the largest component"])
    .files("cora");

const PLANETOID: DatasetRelease = DatasetRelease {
    paper: "Sen et al., AI Magazine 2008; split by Yang et al., ICML 2016, arXiv:1603.08861",
    source: "github.com/kimiyoung/planetoid, data/",
    licence: "MIT (repository)",
    splits: "public, geom:0 to geom:9",
    ..DatasetRelease::new(planetoid::read)
};

const GEOM_GCN: DatasetRelease = DatasetRelease {
    paper: "Pei et al., Geom-GCN, ICLR 2020, arXiv:2002.05287",
    source: "github.com/graphdml-uiuc-jlu/geom-gcn, new_data/ and splits/",
    licence: "none stated; the authors request citation of the original sources",
    splits: "geom:0 to geom:9",
    ..DatasetRelease::new(geom_gcn::read)
};

const HETEROPHILOUS: DatasetRelease = DatasetRelease {
    paper: "Platonov et al., ICLR 2023, arXiv:2302.11640",
    source: "github.com/yandex-research/heterophilous-graphs, data/",
    licence: "MIT (repository)",
    splits: "fixed:0 to fixed:9",
    ..DatasetRelease::new(|folder, name| heterophilous::read(&folder.join(format!("{name}.npz"))))
};

const TWITCH: DatasetRelease = DatasetRelease {
    paper: "Rozemberczki & Sarkar 2021, arXiv:2101.03091; splits of Lim et al., NeurIPS 2021",
    source: "snap.stanford.edu/data/twitch_gamers.zip; splits: github.com/CUAI/Non-Homophily-Large-Scale",
    licence: "MIT (data set)",
    splits: "linkx:0 to linkx:4",
    ..DatasetRelease::new(|folder, _| linkx::read(folder))
};

const FACEBOOK100: DatasetRelease = DatasetRelease {
    paper: "Traud, Mucha & Porter, Physica A 2012; task of Lim et al., NeurIPS 2021, arXiv:2110.14446",
    source: "github.com/CUAI/Non-Homophily-Large-Scale, data/facebook100/",
    licence: "none stated",
    splits: "none",
    ..DatasetRelease::new(|folder, name| {
        facebook100::read(&folder.join(format!("{name}.mat")), name)
    })
};

/// What data sets released together have in common; each of them may override `metric`, `warnings`, `stored_as` and
/// `read`.
#[derive(Clone, Copy)]
struct DatasetRelease {
    paper: &'static str,
    source: &'static str,
    licence: &'static str,
    splits: &'static str,
    metric: Metric,
    warnings: &'static [&'static str],
    /// The folder of the data set and the name used in its file names; `None` if both are the name of the
    /// data set.
    stored_as: Option<(&'static str, &'static str)>,
    read: ReadFiles,
}

/// Reads a data set from its folder; the second argument is the name used in its file names.
type ReadFiles = fn(&Path, &str) -> Result<Dataset>;

impl DatasetRelease {
    const fn new(read: ReadFiles) -> Self {
        let (metric, stored_as) = (Metric::Accuracy, None);
        let (paper, source, licence, splits) = ("", "", "", "");
        Self { paper, source, licence, splits, metric, warnings: &[], stored_as, read }
    }

    const fn metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    const fn warnings(self, warnings: &'static [&'static str]) -> Self {
        Self { warnings, ..self }
    }

    /// Sets the folder of the data set and the name used in its file names.
    const fn stored_as(self, folder: &'static str, file_name: &'static str) -> Self {
        Self { stored_as: Some((folder, file_name)), ..self }
    }

    /// The published files of a data set of this release; `name` is the name of its folder and the name used in
    /// its file names, unless `stored_as` sets others.
    const fn files(self, name: &'static str) -> FileDataset {
        let Self { licence, splits, metric, warnings, read, .. } = self;
        let (folder, file_name) = match self.stored_as {
            Some(stored_as) => stored_as,
            None => (name, name),
        };
        FileDataset { folder, file_name, licence, splits, metric, warnings, read }
    }

    /// The registry entry of a data set of this release.
    const fn info(self, name: &'static str, title: &'static str) -> DatasetInfo {
        let Self { paper, source, .. } = self;
        DatasetInfo { name, title, paper, source, origin: DatasetOrigin::Files(self.files(name)) }
    }
}

/// Reads Citeseer and assigns class 0 to nodes without a label, as the argmax in published code does. The
/// warnings of the reader are dropped; the registry lists its own.
fn read_citeseer(folder: &Path, name: &str) -> Result<Dataset> {
    let dataset = planetoid::read(folder, name)?;
    let y = dataset.y.iter().map(|label| label.or(Some(0))).collect();
    Ok(Dataset { y, warnings: vec![], ..dataset })
}
