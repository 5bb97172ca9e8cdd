//! Citation graphs as Planetoid publishes them.

use super::Family;
use crate::data::read::planetoid::read;
use crate::data::{Dataset, DatasetInfo, Files, Metric};
use crate::error::Result;
use std::path::Path;

const FAMILY: Family = Family {
    paper: "Sen et al., AI Magazine 2008; split by Yang et al., ICML 2016, arXiv:1603.08861",
    source: "github.com/kimiyoung/planetoid, data/",
    licence: "MIT (repository)",
    splits: "public, geom:0 to geom:9",
};

/// Citeseer: computer-science papers, linked by citations, classed by field.
pub static CITESEER: DatasetInfo = FAMILY.entry(
    "citeseer",
    "Citeseer: computer-science papers, linked by citations, classed by field",
    "citeseer",
    Metric::Accuracy,
    &[
        "15 test nodes have neither features nor a label; as in the published comparisons they count as class 0",
        "48 nodes have no neighbour",
    ],
    citeseer,
);

/// PubMed: papers on diabetes, linked by citations, classed by type.
pub static PUBMED: DatasetInfo = FAMILY.entry(
    "pubmed",
    "PubMed: papers on diabetes, linked by citations, classed by type",
    "pubmed",
    Metric::Accuracy,
    &[],
    |folder| read(folder, "pubmed"),
);

/// Cora in Planetoid's order, to which its published splits refer.
pub static CORA: Files = Files {
    folder: "cora",
    licence: FAMILY.licence,
    splits: FAMILY.splits,
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
