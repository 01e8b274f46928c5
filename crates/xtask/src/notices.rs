//! The licences of all crates in the programs as one text, for distribution with them.

use crate::metadata::{CratePackage, Metadata, PROGRAMS};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// Prefixes of licence files.
const NAMES: &[&str] = &["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Prints the text.
///
/// # Errors
/// If cargo fails or a licence cannot be read.
pub fn run(root: &Path) -> Result<(), String> {
    let metadata = Metadata::read(root)?;
    let packages = metadata.closures(&PROGRAMS, false, false)?;
    print!("{}", text(&packages).map_err(|e| format!("cannot read a licence: {e}"))?);
    Ok(())
}

/// First the crates with their licences, then each text once.
fn text(packages: &[&CratePackage]) -> io::Result<String> {
    let mut list = String::from("The programs contain these crates under these licences:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.iter().filter(|p| p.source.is_some()) {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text");
        writeln!(list, "{name}: {licence}").expect("a string grows");
        for text in licences(package)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (text, names) in texts {
        let rule = "=".repeat(80);
        write!(list, "\n{rule}\n{}\n{rule}\n\n{}\n", names.join(", "), text.trim_end())
            .expect("a string grows");
    }
    Ok(list)
}

/// The licence texts next to the crate's manifest, by name.
fn licences(package: &CratePackage) -> io::Result<Vec<String>> {
    let Some(folder) = package.manifest_path.parent() else { return Ok(Vec::new()) };
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let is_licence = |file: &&fs::DirEntry| {
        let name = file.file_name().to_string_lossy().to_ascii_lowercase();
        NAMES.iter().any(|n| name.starts_with(n)) && file.path().is_file()
    };
    files
        .iter()
        .filter(is_licence)
        .map(|f| Ok(String::from_utf8_lossy(&fs::read(f.path())?).into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::repository_root;

    #[test]
    fn every_crate_of_the_program_is_named_and_nearly_all_bring_their_text() {
        let metadata = Metadata::read(&repository_root()).unwrap();
        let packages = metadata.closures(&PROGRAMS, false, false).unwrap();
        let text = text(&packages).unwrap();
        let outside = packages.iter().filter(|p| p.source.is_some());
        let mut without_text = Vec::new();
        for package in outside {
            assert!(package.license.is_some(), "{} states no licence", package.name);
            assert!(
                text.contains(&format!("\n{} {}: ", package.name, package.version)),
                "{} is not named",
                package.name
            );
            if licences(package).unwrap().is_empty() {
                without_text.push(package.name.as_str());
            }
        }
        assert!(text.contains("rustls ") && text.contains("Permission is hereby granted"));
        assert!(without_text.len() * 5 < packages.len(), "no text: {without_text:?}");
    }
}
