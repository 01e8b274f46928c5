//! The commands in groups, as `recrawl --help` shows them.

use clap::Command;
use std::fmt::Write;

/// Each command is in one group, in the order in which people meet them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Crawl", &["crawl", "watch", "serve"]),
    ("Look", &["status", "explain", "show", "page", "report", "promises"]),
    ("Act", &["add", "fetch", "reload", "pause", "resume", "block", "unblock", "takedown", "notify"]),
    ("Data", &["backup", "restore", "import", "export", "repository"]),
    ("Formulas", &["formula", "learn", "simulate", "improve", "whatif", "savings"]),
    ("Research", &["dataset", "focus"]),
    ("Set up", &["config", "completions", "man", "help"]),
];

/// The command line with its commands in groups.
pub fn grouped(cli: Command) -> Command {
    let mut all = cli.clone();
    all.build();
    let mut list = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(list, "{group}:");
        for name in *names {
            let about = all.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(list, "  {name:<12} {}", about.unwrap_or_default());
        }
        list.push('\n');
    }
    cli.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{options}}{{after-help}}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group() {
        let mut cli = Cli::command();
        cli.build();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut all: Vec<&str> = cli.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn help_shows_the_groups_in_their_order() {
        let help = grouped(Cli::command()).render_help().to_string();
        let at: Vec<usize> =
            GROUPS.iter().map(|(group, _)| help.find(&format!("{group}:")).unwrap()).collect();
        assert!(at.is_sorted() && help.contains("--quiet") && help.contains("Exit codes"), "{help}");
        assert!(help.lines().all(|line| line.len() <= 120), "{help}");
    }
}
