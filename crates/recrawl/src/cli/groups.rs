//! The commands in groups, as `recrawl --help` shows them.

use clap::Command;
use std::fmt::Write;

/// Each command is in one group, in the order in which people meet them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Crawl", &["crawl", "watch", "serve"]),
    ("Look", &["search", "changes", "status", "explain", "show", "page", "report", "promises"]),
    (
        "Act",
        &["add", "fetch", "reload", "pause", "resume", "block", "unblock", "takedown", "notify", "deliver"],
    ),
    ("Data", &["backup", "restore", "import", "export", "repository", "vault", "fleet"]),
    ("Formulas", &["formula", "learn", "simulate", "improve", "whatif", "savings"]),
    ("Research", &["dataset", "focus"]),
    ("Set up", &["config", "mcp", "completions", "man", "help"]),
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
    fn every_command_is_in_a_page() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let pages = std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
        let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let pages: String = pages.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        for name in GROUPS.iter().flat_map(|(_, names)| names.iter()).filter(|name| **name != "help") {
            assert!(pages.contains(&format!("recrawl {name}")), "no page of docs/ tells of `recrawl {name}`");
        }
    }

    /// The commands below this one that have none below them, with their names.
    fn leaves(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
        let mut below = command.get_subcommands().filter(|below| below.get_name() != "help").peekable();
        if below.peek().is_none() {
            found.push((name.to_owned(), command.clone()));
        }
        below.for_each(|below| leaves(below, &format!("{name} {}", below.get_name()), found));
    }

    #[test]
    fn every_command_that_shows_something_can_print_json() {
        let cli = Cli::command();
        let (_, look) = GROUPS.iter().find(|(group, _)| *group == "Look").unwrap();
        let elsewhere = ["formula list", "formula show", "formula check", "config check", "config show"];
        let more =
            ["notify test", "notify status", "repository stats", "improve status", "whatif", "savings"];
        let mut all = Vec::new();
        cli.get_subcommands().for_each(|command| leaves(command, command.get_name(), &mut all));
        let shows = |name: &str| {
            look.contains(&name.split(' ').next().unwrap())
                || elsewhere.contains(&name)
                || more.contains(&name)
        };
        all.retain(|(name, _)| shows(name));
        assert!(all.len() >= look.len() + elsewhere.len() + more.len(), "one of these has another name");
        let without =
            all.iter().filter(|(_, command)| !command.get_arguments().any(|a| a.get_id() == "json"));
        assert_eq!(without.map(|(name, _)| name).collect::<Vec<_>>(), [] as [&String; 0]);
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
