//! `recrawl pause`, `resume`, `block` and `unblock`: by the running daemon, or else in the data directory.

use super::{print_json, print_labelled};
use crate::audit::{self, COMMAND_LINE};
use crate::cli::{BlockArgs, PauseArgs, Where};
use crate::daemon::{Daemon, encoded};
use crate::serve::changes;
use recrawl_console::view::{Accepted, Change, Refusal};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::control::Mark;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_fetcher::system_clock;

pub fn pause(args: &PauseArgs) -> Result<(), Failure> {
    make(&args.at, &Change::Pause { host: args.host.clone() }, args.json)
}

pub fn resume(args: &PauseArgs) -> Result<(), Failure> {
    make(&args.at, &Change::Resume { host: args.host.clone() }, args.json)
}

pub fn block(args: &BlockArgs) -> Result<(), Failure> {
    make(&args.at, &Change::Block { pattern: args.pattern.clone() }, args.json)
}

pub fn unblock(args: &BlockArgs) -> Result<(), Failure> {
    make(&args.at, &Change::Unblock { pattern: args.pattern.clone() }, args.json)
}

/// The route of a decision: method and path.
fn route(change: &Change) -> (&'static str, String) {
    let pause = |host: &Option<String>| match host {
        None => "/api/v1/pause".into(),
        Some(host) => format!("/api/v1/hosts/{}/pause", encoded(host)),
    };
    match change {
        Change::Pause { host } => ("PUT", pause(host)),
        Change::Resume { host } => ("DELETE", pause(host)),
        Change::Block { pattern } => ("PUT", format!("/api/v1/blocks/{}", encoded(pattern))),
        Change::Unblock { pattern } => ("DELETE", format!("/api/v1/blocks/{}", encoded(pattern))),
        other => unreachable!("{other} is no decision"),
    }
}

fn make(at: &Where, change: &Change, as_json: bool) -> Result<(), Failure> {
    let mut settings = at.settings()?;
    let accepted = match Daemon::in_charge(&settings.data_dir)? {
        Some(daemon) => {
            let (method, path) = route(change);
            daemon.change(method, &path, None)?
        }
        None => {
            let stopped = StoppedCrawl::open(&settings)?;
            settings.scope.refuse_taken_down(stopped.decided.taken_down.clone());
            let generation = stopped.repository.current();
            let mark = Mark { who: COMMAND_LINE.into(), at: system_clock()() };
            let decide = || {
                let made = stopped.decide(|control| {
                    changes::decide(control, &settings, &generation, change, mark).map_err(failure)
                })?;
                Ok((made.clone(), made))
            };
            audit::logged(&settings.data_dir, change, decide)?
        }
    };
    tell(&accepted, as_json)
}

/// Prints the result of a change.
pub fn tell(accepted: &Accepted, as_json: bool) -> Result<(), Failure> {
    if as_json { print_json(accepted) } else { print_labelled(&accepted.detail) }
}

/// As a running daemon's answer would fail.
pub fn failure(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Invalid { what, todo, .. } => Failure::Usage(format!("{what}; {todo}")),
        other => Failure::Work(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_has_the_route_of_its_kind() {
        let (host, pattern) = (Some("a.test:80".to_owned()), "https://a.test/x/".to_owned());
        for (change, method, path) in [
            (Change::Pause { host: None }, "PUT", "/api/v1/pause"),
            (Change::Resume { host }, "DELETE", "/api/v1/hosts/a.test%3A80/pause"),
            (Change::Block { pattern: pattern.clone() }, "PUT", "/api/v1/blocks/https%3A%2F%2Fa.test%2Fx%2F"),
            (Change::Unblock { pattern }, "DELETE", "/api/v1/blocks/https%3A%2F%2Fa.test%2Fx%2F"),
        ] {
            assert_eq!(route(&change), (method, path.to_owned()));
        }
    }
}
