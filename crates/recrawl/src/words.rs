//! How outcomes and shares are called in what other programs read.

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
        Outcome::RobotsUnreachable => "robots_unreachable",
        Outcome::RefusedAddress => "refused_address",
        Outcome::Skipped(_) => "skipped",
    }
}

/// What made it fail, or why it was skipped: the variant's own name. None for other outcomes, which say it all.
pub fn why(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Failed(Failure::Status(_)) => Some("status".into()),
        Outcome::Failed(failure) => Some(name(&failure)),
        Outcome::Skipped(skip) => Some(name(&skip)),
        _ => None,
    }
}

/// The server's status, where that is what decided.
pub fn status(outcome: Outcome) -> Option<u16> {
    match outcome {
        Outcome::NotFound(status) | Outcome::Failed(Failure::Status(status)) => Some(status),
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
        ] {
            let why = why(given);
            assert_eq!((outcome(given), why.as_deref(), status(given)), expected);
        }
    }
}
