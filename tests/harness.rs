//! Starts the mock web and the program, and reads what both say.

#[path = "ended.rs"]
mod ended;

pub use ended::{fails, succeeds};

use recrawl_mockweb::ledger::AccessEntry;
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Config, Server, WebConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The errors of a run whose arguments are refused before it begins.
pub fn misused(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.starts_with("error: "), "{errors}");
    errors
}

/// A test that waits for longer than this waits for something that does not come.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Every known URL with its record, as `recrawl export pages` tells it.
pub type Pages = BTreeMap<String, Value>;

/// What every crawl here begins with: no delay, loopback allowed, the whole web discovered cycle by cycle; one request
/// a visit, since the web counts requests; a formula, so that a cycle has one round.
const SETTINGS: &str = r#"
[cycle]
pages_min = 1
discovery_min = 1000000
discovery_share = 0
audit_share = 0
fill = false
[politeness]
delay_per_host = "0 ms"
delay_per_ip = "0 ms"
[fetch]
allow_addresses = ["127.0.0.0/8"]
connections = 32
validator_checks = 0
[storage]
reserve = "0 B"
[schedule]
formula = "default"
"#;

/// Serves at a listener: `answer` gives the type, further fields and the body for a target and the head of its request. A
/// field Location makes it a redirect, no type a page that is not found; there is no robots.txt.
pub fn serve_each(
    listener: TcpListener,
    answer: impl Fn(&str, &str) -> (&'static str, String, String) + Send + 'static,
) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = Vec::new();
            while stream.read_until(b'\n', &mut head).is_ok_and(|read| read > 2) {}
            let head = String::from_utf8_lossy(&head).into_owned();
            let Some(target) = head.split(' ').nth(1) else { continue };
            let (kind, fields, body) = answer(target, &head);
            let status = match target {
                "/robots.txt" => "404 Not Found",
                _ if kind.is_empty() => "404 Not Found",
                _ if fields.contains("Location") => "302 Found",
                _ => "200 OK",
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n{fields}\r\n"
            );
            // The crawler may have gone.
            let _ = stream.get_mut().write_all((head + &body).as_bytes());
        }
    });
}

/// A small procedural web: `pages` pages on `hosts` hosts.
pub fn web(pages: u32, hosts: u32) -> Config {
    let procedural =
        ProceduralConfig { pages, hosts, seed: 7, page_bytes: 4_000, ..ProceduralConfig::default() };
    Config::new(WebConfig::Procedural(procedural))
}

/// A mock web and a crawl of it.
pub struct World {
    pub server: Server,
    pub folder: TempDir,
    /// Where the crawl keeps its data; another path is another crawl of the same web.
    pub data_dir: PathBuf,
}

impl World {
    /// Starts the web; `extra` is TOML that goes over [`SETTINGS`].
    pub fn new(web: Config, extra: &str) -> World {
        let server = Server::start(web).expect("the mock web starts");
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = folder.path().join("data");
        let world = World { server, folder, data_dir };
        world.configure(extra);
        world.seeds(&world.server.seeds());
        world
    }

    /// Writes the configuration anew.
    pub fn configure(&self, extra: &str) {
        let mut settings: toml::Table = SETTINGS.parse().expect("TOML");
        for (table, values) in extra.parse::<toml::Table>().expect("TOML") {
            let toml::Value::Table(values) = values else {
                // A list of tables has no defaults to go over.
                settings.insert(table, values);
                continue;
            };
            match settings.entry(table).or_insert_with(|| toml::Table::new().into()) {
                toml::Value::Table(known) => known.extend(values),
                other => panic!("{other} is no table"),
            }
        }
        std::fs::write(self.config_file(), settings.to_string()).expect("the configuration is written");
    }

    /// Writes the seed file anew.
    pub fn seeds(&self, urls: &[String]) {
        std::fs::write(self.seed_file(), urls.join("\n")).expect("the seeds are written");
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.path().join("recrawl.toml")
    }

    pub fn seed_file(&self) -> PathBuf {
        self.folder.path().join("seeds.txt")
    }

    /// `recrawl WORD… --config … --data-dir …`
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
        command.args(words).arg("--config").arg(self.config_file()).arg("--data-dir").arg(&self.data_dir);
        command
    }

    /// The same, run to its end.
    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program runs")
    }

    /// A crawl of so many cycles from the web's seeds.
    pub fn crawl_command(&self, cycles: u32) -> Command {
        let mut command = self.command(&["crawl", "--json", "--cycles", &cycles.to_string()]);
        command.arg("--seeds").arg(self.seed_file());
        command
    }

    /// The same, run to its end; its reports.
    pub fn crawl(&self, cycles: u32) -> Vec<Value> {
        json_lines(&succeeds(self.crawl_command(cycles).output().expect("the program runs")))
    }

    /// The first cycle of a crawl that gets nothing, which is a failure; its report.
    pub fn fruitless_cycle(&self) -> Value {
        let output = self.crawl_command(1).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "nothing was fetched");
        json_lines(&String::from_utf8_lossy(&output.stdout)).remove(0)
    }

    /// One cycle after the web's clock has moved on by one.
    pub fn next_cycle(&self) -> Value {
        self.server.advance().expect("this web has no last cycle");
        self.crawl(1).remove(0)
    }

    /// Cycles until all that can be known is, and every page is past its warm-up.
    pub fn warm_up(&self) {
        let mut before = 0;
        for _ in 0..20 {
            let report = self.next_cycle();
            let known = report["pages_known"].as_u64().expect("a count");
            if known == before && report["first_visits"] == 0 && report["warmup_visits"] == 0 {
                return;
            }
            before = known;
        }
        panic!("20 cycles were not enough to know the whole web");
    }

    /// Waits until the web has seen that a killed crawl makes no more requests. The next crawl, which knows nothing of
    /// them, makes its own later than any of them came.
    pub fn forgets_the_killed(&self) {
        let begun = Instant::now();
        while !self.server.is_idle() {
            assert!(begun.elapsed() < PATIENCE, "the web goes on with requests of a process that was killed");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Starts a crawl and leaves it running.
    pub fn spawn_crawl(&self, cycles: u32) -> Child {
        let mut command = self.crawl_command(cycles);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }

    /// Every known URL with its record.
    pub fn pages(&self) -> Pages {
        let lines = json_lines(&succeeds(self.run(&["export", "pages", "--out", "-"])));
        let mut pages = BTreeMap::new();
        for line in lines {
            let url = line["url"].as_str().expect("a page has a URL").to_owned();
            assert!(pages.insert(url.clone(), line).is_none(), "{url} is in the repository twice");
        }
        pages
    }

    /// Makes the URLs of a list known, one a line.
    pub fn import(&self, list: &str) {
        let path = self.folder.path().join("list");
        std::fs::write(&path, list).expect("the list is written");
        succeeds(self.run(&["import", "list", path.to_str().expect("UTF-8")]));
    }

    /// `recrawl status --json`.
    pub fn status(&self) -> Value {
        serde_json::from_str(&succeeds(self.run(&["status", "--json"]))).expect("status speaks JSON")
    }

    /// `recrawl repository verify` finds no damage.
    pub fn is_sound(&self) {
        succeeds(self.run(&["repository", "verify"]));
    }

    /// What the web gave out whole, page by page, in the order in which it did; robots.txt left out.
    pub fn given_out(&self) -> BTreeMap<String, Vec<AccessEntry>> {
        let mut given = BTreeMap::<String, Vec<AccessEntry>>::new();
        for access in self.server.log(0).expect("the log is in memory") {
            let is_whole = access.complete && matches!(access.status, 200 | 302 | 304);
            if is_whole && access.path != "/robots.txt" {
                given.entry(format!("http://{}{}", access.host, access.path)).or_default().push(access);
            }
        }
        given
    }

    /// Requests for this URL, whatever came of them.
    pub fn asked(&self, url: &str) -> usize {
        let log = self.server.log(0).expect("the log is in memory");
        log.iter().filter(|a| format!("http://{}{}", a.host, a.path) == url).count()
    }

    /// A fault of this kind on this one page.
    pub fn fault_on(&self, page: u32, kind: &str) -> recrawl_mockweb::fault::FaultRule {
        let url = self.server.url(page);
        let (authority, path) = url.strip_prefix("http://").and_then(|u| u.split_once('/')).expect("http");
        let host = self.server.seeds().iter().position(|s| s.contains(&format!("//{authority}/")));
        let rule = format!("{}/{path}={kind}", host.expect("a host of the web") + 1);
        rule.parse().unwrap_or_else(|e| panic!("{rule}: {e}"))
    }

    /// Pages of the web whose address is no beginning of another page's, and can stand in a fault's rule.
    pub fn lone_pages(&self) -> Vec<u32> {
        let urls: Vec<String> = (0..self.server.info().pages).map(|p| self.server.url(p)).collect();
        let is_lone = |url: &String| urls.iter().filter(|u| u.starts_with(url.as_str())).count() == 1;
        let lone = urls.iter().enumerate().filter(|(_, u)| !u.contains(['?', '%', '=']) && is_lone(u));
        lone.map(|(page, _)| page as u32).collect()
    }
}

/// The program under test.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recrawl"));
    command.env_remove("RECRAWL_LOG").env_remove("RECRAWL_CONFIG");
    command
}

pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{l}: {e}"))).collect()
}

/// The host of a URL, without its port.
pub fn host_of(url: &str) -> String {
    url.split('/').nth(2).and_then(|place| place.split(':').next()).expect("a host").to_owned()
}

/// Paths of the WARC files by number, whichever release named them.
pub fn warc_files(data_dir: &Path) -> BTreeMap<u64, PathBuf> {
    let Ok(entries) = std::fs::read_dir(data_dir.join("warc")) else { return BTreeMap::new() };
    let number = |path: &Path| {
        let name = path.file_name()?.to_str()?.strip_prefix("recrawl-")?.strip_suffix(".warc.gz")?;
        name.split('-').find(|part| part.len() < 14)?.parse().ok()
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|path| Some((number(&path)?, path)))
        .collect()
}

/// A count in a report or record; none where it is null.
pub fn count(value: &Value, name: &str) -> Option<u64> {
    value[name].as_u64()
}

/// How often a page's content was another than at the visit before, by what the web says it gave out.
pub fn replayed_changes(visits: &[AccessEntry]) -> u64 {
    visits.windows(2).filter(|pair| pair[0].holds != pair[1].holds).count() as u64
}

/// A file of the workspace.
pub fn workspace_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}
