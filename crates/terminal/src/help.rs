//! Manual pages and shell completions, made of the arguments of a program.

use clap::Command;
use clap_complete::{Shell, generate};
use recrawl_crawl::failure::Failure;
use std::fs;
use std::io;
use std::path::Path;

/// Prints the completion script for a shell.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_completions(program: Command, shell: Shell) -> Result<(), Failure> {
    crate::print(completions(program, shell).trim_end())
}

fn completions(mut program: Command, shell: Shell) -> String {
    let mut script = Vec::new();
    let name = program.get_name().to_owned();
    generate(shell, &mut program, name, &mut script);
    String::from_utf8(script).expect("completion scripts are UTF-8")
}

/// Writes a manual page of the program and one of each command into a folder, which is created if missing.
///
/// # Errors
/// When the pages cannot be written.
pub fn write_manual(program: Command, out: &Path) -> Result<(), Failure> {
    let written = fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(program, out));
    written
        .map_err(|e: io::Error| Failure::Work(format!("cannot write manual pages to {}: {e}", out.display())))
}

/// The check that all programs pass: each command with an example, each command and flag in the completions of all shells
/// and on manual pages, and no other page. Gives the gaps.
pub fn gaps(program: &Command) -> Vec<String> {
    let mut gaps = Vec::new();
    program.clone().debug_assert();
    for command in program.get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if !help.contains("Example") {
            gaps.push(format!("{} --help shows no example", command.get_name()));
        }
    }
    gaps.extend(gaps_of_completions(program));
    gaps.extend(gaps_of_manual(program));
    gaps
}

fn gaps_of_completions(program: &Command) -> Vec<String> {
    use clap::ValueEnum;
    let mut gaps = Vec::new();
    for shell in Shell::value_variants() {
        let script = completions(program.clone(), *shell);
        for command in program.get_subcommands() {
            let flags = command.get_arguments().filter_map(|a| a.get_long());
            let missing = flags.chain([command.get_name()]).filter(|word| !script.contains(word));
            gaps.extend(missing.map(|word| format!("{shell}: {} has no {word}", command.get_name())));
        }
    }
    gaps
}

fn gaps_of_manual(program: &Command) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("man1");
    write_manual(program.clone(), &out).expect("pages are written");
    let (wanted, mut gaps) = (pages(program, program.get_name()), Vec::new());
    for (name, command) in &wanted {
        let page = fs::read_to_string(out.join(format!("{name}.1"))).unwrap_or_default().replace("\\-", "-");
        let shown = command.get_arguments().filter(|a| !a.is_hide_set()).filter_map(|a| a.get_long());
        let missing = shown.filter(|flag| !page.contains(&format!("--{flag}")));
        gaps.extend(missing.map(|flag| format!("{name}.1 has no --{flag}")));
        if page.is_empty() {
            gaps.push(format!("{name}.1 is missing"));
        }
    }
    let written = fs::read_dir(out).map_or(0, Iterator::count);
    if written != wanted.len() {
        gaps.push(format!("{written} manual pages of {} commands", wanted.len()));
    }
    gaps
}

/// All visible commands with their page names, such as `recrawl-formula-check`.
fn pages(command: &Command, name: &str) -> Vec<(String, Command)> {
    let mut all = vec![(name.to_owned(), command.clone())];
    for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        all.extend(pages(inner, &format!("{name}-{}", inner.get_name())));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_an_example_is_a_gap_and_all_else_is_generated() {
        let flag = clap::Arg::new("all").long("all");
        let inner = |name: &'static str| Command::new(name).arg(flag.clone());
        let program = Command::new("some").subcommand(inner("one").after_help("Example:\n  some one"));
        assert_eq!(gaps(&program), [] as [&str; 0]);
        assert_eq!(gaps(&program.subcommand(inner("two"))), ["two --help shows no example"]);
    }
}
