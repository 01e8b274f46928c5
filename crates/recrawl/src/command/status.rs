//! `recrawl status`: the state of a crawl, or of one host. Beside a running daemon, both are asked: the data directory
//! for what is committed, the daemon for what it does.

mod live;
mod room;

use super::{counted, print, print_json, print_labelled, print_table, table, thousands};
use crate::cli::StatusArgs;
use crate::daemon::{Daemon, ReadsApi, encoded};
use crate::fleet;
use crate::report::decisions_in_force::{self, DecisionsInForce};
use crate::report::health::{self, CommittedCrawl};
use crate::report::host;
use live::Occupant;
use recrawl_archive::{cap, opener, timestamp};
use recrawl_crawl::admission::named_host::NamedHost;
use recrawl_crawl::contact_check;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::open_read::{self, InProgress};
use recrawl_crawl::operator::control::Control;
use recrawl_crawl::report::{RoundReport, Tally};
use recrawl_crawl::settings::Settings;
use recrawl_crawl::settings::formula_file;
use recrawl_formula::Formula;
use recrawl_repository::{Generation, OriginRun};
use recrawl_types::{Origin, Size, Span};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Cycles shown.
const CYCLES: usize = 10;
/// Hosts shown: those with the most pages.
const HOSTS: usize = 10;
/// Columns of the table of cycles.
const OF_CYCLES: [table::Column; 10] = [
    table::number("cycle"),
    table::word("started"),
    table::number("planned"),
    table::number("fetched"),
    table::number("changed"),
    table::number("rate"),
    table::number("failed"),
    table::number("skips"),
    table::number("time"),
    table::word("end"),
];
/// Columns of the table of hosts.
const OF_HOSTS: [table::Column; 3] =
    [table::long("largest hosts"), table::number("pages"), table::number("visited")];

pub fn run(args: &StatusArgs) -> Result<(), Failure> {
    let settings = args.at.settings_or_daemon()?;
    match &args.host {
        _ if args.room => room::run(&settings, args.older_than, args.json),
        Some(host) => one_host(&settings, host, args.json),
        None => crawl(&settings, args.json),
    }
}

/// An origin's key as printed text.
fn origin_text(key: &[u8]) -> String {
    let mut url = key.to_vec();
    url.push(b'/');
    recrawl_types::CanonicalUrl::from_key(&url)
        .map_or_else(|_| "?".into(), |u| Origin::from_url(&u).to_string())
}

/// The origins with the most pages, the largest first.
fn largest_hosts(generation: &Generation) -> Result<Vec<OriginRun>, Failure> {
    let (mut largest, mut runs) = (Vec::<OriginRun>::new(), generation.origin_runs());
    while let Some(run) = runs.next_run()? {
        let place = largest.partition_point(|other| other.pages >= run.pages);
        if place < HOSTS {
            largest.truncate(HOSTS - 1);
            largest.insert(place, run.clone());
        }
    }
    Ok(largest)
}

fn crawl(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let reports = open_read::last_cycles(&repository, CYCLES)?;
    let largest = largest_hosts(&generation)?;
    let in_force = DecisionsInForce::read(settings);
    let (live, in_progress, failing_seed_hosts, seeds_queued) = {
        let daemon = Daemon::find(&settings.data_dir).inspect_err(|why| tracing::warn!("{why}"));
        // While a daemon runs, it has the tables.
        let tables = open_read::tables(&settings.data_dir);
        let in_progress =
            open_read::in_progress(&**repository.storage(), &generation, tables.as_deref().ok());
        let failing = in_force.failing_seed_hosts(tables.as_deref().ok())?;
        let queued = tables.as_deref().ok().map(Control::queued_seeds).transpose()?;
        (Occupant::detect(&settings.data_dir, daemon, &tables), in_progress, failing, queued)
    };
    // Unknown beside a crawl without a control socket.
    let seeds_waiting = live.status().map_or(seeds_queued, |status| status["seeds_waiting"].as_u64());
    if let Err(fault) = &in_progress {
        tracing::warn!("cannot read the schedule of the cycle in progress: {fault}");
    }
    let archive = opener::open(&settings.data_dir).and_then(|archive| cap::taken(&*archive));
    let archive = archive.map_err(|e| Failure::Work(format!("cannot read the archive: {e}")))?;
    // A broken formula is only reported here; it keeps the next cycle from starting.
    let formula = formula_file::in_force(settings);
    if let Err(fault) = &formula {
        tracing::warn!("cannot read the formula in force; no cycle starts without it: {fault}");
    }
    let summary = generation.summary();
    // The running round adds to the last commit.
    let visited = live.status().and_then(|status| status["visited"].as_u64()).unwrap_or(summary.visited);
    let health = live.status().map_or_else(
        || {
            let committed = CommittedCrawl {
                generation: &generation,
                cycles: &reports,
                paused: in_force.paused(),
                failing_seed_hosts,
                seeds_waiting: seeds_waiting.unwrap_or_default(),
                needs_contact: contact_check::is_missing(settings),
                bytes_free: repository.storage().free().ok(),
                bytes_reserved: settings.config.storage.reserve.0,
            };
            json!(committed.health())
        },
        |status| status["health"].clone(),
    );
    if as_json {
        let host =
            |o: &OriginRun| json!({"host": origin_text(&o.key), "pages": o.pages, "visited": o.visited});
        let hosts: Vec<Value> = largest.iter().map(host).collect();
        return print_json(&json!({
            "data_dir": settings.data_dir, "generation": summary.number, "pages": summary.pages,
            "visited": visited, "gone": summary.gone, "hosts": summary.origins, "bytes": summary.bytes,
            "archive": {"files": archive.files, "bytes": archive.bytes},
            "policy": settings.policy.name,
            "formula": formula.as_ref().ok().filter(|_| settings.policy.is_formula()).map(|formula| formula.expr.to_string()),
            "formula_error": formula.as_ref().err().map(ToString::to_string),
            "controls": in_force.json(), "controls_unknown": in_force.unknown(),
            "decisions": in_force.list(), "seeds_waiting": seeds_waiting, "cycle_in_progress": in_progress.as_ref().ok().copied().flatten(),
            "cycles": reports, "largest_hosts": hosts, "state": live.name(), "health": health, "daemon": live.status(),
        }));
    }
    let mut lines =
        vec![format!("data        {}", settings.data_dir.display()), format!("state       {}", live.words())];
    lines.extend(health::lines(&health));
    lines.extend([
        format!("generation  {}", summary.number),
        format!(
            "pages       {} known, {} visited, {} gone",
            thousands(summary.pages),
            thousands(visited),
            thousands(summary.gone)
        ),
        format!("hosts       {}", thousands(summary.origins)),
    ]);
    lines.push(formula_line(settings, &formula));
    lines.extend(in_progress_line(&live, &in_progress));
    lines.push(format!("control     {}", in_force.words()));
    let decisions = in_force.list().unwrap_or_default();
    lines.extend(decisions_in_force::lines(&decisions).iter().map(|line| format!("            {line}")));
    lines.extend(queued_line(seeds_waiting));
    lines.push(format!("repository  {}", Size(summary.bytes).rounded()));
    let files = counted(archive.files.into(), "WARC file");
    lines.push(format!("archive     {} in {files}", Size(archive.bytes).rounded()));
    lines.extend([vault_line(settings, &live), fleet_line(settings, &live)].into_iter().flatten());
    print_labelled(lines.join("\n"))?;
    print_cycles(&reports, settings.fetch.contact.is_some())?;
    let row =
        |origin: &OriginRun| [origin_text(&origin.key), thousands(origin.pages), thousands(origin.visited)];
    let rows: Vec<_> = largest.iter().map(row).collect();
    print_below(&OF_HOSTS, &rows)
}

/// The formula in force, or the policy that ranks without one.
fn formula_line(settings: &Settings, formula: &Result<Formula, Failure>) -> String {
    match formula {
        _ if settings.formula_is_idle().is_some() => {
            format!("policy      {}: {}", settings.policy.name, settings.policy.help)
        }
        Ok(formula) => format!("formula     {}: {}", formula.name, formula.expr),
        Err(fault) => format!("formula     unreadable: {fault}"),
    }
}

/// The round in progress, unless there is none or a daemon says more of it.
fn in_progress_line(live: &Occupant, in_progress: &Result<Option<InProgress>, Failure>) -> Option<String> {
    match in_progress {
        Ok(Some(cycle)) if live.is_stopped() => {
            Some(format!("in progress {cycle}; the next start resumes it"))
        }
        Ok(Some(cycle)) if !live.is_daemon() => Some(format!("in progress {cycle}")),
        Ok(_) => None,
        Err(fault) => Some(format!("in progress unreadable: {fault}")),
    }
}

/// Seeds that no round has taken yet; none without any.
fn queued_line(seeds: Option<u64>) -> Option<String> {
    let seeds = seeds.filter(|seeds| *seeds > 0)?;
    Some(format!("queued      {}, for the next round", counted(seeds, "seed")))
}

/// How far the vault is; without a daemon, where to ask. None without `storage.vault`.
fn vault_line(settings: &Settings, live: &Occupant) -> Option<String> {
    let address = &settings.config.storage.vault;
    let asked = || format!("{address}; ask it by `recrawl vault status`");
    let told = live.status().map_or_else(|| (!address.is_empty()).then(asked), live::vault)?;
    Some(format!("vault       {told}"))
}

/// The partition of a fleet that the directory is; without a daemon, where to ask. None of a crawl that is alone.
fn fleet_line(settings: &Settings, live: &Occupant) -> Option<String> {
    let asked = || {
        let (address, id) = fleet::partition_in(&settings.data_dir)?;
        Some(format!("partition {id} of {address}; see `recrawl fleet status {address}`"))
    };
    let told = live.status().map_or_else(asked, live::fleet)?;
    Some(format!("fleet       {told}"))
}

/// Prints promises, focus and the table of these cycles, with the pages that were carried or refused.
fn print_cycles(reports: &VecDeque<RoundReport>, has_contact: bool) -> Result<(), Failure> {
    if let Some(words) = promises(reports) {
        print_labelled(format!("promises    {words}"))?;
    }
    for line in focus(reports) {
        print_labelled(line)?;
    }
    let rows: Vec<_> = reports.iter().map(cycle_row).collect();
    print_below(&OF_CYCLES, &rows)?;
    if let Some(words) = carried(reports) {
        print_labelled(format!("\ncarried     {words}"))?;
    }
    if let Some(words) = conversions(reports) {
        print_labelled(format!("\nconverted   {words}"))?;
    }
    if let Some(words) = requisites(reports) {
        print_labelled(format!("\nrequisites  {words}"))?;
    }
    match skips(reports, has_contact) {
        Some(words) => print_labelled(format!("\nskips       {words}")),
        None => Ok(()),
    }
}

/// Why visits of these cycles were skipped; none if none were.
fn skips(reports: &VecDeque<RoundReport>, has_contact: bool) -> Option<String> {
    let mut all = Tally::default();
    reports.iter().for_each(|report| all += &report.tally);
    let Tally { opted_out, trapped, blocked, media_type, .. } = all;
    let addresses = match has_contact {
        true => "on refused addresses (list your own networks in fetch.allow_addresses)",
        // The guard then has two rules.
        false => {
            "on refused addresses (without crawler.contact, only those of this machine in fetch.allow_addresses are asked)"
        }
    };
    let kinds = [
        (all.robots_denied, "denied by robots.txt"),
        (all.refused, addresses),
        (opted_out, "on hosts that opted out"),
        (trapped, "of URL traps"),
        (blocked, "blocked"),
        (media_type, "of another media type"),
        (
            all.skipped.saturating_sub(opted_out + trapped + blocked + media_type),
            "left for later, by a back-off, a limit or the scope",
        ),
    ];
    let told = kinds.iter().filter(|(visits, _)| *visits > 0);
    let told: Vec<String> = told.map(|(visits, why)| format!("{} {why}", thousands(*visits))).collect();
    (!told.is_empty()).then(|| format!("in these cycles: {}", told.join(", ")))
}

/// Documents that commands converted in these cycles; none without any.
fn conversions(reports: &VecDeque<RoundReport>) -> Option<String> {
    let sum = |of: fn(&Tally) -> u64| reports.iter().map(|report| of(&report.tally)).sum::<u64>();
    let (converted, failed) = (sum(|tally| tally.converted), sum(|tally| tally.not_converted));
    let failures = match failed {
        0 => String::new(),
        failed => format!(", {} failed; the log says why", thousands(failed)),
    };
    (converted + failed > 0).then(|| format!("{} in these cycles{failures}", counted(converted, "document")))
}

/// Requisites of pages in these cycles; none without any.
fn requisites(reports: &VecDeque<RoundReport>) -> Option<String> {
    let sum = |of: fn(&Tally) -> u64| reports.iter().map(|report| of(&report.tally)).sum::<u64>();
    let left = [
        (sum(|tally| tally.requisites_same), "as before"),
        (sum(|tally| tally.requisites_refused), "refused"),
        (sum(|tally| tally.requisites_failed), "failed"),
        (sum(|tally| tally.requisites_left_out), "left out"),
    ];
    let (requested, archived) =
        (sum(|tally| tally.requisites_requested), sum(|tally| tally.requisites_archived));
    let has_any = requested > 0 || left.iter().any(|(number, _)| *number > 0);
    let left = left.iter().filter(|(number, _)| *number > 0);
    let left: String = left.map(|(number, what)| format!(", {} {what}", thousands(*number))).collect();
    let requested = counted(requested, "request");
    has_any.then(|| format!("{requested} in these cycles: {} archived{left}", thousands(archived)))
}

/// Prints a table below an empty line.
fn print_below<const N: usize>(columns: &[table::Column; N], rows: &[[String; N]]) -> Result<(), Failure> {
    print("")?;
    print_table(columns, rows)
}

/// Promises, as the last cycle that counted found them; none without any.
fn promises(reports: &VecDeque<RoundReport>) -> Option<String> {
    let last = reports.iter().rev().find(|report| !report.promises.is_empty())?;
    let broken: Vec<String> =
        last.promises.iter().filter(|of| !of.is_kept()).map(|of| of.pages.clone()).collect();
    let made = counted(last.promises.len() as u64, "promise");
    Some(match broken.is_empty() {
        true => format!("{made}, all kept when cycle {} began; see `recrawl promises`", last.cycle),
        false => format!(
            "{made}, broken when cycle {} began: {}; see `recrawl promises`",
            last.cycle,
            labels::some_of(&broken)
        ),
    })
}

/// What the last cycle of a focused crawl found, and its exhausted sites with the evidence; nothing of another crawl.
fn focus(reports: &VecDeque<RoundReport>) -> Vec<String> {
    let last =
        reports.iter().rev().find_map(|report| report.focus.as_ref().map(|focus| (report.cycle, focus)));
    let Some((cycle, found)) = last else { return Vec::new() };
    let within = |[estimate, low, high]: [Option<f64>; 3]| match (estimate, low, high) {
        (Some(estimate), Some(low), Some(high)) => format!("{estimate:.3} ({low:.3} to {high:.3})"),
        _ => "unknown".into(),
    };
    let harvest = within([found.harvest_rate, found.harvest_low, found.harvest_high]);
    let recall = within([found.recall_estimate, found.recall_low, found.recall_high]);
    let known = counted(found.relevant_known, "relevant page");
    let mut lines = vec![
        format!(
            "focus       {known}; in cycle {cycle}, {} of {} judged, by order {:?}",
            found.relevant_found, found.discovered, found.order
        ),
        format!("            harvest {harvest}, recall {recall}"),
    ];
    if found.is_satisfied {
        lines.push("            enough was found: discovery has stopped (focus.target_recall)".into());
    }
    if found.sites_exhausted > 0 {
        lines.push(format!("exhausted   {}", counted(found.sites_exhausted, "site")));
        lines.extend(found.exhausted.iter().map(|site| {
            let (name, visits) = (&site.site, site.visits);
            let (finds, pending) = (site.finds, site.pending);
            format!("            {name}: {finds} relevant in {visits} visits, {pending:.1} still expected")
        }));
    }
    lines
}

/// Pages of the newest cycles that were planned and neither visited nor skipped; none if there are none.
fn carried(reports: &VecDeque<RoundReport>) -> Option<String> {
    let of = |report: &RoundReport| format!("{} of cycle {}", thousands(report.carried), report.cycle);
    let cycles: Vec<String> = reports.iter().rev().filter(|report| report.carried > 0).map(of).collect();
    let list = labels::some_of(&cycles);
    (!cycles.is_empty()).then(|| format!("planned pages that these cycles did not reach: {list}"))
}

/// A cycle; the table fits 80 columns.
fn cycle_row(report: &RoundReport) -> [String; 10] {
    let started = timestamp(report.started);
    [
        report.cycle.to_string(),
        // Month, day, hour and minute.
        started.get(5..16).unwrap_or(&started).replace('T', " "),
        report.scheduled.to_string(),
        report.tally.fetched.to_string(),
        report.tally.changed.to_string(),
        report.change_rate.map_or("-".into(), |rate| format!("{rate:.3}")),
        report.tally.all_failed().to_string(),
        report.tally.all_skipped().to_string(),
        Span::seconds(report.seconds).rounded(),
        labels::stopped_by(&report.stopped_by).to_owned(),
    ]
}

fn one_host(settings: &Settings, name: &str, as_json: bool) -> Result<(), Failure> {
    let named = NamedHost::parse(name).map_err(|what| Failure::Usage(format!("--host: {what}")))?;
    let unknown = || {
        fleet::foreign_host(&settings.data_dir, &named.name).unwrap_or_else(|| {
            Failure::Work(format!("{name}: unknown host; `recrawl status` lists the largest hosts"))
        })
    };
    if let Some(daemon) = Daemon::beside(&settings.data_dir) {
        let path = format!("/api/v1/hosts/{}", encoded(name));
        return match as_json {
            true => print_json(&daemon.json(&path)?.ok_or_else(unknown)?),
            false => print_labelled(&daemon.text(&path)?.ok_or_else(unknown)?),
        };
    }
    let tables = open_read::tables(&settings.data_dir).map_err(|why| match why.as_str() {
        open_read::IN_USE => Failure::Work(format!(
            "{name}: {} is in use by another process, such as `recrawl crawl`, that has no control socket; stop it first",
            settings.data_dir.display()
        )),
        _ => Failure::Work(format!("{name}: {why}")),
    })?;
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let decided = open_read::decisions(&settings.data_dir, || Ok(tables.clone()))?;
    if as_json {
        let found = host::document(settings, &tables, &generation, &decided, &named)?;
        return print_json(&found.ok_or_else(unknown)?);
    }
    let found = host::text(settings, &tables, &generation, &repository.kept(), &decided, &named)?;
    print_labelled(&found.ok_or_else(unknown)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_fit_a_terminal_of_80_columns() {
        let report = json!({
            "cycle": 1234, "scheduled": 500_000, "gone": 0, "links_new": 0, "links_pending": 0, "pages_known": 0,
            "pages_visited": 0, "never_tried": 0, "formula": "age", "started": 1_700_000_000_000u64,
            "seconds": 3_594.0, "stopped_by": "slow_hosts",
            "fetched": 450_000, "changed": 123_456, "change_rate": 0.333, "failed": 12_345, "skipped": 54_321,
        });
        let report: RoundReport = serde_json::from_value(report).unwrap();
        let lines = table::lines(&OF_CYCLES, &[cycle_row(&report)], Some(80));
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(lines[1].contains("11-14 22:13") && lines[1].contains("450000"), "{lines:#?}");
        assert!(lines[1].ends_with("slow hosts"), "{lines:#?}");
        assert_eq!(carried(&[report.clone()].into()), None);
        let early = |cycle, carried| RoundReport { cycle, carried, ..report.clone() };
        assert_eq!(
            skips(&[report.clone()].into(), true).unwrap(),
            "in these cycles: 54,321 left for later, by a back-off, a limit or the scope"
        );
        let mut refused = early(9, 0);
        (refused.tally.robots_denied, refused.tally.refused) = (2, 4);
        (refused.tally.skipped, refused.tally.blocked) = (3, 3);
        for (has_contact, why) in [(true, "list your own networks"), (false, "without crawler.contact, only")]
        {
            let told = skips(&[refused.clone()].into(), has_contact).unwrap();
            let expected = format!("in these cycles: 2 denied by robots.txt, 4 on refused addresses ({why} ");
            assert!(told.starts_with(&expected) && told.ends_with("), 3 blocked"), "{told}");
        }
        let words = carried(&[early(7, 1077), early(8, 0), early(9, 5)].into());
        assert_eq!(
            words.unwrap(),
            "planned pages that these cycles did not reach: 5 of cycle 9, 1,077 of cycle 7"
        );
        let host =
            [format!("https://{}.example.com:8443", "a".repeat(100)), thousands(1 << 30), thousands(1 << 30)];
        let lines = table::lines(&OF_HOSTS, &[host], Some(80));
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    }
}
