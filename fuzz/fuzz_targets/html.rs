//! The check of crates/fuzzing/src/html.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::html::TARGET.check)(data));
