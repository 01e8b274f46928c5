//! Names of outcomes and shares in JSON and exports, and texts about them for people.

use recrawl_types::{Failure, Outcome, Share};
use serde::Serialize;

/// The outcome's name in JSON.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Fetched(_) => "fetched",
        Outcome::NotModified => "not_modified",
        Outcome::Redirected(_) => "redirected",
        Outcome::NotFound(_) => "not_found",
        Outcome::Failed(_) => "failed",
        Outcome::RobotsDenied => "robots_denied",
        Outcome::RobotsUnreachable(_) => "robots_unreachable",
        Outcome::RefusedAddress => "refused_address",
        Outcome::Skipped(_) => "skipped",
    }
}

/// The reason of a failure (of the page or its robots.txt) or a skip: the name of the enum variant.
/// None for other outcomes, which need no reason.
pub fn why(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Failed(failure) | Outcome::RobotsUnreachable(Some(failure)) => Some(match failure {
            Failure::Status(_) => "status".into(),
            failure => name(&failure),
        }),
        Outcome::Skipped(skip) => Some(name(&skip)),
        _ => None,
    }
}

/// Why the address guard refuses a host, and what to do: a clause without a full stop.
pub const REFUSED_ADDRESS: &str = "the host has a private, loopback or other special address; list your \
                                   own networks in fetch.allow_addresses";

/// A short description for people: a clause without a full stop.
pub fn detail(outcome: Outcome) -> String {
    match outcome {
        Outcome::Fetched(_) => "fetched",
        Outcome::NotModified => "not modified",
        Outcome::Redirected(_) => "redirect",
        Outcome::NotFound(status) => return format!("HTTP status {status}"),
        Outcome::Failed(failure) => return failure.to_string(),
        Outcome::RobotsDenied => "forbidden by robots.txt",
        Outcome::RobotsUnreachable(why) => {
            return format!("robots.txt {}; the page was not requested", no_robots(why));
        }
        Outcome::RefusedAddress => REFUSED_ADDRESS,
        Outcome::Skipped(_) => "not requested",
    }
    .into()
}

/// `could not be fetched (REASON)`: the predicate of a sentence whose subject is robots.txt. States
/// written by an older version have no reason.
pub fn no_robots(why: Option<Failure>) -> String {
    why.map_or("could not be fetched".into(), |failure| format!("could not be fetched ({failure})"))
}

/// The HTTP status, if it determined the outcome.
pub fn status(outcome: Outcome) -> Option<u16> {
    match outcome {
        Outcome::NotFound(status)
        | Outcome::Failed(Failure::Status(status))
        | Outcome::RobotsUnreachable(Some(Failure::Status(status))) => Some(status),
        _ => None,
    }
}

/// The name of the share that selected a page, and for the audit sample the page's probability.
pub fn share(share: Share) -> (&'static str, Option<f64>) {
    match share {
        Share::Score => ("score", None),
        Share::Discovery => ("discovery", None),
        Share::Warmup => ("warmup", None),
        Share::Audit(probability) => ("audit", Some(probability)),
        Share::Followed => ("followed", None),
        Share::Announced => ("announced", None),
        Share::Asked => ("asked", None),
    }
}

/// The serialized name of an enum variant.
fn name(variant: &impl Serialize) -> String {
    let value = serde_json::to_value(variant).ok();
    value.as_ref().and_then(|value| value.as_str()).expect("a variant without fields is its name").into()
}

/// Names of a long list that [`some_of`] prints.
const NAMED: usize = 3;

/// The first names of a list, and how many more there are.
pub fn some_of(names: &[String]) -> String {
    let named = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::Skip;

    #[test]
    fn what_decided_is_told() {
        for (given, expected) in [
            (Outcome::Failed(Failure::Timeout), ("failed", Some("timeout"), None)),
            (Outcome::Failed(Failure::Status(503)), ("failed", Some("status"), Some(503))),
            (Outcome::Skipped(Skip::HostBackOff), ("skipped", Some("host_back_off"), None)),
            (Outcome::NotFound(410), ("not_found", None, Some(410))),
            (Outcome::RobotsDenied, ("robots_denied", None, None)),
            (Outcome::RobotsUnreachable(Some(Failure::Dns)), ("robots_unreachable", Some("dns"), None)),
            (
                Outcome::RobotsUnreachable(Some(Failure::Status(429))),
                ("robots_unreachable", Some("status"), Some(429)),
            ),
            (Outcome::RobotsUnreachable(None), ("robots_unreachable", None, None)),
        ] {
            let why = why(given);
            assert_eq!((outcome(given), why.as_deref(), status(given)), expected);
            // The description is no debug text and has no full stop.
            let detail = detail(given);
            assert!(detail.contains(' ') && !detail.contains("::") && !detail.ends_with('.'), "{detail}");
        }
    }

    #[test]
    fn of_a_long_list_the_first_names_are_named() {
        let names = |n: u32| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        let told = [0, 1, 3, 5].map(|n| some_of(&names(n)));
        assert_eq!(told, ["", "1", "1, 2, 3", "1, 2, 3 and 2 more"]);
    }
}
