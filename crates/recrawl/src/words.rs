//! How outcomes and shares are called in what other programs read, and long lists in what people read.

use recrawl_types::{Failure, Outcome, Share};
use serde::Serialize;

/// How a visit ended.
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

/// What made it, or its robots.txt, fail, or why it was skipped: the variant's own name. None for other
/// outcomes, which say it all.
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

/// In a sentence, for a person.
pub fn detail(outcome: Outcome) -> String {
    match outcome {
        Outcome::Fetched(_) => "it was fetched",
        Outcome::NotModified => "it was not modified",
        Outcome::Redirected(_) => "it redirects",
        Outcome::NotFound(status) => return format!("the server answered {status}"),
        Outcome::Failed(failure) => return failure.to_string(),
        Outcome::RobotsDenied => "robots.txt forbids it",
        Outcome::RobotsUnreachable(why) => {
            return format!("robots.txt {}, so the page was not asked for", no_robots(why));
        }
        Outcome::RefusedAddress => "the host has an address that may not be asked (fetch.allow_addresses)",
        Outcome::Skipped(_) => "it was not asked for",
    }
    .into()
}

/// That robots.txt was not to be had, and why, as the rest of a sentence about it. A state of an older version
/// does not say why.
pub fn no_robots(why: Option<Failure>) -> String {
    why.map_or("could not be fetched".into(), |failure| format!("could not be fetched ({failure})"))
}

/// The server's status, where that is what decided.
pub fn status(outcome: Outcome) -> Option<u16> {
    match outcome {
        Outcome::NotFound(status)
        | Outcome::Failed(Failure::Status(status))
        | Outcome::RobotsUnreachable(Some(Failure::Status(status))) => Some(status),
        _ => None,
    }
}

/// Why a page was visited, and the probability with which it was drawn, if it was.
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

/// A variant's name as it is serialized.
fn name(variant: &impl Serialize) -> String {
    let value = serde_json::to_value(variant).ok();
    value.as_ref().and_then(|value| value.as_str()).expect("a variant without fields is its name").into()
}

/// Names that are named of a long list.
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
            // What is told is no debug text, and ends as a clause.
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
