//! The check of crates/fuzzing/src/robots.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::robots::TARGET.check)(data));
