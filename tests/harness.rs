//! Starts the mock web and the program, and reads what both say.

use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Config, Server, WebConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A small procedural web: `pages` pages on `hosts` hosts.
pub fn web(pages: u32, hosts: u32) -> Config {
    let procedural = ProceduralConfig { pages, hosts, seed: 7, ..ProceduralConfig::default() };
    Config::new(WebConfig::Procedural(procedural))
}

/// A mock web and a crawl of it.
pub struct World {
    pub server: Server,
    pub folder: TempDir,
    config: String,
}

impl World {
    /// Starts the web; `extra` is TOML behind the crawl's own settings (no delay, loopback allowed, the
    /// whole web discovered at once).
    pub fn new(web: Config, extra: &str) -> World {
        let server = Server::start(web).expect("the mock web starts");
        let config = format!(
            "[cycle]\npages_min = 1\ndiscovery_min = 1000000\naudit_share = 0\ndiscovery_share = 0\n\
             [politeness]\ndelay_per_host = \"0 ms\"\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\nconnections = 32\n{extra}"
        );
        let world = World { server, folder: tempfile::tempdir().expect("a folder"), config };
        std::fs::write(world.config_file(), &world.config).expect("the configuration is written");
        std::fs::write(world.seed_file(), world.server.seeds().join("\n")).expect("the seeds are written");
        world
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.path().join("recrawl.toml")
    }

    pub fn seed_file(&self) -> PathBuf {
        self.folder.path().join("seeds.txt")
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// `recrawl WORD… --config … --data-dir …`
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
        command.args(words).arg("--config").arg(self.config_file()).arg("--data-dir").arg(self.data_dir());
        command
    }

    /// The same, run to its end.
    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program runs")
    }

    /// Runs so many cycles from the web's seeds and returns their reports.
    pub fn crawl(&self, cycles: u32) -> Vec<Value> {
        let seeds = self.seed_file();
        let cycles = cycles.to_string();
        let words = ["crawl", "--json", "--cycles", &cycles, "--seeds", seeds.to_str().expect("UTF-8")];
        json_lines(&succeeds(self.run(&words)))
    }

    /// Starts a crawl and leaves it running.
    pub fn spawn_crawl(&self, cycles: u32) -> Child {
        let seeds = self.seed_file();
        let cycles = cycles.to_string();
        let words = ["crawl", "--json", "--cycles", &cycles, "--seeds", seeds.to_str().expect("UTF-8")];
        let mut command = self.command(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }

    /// Every known URL with its record, as `recrawl export pages` tells it.
    pub fn pages(&self) -> BTreeMap<String, Value> {
        let lines = json_lines(&succeeds(self.run(&["export", "pages", "--out", "-"])));
        let mut pages = BTreeMap::new();
        for line in lines {
            let url = line["url"].as_str().expect("a page has a URL").to_owned();
            assert!(pages.insert(url.clone(), line).is_none(), "{url} is in the repository twice");
        }
        pages
    }

    /// The last JSON object of `recrawl status --json`.
    pub fn status(&self) -> Value {
        serde_json::from_str(&succeeds(self.run(&["status", "--json"]))).expect("status speaks JSON")
    }
}

/// The program under test.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recrawl"));
    command.env_remove("RECRAWL_LOG");
    command
}

/// Standard output of a run that must have succeeded.
pub fn succeeds(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "exit {:?}: {errors}", output.status.code());
    String::from_utf8(output.stdout).expect("the program speaks UTF-8")
}

/// The one line of a run that must have failed with this code.
pub fn fails(output: Output, code: i32) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{errors}");
    let lines: Vec<&str> = errors.lines().filter(|l| l.starts_with("recrawl: ")).collect();
    assert_eq!(lines.len(), 1, "one line says what is wrong: {errors}");
    lines[0].to_owned()
}

pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{l}: {e}"))).collect()
}

/// n of a page as exported; none when it was never visited.
pub fn n(page: &Value) -> Option<u64> {
    page["n"].as_u64()
}

/// A file of the workspace.
pub fn workspace_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}
