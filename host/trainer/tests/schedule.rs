//! Seeds are spread over groups, and groups over threads.

use trainer::schedule::{Width, groups};

const WIDTHS: [Width; 3] =
    [Width { lanes: 16, cost: 4.8 }, Width { lanes: 8, cost: 2.6 }, Width { lanes: 1, cost: 0.7 }];

#[test]
fn every_seed_is_in_one_group_that_has_room_for_it() {
    for seeds in 1..70 {
        for threads in 1..5 {
            let groups = groups(seeds, threads, &WIDTHS);
            assert_eq!(groups.iter().map(|g| g.1).sum::<usize>(), seeds);
            assert!(groups.iter().all(|(lanes, taken)| taken <= lanes));
        }
    }
}

#[test]
fn threads_are_not_left_idle() {
    assert_eq!(groups(30, 2, &WIDTHS), [(16, 16), (16, 14)]);
    assert_eq!(groups(16, 2, &WIDTHS), [(8, 8), (8, 8)]);
    assert_eq!(groups(16, 1, &WIDTHS), [(16, 16)]);
    assert_eq!(groups(2, 2, &WIDTHS), [(1, 1), (1, 1)]);
    assert_eq!(groups(17, 1, &WIDTHS), [(16, 16), (1, 1)]);
}
