//! The routes of changes in the API of the console.

use super::encoded;
use recrawl_console::view::Change;
use serde_json::{Value, json};

/// Method, path and body of the request that makes a change.
pub fn route(change: &Change) -> (&'static str, String, Option<Value>) {
    let pause = |host: &Option<String>| match host {
        None => "pause".into(),
        Some(host) => format!("hosts/{}/pause", encoded(host)),
    };
    let block = |pattern: &str| format!("blocks/{}", encoded(pattern));
    let (method, path, body) = match change {
        Change::Pause { host } => ("PUT", pause(host), None),
        Change::Resume { host } => ("DELETE", pause(host), None),
        Change::AddSeeds { urls } => ("POST", "seeds".into(), Some(json!({"urls": urls}))),
        Change::Block { pattern } => ("PUT", block(pattern), None),
        Change::Unblock { pattern } => ("DELETE", block(pattern), None),
        Change::Recrawl { url } => ("POST", "recrawl".into(), Some(json!({"url": url}))),
        Change::UseFormula { text } => ("PUT", "formula".into(), Some(json!({"text": text}))),
        Change::RollBackFormula => ("DELETE", "formula".into(), None),
        Change::HoldLoop => ("PUT", "improve/hold".into(), None),
        Change::ReleaseLoop => ("DELETE", "improve/hold".into(), None),
        Change::PromoteCandidate => ("POST", "improve/promote".into(), None),
        Change::RollBackCandidate => ("POST", "improve/rollback".into(), None),
        Change::LearnNow => ("POST", "improve/learn".into(), None),
        Change::Reload => ("POST", "reload".into(), None),
        Change::StepAside => ("POST", "step-aside".into(), None),
    };
    (method, format!("/api/v1/{path}"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_the_route_of_its_kind() {
        let (host, pattern) = (Some("a.test:80".to_owned()), "https://a.test/x/".to_owned());
        let url = "https://a.test/".to_owned();
        for (change, method, path, body) in [
            (Change::Pause { host: None }, "PUT", "/api/v1/pause", None),
            (Change::Resume { host }, "DELETE", "/api/v1/hosts/a.test%3A80/pause", None),
            (
                Change::Block { pattern: pattern.clone() },
                "PUT",
                "/api/v1/blocks/https%3A%2F%2Fa.test%2Fx%2F",
                None,
            ),
            (Change::Unblock { pattern }, "DELETE", "/api/v1/blocks/https%3A%2F%2Fa.test%2Fx%2F", None),
            (Change::Recrawl { url: url.clone() }, "POST", "/api/v1/recrawl", Some(json!({"url": url}))),
            (Change::HoldLoop, "PUT", "/api/v1/improve/hold", None),
            (Change::ReleaseLoop, "DELETE", "/api/v1/improve/hold", None),
        ] {
            assert_eq!(route(&change), (method, path.to_owned(), body));
        }
    }
}
