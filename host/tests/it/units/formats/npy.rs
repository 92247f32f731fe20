use super::*;
use crate::untrusted::{npy, npy_of};

#[test]
fn what_is_written_is_read_back() {
    for array in [
        Array { shape: vec![2, 1], data: Data::F32(vec![1.5, -0.0]) },
        Array { shape: vec![], data: Data::F64(vec![1e300]) },
        Array { shape: vec![3], data: Data::I64(vec![1, -2, i64::MAX]) },
        Array { shape: vec![0, 4], data: Data::F32(vec![]) },
    ] {
        let mut bytes = Vec::new();
        array.write(&mut bytes).unwrap();
        assert_eq!(Array::parse("a", &bytes, 100).unwrap(), array);
    }
}

#[test]
fn the_header_is_numpys_byte_for_byte() {
    let mut bytes = Vec::new();
    Array { shape: vec![2], data: Data::F32(vec![1.0, 2.0]) }.write(&mut bytes).unwrap();
    let expected =
        format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
    assert_eq!(std::str::from_utf8(&bytes[10..128]).unwrap(), expected);
}

#[test]
fn big_endian_and_column_major_arrays_are_turned_around() {
    let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
    let bytes = npy_of(header, &[0, 1, 0, 4, 0, 2, 0, 5, 0xff, 0xfd, 0, 6]);
    let array = Array::parse("a", &bytes, 100).unwrap();
    assert_eq!(array, Array { shape: vec![2, 3], data: Data::I64(vec![1, 2, -3, 4, 5, 6]) });
}

#[test]
fn what_cannot_be_read_is_refused_before_memory_is_asked_for() {
    let huge = ["(99999999999,)", "(4294967296, 4294967296, 16)", "(18446744073709551616,)"];
    // Without a comma it is no shape.
    let shapes = huge.into_iter().chain(["(3 1)", "(3 1,)", "(1, 3\n1)"]);
    let refused = shapes.map(|shape| ("<f4", shape, "an array as numpy.save writes it"));
    let of_type = ["<c8", "=f2", "=f4", "<f16"].map(|dtype| (dtype, "(1,)", "floating-point"));
    for (dtype, shape, expected) in refused.chain(of_type) {
        let bytes = npy(dtype, shape, &[0; 124]);
        let found = Array::parse("P", &bytes, 100).unwrap_err().to_string();
        assert!(found.contains("`P`") && found.contains(expected), "{dtype} {shape}: {found}");
        assert!(expected != "floating-point" || found.contains(dtype), "{found}");
    }
    let nested = format!("{{'descr': {}", "(".repeat(60_000));
    assert!(Array::parse("a", &npy_of(&nested, &[]), 100).is_err());
    let bytes = npy("<i2", "(2,)", &[1, 0, 2, 0]);
    let message = Array::parse("a", &bytes, 1).unwrap_err().to_string();
    assert!(message.contains("2 numbers; expected at most 1"), "{message}");
}

#[test]
fn half_precision_is_read_exactly() {
    let bits = [0x3c00u16, 0xc000, 0x3555, 0x0001, 0x8400, 0x7bff, 0x7c00, 0x8000];
    let expected = [1.0, -2.0, 1365.0 / 4096.0, 1.0 / 16_777_216.0, -1.0 / 16_384.0, 65504.0];
    for (dtype, data) in [
        ("<f2", bits.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()),
        (">f2", bits.iter().flat_map(|x| x.to_be_bytes()).collect()),
    ] {
        let found = Array::parse("x", &npy(dtype, "(8,)", &data), 100).unwrap().to_f64();
        assert_eq!(found[..6], expected);
        assert!(found[6] == f64::INFINITY && found[7] == 0.0 && found[7].is_sign_negative());
    }
}
