//! The messages of the value parsers of a command line.

use compute::Recipe;
use compute::options::{integer, one_of, real, seed};
use compute::settings::SETTINGS;

#[test]
fn a_number_out_of_range_is_answered_with_the_range() {
    let gamma = real(0.0..1.0);
    assert_eq!(gamma("0.9"), Ok(0.9));
    assert!(gamma("-0").is_ok_and(|zero| zero.is_sign_positive()));
    for bad in ["1", "-0.1", "NaN", "inf", "x", ""] {
        assert_eq!(gamma(bad), Err("accepted is a number in [0, 1)".into()), "{bad}");
    }
    assert_eq!(integer(1..=5)("6"), Err("accepted is an integer from 1 to 5".into()));
    assert_eq!(one_of(&[2, 4])("3"), Err("accepted is one of 2, 4".into()));
    assert!(seed("9223372036854775808").is_err() && seed("-1").is_err());
}

#[test]
fn the_defaults_of_the_table_are_those_of_a_recipe() {
    let given = SETTINGS.iter().filter(|setting| !setting.default.is_empty());
    let told = Recipe::default().with(given.map(|setting| (setting.name, setting.default)));
    assert_eq!(told, Ok(Recipe::default()));
    for setting in SETTINGS {
        assert_eq!(
            Recipe::default().with([(setting.name, "x")]).unwrap_err().setting,
            setting.name
        );
    }
}
