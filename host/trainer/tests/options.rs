//! What the value parsers of a command line say.

use trainer::options::{integer, one_of, real, seed};

#[test]
fn a_number_out_of_range_is_answered_with_the_range() {
    let gamma = real(0.0..1.0);
    assert_eq!(gamma("0.9"), Ok(0.9));
    for bad in ["1", "-0.1", "NaN", "inf", "x", ""] {
        assert_eq!(gamma(bad), Err("accepted is a number in [0, 1)".into()), "{bad}");
    }
    assert_eq!(integer(1..=5)("6"), Err("accepted is an integer from 1 to 5".into()));
    assert_eq!(one_of(&[2, 4])("3"), Err("accepted is one of 2, 4".into()));
    assert!(seed("9223372036854775808").is_err() && seed("-1").is_err());
}
