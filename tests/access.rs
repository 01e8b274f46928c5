//! What is sent to single hosts and to nobody else, and proxies.

use crate::harness::{World, count, fails, succeeds, web};
use recrawl_mockweb::proxy::TestProxy;
use recrawl_mockweb::tls::SelfSigned;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What must be found nowhere but in requests to its host.
const SECRETS: [&str; 4] = ["s3cret-password", "czNjcmV0LXBhc3N3b3Jk", "s3cret-key", "s3cret-cookie"];

/// A server that keeps the heads of its requests and answers them by path.
struct Witness {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Witness {
    /// `answer` gives status line and fields for a path.
    fn open(at: Ipv4Addr, answer: impl Fn(&str) -> String + Send + 'static) -> Witness {
        let listener = TcpListener::bind((at, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let theirs = heads.clone();
        // Ends with the process: it holds nothing but its port.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let path = head.first().and_then(|l| l.split(' ').nth(1)).unwrap_or_default().to_owned();
                theirs.lock().unwrap().push(head.join("\n"));
                let end = "connection: close\r\ncontent-type: text/html\r\n\r\n<p>Some words to read.</p>";
                stream.write_all(format!("HTTP/1.1 {}\r\n{end}", answer(&path)).as_bytes()).ok();
            }
        });
        Witness { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Every file below, with what gzip hides.
fn everything_in(folder: &Path, into: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything_in(&path, into);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        if path.extension().is_some_and(|e| e == "gz") {
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(into).unwrap();
        }
        into.extend(bytes);
    }
}

fn holds_secrets(text: &[u8]) -> bool {
    SECRETS.iter().any(|secret| text.windows(secret.len()).any(|part| part == secret.as_bytes()))
}

#[test]
fn credentials_go_to_their_host_alone_and_are_written_nowhere() {
    let other = Witness::open(Ipv4Addr::new(127, 0, 0, 72), |_| "200 OK".into());
    let away = format!("http://{}/target", other.address);
    let named = Witness::open(Ipv4Addr::new(127, 0, 0, 71), move |path| match path {
        "/robots.txt" => "404 Not Found".into(),
        "/away" => format!("302 Found\r\nlocation: {away}"),
        _ => "200 OK\r\nset-cookie: theirs=1".into(),
    });
    let world = World::new(web(4, 1), "[scope]\nhosts = [\"*\"]\n");
    let place = named.address.to_string();
    world.seeds(&["page", "away", "more"].map(|path| format!("http://{place}/{path}")));
    let password = world.folder.path().join("password");
    std::fs::write(&password, "s3cret-password\n").unwrap();
    let table = |over_http: bool| {
        format!(
            "[[hosts]]\nhost = \"{place}\"\nover_http = {over_http}\nuser = \"me\"\npassword = \"file:{}\"\n\
             headers = {{ \"X-Key\" = \"env:RECRAWL_TEST_KEY\", \"Accept-Language\" = \"de\" }}\n\
             cookies = {{ \"a\" = \"s3cret-cookie\", \"b\" = \"2\" }}\n",
            password.display()
        )
    };
    let configure = |over_http| {
        world.configure("[scope]\nhosts = [\"*\"]\n");
        let before = std::fs::read_to_string(world.config_file()).unwrap();
        std::fs::write(world.config_file(), before + "\n" + &table(over_http)).unwrap();
    };

    // Over plain HTTP only where that is allowed.
    configure(false);
    let run = |words: &mut std::process::Command| {
        words.env("RECRAWL_TEST_KEY", "s3cret-key").env("RECRAWL_LOG", "trace").output().unwrap()
    };
    succeeds(run(&mut world.crawl_command(1)));
    assert!(named.heads().len() > 3 && !named.heads().iter().any(|head| holds_secrets(head.as_bytes())));

    configure(true);
    let before = named.heads().len();
    let output = run(&mut world.crawl_command(2));
    assert!(!holds_secrets(&output.stderr) && !holds_secrets(&output.stdout));
    succeeds(output);
    let heads = named.heads()[before..].to_vec();
    assert!(!heads.is_empty());
    for head in heads {
        let basic = "authorization: Basic bWU6czNjcmV0LXBhc3N3b3Jk"; // me:s3cret-password
        for field in [basic, "x-key: s3cret-key", "accept-language: de", "cookie: a=s3cret-cookie; b=2"] {
            assert_eq!(head.matches(field).count(), 1, "{field} in {head}");
        }
        assert!(!head.contains("theirs"), "{head}");
    }
    let elsewhere = other.heads();
    assert!(elsewhere.iter().any(|head| head.contains("/target")), "{elsewhere:?}");
    assert!(!elsewhere.iter().any(|head| holds_secrets(head.as_bytes()) || head.contains("accept-language")));

    let mut written = Vec::new();
    everything_in(&world.data_dir, &mut written);
    assert!(String::from_utf8_lossy(&written).contains("Some words to read"), "bodies are archived");
    assert!(!holds_secrets(&written));
    for json in [&["config", "show"][..], &["config", "show", "--json"]] {
        let mut show = crate::harness::program();
        show.args(json).arg("--config").arg(world.config_file());
        let shown = succeeds(run(&mut show));
        assert!(shown.contains("env:RECRAWL_TEST_KEY") && shown.contains("(hidden)"), "{shown}");
        assert!(!holds_secrets(shown.as_bytes()));
    }
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is_asked() {
    let world = World::new(web(4, 1), "");
    let sound = std::fs::read_to_string(world.config_file()).unwrap();
    for (table, key) in [
        ("[[hosts]]\nhost = \"a.test\"\nuser = \"me\"\npassword = \"geheim\"", "env:NAME"),
        ("[[hosts]]\nhost = \"a.test\"\nbearer = \"env:RECRAWL_NO_SUCH\"", "RECRAWL_NO_SUCH"),
        ("[[hosts]]\nhost = \"a.test\"\nheaders = { Host = \"geheim\" }", "Host"),
        ("[[hosts]]\nhost = \"a.test\"\nheaders = { Connection = \"geheim\" }", "Connection"),
        ("[[hosts]]\nhost = \"a.test\"\ncookies = { a = \"geheim;b\" }", "cookies"),
        ("[[hosts]]\nhost = \"*.test\"\n", "not a host"),
        ("[[hosts]]\nhots = \"a.test\"\n", "did you mean `hosts.host`"),
        ("[proxy]\nurl = \"proxy:3128\"", "proxy.url"),
        ("[proxy]\nurl = \"http://me:geheim@proxy:3128\"", "proxy.url"),
        ("[proxy]\nurl = \"http://proxy:3128\"\nuser = \"me\"\npassword = \"geheim\"", "proxy.password"),
    ] {
        std::fs::write(world.config_file(), format!("{sound}\n{table}\n")).unwrap();
        let line = fails(world.crawl_command(1).output().unwrap(), 2);
        assert!(line.contains(key) && !line.contains("geheim"), "{table}: {line}");
    }
    assert_eq!(world.server.log(0).unwrap(), []);
}

/// A web whose names lead nowhere but through this proxy.
fn behind_a_proxy() -> (World, TestProxy) {
    let mut config = web(12, 2);
    config.domain = Some("mock.test".into());
    let world = World::new(config, "");
    let v4 = |address: &std::net::IpAddr| match address {
        std::net::IpAddr::V4(v4) => *v4,
        std::net::IpAddr::V6(_) => panic!("the mock web is on 127.1.0.0/16"),
    };
    let names: BTreeMap<String, Ipv4Addr> =
        world.server.names().iter().map(|(name, at)| (name.clone(), v4(&(*at).into()))).collect();
    let proxy = TestProxy::open("127.0.0.73:0".parse().unwrap(), names).unwrap();
    (world, proxy)
}

#[test]
fn every_request_goes_through_the_proxy_but_those_that_are_excepted() {
    for (scheme, how) in [("http", "http"), ("socks5h", "socks5")] {
        let (world, proxy) = behind_a_proxy();
        let password = world.folder.path().join("password");
        std::fs::write(&password, "s3cret-password").unwrap();
        // The proxy is at an address that no page may lead to.
        let configuration = format!(
            "[crawler]\ncontact = \"tests@mock.test\"\n\
             [fetch]\nallow_addresses = [\"127.1.0.0/16\"]\n[proxy]\nurl = \"{scheme}://{}\"\nuser = \"me\"\n\
             password = \"file:{}\"\nexcept = [\"127.0.0.1\"]\n",
            proxy.address(),
            password.display()
        );
        world.configure(&configuration);
        let tls = SelfSigned::open("127.0.0.74:0".parse().unwrap()).unwrap();
        let direct = Witness::open(Ipv4Addr::LOCALHOST, |_| "200 OK".into());
        let mut seeds = world.server.seeds();
        seeds.push(format!("http://{}/", direct.address));
        seeds.push("http://169.254.169.254/latest".into());
        seeds.push(format!("https://{}/", tls.address()));
        world.seeds(&seeds);
        let output = world.crawl_command(2).output().unwrap();
        let warned = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(warned.contains("address guard cannot check") && !warned.contains("s3cret"), "{warned}");
        let reports = crate::harness::json_lines(&succeeds(output));
        assert!(count(&reports[0], "fetched") >= Some(2), "{reports:?}");
        let asked = proxy.asked();
        let credentials = asked.iter().all(|a| {
            a.credentials.as_deref() == Some("me:s3cret-password")
                || a.credentials.as_deref() == Some("Basic bWU6czNjcmV0LXBhc3N3b3Jk")
        });
        assert!(credentials && asked.iter().any(|a| a.how == how), "{asked:?}");
        assert!(asked.iter().any(|a| a.target.starts_with("h1.mock.test:")), "{asked:?}");
        assert!(!asked.iter().any(|a| a.target.contains("169.254")), "a literal is judged before: {asked:?}");
        // 127.0.0.1 is excepted, and refused by the guard as ever; 127.0.0.74 is refused as a literal.
        assert_eq!((direct.heads().len(), tls.connections()), (0, 0));
        assert!(count(&reports[0], "refused") >= Some(3), "{reports:?}");
    }
}

#[test]
fn https_is_a_tunnel_and_with_socks5_names_are_looked_up_here() {
    let (world, proxy) = behind_a_proxy();
    let tls = SelfSigned::open("127.1.9.1:0".parse().unwrap()).unwrap();
    world.configure(&format!("[proxy]\nurl = \"http://{}\"\n", proxy.address()));
    world.seeds(&[format!("https://{}/", tls.address())]);
    world.fruitless_cycle();
    assert!(tls.connections() > 0 && tls.trusting() == 0, "TLS is verified behind a proxy too");
    assert!(proxy.asked().iter().all(|a| a.how == "connect" && a.target == tls.address().to_string()));

    // The guard judges what a name leads to, and the proxy is given the address.
    let port = world.server.port();
    world.configure(&format!(
        "[fetch]\nallow_addresses = [\"127.1.0.0/16\"]\n[proxy]\nurl = \"socks5://{}\"\n\
         [dns.overrides]\n\"h1.mock.test\" = \"127.1.0.1\"\n\"inner.test\" = \"127.0.0.66\"\n[scope]\nhosts = [\"*\"]\n",
        proxy.address()
    ));
    world.seeds(&[format!("http://h1.mock.test:{port}/"), format!("http://inner.test:{port}/")]);
    let before = proxy.asked().len();
    let report = world.crawl(1).remove(0);
    assert!(count(&report, "fetched") >= Some(1) && count(&report, "refused") == Some(1), "{report}");
    let asked = proxy.asked()[before..].to_vec();
    assert!(!asked.is_empty() && asked.iter().all(|a| a.target == format!("127.1.0.1:{port}")), "{asked:?}");
}

/// Those who only read may not have the secrets.
#[test]
fn commands_that_only_read_need_no_secret() {
    let world = World::new(web(5, 1), "");
    world.crawl(1);
    let no = "\"env:RECRAWL_NO_SUCH_VARIABLE\"";
    let targets = format!(
        "[[deliver]]\nname = \"d\"\nto = \"typesense+http://h.test/docs\"\nbearer = {no}\n[[notify]]\nname = \"n\"\n\
         webhook = {no}\n[proxy]\nurl = \"http://p.test:1\"\nuser = \"u\"\npassword = {no}\n[[hosts]]\nhost = \"h.test\"\n\
         bearer = {no}\n"
    );
    world.configure(&targets);
    let page = world.pages().keys().next().unwrap().clone();
    for words in [&["status"][..], &["show", &page], &["changes"], &["export", "visits", "--out", "-"]] {
        succeeds(world.run(words));
    }
    for words in [&["deliver", "send"][..], &["crawl", "--cycles", "1"], &["config", "check"]] {
        let told = fails(world.run(words), 2);
        assert!(told.contains("cannot read environment variable RECRAWL_NO_SUCH_VARIABLE"), "{told}");
    }
}
