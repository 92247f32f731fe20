use ictd::experiments::fixed_point::updates::{SHIFT, claim, mean_update};
use ictd::run::report::Verdict;

#[test]
fn the_mean_update_is_noise_outside_the_set_unless_features_are_not_symmetric() {
    let last = |shift| *mean_update(3, 0, shift, 1024).unwrap().last().unwrap();
    let (n, outside, z) = last(0.0);
    assert!(n == 1024 && outside < 1.0 && z < 1.3, "{outside} {z}");
    let (_, _, z_of_control) = last(SHIFT);
    assert!(z_of_control > 3.0, "{z_of_control}");
    assert_eq!(claim([z, z_of_control], 1, 1024).verdict, Verdict::Holds);
    // Updates that leave the set, and a control that shows nothing.
    assert_eq!(claim([z_of_control; 2], 1, 1024).verdict, Verdict::DoesNotHold);
    assert_eq!(claim([z; 2], 1, 1024).verdict, Verdict::HoldsInPart);
}
