//! Limits of one client.

use super::client::{served, served_with};
use super::crawl::MadeUp;
use std::io::Read;

#[test]
fn an_address_that_asks_too_often_is_told_when_to_come_back() {
    let served = served_with(MadeUp::new(), |config| config.requests = 1);
    // One per second: some of many consecutive requests exceed it on any machine that responds
    // within a second.
    let refused = (0..100).map(|_| served.get("/health")).find(|answer| answer.status != 200).unwrap();
    assert_eq!((refused.status, refused.problem().as_str()), (429, "rate-limit"));
    assert_eq!(refused.header("retry-after"), Some("1"));
}

#[test]
fn connections_beyond_the_limit_are_turned_away_and_counted() {
    let served = served_with(MadeUp::new(), |config| config.connections = 2);
    let (_first, _second) = (served.connect(), served.connect());
    let mut third = served.connect();
    let mut answer = String::new();
    third.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("serve.connections"), "{answer}");
}

#[test]
fn answers_and_refused_changes_are_counted() {
    let served = served();
    served.get("/none");
    served.ask("PUT", "/api/v1/pause", "", "");
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("recrawl_console_answers_total{class=\"4xx\"} 2\n"), "{metrics}");
    assert!(metrics.contains("recrawl_console_refused_changes_total 1\n"), "{metrics}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let served = served();
    let config = crate::ConsoleConfig { listen: served.address, ..super::client::config() };
    let taken = crate::serve(super::crawl::shared(), config, None, served.stop.clone());
    let error = taken.err().unwrap().to_string();
    assert!(error.contains(&served.address.to_string()) && error.contains("serve.listen"), "{error}");
}
