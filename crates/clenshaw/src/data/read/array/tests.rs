//! Entry types, byte and memory orders, and conversions.

use super::*;

fn array<'a>(dtype: &str, shape: &[usize], order: MemoryOrder, data: &'a [u8]) -> NumpyArray<'a> {
    let dtype = Dtype::parse(dtype).unwrap();
    NumpyArray::new("it".into(), dtype, shape.to_vec(), order, data.into()).unwrap()
}

fn list<'a>(dtype: &str, data: &'a [u8]) -> NumpyArray<'a> {
    let n = data.len() / Dtype::parse(dtype).unwrap().size;
    array(dtype, &[n], MemoryOrder::C, data)
}

fn message<T: fmt::Debug>(outcome: Result<T>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn converts_all_types_in_both_byte_orders() {
    assert_eq!(list("|b1", &[0, 1, 2]).to_bool().unwrap(), [false, true, true]);
    assert_eq!(list("|i1", &[255, 2]).to_i64().unwrap(), [-1, 2]);
    assert_eq!(list("|u1", &[255, 2]).to_u32().unwrap(), [255, 2]);
    assert_eq!(list("<i2", &[1, 2]).to_i64().unwrap(), [513]);
    assert_eq!(list(">i2", &[1, 2]).to_i64().unwrap(), [258]);
    assert_eq!(list(">u4", &[0, 0, 1, 2]).to_u32().unwrap(), [258]);
    assert_eq!(list("<i8", &(-7i64).to_le_bytes()).to_f64().unwrap(), [-7.0]);
    assert_eq!(list(">u8", &7u64.to_be_bytes()).to_u32().unwrap(), [7]);
    assert_eq!(list(">f8", &2.5f64.to_be_bytes()).to_f32().unwrap(), [2.5]);
    assert_eq!(list("<f4", &2.0f32.to_le_bytes()).to_u32().unwrap(), [2]);
}

#[test]
fn converts_half_precision_floats() {
    let halves = [0x3c00u16, 0xc000, 0x3555, 0x0001, 0x7bff];
    let bytes: Vec<u8> = halves.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let third = 0.333251953125;
    assert_eq!(list("<f2", &bytes).to_f64().unwrap(), [1.0, -2.0, third, 2f64.powi(-24), 65504.0]);
    assert!(half_to_f64(0x7e00).is_nan() && half_to_f64(0xfc00) == f64::NEG_INFINITY);
}

#[test]
fn fortran_order_is_converted_to_c_order() {
    let by_columns = array("|u1", &[2, 3], MemoryOrder::Fortran, &[1, 4, 2, 5, 3, 6]);
    assert_eq!(by_columns.to_u32().unwrap(), [1, 2, 3, 4, 5, 6]);
    let cube: Vec<u8> = (0..24).collect();
    let cube = array("|u1", &[2, 3, 4], MemoryOrder::Fortran, &cube).to_u32().unwrap();
    // Entry (i, j, k) is i + 2 j + 6 k.
    assert_eq!(cube[..5], [0, 6, 12, 18, 2]);
    assert_eq!(cube[12..14], [1, 7]);
}

#[test]
fn text_padding_is_removed() {
    assert_eq!(list("|S3", b"csra\0\0").to_text().unwrap(), ["csr", "a"]);
    let points: Vec<u8> = [0xe9u32, 0].iter().flat_map(|p| p.to_be_bytes()).collect();
    assert_eq!(list(">U2", &points).to_text().unwrap(), ["é"]);
    let broken = list("<U1", &[0, 0, 0, 255]).to_text();
    assert_eq!(message(broken), "it: entry 0 is not valid Unicode");
}

#[test]
fn out_of_range_values_are_rejected() {
    let range = "expected an integer from 0 to 4294967295";
    let minus = [0, 0, 255, 255];
    assert_eq!(message(list("<i2", &minus).to_u32()), format!("it: entry 1 is -1; {range}"));
    let large = (1u64 << 40).to_le_bytes();
    assert_eq!(
        message(list("<u8", &large).to_u32()),
        format!("it: entry 0 is 1099511627776; {range}")
    );
    let half = 0.5f64.to_le_bytes();
    assert_eq!(message(list("<f8", &half).to_u32()), format!("it: entry 0 is 0.5; {range}"));
    assert!(list("<f8", &1e300f64.to_le_bytes()).to_f32().is_err());
    assert!(list("<f8", &f64::NAN.to_le_bytes()).to_f32().unwrap()[0].is_nan());
    assert!(list("<u8", &u64::MAX.to_le_bytes()).to_i64().is_err());
    assert!(list("<f8", &1e30f64.to_le_bytes()).to_i64().is_err());
    assert_eq!(message(list("|u1", &[0, 2]).to_bool()), "it: entry 1 is 2; expected 0 or 1");
    assert_eq!(message(list("|S1", b"a").to_f32()), "it: entries of type `<S1`; expected numbers");
}

#[test]
fn shape_must_match_the_number_of_bytes() {
    let claim = |shape: &[usize]| {
        let dtype = Dtype::parse("<f4").unwrap();
        NumpyArray::new("it".into(), dtype, shape.to_vec(), MemoryOrder::C, (&[0u8; 8]).into())
    };
    assert!(claim(&[2]).is_ok() && claim(&[1, 2]).is_ok());
    assert_eq!(
        message(claim(&[1_000_000_000, 1_000_000_000])),
        "it: 8 bytes; expected entries of type `<f4` in the shape (1000000000, 1000000000)"
    );
    assert!(claim(&[usize::MAX, 2]).is_err());
    assert!(claim(&[]).is_err());
    assert!(claim(&[1; 65]).is_err());
}

#[test]
fn unsupported_types_are_not_parsed() {
    for text in ["", "<", "f", "<f16", "c8", "<M8[ns]", "V4", "i3", "U0", "<i+4", "Ué"] {
        assert_eq!(Dtype::parse(text), None, "{text}");
    }
    assert_eq!(Dtype::parse(">U3").unwrap().to_string(), ">U3");
}
