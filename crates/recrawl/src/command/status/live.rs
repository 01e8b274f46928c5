//! What a crawl does now, by its daemon.

use crate::command::thousands;
use crate::daemon::Daemon;
use crate::exclusive_access::ExclusiveAccess;
use recrawl_archive::timestamp;
use recrawl_crawl::open_read::{self, Tables};
use recrawl_types::{Size, Span};
use serde_json::Value;
use std::path::Path;

/// Who has the data directory.
pub enum Occupant {
    /// A daemon, which answers with this status.
    Daemon(Value),
    /// A command, for which a daemon steps aside.
    Command,
    /// A process without a control socket.
    Crawl,
    /// It cannot be told: a daemon does not answer this user.
    Unknown(String),
    Stopped,
}

impl Occupant {
    /// `tables` were tried after the daemon.
    pub fn detect(data_dir: &Path, daemon: Result<Option<Daemon>, String>, tables: &Tables) -> Occupant {
        match (daemon, tables) {
            (Ok(Some(daemon)), _) => Occupant::Daemon(daemon.status),
            (Err(why), _) => Occupant::Unknown(why),
            (Ok(None), _) if ExclusiveAccess::is_taken(data_dir).unwrap_or(false) => Occupant::Command,
            (Ok(None), Err(why)) if why == open_read::IN_USE => Occupant::Crawl,
            (Ok(None), _) => Occupant::Stopped,
        }
    }

    pub fn is_stopped(&self) -> bool {
        matches!(self, Occupant::Stopped)
    }

    pub fn is_daemon(&self) -> bool {
        matches!(self, Occupant::Daemon(_))
    }

    /// The document of `/api/v1/status`; none without a daemon.
    pub fn status(&self) -> Option<&Value> {
        match self {
            Occupant::Daemon(status) => Some(status),
            Occupant::Command | Occupant::Crawl | Occupant::Unknown(_) | Occupant::Stopped => None,
        }
    }

    /// The state for programs: the daemon's, or `aside`, `in_use`, `unknown` or `stopped`.
    pub fn name(&self) -> &str {
        match self {
            Occupant::Daemon(status) => status["state"].as_str().unwrap_or("unknown"),
            Occupant::Command => "aside",
            Occupant::Crawl => "in_use",
            Occupant::Unknown(_) => "unknown",
            Occupant::Stopped => "stopped",
        }
    }

    /// The state for people, on one line.
    pub fn words(&self) -> String {
        match self {
            Occupant::Daemon(status) => doing(status),
            Occupant::Command => {
                "a command has this directory; a daemon, if one runs, waits until it ends".into()
            }
            Occupant::Crawl => {
                "in use by another process without a control socket, such as `recrawl crawl`".into()
            }
            Occupant::Unknown(why) => format!("cannot tell: {why}; this is the last committed state"),
            Occupant::Stopped => "stopped: no process uses this directory".into(),
        }
    }
}

/// The vault, as a daemon tells of it, on one line; none without one.
pub fn vault(status: &Value) -> Option<String> {
    let vault = status["vault"].as_object()?;
    let number = |name: &str| vault[name].as_u64();
    let ago = |at: u64| Span::millis(status["now"].as_u64().unwrap_or(at).saturating_sub(at)).rounded();
    let shipped = number("shipped_at").map(|at| format!("had all {} ago", ago(at)));
    let waits = number("waiting_since").map(|since| {
        let bytes = Size(number("unshipped").unwrap_or(0)).rounded();
        format!("; since {} changes wait for it, {bytes} of visits and bodies", ago(since))
    });
    let held = vault["is_waited_for"].as_bool().unwrap_or(false).then(|| "; the crawl waits".to_owned());
    let error = vault["error"].as_str().map(|why| format!(": {why}"));
    let address = vault["address"].as_str().unwrap_or_default();
    let shipped = shipped.unwrap_or_else(|| "has not all yet".into());
    Some([Some(format!("{address} {shipped}")), waits, held, error].into_iter().flatten().collect())
}

/// The partition of a fleet, as a daemon tells of it, on one line; none of a crawl that is alone.
pub fn fleet(status: &Value) -> Option<String> {
    let fleet = status["fleet"].as_object()?;
    let number = |of: &Value| of.as_u64().unwrap_or(0);
    let own = fleet["partitions"].as_array()?.iter().find(|one| one["partition"] == fleet["partition"])?;
    // It tells of itself, and hears that as it hears others: at the start it has heard nothing.
    let owner = own["owner"].as_str().map(|name| format!("{name} owns it (epoch {})", own["epoch"]));
    let owner = owner.unwrap_or_else(|| "its owner has not told of itself yet".into());
    let (id, lease) = (number(&fleet["partition"]), Span::millis(number(&fleet["lease_ms"])));
    let address = fleet["address"].as_str().unwrap_or_default();
    Some(format!("partition {id} of {address}: {owner}, its lease is {lease}"))
}

/// What a daemon does.
fn doing(status: &Value) -> String {
    let state = status["state"].as_str().unwrap_or("unknown");
    let (state, reason) = match status["reason"].as_str() {
        // "paused by anna" says both.
        Some(reason) if reason.starts_with(state) => (reason, None),
        reason => (state, reason.map(|reason| format!(": {reason}"))),
    };
    let count = |of: &Value, name: &str| thousands(of[name].as_u64().unwrap_or(0));
    let cycle = &status["cycle"];
    let round = cycle.is_object().then(|| {
        let of = |name: &str| cycle[name].as_str().unwrap_or_default();
        let left = cycle["seconds_left"]
            .as_f64()
            .map(|left| format!(", about {} left", Span::seconds(left).rounded()));
        let pages = match of("stage") {
            "fetching" => format!(
                "{} of {} pages, {} in flight{}",
                count(cycle, "done"),
                count(cycle, "scheduled"),
                count(cycle, "in_flight"),
                left.unwrap_or_default()
            ),
            stage => stage.to_owned(),
        };
        format!("; round {} of cycle {} ({}): {pages}", cycle["round"], cycle["cycle"], of("kind"))
    });
    let next = status["next_cycle_at"].as_u64().filter(|_| round.is_none());
    let next = next.map(|at| format!("; next cycle at {}", timestamp(at)));
    [Some(state.to_owned()), reason, round, next].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_says_how_far_the_vault_is() {
        let mut status = json!({"now": 400_000, "vault": {"address": "s3://a/b", "shipped_at": 397_000,
            "waiting_since": null, "unshipped": 0, "is_waited_for": false, "error": null}});
        assert_eq!(vault(&status).unwrap(), "s3://a/b had all 3 s ago");
        status["vault"] = json!({"address": "s3://a/b", "shipped_at": 100_000, "waiting_since": 280_000,
            "unshipped": 300 << 20, "is_waited_for": true, "error": "no answer"});
        let told = vault(&status).unwrap();
        let line = "s3://a/b had all 5 min ago; since 2 min changes wait for it, 300 MiB of visits and bodies; \
                    the crawl waits: no answer";
        assert_eq!(told, line);
        assert_eq!(vault(&json!({"now": 1})), None);
    }

    #[test]
    fn a_line_says_which_partition_it_is() {
        let partitions =
            json!([{"partition": 1, "owner": "b", "epoch": 9}, {"partition": 2, "owner": "a", "epoch": 4}]);
        let mut status = json!({"fleet": {"address": "s3://a/b", "partition": 2, "lease_ms": 90_000,
            "partitions": partitions}});
        assert_eq!(
            fleet(&status).unwrap(),
            "partition 2 of s3://a/b: a owns it (epoch 4), its lease is 90 s"
        );
        status["fleet"]["partitions"][1]["owner"] = Value::Null;
        let told = "partition 2 of s3://a/b: its owner has not told of itself yet, its lease is 90 s";
        assert_eq!(fleet(&status).unwrap(), told);
        assert_eq!(fleet(&json!({"fleet": null})), None);
    }

    #[test]
    fn a_line_says_what_a_daemon_does() {
        let cycle = json!({"cycle": 8, "round": 12, "kind": "fill", "stage": "fetching", "done": 106,
            "scheduled": 1500, "in_flight": 4, "seconds_left": 38.52});
        let status = json!({"state": "crawling", "reason": null, "cycle": cycle, "next_cycle_at": null});
        let line = "crawling; round 12 of cycle 8 (fill): 106 of 1,500 pages, 4 in flight, about 38.5 s left";
        assert_eq!(doing(&status), line);
        let status = json!({"state": "paused", "reason": "paused by anna", "cycle": null});
        assert_eq!(doing(&status), "paused by anna");
        let status =
            json!({"state": "waiting", "reason": null, "cycle": null, "next_cycle_at": 1_700_000_000_000u64});
        assert_eq!(doing(&status), "waiting; next cycle at 2023-11-14T22:13:20Z");
    }
}
