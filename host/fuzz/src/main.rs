#![no_main]

libfuzzer_sys::fuzz_target!(init: ictd_fuzz::initialize(), |bytes: &[u8]| ictd_fuzz::run(bytes));
