use ictd::dimension::{FEW, for_dimension};

fn size<const D: usize, const K: usize, const A: usize>() -> [usize; 3] {
    [D, K, A]
}

#[test]
fn a_dimension_calls_its_own_types_or_those_with_room_and_the_others_none() {
    assert_eq!(for_dimension!(stored 3, size()), Some([3, 7, 8]));
    assert_eq!(for_dimension!(3, size()), Some([4, 9, 10]));
    assert!((1..=32).all(|d| for_dimension!(d, size()).is_some_and(|[room, ..]| room >= d)));
    assert_eq!([0, 33].map(|d| for_dimension!(d, size())), [None; 2]);
    let few = (0..40).filter(|&d| for_dimension!(few d, size()).is_some());
    assert_eq!(few.collect::<Vec<_>>(), FEW);
    let all = (0..40).filter(|&d| for_dimension!(stored d, size()).is_some());
    assert_eq!(all.collect::<Vec<_>>(), (1..=16).collect::<Vec<_>>());
}
