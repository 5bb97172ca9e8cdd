//! Features from a table in memory, by the rules for the columns of node tables.

use super::schema::{Schema, encode_features, encode_with_schema};
use super::table::TextTable;
use super::{Features, TableOptions};
use crate::error::{Error, Result};

/// A table of text cells, one row per node, in which every column may be a feature.
///
/// ```
/// use clenshaw::data::{FeatureTable, TableOptions};
/// let cells = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
/// let train = FeatureTable::new([
///     ("age".to_owned(), cells(["31", "27", "", "45"])),
///     ("town".to_owned(), cells(["York", "Bath", "York", "York"])),
/// ])?;
/// let encoded = train.encode(&TableOptions::default())?;
/// let names = ["age", "age missing", "town=Bath", "town=York"];
/// assert_eq!(encoded.schema.feature_names(), names);
/// assert_eq!(encoded.x.to_dense().row(2), [31.0, 1.0, 0.0, 1.0]);
///
/// // Another table is encoded in the same way; its columns are matched by name.
/// let other = FeatureTable::new([
///     ("town".to_owned(), vec!["Leeds".to_owned()]),
///     ("age".to_owned(), vec!["50".to_owned()]),
/// ])?;
/// let encoded = other.encode_as(&encoded.schema)?;
/// assert_eq!(encoded.x.to_dense().row(0), [50.0, 0.0, 0.0, 0.0]);
/// assert_eq!(encoded.warnings.len(), 1);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub struct FeatureTable {
    table: TextTable,
}

/// The features of a table.
#[derive(Clone, Debug)]
pub struct EncodedFeatures {
    /// The features, one row per node.
    pub x: Features,
    /// How the columns are encoded.
    pub schema: Schema,
    /// Warnings about cells and columns.
    pub warnings: Vec<String>,
}

impl FeatureTable {
    /// Creates a table from the names and cells of its columns; use an empty cell for a missing value.
    ///
    /// # Errors
    /// If two columns have the same name, if the columns do not have the same number of cells, or if a column is
    /// larger than 4 GiB.
    pub fn new(columns: impl IntoIterator<Item = (String, Vec<String>)>) -> Result<Self> {
        let (names, cells): (Vec<String>, Vec<Vec<String>>) = columns.into_iter().unzip();
        let n_rows = cells.first().map_or(0, Vec::len);
        let mut table = TextTable::new("the feature table", names.iter().cloned());
        let repeated = (0..names.len()).find(|&i| names[..i].contains(&names[i]));
        if let Some(i) = repeated {
            return Err(table.error(format!("two columns are named `{}`", names[i])));
        }
        if let Some(i) = cells.iter().position(|cells| cells.len() != n_rows) {
            return Err(Error::Data {
                place: table.place,
                problem: format!(
                    "column `{}` has {} cells, but `{}` has {n_rows}",
                    names[i],
                    cells[i].len(),
                    names[0]
                ),
            });
        }
        for row in 0..n_rows {
            table.push_row(cells.iter().map(|column| column[row].trim()))?;
        }
        table.ids = Some((0..n_rows).map(|row| row.to_string()).collect());
        Ok(Self { table })
    }

    /// Infers how each column is encoded, and encodes it. Columns that `options` chooses as id, label or split
    /// are treated like all others.
    ///
    /// # Errors
    /// If the table has no rows, if `options` names a column that does not exist, or if the features do not fit
    /// into memory.
    pub fn encode(&self, options: &TableOptions) -> Result<EncodedFeatures> {
        let (x, schema, warnings) = encode_features(&self.table, options)?;
        Ok(EncodedFeatures { x, schema, warnings })
    }

    /// Encodes the table with the schema of another table; columns are matched by name.
    ///
    /// # Errors
    /// If the table has no rows or none of the feature columns of the schema, if the id column of the schema is
    /// in the table and has empty or duplicate cells, or if the features do not fit into memory.
    pub fn encode_as(&self, schema: &Schema) -> Result<EncodedFeatures> {
        let nodes = encode_with_schema(&self.table, schema, &[])?;
        Ok(EncodedFeatures { x: nodes.x, schema: nodes.schema, warnings: nodes.warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, cells: &[&str]) -> (String, Vec<String>) {
        (name.into(), cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn columns_named_label_and_split_are_features() {
        let table =
            FeatureTable::new([column("label", &["1.5", "2"]), column("split", &["a", "b"])]);
        let encoded = table.unwrap().encode(&TableOptions::default()).unwrap();
        assert_eq!(encoded.schema.feature_names(), ["label", "split=a", "split=b"]);
        assert_eq!(encoded.x.to_dense().row(1), [2.0, 0.0, 1.0]);
    }

    #[test]
    fn inconsistent_columns_are_rejected() {
        let error = |columns: Vec<(String, Vec<String>)>| {
            FeatureTable::new(columns).map(drop).unwrap_err().to_string()
        };
        assert_eq!(
            error(vec![column("a", &["1"]), column("a", &["2"])]),
            "the feature table: two columns are named `a`"
        );
        assert_eq!(
            error(vec![column("a", &["1"]), column("b", &["2", "3"])]),
            "the feature table: column `b` has 2 cells, but `a` has 1"
        );
    }
}
