//! A file written by SciPy, and small files that are valid, damaged or inconsistent.

use super::*;

/// The bytes, in hexadecimal, that follow the header text in the file written by
///
/// ```python
/// A = csc_matrix([[0, 1.5, 0], [2, 0, 0], [0, 0, -3], [4, 0, 5]])
/// d = np.array([[1, 2, 3], [4, 5, 600]], np.uint16)
/// c, z = np.array([1, 'x'], object), np.array([[1 + 2j]])
/// b = csc_matrix([[True, False], [True, True]])
/// savemat(f, dict(A=A, d=d, t='text', c=c, z=z, b=b), do_compression=True)
/// ```
const SCIPY_HEX: &str = "\
    0001494d0f00000047000000789ce36360609800c46c40cc01c4ac4818c4670162662066044247a8b808980f11\
    0701262436485e004d1c24c609c41a0c70e000a104a0f40f7b08cd7100428b380000d98104630f000000330000\
    00789ce36360607000623620e600626e06086085f299809819881981300548b300310f98cf02946305ca458094\
    3000002d4e01590f00000028000000789ce36360603000623620e600621606086085f219a1628c405802a40580\
    bc92d48a12001c9902b20f0000003e000000789ce36360605800c46c40cc01c48c0c10c08ac46702d38c0cc940\
    9a0f882d90d4f36151cf88640e0f9ab920f50648fa5908e81700b22a803400fe7002a30f0000002b000000789c\
    e3636060f000623620e600d120020858a17c46386664a802d29c507108f8608fca677000004e21028f0f000000\
    37000000789ce36360604800623620e600625626060666100de533413123102641c579182080118a19d0c441ea\
    99e16c6606464646060056e7012d";

pub(crate) fn scipy_file() -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    let bytes = SCIPY_HEX.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1]));
    [b' '; 124].into_iter().chain(bytes).collect()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn element(kind: u32, data: &[u8]) -> Vec<u8> {
    let padding = vec![0; data.len().next_multiple_of(8) - data.len()];
    [&words(&[kind, data.len() as u32]), data, &padding].concat()
}

fn small_element(kind: u32, data: &[u8]) -> Vec<u8> {
    let padding = vec![0; 4 - data.len()];
    [&words(&[(data.len() as u32) << 16 | kind]), data, &padding].concat()
}

pub(crate) fn file(variables: &[Vec<u8>]) -> Vec<u8> {
    [&[b' '; 124][..], &[0, 1, b'I', b'M'], &variables.concat()].concat()
}

fn variable(class: u32, dims: &[u32], name: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    let (flags, dims) = (element(6, &words(&[class, 0])), element(5, &words(dims)));
    let name = element(1, name.as_bytes());
    element(MATRIX, &[flags, dims, name, parts.concat()].concat())
}

/// A matrix of numbers from 0 to 255, column by column.
pub(crate) fn dense(name: &str, dims: &[u32], numbers: &[u8]) -> Vec<u8> {
    variable(DOUBLE, dims, name, &[element(2, numbers)])
}

/// The sparse matrix `A`, with values from 0 to 255.
pub(crate) fn sparse(dims: &[u32], rows: &[u32], starts: &[u32], values: &[u8]) -> Vec<u8> {
    let [rows, starts] = [rows, starts].map(|list| element(5, &words(list)));
    variable(SPARSE, dims, "A", &[rows, starts, element(2, values)])
}

pub(crate) fn deflated(variable: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::read::ZlibEncoder::new(variable, flate2::Compression::default());
    let mut bytes = vec![];
    encoder.read_to_end(&mut bytes).unwrap();
    [words(&[COMPRESSED, bytes.len() as u32]), bytes].concat()
}

fn to_dense(matrix: &MatlabMatrix) -> Mat<f64> {
    match matrix {
        MatlabMatrix::Dense(dense) => dense.clone(),
        MatlabMatrix::Sparse(sparse) => sparse.to_dense(),
    }
}

fn read_error(variables: &[Vec<u8>]) -> String {
    MatFile::read_bytes("x.mat", &file(variables)).unwrap_err().to_string()
}

#[test]
fn reads_scipy_file() {
    let file = MatFile::read_bytes("x.mat", &scipy_file()).unwrap();
    let read = |name| to_dense(file.matrix(name).unwrap());
    let a = [0.0, 1.5, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, -3.0, 4.0, 0.0, 5.0];
    assert_eq!(read("A"), Mat::from_vec(4, 3, a.to_vec()));
    assert_eq!(read("d"), Mat::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 600.0]));
    assert_eq!(read("b"), Mat::from_vec(2, 2, vec![1.0, 0.0, 1.0, 1.0]));
    assert!(matches!(file.matrix("A").unwrap(), MatlabMatrix::Sparse(_)));
    let error = |name| file.matrix(name).unwrap_err().to_string();
    assert_eq!(error("t"), "x.mat: `t` is a string; expected a matrix of real numbers");
    assert_eq!(error("c"), "x.mat: `c` is a cell array; expected a matrix of real numbers");
    assert_eq!(error("z"), "x.mat: `z` is complex; expected a matrix of real numbers");
    assert_eq!(error("B"), "x.mat: no variable `B`; the file has: A, d, t, c, z, b");
}

#[test]
fn reads_all_number_types() {
    let expected = Mat::from_vec(1, 2, vec![1.0, 100.0]);
    let mut stored = vec![
        (7, [1f32, 100.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()),
        (9, [1f64, 100.0].iter().flat_map(|v| v.to_le_bytes()).collect()),
    ];
    for (kind, width) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 4), (6, 4), (12, 8), (13, 8)] {
        let bytes = [1u64, 100].iter().flat_map(|v| v.to_le_bytes()[..width].to_vec());
        stored.push((kind, bytes.collect()));
    }
    for (kind, bytes) in stored {
        let numbers = if bytes.len() <= 4 { small_element } else { element }(kind, &bytes);
        let bytes = file(&[variable(DOUBLE, &[1, 2], "d", &[numbers])]);
        let file = MatFile::read_bytes("x.mat", &bytes).unwrap();
        assert_eq!(to_dense(file.matrix("d").unwrap()), expected, "type {kind}");
    }
}

#[test]
fn skips_arrays_of_more_than_two_dimensions() {
    let bytes = file(&[dense("d", &[2, 1, 2], &[1, 2, 3, 4]), dense("d", &[0, 0], &[])]);
    let file = MatFile::read_bytes("x.mat", &bytes).unwrap();
    assert!(matches!(file.variables[0].content, MatlabContent::Other(_)));
    assert!(matches!(file.variables[1].content, MatlabContent::Matrix(_)));
}

#[test]
fn rejects_other_file_formats() {
    let error = |bytes: &[u8]| MatFile::read_bytes("x.mat", bytes).unwrap_err().to_string();
    assert_eq!(
        error(&[0; 128]),
        "x.mat: not a MATLAB 5 file; expected its version and `IM` in bytes 124 to 127"
    );
    let mut newer = file(&[]);
    newer[125] = 2;
    assert_eq!(error(&newer), "x.mat: MATLAB 7.3 file; expected MATLAB 5: save it with `-v7`");
    newer[124..].copy_from_slice(&[1, 0, b'M', b'I']);
    assert_eq!(error(&newer), "x.mat: big-endian file; expected a little-endian one");
}

#[test]
fn dense_errors_include_the_position() {
    let huge = words(&[MATRIX, u32::MAX, 0, 0]);
    assert_eq!(read_error(&[huge]), "x.mat: byte 136: 8 bytes left; expected 4294967295");
    assert_eq!(
        read_error(&[dense("d", &[3, 4], &[1, 2, 3, 4, 5])]),
        "x.mat: byte 184: found 5 numbers; expected a matrix of 3 x 4"
    );
    assert_eq!(
        read_error(&[dense("d", &[i32::MAX as u32; 2], &[1])]),
        "x.mat: byte 184: found 1 number; expected a matrix of 2147483647 x 2147483647"
    );
    let wide = element(MATRIX, &small_element(6, &[0; 4]).repeat(2));
    assert_eq!(read_error(&[wide]), "x.mat: byte 136: expected two numbers as array flags");
    let mut nine_bytes = small_element(2, &[1]);
    nine_bytes[2] = 9;
    assert_eq!(
        read_error(&[variable(DOUBLE, &[1, 1], "d", &[nine_bytes])]),
        "x.mat: byte 184: 9 bytes in a small element; expected at most 4"
    );
}

#[test]
fn sparse_errors_include_the_position() {
    let sparse_error = |rows: &[u32], starts: &[u32], values: &[u8]| {
        read_error(&[sparse(&[3, 2], rows, starts, values)])
    };
    let starts = "x.mat: byte 200: expected 3 ascending column starts from 0";
    assert_eq!(sparse_error(&[0, 1], &[0, 2, 1], &[1, 1]), starts);
    assert_eq!(sparse_error(&[0, 1], &[0, 1], &[1, 1]), starts);
    assert_eq!(sparse_error(&[0, 1], &[1, 1, 2], &[1, 1]), starts);
    let rows = "x.mat: byte 184: expected ascending row indices below 3 in each column";
    assert_eq!(sparse_error(&[0, 3], &[0, 1, 2], &[1, 1]), rows);
    assert_eq!(sparse_error(&[1, 0], &[0, 2, 2], &[1, 1]), rows);
    assert_eq!(sparse_error(&[1, 1], &[0, 2, 2], &[1, 1]), rows);
    let unequal = "x.mat: byte 184: row indices: 2, numbers: 1; expected 2 of each";
    assert_eq!(sparse_error(&[0, 1], &[0, 1, 2], &[1]), unequal);
    let negative = "x.mat: byte 184: -1 in row indices; expected an integer from 0 to 4294967295";
    assert_eq!(sparse_error(&[u32::MAX, 1], &[0, 1, 2], &[1, 1]), negative);
    let tall = sparse(&[i32::MAX as u32, 0], &[], &[0], &[]);
    let error = read_error(&[tall]);
    assert!(
        error.starts_with(
            "x.mat: byte 184: needs 2147483648 x 32 bytes of memory; expected at most"
        ),
        "{error}"
    );
}

#[test]
fn rejects_decompression_bomb() {
    // 100 MiB of zeros in 100 KiB, more than 64 MiB plus 256 times the file.
    let zeros = dense("d", &[100 << 20, 1], &vec![0; 100 << 20]);
    let bomb = file(&[deflated(&zeros)]);
    let error = MatFile::read_bytes("x.mat", &bomb).unwrap_err().to_string();
    assert!(error.starts_with("x.mat: byte 128: "), "{error}");
    assert!(error.contains("of memory; expected at most"), "{error}");
}

#[test]
fn matrix_without_columns_may_have_many_rows() {
    let max_rows = i32::MAX as u32;
    let empty = dense("d", &[max_rows, 0], &[]);
    let file = MatFile::read_bytes("x.mat", &file(&vec![empty; 100])).unwrap();
    let MatlabMatrix::Dense(matrix) = file.matrix("d").unwrap() else { panic!("a sparse matrix") };
    assert_eq!((matrix.rows(), matrix.cols()), (max_rows as usize, 0));
}

#[test]
fn errors_in_compressed_data_include_both_positions() {
    let error = read_error(&[deflated(&dense("d", &[3, 4], &[1, 2, 3, 4, 5]))]);
    assert_eq!(
        error,
        "x.mat: byte 128, inflated: byte 56: found 5 numbers; expected a matrix of 3 x 4"
    );
}

/// A stream whose checksum is not reached by reading the stated number of bytes.
#[test]
fn rejects_streams_that_are_truncated_or_longer_than_stated() {
    let packed = deflated(&dense("a", &[2, 2], &[1, 2, 3, 4]));
    let data = &packed[TAG..];
    assert!(MatFile::read_bytes("x.mat", &file(std::slice::from_ref(&packed))).is_ok());
    // Without the checksum, and with a part of it.
    for cut in 1..=4 {
        let data = &data[..data.len() - cut];
        let truncated = [&words(&[COMPRESSED, data.len() as u32]), data].concat();
        let message = read_error(&[truncated]);
        assert!(message.contains("incomplete deflate stream"), "{message}");
    }
    // The size in the tag of the variable is smaller than the stream.
    let mut variable = dense("a", &[4, 8], &[7; 32]);
    variable.extend(dense("b", &[4, 8], &[8; 32]));
    let message = read_error(&[deflated(&variable)]);
    assert!(message.contains("do not match the checksum"), "{message}");
    // A flipped bit of the checksum.
    let mut flipped = packed.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let message = read_error(&[flipped]);
    assert!(message.contains("cannot inflate"), "{message}");
}
