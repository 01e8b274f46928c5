//! What the manual says to type: blocks marked `sh run` run, page by page; all other commands exist.

use crate::harness::{World, program, web, workspace_file};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What readers are told to crawl. A web on loopback stands in for it.
const EXAMPLE: &str = "https://example.com/";

/// Folders of a clone that a page may name.
const OF_A_CLONE: &[&str] = &["config", "crates", "deploy"];

#[test]
#[expect(clippy::disallowed_methods, reason = "what a page runs finds its programs where the test does")]
fn blocks_that_are_marked_to_run_do() {
    let mut ran = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let blocks = blocks(&text, "```sh run");
        if blocks.is_empty() {
            continue;
        }
        let world = World::new(web(30, 2), "");
        let reader = world.folder.path().join("reader");
        fs::create_dir(&reader).unwrap();
        for folder in OF_A_CLONE {
            std::os::unix::fs::symlink(workspace_file(folder), reader.join(folder)).unwrap();
        }
        // The stand-in is on a private address, answers at once and has no pages to spare.
        let config = world.config_file().display().to_string();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_recrawl"));
        let has_lab = program.with_file_name("recrawl-lab").exists();
        assert!(has_lab, "run `cargo test --workspace --locked --test lab --no-run` before: pages use it");
        let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
        for (line, block) in blocks {
            let script = stood_in(&block, &world.server.seeds()[0], &config);
            let output = Command::new("bash")
                .args(["-euo", "pipefail", "-c", &script])
                .current_dir(&reader)
                .env("PATH", &path)
                .env_remove("RECRAWL_LOG")
                .output()
                .expect("bash runs");
            assert!(
                output.status.success(),
                "{}:{line}: {block}\n{}",
                page.display(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        ran.push(page.file_name().unwrap().to_string_lossy().into_owned());
    }
    for page in ["README.md", "first-formula.md", "manual.md", "installing.md", "cookbook.md"] {
        assert!(ran.iter().any(|r| r == page), "{page} has no block that runs, only {ran:?} have");
    }
}

/// The script, for the web that stands in for `EXAMPLE`, and its configuration where the script names none or copies it.
fn stood_in(script: &str, seed: &str, config: &str) -> String {
    let line = |line: &str| match line.contains("--config") {
        true => line.to_owned(),
        false => line.replace("recrawl crawl", &format!("recrawl crawl --config {config}")),
    };
    // The settings of the tests fill no cycle, and not every machine has jq.
    let filled = |line: String| match line.contains("--until filled") {
        true => format!("RECRAWL__CYCLE__FILL=true {line}"),
        false => line,
    };
    let is_runnable = |line: &&str| !line.starts_with("jq ") || is_installed("jq");
    let script: Vec<String> = script.lines().filter(is_runnable).map(line).map(filled).collect();
    let host = seed.split([':', '/']).find(|part| part.contains('.')).expect("a host");
    let script = script.join("\n").replace(EXAMPLE, seed);
    let script = script.replace(" example.com", &format!(" {host}"));
    script.replace("cp config/recrawl.toml", &format!("cp {config}"))
}

#[expect(clippy::disallowed_methods, reason = "it decides what can be run, not what comes out")]
fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).exists())
}

/// `key = value` in backticks, with the table that was named before it in the same answer.
#[test]
fn every_setting_of_an_answer_is_valid() {
    let read = |page| fs::read_to_string(workspace_file(page)).unwrap();
    let answers = read("docs/cookbook.md") + "\n" + &read("docs/faq.md");
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut checked = 0;
    for answer in answers.split("\n\n") {
        let Some(settings) = settings_in(&answer.replace('\n', " ")) else { continue };
        fs::write(file.path(), &settings).unwrap();
        let show = program().args(["config", "show", "--config"]).arg(file.path()).output().unwrap();
        assert!(show.status.success(), "{answer}\n{settings}{}", String::from_utf8_lossy(&show.stderr));
        checked += settings.matches(" = ").count();
    }
    assert!(checked > 15, "only {checked} settings were found");
}

/// Blocks of TOML, and `key = value` of targets in backticks, are what `config check` takes.
#[test]
fn every_configuration_of_a_page_is_valid() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let check = |page: &str, settings: &str| {
        // Nobody has the secrets of the manual.
        let secret = settings.split('"').find(|word| word.starts_with("file:/etc/recrawl/"));
        let settings = secret.map_or(settings.to_owned(), |secret| settings.replace(secret, "env:SECRET"));
        fs::write(file.path(), &settings).unwrap();
        let mut check = program();
        check.env("SECRET", "x").args(["config", "check", "--config"]).arg(file.path());
        let check = check.output().unwrap();
        assert!(check.status.success(), "{page}:\n{settings}{}", String::from_utf8_lossy(&check.stderr));
    };
    for page in ["change-detection", "delivering", "notifications", "requisites", "searching"] {
        let text = fs::read_to_string(workspace_file(&format!("docs/{page}.md"))).unwrap();
        let blocks = blocks(&text, "```toml");
        let (_, first) = blocks.first().expect("a page with a configuration");
        for (_, block) in &blocks {
            // One without a table goes on with the first one.
            let table = if block.starts_with('[') { "" } else { first };
            check(page, &format!("{table}{block}"));
        }
        if page != "delivering" {
            continue;
        }
        let prose = text.replace('\n', " ");
        let keys: Vec<&str> =
            prose.split('`').filter(|code| code.contains(" = ") && code.len() < 40).collect();
        assert!(keys.contains(&"rate = \"5/s\"") && keys.len() > 4, "{keys:?}");
        for key in keys {
            let beside = if key.starts_with("whole") { "content = \"markdown\"\n" } else { "" };
            check(page, &format!("{first}{beside}{key}\n"));
        }
    }
}

/// Commands within answers of the cookbook that are not run, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("recrawl watch URL --to mailto:you@example.org", "it needs a mail server"),
    ("recrawl search", "it needs words, and an index: tests/searching.rs"),
    ("recrawl mcp", "it serves a model until its input ends: tests/searching.rs"),
    ("recrawl crawl --config /etc/recrawl.toml --cycles 1", "the file is the reader's"),
    ("recrawl notify send", "it needs a target: tests/notifications.rs"),
];

/// Commands that stand within a sentence run too, on a crawl that was made.
#[test]
fn commands_within_answers_of_the_cookbook_run() {
    let text = fs::read_to_string(workspace_file("docs/cookbook.md")).unwrap();
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let prose = prose.join("\n").replace('\n', " ");
    let commands = prose.split('`').skip(1).step_by(2).filter(|code| code.starts_with("recrawl "));
    let (world, mut helps) = (World::new(web(30, 2), ""), Helps::default());
    world.crawl(1);
    let seed = world.server.seeds().remove(0);
    let (mut ran, mut left) = (0, 0);
    for command in commands {
        helps.check(command).unwrap_or_else(|why| panic!("{command}: {why}"));
        if NOT_RUN.iter().any(|(other, _)| *other == command) {
            left += 1;
            continue;
        }
        // The archive of the stand-in begins today.
        let command = command.replace("URL", &seed).replace("2026-11-20", "2999-01-01");
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let output = world.run(&words);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        ran += 1;
    }
    assert!(ran > 1 && left == NOT_RUN.len(), "{ran} ran, {left} of {} were left out", NOT_RUN.len());
}

/// An answer that is as long as a page is not read.
#[test]
fn frequent_questions_are_few_and_have_short_answers_that_lead_on() {
    let page = fs::read_to_string(workspace_file("docs/faq.md")).unwrap();
    let questions: Vec<String> = page.split("\n\n").skip(1).map(|answer| answer.replace('\n', " ")).collect();
    assert!((10..=15).contains(&questions.len()), "{}", questions.len());
    for question in questions {
        let (asked, answer) = question[2..].split_once("**").expect("a question");
        let sentences = answer.trim().split(". ").count();
        assert!(asked.ends_with('?') && (1..=3).contains(&sentences) && answer.contains("]("), "{question}");
    }
}

/// The settings of one answer as a configuration; none if there are none.
fn settings_in(answer: &str) -> Option<String> {
    let code: Vec<&str> = answer.split('`').skip(1).step_by(2).collect();
    let (mut dotted, mut of_table, mut prefix) = (String::new(), String::new(), "");
    let table = code.iter().find(|code| code.starts_with('['));
    for (key, value) in code.iter().filter_map(|code| code.split_once(" = ")) {
        if let Some((named, _)) = key.split_once('.') {
            prefix = named;
            dotted += &format!("{key} = {value}\n");
        } else if table.is_none() {
            dotted += &format!("{prefix}.{key} = {value}\n");
        } else {
            of_table += &format!("{key} = {value}\n");
        }
    }
    // Entries of a list need the pages or the host that they are about.
    let head = match table {
        // A rhythm is one of a page.
        Some(&"[[pages]]") => "[[pages]]\nmatch = \"https://example.com/page\"\n",
        Some(&"[[hosts]]") => "[[hosts]]\nhost = \"example.com\"\n",
        Some(table) => table,
        None => "",
    };
    let settings = format!("{dotted}{head}\n{of_table}");
    settings.contains(" = ").then_some(settings)
}

/// The first page has no block that nobody runs: what is not `sh run` calls jobs of the Makefile, which are there.
#[test]
fn every_block_of_the_first_page_runs() {
    let readme = fs::read_to_string(workspace_file("README.md")).unwrap();
    let makefile = fs::read_to_string(workspace_file("Makefile")).unwrap();
    let runs = blocks(&readme, "```sh run");
    let mut jobs = 0;
    for (line, block) in blocks(&readme, "```") {
        if runs.iter().any(|(at, _)| *at == line) {
            continue;
        }
        for command in block.lines() {
            let job = command.strip_prefix("make ").and_then(|rest| rest.split(' ').next());
            let is_there = job.is_some_and(|job| makefile.contains(&format!("\n{job}: ")));
            assert!(
                is_there,
                "README.md:{line}: `{command}` is not run by a test, and no job of the Makefile"
            );
            jobs += 1;
        }
    }
    assert!(jobs > 2 && runs.len() > 2, "{jobs} jobs, {} blocks", runs.len());
}

#[test]
fn every_command_in_the_manual_exists() {
    let mut helps = Helps::default();
    let mut checked = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (line, block) in blocks(&text, "```") {
            for command in commands(&block) {
                helps
                    .check(&command)
                    .unwrap_or_else(|why| panic!("{}:{line}: {command}: {why}", page.display()));
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "only {checked} commands were found");
    assert!(helps.check("recrawl status --no-such-flag").is_err());
    assert!(helps.check("recrawl formula frobnicate").is_err());
}

/// The pages of the manual and the first page of all.
fn pages() -> Vec<PathBuf> {
    let folders = ["docs", "docs/internals"].map(|folder| fs::read_dir(workspace_file(folder)).unwrap());
    let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    pages.push(workspace_file("README.md"));
    pages.sort();
    pages
}

/// Fenced blocks whose first line begins so, each with the line on which it begins.
fn blocks(page: &str, fence: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, bool)> = None;
    for (i, line) in page.lines().enumerate() {
        match &mut open {
            Some((at, block, wanted)) if line == "```" => {
                if *wanted {
                    found.push((*at, std::mem::take(block)));
                }
                open = None;
            }
            Some((_, block, _)) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line.starts_with("```") => open = Some((i + 1, String::new(), line.starts_with(fence))),
            None => {}
        }
    }
    assert!(open.is_none(), "a block is never closed");
    found
}

/// Calls of the program in a script, each on one line and without what the shell does with it.
pub fn commands(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let is_ours = |l: &&str| l.starts_with("recrawl ") || l.starts_with("recrawl-lab ");
    let starts = joined.lines().map(str::trim).filter(is_ours);
    starts.map(|l| l.split([';', '|', '&', '>', '#']).next().unwrap_or(l).trim().to_owned()).collect()
}

/// What the programs say of their own words.
#[derive(Default)]
pub struct Helps(BTreeMap<Vec<String>, Option<String>>);

impl Helps {
    /// Whether a call has a command that exists, and only flags that it knows.
    pub fn check(&mut self, command: &str) -> Result<(), String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let mut path = vec![words[0].to_owned()];
        let mut help = self.help(&path).ok_or("no help")?;
        for word in words.iter().skip(1).take_while(|w| !w.starts_with('-')) {
            if !help.contains("<COMMAND>") {
                break;
            }
            path.push((*word).to_owned());
            help = self.help(&path).ok_or_else(|| format!("no command `{word}`"))?;
        }
        for word in words.iter().filter(|w| w.starts_with("--")) {
            let flag = word.split('=').next().unwrap_or(word);
            let is_known = help.split([' ', '\n', ',']).any(|w| w == flag);
            if !is_known {
                return Err(format!("no flag `{flag}`"));
            }
        }
        Ok(())
    }

    fn help(&mut self, path: &[String]) -> Option<String> {
        let ask = || {
            let program = Path::new(env!("CARGO_BIN_EXE_recrawl")).with_file_name(&path[0]);
            let output = Command::new(program).args(&path[1..]).arg("--help").output();
            let output = output.expect("the program runs; `cargo test --workspace` builds both");
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        self.0.entry(path.to_vec()).or_insert_with(ask).clone()
    }
}
