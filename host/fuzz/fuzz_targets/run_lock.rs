#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ictd_fuzz::run_lock(bytes));
