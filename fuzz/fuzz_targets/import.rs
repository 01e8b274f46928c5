//! The check of crates/fuzzing/src/import.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::import::TARGET.check)(data));
