//! The messages of the value parsers of a command line.

use compute::Recipe;
use compute::options::real;
use compute::settings::SETTINGS;

#[test]
fn no_number_is_refused_and_no_zero_has_a_sign() {
    let gamma = real(0.0..1.0);
    assert!(gamma("-0").is_ok_and(|zero| zero.is_sign_positive()));
    for bad in ["1", "-0.1", "NaN", "inf", "x", ""] {
        assert_eq!(gamma(bad), Err("expected a number in [0, 1)".into()), "{bad}");
    }
}

#[test]
fn each_setting_reads_what_it_prints_and_names_itself_in_errors() {
    let defaults = Recipe::default();
    let given: Vec<_> = defaults.given().map(|(name, value)| (name, value.to_string())).collect();
    let texts = given.iter().map(|(name, text)| (*name, text.as_str()));
    assert_eq!(Recipe::default().with_settings(texts), Ok(defaults));
    for setting in SETTINGS {
        let mut recipe = Recipe::default();
        assert_eq!(recipe.set(setting.name, "x").unwrap_err().setting, setting.name);
        // Words and ends of ranges, which no default shows.
        let is_read = |text: &&str| (setting.set)(&mut Recipe::default(), text).is_ok();
        let numbers = ["2", "0.5", "1..2", "0.25..0.5"].into_iter().filter(is_read);
        let texts: Vec<_> =
            if setting.words.is_empty() { numbers.collect() } else { setting.words.to_vec() };
        assert!(!texts.is_empty(), "{}", setting.name);
        for text in texts {
            recipe.set(setting.name, text).unwrap();
            assert_eq!((setting.get)(&recipe).unwrap().to_string(), text, "{}", setting.name);
        }
    }
}
