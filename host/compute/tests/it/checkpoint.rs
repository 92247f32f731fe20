//! A seed's state as a file.

use compute::checkpoint::Checkpoint;
use compute::log::{LogPoint, SeedRun};

#[test]
fn every_truncation_and_every_flipped_bit_is_refused() {
    let checkpoint = Checkpoint {
        config: "dim = 4".into(),
        tasks_done: 20,
        record: vec![1, 2, 3],
        run: SeedRun {
            seed: 3,
            digest: "0123456789abcdef".into(),
            token_size: 3,
            parameters: vec![1.5, -0.5],
            points: vec![LogPoint {
                tasks: 10,
                alpha: 0.5,
                loss: 0.25,
                vd: 0.125,
                iws: 0.5,
                ss: 0.5,
                msve: 0.1,
                layers: Vec::new(),
            }],
        },
    };
    let bytes = checkpoint.to_bytes();
    let read = Checkpoint::from_bytes(&bytes).unwrap();
    assert_eq!(read, checkpoint);
    for length in 0..bytes.len() {
        assert!(Checkpoint::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Checkpoint::from_bytes(&damaged).is_err(), "bit {bit}");
    }
}
