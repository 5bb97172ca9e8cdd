//! Converts Parquet files to tab-separated text with a header line.
//!
//! Integers, floats, booleans and single-line text are supported; values of other types, such as lists, dates
//! and decimals, are rejected.
//! Line numbers in errors refer to the converted text, in which the first row is line 2.
//! The size of the text is limited to a multiple of the file size, as for compressed text.

use super::text::{line_error, max_decompressed};
use crate::error::{Error, Result};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, Length, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fmt::Write;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Prefix of the name that pandas gives to an unnamed index column; a name with this prefix becomes empty.
const PANDAS_INDEX: &str = "__index_level_";

const TOO_LARGE: &str =
    "more than 200 times as large when converted to text; if this is intended, save it as CSV";

/// Converts the table in a file to text.
pub(super) fn read(path: &Path) -> Result<String> {
    let file = crate::files::open(path)?;
    read_file(&path.display().to_string(), file)
}

/// Converts the table in an open file to text; errors refer to it as `place`.
fn read_file(place: &str, file: File) -> Result<String> {
    // The parquet crate panics on some invalid files.
    let text = catch_unwind(AssertUnwindSafe(|| text(place, file)));
    text.unwrap_or_else(|_| Err(error(place, "the file is damaged")))
}

/// The implementation of [`read_file`], which may panic if the file is invalid.
fn text(place: &str, file: File) -> Result<String> {
    let limit = max_decompressed(file.len());
    let damaged = |e: ParquetError| error(place, &format!("the file cannot be read: {e}"));
    let reader = SerializedFileReader::new(file).map_err(damaged)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names = schema.root_schema().get_fields().iter().map(|column| match column.name() {
        name if name.starts_with(PANDAS_INDEX) => "",
        name => name,
    });
    let mut text = String::new();
    for (i, name) in names.enumerate() {
        text.push_str(if i > 0 { "\t" } else { "" });
        quote(&mut text, name).map_err(|problem| line_error(place, 1, problem))?;
    }
    for (line, row) in (2..).zip(reader.get_row_iter(None).map_err(damaged)?) {
        text.push('\n');
        write_row(&mut text, &row.map_err(damaged)?)
            .map_err(|problem| line_error(place, line, problem))?;
        if text.len() as u64 > limit {
            return Err(error(place, TOO_LARGE));
        }
    }
    Ok(text)
}

/// Appends a row without a line end; an error if a value cannot be converted.
fn write_row(text: &mut String, row: &Row) -> std::result::Result<(), String> {
    for (i, (name, field)) in row.get_column_iter().enumerate() {
        text.push_str(if i > 0 { "\t" } else { "" });
        match field {
            // An empty line would be skipped.
            Field::Null if row.len() == 1 => quote(text, "")?,
            Field::Null => {}
            Field::Str(field) => quote(text, field)?,
            Field::Bool(_)
            | Field::Byte(_)
            | Field::Short(_)
            | Field::Int(_)
            | Field::Long(_)
            | Field::UByte(_)
            | Field::UShort(_)
            | Field::UInt(_)
            | Field::ULong(_) => write!(text, "{field}").expect("strings can be written to"),
            Field::Float16(x) => write!(text, "{x}").expect("strings can be written to"),
            Field::Float(x) => write!(text, "{x}").expect("strings can be written to"),
            Field::Double(x) => write!(text, "{x}").expect("strings can be written to"),
            _ => {
                return Err(format!(
                    "column `{name}` has an unsupported type; expected integers, floats, booleans or text"
                ));
            }
        }
    }
    Ok(())
}

/// Appends a quoted field; an error if it contains a line break.
fn quote(text: &mut String, field: &str) -> std::result::Result<(), String> {
    if field.contains('\n') {
        return Err("a string contains a line break; expected single-line text".into());
    }
    text.push('"');
    text.push_str(&field.replace('"', "\"\""));
    text.push('"');
    Ok(())
}

fn error(place: &str, problem: &str) -> Error {
    Error::Data { place: place.into(), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::Interpretation;
    use crate::data::read::delimited::parse_table;
    use crate::data::read::tables::read_pair;
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use proptest::prelude::*;
    use std::io::Write;
    use std::sync::Arc;

    enum TestColumn<'a> {
        Whole(&'a [i64]),
        Real(&'a [f64]),
        Text(&'a [&'a str]),
    }

    fn file(columns: &[(&str, TestColumn)]) -> Vec<u8> {
        let kind = |(name, column): &(&str, TestColumn)| match column {
            TestColumn::Whole(_) => format!("required int64 {name};"),
            TestColumn::Real(_) => format!("required double {name};"),
            TestColumn::Text(_) => format!("required binary {name} (utf8);"),
        };
        let schema: String = columns.iter().map(kind).collect();
        let schema = Arc::new(parse_message_type(&format!("message m {{ {schema} }}")).unwrap());
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut bytes = vec![];
        let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
        let mut group = file.next_row_group().unwrap();
        for (_, column) in columns {
            let mut writer = group.next_column().unwrap().unwrap();
            match column {
                TestColumn::Whole(x) => {
                    writer.typed::<Int64Type>().write_batch(x, None, None).map(drop)
                }
                TestColumn::Real(x) => {
                    writer.typed::<DoubleType>().write_batch(x, None, None).map(drop)
                }
                TestColumn::Text(x) => {
                    let x: Vec<ByteArray> = x.iter().map(|&text| text.into()).collect();
                    writer.typed::<ByteArrayType>().write_batch(&x, None, None).map(drop)
                }
            }
            .unwrap();
            writer.close().unwrap();
        }
        group.close().unwrap();
        file.close().unwrap();
        bytes
    }

    fn nodes() -> Vec<u8> {
        file(&[
            ("user", TestColumn::Text(&["ann", "b\"o\"b", "c\td"])),
            ("age", TestColumn::Real(&[31.0, 27.5, 1e-3])),
            ("__index_level_0__", TestColumn::Whole(&[0, 1, 2])),
            ("label", TestColumn::Whole(&[1, 10, 9])),
        ])
    }

    fn read_bytes(bytes: &[u8]) -> Result<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        read_file("n.parquet", file)
    }

    #[test]
    fn rows_are_converted_to_lines() {
        assert_eq!(
            read_bytes(&nodes()).unwrap(),
            "\"user\"\t\"age\"\t\"\"\t\"label\"\n\
             \"ann\"\t31\t0\t1\n\"b\"\"o\"\"b\"\t27.5\t1\t10\n\"c\td\"\t0.001\t2\t9"
        );
    }

    #[test]
    fn missing_value_of_a_single_column_is_a_row() {
        let mut text = "\"label\"".to_owned();
        for field in [Field::Str("a".into()), Field::Null, Field::Int(3)] {
            text.push('\n');
            write_row(&mut text, &Row::new(vec![("label".into(), field)])).unwrap();
        }
        assert_eq!(text, "\"label\"\n\"a\"\n\"\"\n3");
        let table = parse_table("n.parquet", &text, |_, _| true).unwrap();
        assert_eq!(table.columns[0].cells().collect::<Vec<_>>(), ["a", "", "3"]);
    }

    #[test]
    fn reads_graph_from_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["edges", "nodes"].map(|stem| folder.path().join(format!("{stem}.parquet")));
        let ends = [&["ann", "ann"], &["b\"o\"b", "c\td"]];
        let edges = file(&[("a", TestColumn::Text(ends[0])), ("b", TestColumn::Text(ends[1]))]);
        std::fs::write(&paths[0], edges).unwrap();
        std::fs::write(&paths[1], nodes()).unwrap();
        let dataset = read_pair(&paths[0], &paths[1], Interpretation::default()).unwrap();
        assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
        assert_eq!(dataset.class_names, ["1", "9", "10"]);
        assert_eq!(dataset.x.values(), [31.0, 27.5, 1e-3]);
        assert!(dataset.warnings.is_empty());
        let schema = dataset.schema.unwrap();
        assert_eq!(
            schema.summary(),
            ["id: user", "label: label", "numbers: age", "ignored:  (no name)"]
        );
    }

    #[test]
    fn rejects_multiline_text_bombs_and_truncated_files() {
        let two_lines = file(&[("id", TestColumn::Text(&["a\nb"]))]);
        assert_eq!(
            read_bytes(&two_lines).unwrap_err().to_string(),
            "n.parquet:2: a string contains a line break; expected single-line text"
        );
        let ones = vec![1; 3 << 20];
        assert_eq!(
            read_bytes(&file(&[("id", TestColumn::Whole(&ones))])).unwrap_err().to_string(),
            "n.parquet: more than 200 times as large when converted to text; if this is intended, save it as CSV"
        );
        assert!(read_bytes(b"PAR1").is_err());
    }

    proptest! {
        #[test]
        fn damaged_bytes_cause_no_panic(at: prop::sample::Index, bit in 0..8u8) {
            let mut bytes = nodes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let _ = read_bytes(&bytes);
            bytes.truncate(at);
            prop_assert!(read_bytes(&bytes).is_err());
        }
    }
}
