use ictd::formats::seed_run::{PARAMS_FILE, PartialParams};
use ictd::train::directory::seed_params;
use ictd::train::options::Recipe;
use std::path::Path;

#[test]
fn params_have_the_names_of_the_authors_code_in_their_order() {
    let json = seed_params(&Recipe::default(), 1).to_string();
    assert!(json.starts_with(r#"{"d":4,"s":10,"n":30,"l":3,"gamma":0.9,"activation":"#));
    let read = PartialParams::from_json(Path::new(PARAMS_FILE), json.as_bytes()).unwrap();
    assert_eq!((read.l, read.mode.as_deref()), (Some(3), Some("auto")));
}
