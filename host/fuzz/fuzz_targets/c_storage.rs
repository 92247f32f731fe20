#![no_main]

libfuzzer_sys::fuzz_target!(init: ictd_fuzz::initialize(), |bytes: &[u8]| ictd_fuzz::bounds::bounded(ictd_fuzz::c_storage, bytes));
