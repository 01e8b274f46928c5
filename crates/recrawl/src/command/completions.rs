//! `recrawl completions`: shell completion scripts.

use super::print;
use crate::cli::Cli;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use recrawl_crawl::failure::Failure;

/// Prints the script for `shell`.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(shell: Shell) -> Result<(), Failure> {
    print(script(shell).trim_end())
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "recrawl", &mut script);
    String::from_utf8(script).expect("completion scripts are UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_learns_every_command_and_flag() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: no {}", command.get_name());
                for flag in command.get_arguments().filter_map(|a| a.get_long()) {
                    assert!(script.contains(flag), "{shell}: {} has no --{flag}", command.get_name());
                }
            }
        }
    }
}
