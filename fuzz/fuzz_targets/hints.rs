//! The check of crates/fuzzing/src/hints.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::hints::TARGET.check)(data));
