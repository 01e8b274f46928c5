//! The check of crates/fuzzing/src/dataset.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::dataset::TARGET.check)(data));
