//! What a new user sets: a configuration to start from, the environment, colours, the log.

use crate::harness::*;
use std::net::TcpListener;
use std::process::Command;

/// A style of a terminal.
const STYLE: char = '\u{1b}';

#[test]
fn a_configuration_to_start_from_is_written_once_and_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| program().current_dir(folder.path()).args(words).output().unwrap();
    let said = succeeds(run(&["config", "init"]));
    assert!(said.contains("recrawl.toml: written") && said.contains("crawler.contact"), "{said}");
    assert!(said.contains("commands that you run in this folder use it"), "{said}");
    succeeds(run(&["config", "check", "--config", "recrawl.toml"]));
    // It states defaults: nothing but what the user writes differs.
    let shown = succeeds(run(&["config", "show", "--config", "recrawl.toml"]));
    assert_eq!(shown, succeeds(program().args(["config", "show"]).output().unwrap()));
    std::fs::write(folder.path().join("recrawl.toml"), "mine").unwrap();
    let line = fails(run(&["config", "init", "recrawl.toml"]), 2);
    assert!(line.contains("recrawl.toml: exists"), "{line}");
    assert_eq!(std::fs::read_to_string(folder.path().join("recrawl.toml")).unwrap(), "mine");
    fails(run(&["config", "init", "none/recrawl.toml"]), 1);
}

/// Certificates are read before anything else in the process has needed TLS.
#[test]
fn a_file_of_certificates_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recrawl.toml");
    let authority =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../fetcher/src/net/client/http/certificates/authority.pem");
    std::fs::write(&file, format!("[fetch]\nextra_ca = [{authority:?}]\n")).unwrap();
    succeeds(program().args(["config", "check", "--config"]).arg(&file).output().unwrap());
}

/// Who does what, and what to do: in one line, without numbers of the system.
#[test]
fn the_first_mistakes_are_told_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), "[crawler]\ncontact = \"bob\"\n").unwrap();
    std::fs::write(folder.path().join("control.toml"), "[crawler]\nuser_agent = \"a\\r\\nb\"\n").unwrap();
    std::fs::write(folder.path().join("two.toml"), "[[notify]]\nname = \"x\"\n").unwrap();
    std::fs::write(folder.path().join("vault.toml"), "[storage]\nvault = \"ftp://a/b\"\n").unwrap();
    std::fs::write(folder.path().join("nowhere.toml"), "[storage]\ndata_dir = \"\"\n").unwrap();
    for (name, text) in [
        ("ca.toml", "[fetch]\nextra_ca = [\"bad.toml\"]\n"),
        ("at.toml", "[crawler]\ncontact = \"@\"\n"),
        ("scheme.toml", "[crawler]\ncontact = \"https://\"\n"),
        ("home.toml", "[storage]\ndata_dir = \"~/data\"\n"),
        ("log.toml", "[log]\nfilter = \"warning\"\n"),
        ("hosts.toml", "[[hosts]]\nhost = \"a.test\"\n[[hosts]]\nhost = \"a.test:443\"\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let dead = "http://127.1.0.77:8999/";
    let cases: [(&[&str], i32, &str); 26] = [
        (&["crawl"], 2, "no seeds: name a URL, such as `recrawl crawl https://example.com`"),
        (&["crawl", "htp://x"], 2, "scheme \"htp\" is not supported, only http and https"),
        (
            &["crawl", "--seeds", "none"],
            2,
            "cannot read seed file none: No such file or directory; name a file",
        ),
        (
            &["crawl", dead, "--contact", "bob"],
            2,
            "--contact: \"bob\" is neither an e-mail address nor a URL; write one",
        ),
        (
            &["config", "check", "--config", "bad.toml"],
            2,
            "crawler.contact: \"bob\" is neither an e-mail address",
        ),
        (
            &["config", "check", "--config", "control.toml"],
            2,
            "crawler.user_agent: \"a\\r\\nb\" has a control character",
        ),
        (
            &["config", "check", "--config", "two.toml"],
            2,
            "set exactly one of webhook, command, file, smtp; none is",
        ),
        (
            &["config", "check", "--config", "vault.toml"],
            2,
            "storage.vault: \"ftp://a/b\" is no address of a vault: ftp:// is not supported; write s3://",
        ),
        (
            &["config", "check", "--config", "nowhere.toml"],
            2,
            "storage.data_dir is empty; name a folder, or `.` for this one",
        ),
        (
            &["config", "check", "--config", "ca.toml"],
            2,
            "fetch.extra_ca: a file contains no certificate (use PEM): bad",
        ),
        (
            &["config", "check", "--config", "at.toml"],
            2,
            "crawler.contact: \"@\" is neither an e-mail address",
        ),
        (&["config", "check", "--config", "scheme.toml"], 2, "crawler.contact: \"https://\" is neither an"),
        (
            &["config", "check", "--config", "home.toml"],
            2,
            "storage.data_dir is \"~/data\", where ~ would be the name",
        ),
        (
            &["config", "check", "--config", "log.toml"],
            2,
            "log.filter: \"warning\": \"warning\" is no level (error,",
        ),
        (
            &["config", "check", "--config", "hosts.toml"],
            2,
            "[[hosts]] \"a.test:443\": \"a.test\" is of the same",
        ),
        (&["status", "--data-dir=~/data"], 2, "storage.data_dir is \"~/data\""),
        (
            &["config", "check", "--config", "none"],
            2,
            "cannot read configuration none: No such file or directory",
        ),
        (
            &["status"],
            2,
            "cannot open data directory data: No such file or directory; pass --data-dir, or begin",
        ),
        (&["show", "https://example.com"], 2, "pass --data-dir, or begin a crawl with `recrawl crawl URL`"),
        (
            &["crawl", "foo"],
            2,
            "seed \"foo\": not a URL: it does not begin with https:// or http:// (write `example.com`",
        ),
        (&["explain", "/page"], 2, "not a URL: it does not begin with https:// or http://"),
        (
            &["restore", "none"],
            2,
            "cannot open none: No such file or directory; name a folder that `recrawl backup` wrote",
        ),
        (&["notify", "status"], 2, "no target is configured: add [[notify]] to the configuration"),
        (&["reload"], 2, "no daemon runs in data; the next `recrawl serve` reads its configuration anyway"),
        (
            &["page", "test", dead],
            1,
            "was not fetched: cannot connect to the host or the proxy, when asked for robots.txt first",
        ),
        (&["watch", dead], 1, "was not fetched: cannot connect to the host or the proxy, when asked for"),
    ];
    for (words, code, says) in cases {
        let mut command = program();
        command.current_dir(folder.path()).args(words);
        command
            .env("RECRAWL__FETCH__ALLOW_ADDRESSES", "[\"127.0.0.0/8\"]")
            .env("RECRAWL__STORAGE__RESERVE", "0 B");
        let line = fails(command.output().unwrap(), code);
        assert!(line.contains(says) && !line.contains("os error"), "{words:?}: {line}");
    }
    assert!(!folder.path().join("data").exists(), "nothing was begun");
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
    assert_eq!(commands[..3], ["crawl", "watch", "serve"], "{help}");
    let groups = ["Crawl:", "Look:", "Act:", "Data:", "Formulas:"];
    assert!(groups.iter().all(|group| help.lines().any(|line| line == *group)), "{help}");
    assert!(commands.contains(&"completions") && commands.contains(&"man"), "{help}");
}

/// A configuration is found here, unless the environment names one, and that unless the command line does.
#[test]
fn a_configuration_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, cycles: u32| {
        let text = format!("[storage]\nkeep_visits = {cycles}\n");
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    let show = |words: &[&str], variable: Option<&str>| {
        let mut command = program();
        command.current_dir(folder.path()).args(["config", "show", "--json"]).args(words);
        variable.into_iter().for_each(|name| _ = command.env("RECRAWL_CONFIG", name));
        let shown: serde_json::Value = serde_json::from_str(&succeeds(command.output().unwrap())).unwrap();
        shown["storage"]["keep_visits"].as_u64().unwrap()
    };
    assert_eq!(show(&[], None), 100);
    write("recrawl.toml", 1);
    write("other.toml", 2);
    write("third.toml", 3);
    assert_eq!(show(&[], None), 1);
    assert_eq!(show(&[], Some("")), 1);
    assert_eq!(show(&[], Some("other.toml")), 2);
    assert_eq!(show(&["--config", "third.toml"], Some("other.toml")), 3);
    let missing = program().env("RECRAWL_CONFIG", "none.toml").args(["config", "check"]).output().unwrap();
    assert!(fails(missing, 2).contains("none.toml"));
    // Also of the crawl: its data directory is that of the file.
    std::fs::write(folder.path().join("recrawl.toml"), "[storage]\ndata_dir = \"here\"\n").unwrap();
    let status = program().current_dir(folder.path()).arg("status").output().unwrap();
    assert!(fails(status, 2).contains("here"));
}

/// A seed is a word of the command, and needs no scheme.
#[test]
fn a_crawl_is_one_word_and_an_address() {
    let world = World::new(web(10, 1), "");
    let home = world.server.seeds().remove(0);
    succeeds(world.run(&["crawl", &home, "--cycles", "1"]));
    assert!(world.asked(&home) > 0);
    // https is assumed: the web does not speak it.
    let other = World { data_dir: world.folder.path().join("other"), ..world };
    let bare = home.strip_prefix("http://").unwrap();
    let failed = other.run(&["crawl", bare, "--cycles", "1"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stdout).contains("TLS"), "{failed:?}");
}

/// A site that moved: nothing of it fails, and there is nothing more to crawl.
#[test]
fn a_seed_that_redirects_out_of_the_scope_is_told_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let old = format!("http://{}/", listener.local_addr().unwrap());
    serve_each(listener, |_, _| ("text/html", "Location: //127.0.0.9:8999/new\r\n".into(), String::new()));
    let folder = tempfile::tempdir().unwrap();
    let config = "[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[storage]\nreserve = \"0 B\"\n";
    std::fs::write(folder.path().join("recrawl.toml"), config).unwrap();
    let run = |words: &[&str]| program().current_dir(folder.path()).args(words).output().unwrap();
    let crawl = |cycles| {
        let done = run(&["crawl", &old, "--data-dir", "data", "--cycles", cycles]);
        String::from_utf8(done.stderr).unwrap()
    };
    let (first, then) = (crawl("1"), crawl("2"));
    let told =
        format!("{old} redirects to http://127.0.0.9:8999/new, which is not visited: its host is not in");
    assert!(first.contains(&told) && !then.contains("redirects"), "{first}\n{then}");
    let explained = succeeds(run(&["explain", &old, "--data-dir", "data"]));
    let line =
        "redirects   to http://127.0.0.9:8999/new, which is not visited: its host is not in scope.hosts";
    assert!(explained.contains(line), "{explained}");
}
