use ictd::error::Error;
use ictd::run::info::{outcome, time_of_day};
use std::time::{Duration, SystemTime};

#[test]
fn an_outcome_is_that_of_the_result() {
    assert_eq!(outcome(&Ok(())), "finished");
    assert_eq!(outcome::<()>(&Err(Error::Interrupted)), "interrupted");
    let failed = outcome::<()>(&Err(Error::Usage("no\nroom".into())));
    assert_eq!(failed, "failed: no room");
}

#[test]
fn a_clock_before_1970_is_no_reason_to_stop() {
    let year = Duration::from_secs(366 * 24 * 3600);
    assert_eq!(time_of_day(SystemTime::UNIX_EPOCH - year), "1970-01-01T00:00:00Z");
    assert_eq!(time_of_day(SystemTime::UNIX_EPOCH + 9000 * year), "9999-12-31T23:59:59Z");
}
