//! Whatever strangers send: for each parser one function that takes any bytes and asserts what must hold.
//!
//! For two callers. libFuzzer, through `fuzz/`, which is no part of the workspace since it needs a nightly
//! compiler, looks for bytes that break an assertion; the plain tests of this crate replay what was found, and
//! mutate it a little, on any compiler. docs/internals/fuzzing.md tells how the one becomes the other.
//!
//! A check knows its subject only from outside, by what its crate makes public. It never fails on bad input:
//! refusing is right, and panicking, looping, growing without bound or contradicting itself is wrong.

pub mod dataset;
pub mod focus;
pub mod formula;
pub mod hints;
pub mod html;
pub mod import;
pub mod repository;
pub mod robots;
pub mod url;

/// A parser under test.
#[derive(Clone, Copy)]
pub struct FuzzTarget {
    /// Its module here, its program in `fuzz/fuzz_targets/` and its folder in `fuzz/corpus/`.
    pub name: &'static str,
    /// Panics when something that must hold does not.
    pub check: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[FuzzTarget] = &[
    dataset::TARGET,
    focus::TARGET,
    formula::TARGET,
    hints::TARGET,
    html::TARGET,
    import::TARGET,
    repository::TARGET,
    robots::TARGET,
    url::TARGET,
];

/// An input's first line, and what follows it.
fn first_line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[]),
    }
}
