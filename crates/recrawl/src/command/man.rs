//! `recrawl man`: writes manual pages generated from the command-line help.

use crate::cli::Cli;
use clap::CommandFactory;
use recrawl_crawl::failure::Failure;
use std::fs;
use std::io;
use std::path::Path;

/// Writes `recrawl.1` and one page per command into `out`.
///
/// # Errors
/// When the pages cannot be written.
pub fn run(out: &Path) -> Result<(), Failure> {
    write(out).map_err(|e| Failure::Work(format!("cannot write manual pages to {}: {e}", out.display())))
}

fn write(out: &Path) -> io::Result<()> {
    fs::create_dir_all(out)?;
    clap_mangen::generate_to(Cli::command(), out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// All visible commands with their page names, such as `recrawl-formula-check`.
    fn pages(command: &Command, name: &str) -> Vec<(String, Command)> {
        let mut all = vec![(name.to_owned(), command.clone())];
        for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            all.extend(pages(inner, &format!("{name}-{}", inner.get_name())));
        }
        all
    }

    #[test]
    fn every_command_has_a_page_with_its_flags() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("man1");
        write(&out).unwrap();
        let wanted = pages(&Cli::command(), "recrawl");
        for (name, command) in &wanted {
            let page =
                fs::read_to_string(out.join(format!("{name}.1"))).unwrap_or_else(|e| panic!("{name}: {e}"));
            let page = page.replace("\\-", "-");
            let shown = command.get_arguments().filter(|a| !a.is_hide_set());
            for flag in shown.filter_map(|a| a.get_long()) {
                assert!(page.contains(&format!("--{flag}")), "{name}.1 has no --{flag}");
            }
        }
        assert_eq!(fs::read_dir(out).unwrap().count(), wanted.len(), "no page is of nothing");
    }
}
