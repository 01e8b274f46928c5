//! The check of crates/fuzzing/src/repository.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::repository::TARGET.check)(data));
