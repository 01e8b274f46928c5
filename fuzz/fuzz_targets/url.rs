//! The check of crates/fuzzing/src/url.rs under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (recrawl_fuzzing::url::TARGET.check)(data));
