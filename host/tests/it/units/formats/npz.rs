use super::*;
use ictd::formats::npz::to_bytes;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

#[test]
fn a_missing_array_is_named_beside_those_that_are_there() {
    let p = Array { shape: vec![2, 2], data: Data::F32(vec![1.0, -2.5, 0.0, 1e-30]) };
    let bytes = to_bytes(&[("P", &p), ("xs", &p)]).unwrap();
    assert_eq!(bytes, to_bytes(&[("P", &p), ("xs", &p)]).unwrap(), "equal arrays");
    let mut npz = Npz::new(Path::new("a/data.npz"), Cursor::new(&bytes)).unwrap();
    let message = npz.array("Q").unwrap_err().to_string();
    assert_eq!(message, "a/data.npz: array `Q` is missing: the file holds `P`, `xs`");
}

#[test]
fn what_is_inflated_is_counted_over_all_arrays() {
    let zeros = Array { shape: vec![3 << 18], data: Data::I64(vec![0; 3 << 18]) };
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["a.npy", "b.npy"] {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        zeros.write(&mut archive).unwrap();
    }
    let bytes = archive.finish().unwrap().into_inner();
    assert!(bytes.len() < 1 << 20);
    let mut npz = Npz::new(Path::new(FILE), Cursor::new(&bytes)).unwrap();
    assert_eq!(npz.array("a").unwrap(), zeros);
    let message = npz.array("b").unwrap_err().to_string();
    assert!(message.contains("array `b` needs 6291584 bytes: expected at most"), "{message}");
}
