//! What a new user sets: a configuration to start from, the environment, colours, the log.

use crate::harness::*;
use std::process::Command;

/// A style of a terminal.
const STYLE: char = '\u{1b}';

#[test]
fn a_configuration_to_start_from_is_written_once_and_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| program().current_dir(folder.path()).args(words).output().unwrap();
    let said = succeeds(run(&["config", "init"]));
    assert!(said.contains("recrawl.toml: written") && said.contains("crawler.contact"), "{said}");
    assert!(said.contains("pass `--config recrawl.toml` to each command"), "{said}");
    succeeds(run(&["config", "check", "--config", "recrawl.toml"]));
    // It states defaults: nothing but what the user writes differs.
    let shown = succeeds(run(&["config", "show", "--config", "recrawl.toml"]));
    assert_eq!(shown, succeeds(run(&["config", "show"])));
    std::fs::write(folder.path().join("recrawl.toml"), "mine").unwrap();
    let line = fails(run(&["config", "init", "recrawl.toml"]), 2);
    assert!(line.contains("recrawl.toml: exists"), "{line}");
    assert_eq!(std::fs::read_to_string(folder.path().join("recrawl.toml")).unwrap(), "mine");
    fails(run(&["config", "init", "none/recrawl.toml"]), 1);
}

#[test]
fn the_environment_overrides_the_file_and_the_command_line_overrides_both() {
    let world = World::new(web(10, 1), "[storage]\ndata_dir = \"from-file\"\n[cycle]\npages_min = 5");
    let show = |environment: &[(&str, &str)]| {
        let mut command = program();
        command
            .args(["config", "show", "--config"])
            .arg(world.config_file())
            .envs(environment.iter().copied());
        command.output().unwrap()
    };
    assert!(succeeds(show(&[])).contains("data_dir = \"from-file\""));
    let shown =
        succeeds(show(&[("RECRAWL__STORAGE__DATA_DIR", "from-env"), ("RECRAWL__CYCLE__PAGES_MIN", "9")]));
    assert!(shown.contains("data_dir = \"from-env\"") && shown.contains("pages_min = 9"), "{shown}");
    world.crawl(1);
    let status = world.command(&["status"]).env("RECRAWL__STORAGE__DATA_DIR", "from-env").output().unwrap();
    assert!(succeeds(status).contains(&format!("data        {}", world.data_dir.display())), "--data-dir");
    let line = fails(show(&[("RECRAWL__CYCLE__PAGE", "9")]), 2);
    assert!(line.contains("RECRAWL__CYCLE__PAGE: ") && line.contains("`RECRAWL__CYCLE__PAGES`"), "{line}");
    let line = fails(show(&[("RECRAWL__CYCLE__PERIOD", "0 s")]), 2);
    assert!(line.contains("cycle.period") && line.contains("with RECRAWL__CYCLE__PERIOD"), "{line}");
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let world = World::new(web(10, 1), "");
    world.crawl(1);
    let status = |words: &[&str], environment: &[(&str, &str)]| {
        let mut command: Command = world.command(&[&["status"], words].concat());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(environment.iter().copied());
        succeeds(command.output().unwrap()).contains(STYLE)
    };
    assert!(!status(&[], &[]), "piped");
    assert!(status(&["--color", "always"], &[]) && status(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(status(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!status(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!status(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!status(&["--color", "always", "--json"], &[]), "JSON is for programs");
}

#[test]
fn the_log_has_as_much_as_the_flags_say() {
    let world = World::new(web(10, 1), "");
    let logged = |flags: &[&str]| {
        let mut command = world.crawl_command(1);
        let output = command.args(flags).env("RECRAWL_LOG", "error").output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!logged(&[]).contains("INFO"));
    assert!(logged(&["-v"]).contains("INFO"), "the flag overrides the environment");
    assert!(logged(&["-vv"]).contains("DEBUG"));
    assert_eq!(logged(&["--quiet"]), "");
    let both = world.crawl_command(1).args(["-q", "-v"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn the_first_commands_come_first_and_none_is_hidden() {
    let help = succeeds(program().arg("--help").output().unwrap());
    let commands: Vec<&str> =
        help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert_eq!(commands[..3], ["crawl", "serve", "status"], "{help}");
    assert!(commands.contains(&"completions") && commands.contains(&"man"), "{help}");
}
