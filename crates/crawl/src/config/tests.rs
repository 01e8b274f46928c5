//! Keys and values, and what is said of wrong ones.

use super::*;

/// The reference: every key with its default, its unit and the reason.
const REFERENCE: &str = include_str!("../../../../config/recrawl.toml");

fn parse(text: &str) -> Result<Config, String> {
    let tables = Config::tables(text, Path::new("f.toml")).map_err(|e| e.to_string())?;
    tables.try_into().map_err(|e: toml::de::Error| e.to_string())
}

#[test]
fn the_reference_names_every_key_and_states_the_defaults() {
    assert_eq!(parse(REFERENCE).unwrap(), Config::default());
    for key in all_keys() {
        let (_, name) = key.split_once('.').unwrap();
        let stated = REFERENCE
            .lines()
            .any(|l| l.trim_start_matches("# ").split_once('=').is_some_and(|(left, _)| left.trim() == name));
        assert!(stated, "config/recrawl.toml does not state `{key}`: add it with default, unit and reason");
    }
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let error = parse("[politeness]\ndelay_per_hots = \"1 s\"").unwrap_err();
    assert!(error.contains("politeness.delay_per_hots"), "{error}");
    assert!(error.contains("did you mean `politeness.delay_per_host`"), "{error}");
    let error = parse("[polite]\ndelay_per_host = \"1 s\"").unwrap_err();
    assert!(error.contains("politeness.delay_per_host"), "{error}");
    assert!(parse("[nonsense]\n").unwrap_err().contains("nonsense"));
    assert!(parse("x = 1").unwrap_err().contains("unknown key `x`"));
    let long = parse(&format!("[cycle]\n{} = 1", "x".repeat(1 << 20))).unwrap_err();
    assert!(long.contains("unknown key `cycle.xxx") && long.len() < 300, "{long}");
}

#[test]
fn a_wrong_value_names_its_line() {
    let error = parse("[cycle]\n\nperiod = 5\n").unwrap_err();
    assert!(error.contains("line 3") && error.contains("unit"), "{error}");
    let long = parse(&format!("[cycle]\nperiod = '{}'", "1 h ".repeat(50_000))).unwrap_err();
    assert!(long.contains("a value of 200000 bytes") && long.len() < 300, "{long}");
    assert!(parse("[cycle]\npages = \"101%\"").unwrap_err().contains("line 2"));
    assert!(parse("[cycle\n").unwrap_err().contains("line 1"));
}

#[test]
fn names_may_hold_dots() {
    let config = parse("[dns.overrides]\n\"a.example\" = \"127.0.0.1\"\n").unwrap();
    assert_eq!(config.dns.overrides["a.example"], "127.0.0.1".parse::<IpAddr>().unwrap());
}
