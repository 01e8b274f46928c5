//! The check of crates/fuzzing/src/focus.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::focus::TARGET.check)(data));
