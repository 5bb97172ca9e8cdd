//! Citation graphs as Planetoid publishes them.

use crate::data::read::planetoid::read;
use crate::data::{Dataset, DatasetInfo, Files, Metric, Origin};
use crate::error::Result;
use std::path::Path;

const PAPER: &str =
    "Sen et al., AI Magazine 2008; split by Yang et al., ICML 2016, arXiv:1603.08861";
const SOURCE: &str = "github.com/kimiyoung/planetoid, data/";
const LICENCE: &str = "MIT (repository)";
const SPLITS: &str = "public, geom:0 to geom:9";

/// Citeseer: computer-science papers, linked by citations, classed by field.
pub static CITESEER: DatasetInfo = entry(
    "citeseer",
    "Citeseer: computer-science papers, linked by citations, classed by field",
    "citeseer",
    &[
        "15 test nodes have neither features nor a label; as in the published comparisons they count as class 0",
        "48 nodes have no neighbour",
    ],
    citeseer,
);

/// PubMed: papers on diabetes, linked by citations, classed by type.
pub static PUBMED: DatasetInfo = entry(
    "pubmed",
    "PubMed: papers on diabetes, linked by citations, classed by type",
    "pubmed",
    &[],
    |folder| read(folder, "pubmed"),
);

/// Cora in Planetoid's order, to which its published splits refer.
pub static CORA: Files = Files {
    folder: "cora",
    licence: LICENCE,
    splits: SPLITS,
    metric: Metric::Accuracy,
    warnings: &["the geom splits cover the 2,485 nodes of the largest component only"],
    read: |folder| read(folder, "cora"),
};

/// The nodes without a label go to class 0, where the arg max of this literature's code puts them.
fn citeseer(folder: &Path) -> Result<Dataset> {
    let dataset = read(folder, "citeseer")?;
    let y = dataset.y.iter().map(|label| label.or(Some(0))).collect();
    Ok(Dataset { y, warnings: vec![], ..dataset })
}

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
