//! The oldest compiler that the root manifest promises (`rust-version`): no crate of the program asks for a newer one, and where
//! that compiler is installed it compiles.

use crate::metadata::{Metadata, Package};
use std::path::Path;
use std::process::Command;

/// Crates that may ask for a newer compiler, since no part of the program: docs/dependencies.md says why.
const SPARED: &[&str] = &["recrawl-benchmark"];

/// Checks the promise. True when it is kept, as far as it could be seen here.
///
/// # Errors
/// When cargo does not say.
pub fn run(root: &Path) -> Result<bool, String> {
    let metadata = Metadata::of(root)?;
    let all = metadata.closure("recrawl", true, true)?;
    let promised = all[0].rust_version.clone().ok_or("the root manifest states no rust-version")?;
    let newer = newer_than(&promised, &all);
    for package in &newer {
        let wants = package.rust_version.as_deref().unwrap_or_default();
        println!("{} {} asks for Rust {wants}, {promised} is promised", package.name, package.version);
    }
    println!("msrv: {} crates, {} of them newer than Rust {promised}", all.len(), newer.len());
    let toolchain = format!("+{promised}");
    let is_there =
        Command::new("cargo").args([&toolchain, "--version"]).output().is_ok_and(|o| o.status.success());
    if !is_there {
        println!(
            "msrv: Rust {promised} is not installed, so nothing was compiled with it: `rustup toolchain install {promised}`. \
             What of the standard library is newer, clippy finds (incompatible_msrv)"
        );
        return Ok(newer.is_empty());
    }
    let mut check = Command::new("cargo");
    check.args([&toolchain, "check", "--workspace", "--all-targets", "--locked"]);
    check.args(SPARED.iter().flat_map(|s| ["--exclude", s])).current_dir(root);
    let status = check.status().map_err(|e| format!("cargo check: {e}"))?;
    Ok(newer.is_empty() && status.success())
}

/// Those that state a newer version than `promised`.
fn newer_than<'a>(promised: &str, packages: &[&'a Package]) -> Vec<&'a Package> {
    let states_newer =
        |p: &&&Package| p.rust_version.as_deref().is_some_and(|v| numbers(v) > numbers(promised));
    packages.iter().filter(states_newer).copied().collect()
}

/// 1.88 as 1, 88, 0.
fn numbers(version: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = version.split('.').map_while(|n| n.parse().ok()).collect();
    numbers.resize(3, 0);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::tests::SMALL;
    use crate::tidy::repository_root;

    #[test]
    fn newer_crates_are_told() {
        let metadata: Metadata = serde_json::from_str(SMALL).unwrap();
        let all = metadata.closure("a", true, true).unwrap();
        let names = |promised| newer_than(promised, &all).iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        assert_eq!(names("1.88"), ["b", "c"]);
        assert_eq!(names("1.88.1"), ["c"]);
        assert_eq!(names("1.100"), Vec::<String>::new());
    }

    #[test]
    fn no_crate_of_the_program_asks_for_more_than_is_promised() {
        let metadata = Metadata::of(&repository_root()).unwrap();
        let all = metadata.closure("recrawl", true, true).unwrap();
        let promised = all[0].rust_version.clone().unwrap();
        let newer: Vec<_> = newer_than(&promised, &all).iter().map(|p| (&p.name, &p.rust_version)).collect();
        assert!(newer.is_empty(), "these ask for a newer Rust than {promised}: {newer:?}");
    }
}
