//! The mix of requests to a busy console.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A request: kind, path and body.
pub struct Question {
    /// Name in the table.
    pub kind: &'static str,
    /// Path with query.
    pub path: String,
    /// JSON to post.
    pub body: Option<String>,
}

/// Kinds of twenty consecutive requests.
const KINDS: [&str; 20] = [
    "status",
    "page",
    "hosts",
    "status",
    "cycles",
    "page",
    "status",
    "pages",
    "metrics",
    "status",
    "page",
    "host",
    "status",
    "health",
    "cycles",
    "page",
    "formulas",
    "controls",
    "status",
    "dashboard",
];
/// One request in this many compares a formula with the one in force, over all pages.
const COMPARE_EVERY: u64 = 1000;

/// Pages and hosts in the requests.
pub struct Subjects {
    /// Canonical URLs of known pages.
    pub pages: Vec<String>,
    /// Their origins: `http://host:port`.
    pub origins: Vec<String>,
}

impl Subjects {
    /// Request number `n`.
    pub fn question(&self, n: u64) -> Question {
        if n % COMPARE_EVERY == COMPARE_EVERY / 2 {
            let body = Some(r#"{"text": "t * X / n"}"#.to_owned());
            return Question { kind: "compare", path: "/api/v1/formulas/compare".into(), body };
        }
        let kind = KINDS[(n % KINDS.len() as u64) as usize];
        let turn = (n / KINDS.len() as u64) as usize;
        let (page, origin) = (&self.pages[turn % self.pages.len()], &self.origins[turn % self.origins.len()]);
        let authority = origin.split_once("//").map_or(&**origin, |(_, rest)| rest);
        let path = match kind {
            "page" => format!("/api/v1/page?url={}", encoded(page)),
            "pages" => format!("/api/v1/pages?prefix={}&limit=50", encoded(&format!("{origin}/"))),
            "hosts" => format!("/api/v1/hosts?sort={}&limit=20", ["pages", "queue", "latency"][turn % 3]),
            "host" => format!("/api/v1/hosts/{}", authority.split(':').next().unwrap_or_default()),
            "cycles" => "/api/v1/cycles?last=50".into(),
            "metrics" => "/metrics".into(),
            "health" => "/health".into(),
            "dashboard" => "/".into(),
            other => format!("/api/v1/{other}"),
        };
        Question { kind, path, body: None }
    }
}

/// Percent-encodes a text for a query.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn each_kind_has_its_part_and_names_go_encoded() {
        let subjects =
            Subjects { pages: vec!["http://a.test/x?y=1".into()], origins: vec!["http://a.test:80".into()] };
        let mut kinds = BTreeMap::new();
        for n in 0..2000 {
            *kinds.entry(subjects.question(n).kind).or_insert(0) += 1;
        }
        assert_eq!((kinds["status"], kinds["compare"], kinds["dashboard"]), (598, 2, 100));
        assert_eq!(subjects.question(1).path, "/api/v1/page?url=http%3A%2F%2Fa%2Etest%2Fx%3Fy%3D1");
        assert_eq!(subjects.question(7).path, "/api/v1/pages?prefix=http%3A%2F%2Fa%2Etest%3A80%2F&limit=50");
        assert_eq!(subjects.question(11).path, "/api/v1/hosts/a.test");
    }
}
