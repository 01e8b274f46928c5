//! The check of crates/fuzzing/src/formula.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::formula::TARGET.check)(data));
