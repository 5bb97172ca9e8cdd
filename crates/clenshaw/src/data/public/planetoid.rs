//! Citation graphs in the format of Planetoid.

use super::DatasetRelease;
use crate::data::read::planetoid::read;
use crate::data::{Dataset, DatasetInfo, FileDataset, Metric};
use crate::error::Result;
use std::path::Path;

const RELEASE: DatasetRelease = DatasetRelease {
    paper: "Sen et al., AI Magazine 2008; split by Yang et al., ICML 2016, arXiv:1603.08861",
    source: "github.com/kimiyoung/planetoid, data/",
    licence: "MIT (repository)",
    splits: "public, geom:0 to geom:9",
};

pub static CITESEER: DatasetInfo = RELEASE.entry(
    "citeseer",
    "Citeseer: computer-science papers, linked by citations, classified by field",
    "citeseer",
    Metric::Accuracy,
    &[
        "15 test nodes have neither features nor a label; as in the published comparisons they are assigned class 0",
        "48 nodes have no neighbours",
    ],
    citeseer,
);

pub static PUBMED: DatasetInfo = RELEASE.entry(
    "pubmed",
    "PubMed: papers on diabetes, linked by citations, classified by type",
    "pubmed",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "pubmed"),
);

/// Cora in Planetoid's node order, which the published splits use.
pub static CORA: FileDataset = FileDataset {
    folder: "cora",
    licence: RELEASE.licence,
    splits: RELEASE.splits,
    metric: Metric::Accuracy,
    warnings: &["the geom splits only cover the 2,485 nodes of the largest component"],
    read: |folder| read(folder, "cora"),
};

/// Assigns class 0 to nodes without a label, as the argmax in published code does.
fn citeseer(folder: &Path) -> Result<Dataset> {
    let dataset = read(folder, "citeseer")?;
    let y = dataset.y.iter().map(|label| label.or(Some(0))).collect();
    Ok(Dataset { y, warnings: vec![], ..dataset })
}
