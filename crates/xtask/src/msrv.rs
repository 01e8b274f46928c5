//! Checks `rust-version` of the root manifest: no crate of the programs needs a newer compiler, and
//! the workspace compiles with that version if it is installed.

use crate::metadata::{CratePackage, Metadata, PROGRAMS};
use std::path::Path;
use std::process::Command;

/// Crates that may need a newer compiler, because they are not part of a program; see
/// docs/dependencies.md.
const SPARED: &[&str] = &["recrawl-benchmark"];

/// Runs the check. True if it found no problem.
///
/// # Errors
/// If cargo fails.
pub fn run(root: &Path) -> Result<bool, String> {
    let metadata = Metadata::read(root)?;
    let all = metadata.closures(&PROGRAMS, true, true)?;
    let promised = all[0].rust_version.clone().ok_or("the root manifest has no rust-version")?;
    let newer = newer_than(&promised, &all);
    for package in &newer {
        let wants = package.rust_version.as_deref().unwrap_or_default();
        println!("{} {} needs Rust {wants}, but rust-version is {promised}", package.name, package.version);
    }
    println!("msrv: {} crates, {} of them newer than Rust {promised}", all.len(), newer.len());
    let toolchain = format!("+{promised}");
    let is_there =
        Command::new("cargo").args([&toolchain, "--version"]).output().is_ok_and(|o| o.status.success());
    if !is_there {
        println!(
            "msrv: Rust {promised} is not installed, so nothing was compiled with it; run `rustup toolchain install {promised}`. \
             clippy finds newer items of the standard library (incompatible_msrv)"
        );
        return Ok(newer.is_empty());
    }
    let mut check = Command::new("cargo");
    check.args([&toolchain, "check", "--workspace", "--all-targets", "--locked"]);
    check.args(SPARED.iter().flat_map(|s| ["--exclude", s])).current_dir(root);
    let status = check.status().map_err(|e| format!("cargo check: {e}"))?;
    Ok(newer.is_empty() && status.success())
}

/// Packages with a newer `rust-version` than `promised`.
fn newer_than<'a>(promised: &str, packages: &[&'a CratePackage]) -> Vec<&'a CratePackage> {
    let states_newer =
        |p: &&&CratePackage| p.rust_version.as_deref().is_some_and(|v| numbers(v) > numbers(promised));
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
        let all = metadata.closures(&["a"], true, true).unwrap();
        let names = |promised| newer_than(promised, &all).iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        assert_eq!(names("1.88"), ["b", "c"]);
        assert_eq!(names("1.88.1"), ["c"]);
        assert_eq!(names("1.100"), Vec::<String>::new());
    }

    #[test]
    fn no_crate_of_the_program_asks_for_more_than_is_promised() {
        let metadata = Metadata::read(&repository_root()).unwrap();
        let all = metadata.closures(&PROGRAMS, true, true).unwrap();
        let promised = all[0].rust_version.clone().unwrap();
        let newer: Vec<_> = newer_than(&promised, &all).iter().map(|p| (&p.name, &p.rust_version)).collect();
        assert!(newer.is_empty(), "these need a newer Rust than {promised}: {newer:?}");
    }
}
