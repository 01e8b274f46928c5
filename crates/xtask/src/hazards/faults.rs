//! Every kind of fault of the mock web (docs/internals/mockweb.md), and where it applies.

use crate::crawl::mockweb::FIRST_HOST;

/// Hosts of the web.
pub const HOSTS: usize = 64;
/// Share of a host's responses with a fault.
const SHARE: f64 = 0.02;

/// Faults of single responses, each on one host for a share of its pages. `P` is the port of the
/// rejected addresses. Fast faults come first, because the first hosts also have a second fault,
/// which can be an endless web: many pages on a slow host would dominate the run time.
const ANSWERS: &[&str] = &[
    "redirect:",
    "redirect:javascript:alert(1)",
    "redirect:http://127.0.0.66:P/literal",
    "redirect:http://0x7f000042:P/number",
    "redirect:http://[::1]:P/six",
    "redirect:http://[::ffff:127.0.0.66]:P/mapped",
    "redirect:http://169.254.169.254/latest/meta-data/",
    "loop:1",
    "loop:2",
    "loop:0",
    "chain:3",
    "far:100000",
    "media:image/png",
    "schemes",
    "nested",
    "nul",
    "status:500",
    "status:503",
    "status:404",
    "busy:1",
    "busy:2",
    "timeout",
    "reset",
    "reset:100",
    "truncated",
    "slow:1",
    "drip",
    "endless:body",
    "endless:status",
    "endless:head",
    "endless:field",
    "endless:interim",
    "endless:extension",
    "endless:trailers",
    "length:short",
    "length:none",
    "length:long",
    "length:vast",
    "length:negative",
    "length:overflow",
    "length:two",
    "length:both",
    "broken:head",
    "broken:blank",
    "broken:noise",
    "broken:version",
    "broken:status",
    "broken:switch",
    "broken:field",
    "broken:fold",
    "broken:chunk",
    "broken:overflow",
    "bomb:gzip",
    "bomb:deflate",
    "bomb:zstd",
    "bomb:wide",
    "bomb:window",
    "hollow:members",
    "hollow:blocks",
    "hollow:frames",
    "coding:gzip",
    "coding:cut",
    "costly:hr",
    "costly:misnested",
    "costly:table",
    "costly:deep",
    "links:300",
    "long-links:3000",
    "no-utf-8",
    "charset:shift_jis/not",
    "charset:windows-1252/header",
    "sitemap:wide",
    "sitemap:huge",
    "wishes:x-robots-tag: noindex",
    "wishes:x-robots-tag: nofollow",
];

/// Endless webs, each in its own folder with a seed.
const FOLDERS: &[&str] =
    &["calendar", "session:path", "session:query", "facets", "farm", "spiral", "everything", "flood:100"];

/// Broken sitemaps. The pages of these hosts are found by links.
const SITEMAPS: &[&str] =
    &["sitemap:loop", "sitemap:deep", "sitemap:laughs", "sitemap:cut", "sitemap:elsewhere"];

/// Faults of a whole host, including robots.txt: connections closed before the next polite request.
const HOSTWIDE: &[&str] = &["idle:150", "idle:1"];

/// Faults of one cycle, when all hosts are known: robots.txt is temporarily unavailable.
const PASSING: &[&str] = &["/robots.txt=busy:1", "/robots.txt=status:503"];

/// The rules for the mock web's `--fault`, assigned to the hosts in turn, with or without those of
/// one cycle.
pub fn rules(refused_port: u16, passing_too: bool) -> Vec<String> {
    let with_share = |fault: &str| match fault.split_once(':') {
        Some((kind, value)) => format!("{kind}@{SHARE}:{value}"),
        None => format!("{fault}@{SHARE}"),
    };
    let answers = ANSWERS.iter().map(|fault| format!("/={}", with_share(fault)));
    let folders = FOLDERS.iter().map(|fault| format!("{}={fault}", folder(fault)));
    let sitemaps = SITEMAPS.iter().map(|fault| format!("/sitemap.xml={fault}"));
    let hostwide = HOSTWIDE.iter().map(|fault| format!("/={fault}"));
    let passing = PASSING.iter().filter(|_| passing_too).map(|rule| (*rule).to_owned());
    let all = answers.chain(folders).chain(sitemaps).chain(hostwide).chain(passing).enumerate();
    all.map(|(i, rule)| format!("{}{}", 1 + i % HOSTS, rule.replace(":P/", &format!(":{refused_port}/"))))
        .collect()
}

/// Seeds of the folders, for a web on `port`.
pub fn entries(port: u16) -> Vec<String> {
    let host = |i: usize| {
        let [a, b, c, d] = FIRST_HOST.octets();
        format!("{a}.{b}.{c}.{}", usize::from(d) + (ANSWERS.len() + i) % HOSTS)
    };
    FOLDERS
        .iter()
        .enumerate()
        .map(|(i, fault)| format!("http://{}:{port}{}/", host(i), folder(fault)))
        .collect()
}

/// The folder of a fault, which has no page of the web.
fn folder(fault: &str) -> String {
    format!("/without-end-{}", fault.replace(':', "-"))
}

/// The kinds in use, in order, without repetition.
pub fn kinds() -> Vec<&'static str> {
    let all = ANSWERS.iter().chain(FOLDERS).chain(SITEMAPS).chain(HOSTWIDE);
    let mut kinds: Vec<&str> = all.map(|fault| fault.split(':').next().unwrap_or(fault)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Faults against a browser. This crawl starts none; tests/rendered.rs has them.
    const OF_BROWSERS: [&str; 2] = ["hostile", "reach"];

    #[test]
    fn every_kind_that_the_mock_web_knows_is_in_use() {
        let folder = crate::tidy::repository_root().join("crates/mockweb/src/fault");
        let mut known = Vec::new();
        for entry in fs::read_dir(folder).expect("the faults have a folder") {
            let text = fs::read_to_string(entry.expect("an entry").path()).expect("a file of Rust");
            let names =
                text.lines().filter_map(|line| line.strip_prefix("    name: \"")?.strip_suffix("\","));
            known.extend(names.map(str::to_owned));
        }
        known.retain(|kind| !OF_BROWSERS.contains(&kind.as_str()));
        known.sort_unstable();
        assert!(known.len() > 30, "{known:?}");
        assert_eq!(kinds(), known, "put the new kind into {}", file!());
    }

    #[test]
    fn a_rule_names_its_host_and_an_entry_leads_to_its_fault() {
        let rules = rules(9, true);
        assert_eq!(rules.len(), super::rules(9, false).len() + PASSING.len());
        assert!(rules.iter().any(|rule| rule.ends_with("/robots.txt=busy:1")), "{rules:?}");
        assert_eq!(rules[0], "1/=redirect@0.02:");
        assert!(rules.contains(&"3/=redirect@0.02:http://127.0.0.66:9/literal".to_owned()), "{rules:?}");
        for (entry, fault) in entries(80).iter().zip(FOLDERS) {
            let (host, path) =
                entry.strip_prefix("http://127.1.0.").and_then(|e| e.split_once(":80")).expect(entry);
            let rule = format!("{host}{}={fault}", path.trim_end_matches('/'));
            assert!(rules.contains(&rule), "{rule}");
        }
    }
}
