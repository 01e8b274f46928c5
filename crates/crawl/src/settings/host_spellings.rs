//! Tests: every key that names a host takes every spelling of it, and refuses what is no host.

use super::Settings;
use crate::admission::named_host::NamedHost;
use crate::admission::pattern::Pattern;
use crate::config::Config;
use crate::parts::notify::Receiver;
use recrawl_types::{CanonicalUrl, Origin, UrlRules};

/// Hosts as in URLs, each with other spellings.
const SPELLINGS: [(&str, &[&str]); 4] = [
    ("a.example", &["a.example", "A.Example", "a.example."]),
    (
        "xn--bcher-kva.example",
        &["bücher.example", "BÜCHER.example.", "xn--bcher-kva.example", "XN--Bcher-kva.Example."],
    ),
    ("127.0.0.1", &["127.0.0.1", "127.0.0.1."]),
    ("[::1]", &["::1", "[::1]", "0:0::1"]),
];

/// Texts that are no host, with a part of the reason.
const WRONG: [(&str, &str); 7] = [
    ("", "blank"),
    (" ", "blank"),
    ("a..example", "empty label"),
    ("a.example/x", "contains '/'"),
    ("me@a.example", "contains '@'"),
    ("a.*.example", "contains '*'"),
    ("1.2.3.999", "neither a name nor an address"),
];

fn settings(config: &str) -> Result<Settings, String> {
    let config: Config = toml::from_str(config).map_err(|e| e.message().to_owned())?;
    Settings::check(config)
}

fn url(host: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://{host}/")).unwrap()
}

/// Keys of hosts: their names in messages, the configuration with `HOST`, and whether a page is meant.
type HostKey = (&'static str, &'static str, fn(&Settings, &CanonicalUrl) -> bool);

const KEYS: [HostKey; 8] = [
    ("scope.hosts", "[scope]\nhosts = [\"HOST\"]", |s, page| s.scope.admits(page)),
    ("scope.refuse_hosts", "[scope]\nhosts = [\"*\"]\nrefuse_hosts = [\"HOST\"]", |s, page| {
        !s.scope.admits(page)
    }),
    ("traps.allow_hosts", "[traps]\nallow_hosts = [\"HOST\"]", |s, page| !s.traps.hold_for(&page.host())),
    ("proxy.except", "[proxy]\nurl = \"http://p.test:1\"\nexcept = [\"HOST\"]", |s, page| {
        !s.fetch.proxy.as_ref().unwrap().covers(&page.host())
    }),
    ("[[hosts]]", "[[hosts]]\nhost = \"HOST\"\nover_http = true\nheaders = { x = \"y\" }", |s, page| {
        s.fetch.access[0].admits(page)
    }),
    ("pages.match", "[[pages]]\nmatch = \"HOST\"\nignore = [\"nav\"]", |s, page| {
        s.pages.rule_for(page).is_some()
    }),
    ("[[notify]]", "[[notify]]\nname = \"me\"\nfile = \"/tmp/changes\"\npages = [\"HOST\"]", |s, page| {
        s.notify[0].wants(page)
    }),
    ("serve.names", "[serve]\nnames = [\"HOST\"]", |s, page| s.config.serve.names == [&*page.host()]),
];

#[test]
fn every_key_takes_every_spelling_of_a_host() {
    for (key, config, is_meant) in KEYS {
        for (host, spellings) in SPELLINGS {
            for spelling in spellings {
                let checked = settings(&config.replace("HOST", spelling)).unwrap();
                assert!(is_meant(&checked, &url(host)), "{key}: {spelling}");
                assert!(!is_meant(&checked, &url("other.example")), "{key}: {spelling}");
            }
        }
    }
}

#[test]
fn every_key_refuses_what_is_no_host_and_says_what_to_write() {
    for (key, config, _) in KEYS {
        let takes_port = key == "[[hosts]]";
        let port = [("a.example:8080", "it has a port")].into_iter().filter(|_| !takes_port);
        for (wrong, reason) in WRONG.into_iter().chain(port) {
            let error = settings(&config.replace("HOST", wrong)).unwrap_err();
            assert!(error.contains(key), "{key}: {wrong:?}: {error}");
            assert!(error.contains(reason) && error.contains("; write "), "{key}: {wrong:?}: {error}");
        }
    }
}

#[test]
fn overrides_are_names_with_an_address_each() {
    let overrides =
        |lines: &str| settings(&format!("[dns.overrides]\n{lines}")).map(|s| s.fetch.dns_overrides);
    for (host, spellings) in &SPELLINGS[..2] {
        for spelling in *spellings {
            for (target, address) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1")] {
                let found = overrides(&format!("\"{spelling}\" = \"{target}\"")).unwrap();
                assert_eq!(found, [(host.to_string(), address.parse().unwrap())].into(), "{spelling}");
            }
        }
    }
    for (lines, reason) in [
        ("\"a b\" = \"::1\"", "contains ' '; write"),
        ("\"a.example:80\" = \"::1\"", "it has a port, and only the host is expected; write"),
        ("\"a.example\" = \"b.example\"", "write one such as 127.0.0.1"),
        ("\"a.example\" = \"127.0.0.1:80\"", "write one such as 127.0.0.1"),
        ("\"127.0.0.1\" = \"::1\"", "write a name"),
        ("\"A.example\" = \"::1\"\n\"a.example.\" = \"127.0.0.1\"", "keep one"),
    ] {
        let error = overrides(lines).unwrap_err();
        assert!(error.starts_with("dns.overrides: ") && error.contains(reason), "{lines}: {error}");
    }
}

#[test]
fn name_servers_are_addresses_with_or_without_a_port() {
    let servers =
        |text: &str| settings(&format!("[dns]\nservers = [\"{text}\"]")).map(|s| s.fetch.dns_servers);
    for (text, server) in [
        ("9.9.9.9", "9.9.9.9:53"),
        ("9.9.9.9:5353", "9.9.9.9:5353"),
        ("2620:fe::fe", "[2620:fe::fe]:53"),
        ("[2620:FE::fe]", "[2620:fe::fe]:53"),
        ("[2620:fe::fe]:5353", "[2620:fe::fe]:5353"),
    ] {
        assert_eq!(servers(text).unwrap(), [server.parse().unwrap()], "{text}");
    }
    for wrong in ["", "dns.example", "9.9.9.9:0", "9.9.9.9:x", "9.9.9.9/8"] {
        let error = servers(wrong).unwrap_err();
        assert!(
            error.starts_with("dns.servers: ") && error.contains("write its address"),
            "{wrong}: {error}"
        );
    }
    let error = settings("[serve]\nlisten = \"localhost:8420\"").unwrap_err();
    assert!(error.starts_with("serve.listen: \"localhost:8420\"") && error.contains("write 127.0.0.1:8420"));
}

#[test]
fn blocks_of_addresses_take_brackets_and_mapped_addresses() {
    let blocks = |text: &str| {
        settings(&format!("[fetch]\nallow_addresses = [\"{text}\"]")).map(|s| s.fetch.allow_addresses)
    };
    for (text, block) in [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("127.0.0.1", "127.0.0.1/32"),
        ("::1", "::1/128"),
        ("[::1]", "::1/128"),
        ("[fd00::]/8", "fd00::/8"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:127.0.0.1", "127.0.0.1/32"),
    ] {
        assert_eq!(blocks(text).unwrap(), [block.parse().unwrap()], "{text}");
    }
    for wrong in ["", "a.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0:80", "/8"] {
        let error = blocks(wrong).unwrap_err();
        assert!(error.contains("fetch.allow_addresses: ") && error.contains("write 10.0.0.0/8"), "{error}");
    }
}

#[test]
fn a_mail_server_has_any_spelling() {
    let server = |text: &str| {
        let config = format!(
            "[[notify]]\nname = \"me\"\nsmtp = \"smtp://{text}\"\nfrom = \"a@a.test\"\nto = [\"b@b.test\"]"
        );
        settings(&config).map(|s| match &s.notify[0].receiver {
            Receiver::Mail(mail) => (mail.host.clone(), mail.port),
            _ => panic!("it is a mail server"),
        })
    };
    for (host, spellings) in SPELLINGS {
        for spelling in spellings.iter().filter(|text| text.starts_with('[') || !text.contains(':')) {
            assert_eq!(server(spelling).unwrap(), (host.to_owned(), 587), "{spelling}");
            assert_eq!(server(&format!("{spelling}:25")).unwrap(), (host.to_owned(), 25), "{spelling}");
        }
    }
    for wrong in ["", "a..example", "*.example", "a.example/x", "a.example?x"] {
        assert!(server(wrong).unwrap_err().contains("write smtp://"), "{wrong}");
    }
}

#[test]
fn arguments_and_requests_take_every_spelling_of_a_host() {
    let rules = UrlRules::default();
    for (host, spellings) in SPELLINGS {
        let page = url(host);
        for spelling in spellings {
            assert_eq!(
                Pattern::of_some(spelling, &rules).map(|pattern| pattern.to_string()).as_deref(),
                Ok(host),
                "{spelling}"
            );
            assert!(Pattern::host(spelling).unwrap().matches(&page), "{spelling}");
            assert!(NamedHost::parse(spelling).unwrap().is(&Origin::from_url(&page)), "{spelling}");
        }
    }
    for (wrong, reason) in WRONG {
        for error in [
            Pattern::of_some(wrong, &rules).unwrap_err().to_string(),
            Pattern::host(wrong).unwrap_err(),
            NamedHost::parse(wrong).unwrap_err(),
        ] {
            assert!(error.contains(reason), "{wrong:?}: {error}");
        }
    }
    assert!(Pattern::of_some("a.example:80", &rules).is_err() && Pattern::host("a.example:80").is_err());
}
