//! A made-up crawl with a few hosts and some thousand pages. It records changes.

use super::improve;
use crate::view::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Pages of the crawl.
pub const PAGES: usize = 2500;
/// Time of the crawl's clock, different from the time of any test run.
pub const NOW: u64 = 1_700_000_000_000;

/// The crawl.
pub struct MadeUp {
    inner: Mutex<Inner>,
    gate: Option<TestGate>,
}

struct Inner {
    status: Status,
    controls: Controls,
    seeds: BTreeSet<String>,
    recrawls: BTreeSet<String>,
    formulas: Vec<FormulaUse>,
    /// What was decided of the loop.
    held: Vec<Decision>,
    /// Every accepted change.
    changes: Vec<(Change, Actor)>,
}

/// Blocks comparisons of formulas, pages that end with `/gate` and the pause of `gate.example` until the test releases
/// them.
struct TestGate {
    entered: Mutex<Sender<()>>,
    go_on: Mutex<Receiver<()>>,
}

pub fn counts() -> Counts {
    Counts {
        fetched: 100,
        changed: 40,
        unchanged: 50,
        first_visits: 10,
        not_modified: 20,
        failed: 3,
        not_found: 2,
        robots_denied: 1,
        links_seen: 900,
        bytes: 1_000_000,
        ..Counts::default()
    }
}

/// A crawl in the middle of its eighth cycle.
pub fn status() -> Status {
    let promise = Some(Promise {
        change_rate: 0.3,
        low: Some(0.2),
        high: None,
        basis: "mean chance of change at the cut".into(),
    });
    Status {
        version: "1.2.3".into(),
        data_dir: "data/made-up".into(),
        now: NOW,
        started: NOW - 60_000,
        idle_ms: 250,
        stall_ms: 60_000,
        health: CrawlHealth {
            level: HealthLevel::Green,
            reason: "fetching".into(),
            at: None,
            also: Vec::new(),
        },
        state: State::Crawling,
        reason: None,
        generation: 7,
        pages: PAGES as u64,
        visited: 1200,
        gone: 5,
        hosts: 3,
        bytes_on_disk: 1 << 20,
        bytes_free: Some(1 << 40),
        bytes_reserved: 1 << 30,
        memory_bytes: Some(1 << 26),
        formula: FormulaText { name: "cg".into(), expression: "cg * t".into(), ..FormulaText::default() },
        cycle: Some(CycleNow {
            cycle: 8,
            round: 12,
            kind: "fill".into(),
            stage: CycleStage::Fetching,
            started: NOW - 10_000,
            deadline: None,
            ends_by: Some(NOW + 50_000),
            scheduled: 500,
            done: 106,
            passed: 0,
            to_pass: 0,
            in_flight: 4,
            open_hosts: 3,
            backed_off: 0,
            counts: counts(),
            seconds_left: Some(38.5),
            change_rate: Some(0.4),
            promise: promise.clone(),
            slowest: vec![HostNow {
                host: "a.example".into(),
                queue: 300,
                done: 50,
                delay_ms: 1000,
                latency_ms: Some(80),
                failures: 0,
                state: HostState::Asking,
            }],
            fetching: vec![Fetching {
                url: "https://a.example/0001".into(),
                host: "https://a.example".into(),
                since: NOW - 500,
            }],
        }),
        last: Some(CycleDone {
            cycle: 7,
            ended: NOW - 11_000,
            seconds: 40.0,
            scheduled: 500,
            counts: counts(),
            change_rate: Some(0.25),
            promise,
            bursts: 3,
        }),
        next_cycle_at: Some(NOW + 60_000),
        next_round: None,
        budget: Some(ByteBudget { limit: 1 << 30, spent: 1 << 20 }),
        seeds_refused: None,
        freshness: Some(Freshness {
            share: 0.9,
            low: 0.85,
            high: 0.94,
            effective: 48.0,
            answered: 48,
            unanswered: 2,
            population: Some(9_000),
            basis: "48 audited pages answered.".into(),
        }),
        promises: Some(PromiseFigures { made: 3, broken: 1, limited: 0 }),
        notify: vec![TargetFigures {
            name: "desk".into(),
            delivered: 7,
            waiting: 2,
            given_up: 1,
            rounds_behind: 3,
            rounds_lost: 0,
            lost_at: None,
            failing_since: None,
            error: None,
        }],
        deliver: vec![CopyFigures {
            name: "search".into(),
            delivered: 40,
            waiting: 2,
            refused: 1,
            delivered_at: Some(1_700_000_000_000),
            failing_since: None,
            error: None,
        }],
        vault: Some(VaultFigures {
            address: "s3://bucket/prefix".into(),
            shipped_at: Some(NOW - 3_000),
            waiting_since: Some(NOW - 2_000),
            unshipped: 4096,
            is_waited_for: false,
            failures: 2,
            error: None,
            ship_ms: 10_000,
        }),
        conversions: Some(ConversionFigures { converted: 7, failed: 2, seconds: 3.5, ..Default::default() }),
        fleet: Some(FleetFigures {
            address: "s3://bucket/fleet".into(),
            map: 2,
            lease_ms: 90_000,
            partition: 1,
            store_age_ms: 5_000,
            error: None,
            waiting: None,
            turns_unknown_ms: 0,
            turns_begin_ms: None,
            hosts_waiting: 0,
            clock_bound_ms: Some(540),
            partitions: vec![
                PartitionFigures {
                    partition: 1,
                    owner: Some("a".into()),
                    epoch: 4,
                    cycle: 7,
                    unshipped: 4096,
                    untaken_runs: 3,
                    ..PartitionFigures::default()
                },
                PartitionFigures {
                    partition: 2,
                    begins: Some("m.example".into()),
                    unowned_ms: 135_000,
                    ..PartitionFigures::default()
                },
            ],
            nodes: [("a", Some(1), 4_000, false), ("b", Some(2), 135_000, true)]
                .map(|(name, partition, age_ms, is_silent)| NodeFigures {
                    name: name.into(),
                    version: "0.1.0".into(),
                    partition,
                    console: "127.0.0.1:8080".into(),
                    age_ms,
                    is_silent,
                })
                .into(),
        }),
        focus: Some(FocusFigures {
            relevant_known: 40,
            discovered: 100,
            relevant_found: 25,
            harvest_rate: Some(0.25),
            harvest_low: Some(0.185),
            harvest_high: Some(0.327),
            recall_estimate: Some(0.5),
            recall_low: Some(0.4),
            recall_high: Some(0.625),
            explored: 10,
            sites_exhausted: 2,
        }),
        failing_seed_hosts: Vec::new(),
        seeds_waiting: 0,
        needs_contact: false,
        idle_cycles: 0,
        pings: Some(PingFigures { results: [("taken".into(), 12)].into(), ..PingFigures::default() }),
        totals: counts(),
        cycles_done: 7,
        cycles_failed: 0,
        early_requests: 0,
        log_lines_lost: 0,
        paused_hosts: 0,
        blocked: 0,
    }
}

/// Figures for metrics, of a hundred answers.
pub fn meters() -> Meters {
    Meters {
        answers: Answers { success: 80, not_modified: 20, ..Answers::default() },
        times: (vec![0.1, 0.5], vec![60, 35, 5]),
        total_time: 12.5,
        cpu_seconds: 7.25,
        open_files: Some(40),
        max_files: Some(1024),
        loop_events: LoopEventKind::ALL.map(|kind| (kind, 2)).into(),
        rendering: Some(Rendering { rendered: 9, failed: 1, seconds: 4.5, ..Rendering::default() }),
        requisites: Some(RequisiteMeters {
            requested: 8,
            archived: 5,
            bytes: 4096,
            ..RequisiteMeters::default()
        }),
    }
}

impl MadeUp {
    pub fn new() -> MadeUp {
        let inner = Inner {
            status: status(),
            controls: Controls { taken_down: vec!["gone.example".into()], ..Controls::default() },
            seeds: BTreeSet::new(),
            recrawls: BTreeSet::new(),
            formulas: Vec::new(),
            held: Vec::new(),
            changes: Vec::new(),
        };
        MadeUp { inner: Mutex::new(inner), gate: None }
    }

    /// A crawl whose comparisons signal the receiver when they start and wait for the sender.
    pub fn with_gate() -> (MadeUp, Receiver<()>, Sender<()>) {
        let ((entered, has_entered), (go, go_on)) = (channel(), channel());
        let gate = TestGate { entered: Mutex::new(entered), go_on: Mutex::new(go_on) };
        (MadeUp { gate: Some(gate), ..MadeUp::new() }, has_entered, go)
    }

    /// Changes the status.
    pub fn set(&self, set: impl FnOnce(&mut Status)) {
        set(&mut self.inner.lock().unwrap().status);
    }

    /// The accepted changes.
    pub fn changes(&self) -> Vec<(Change, Actor)> {
        self.inner.lock().unwrap().changes.clone()
    }

    fn pass_gate(&self) {
        if let Some(gate) = &self.gate {
            gate.entered.lock().unwrap().send(()).unwrap();
            gate.go_on.lock().unwrap().recv().unwrap();
        }
    }

    fn url(i: usize) -> String {
        format!("https://a.example/{i:04}")
    }
}

/// Hosts of the crawl, in the order of their names.
const HOSTS: [&str; 3] = ["a.example", "b.example", "c.example"];

fn one_version() -> Version {
    Version {
        number: 1,
        time: NOW / 1000,
        status: 200,
        content_type: Some("text/html".into()),
        bytes: 5,
        digest: None,
        words_changed: None,
        warc_file: 1,
        warc_offset: 7,
    }
}

fn no_cursor() -> Refusal {
    Refusal::invalid("cursor", "unknown cursor", "use the `next` of the previous response")
}

fn expression(text: &str) -> Result<&str, Refusal> {
    match text.contains("cg") {
        true => Ok(text),
        false => Err(Refusal::invalid("line 1, column 1", "no formula", "see docs/formulas.md")),
    }
}

impl CrawlView for MadeUp {
    fn status(&self) -> Status {
        self.inner.lock().unwrap().status.clone()
    }

    fn recent(&self, since: u64) -> Recent {
        let point = |at| RecentPoint { at, ms: 10_000, median_ms: Some(80.0), ..RecentPoint::default() };
        let points =
            [NOW - 20_000, NOW - 10_000, NOW].into_iter().filter(|at| *at > since).map(point).collect();
        Recent { every_ms: 10_000, points_max: 360, points }
    }

    fn meters(&self) -> Meters {
        meters()
    }

    fn cycles(&self, last: usize) -> Result<Vec<Value>, Refusal> {
        let newest = self.inner.lock().unwrap().status.last.as_ref().map_or(0, |cycle| cycle.cycle);
        Ok((1..=newest).rev().take(last).map(|cycle| json!({"cycle": cycle})).collect())
    }

    fn errors(&self) -> Errors {
        let kind = ErrorKind { outcome: "failed".into(), why: Some("status".into()), status: Some(503) };
        let (url, detail) = (MadeUp::url(7), "the server answered 503".into());
        Errors {
            kinds: vec![ErrorCount { kind: kind.clone(), group: ErrorGroup::Failure, pages: 3 }],
            last: vec![PageError { at: NOW, url, host: "https://a.example".into(), kind, detail }],
        }
    }

    fn hosts(&self, ask: &HostQuery) -> Result<HostList, Refusal> {
        let begin = match &ask.cursor {
            None => 0,
            Some(host) => 1 + HOSTS.iter().position(|h| h == host).ok_or_else(no_cursor)?,
        };
        let row = |host: &str| HostRow {
            host: host.into(),
            state: HostState::Waiting,
            pages: 10,
            visited: 5,
            queue: 1,
            done: 2,
            changed: 1,
            requests: 30,
            robots_denied: 0,
            delay_ms: 1000,
            delay_because: "politeness.delay_per_host".into(),
            latency_ms: None,
            failures: 0,
            left_alone: None,
            left_alone_until: None,
        };
        let search = ask.search.as_deref().unwrap_or_default();
        let rest = HOSTS.iter().skip(begin).filter(|host| {
            host.contains(search) && ask.state.is_none_or(|state| state == HostState::Waiting)
        });
        let hosts: Vec<HostRow> = rest.take(ask.limit).map(|host| row(host)).collect();
        let next =
            (begin + hosts.len() < HOSTS.len()).then(|| hosts.last().map(|h| h.host.clone())).flatten();
        Ok(HostList { hosts, next })
    }

    fn host(&self, host: &str) -> Result<Vec<Value>, Refusal> {
        match host {
            "broken.example" => {
                Err(Refusal::Failed("hosts.sled: it cannot be read; see `recrawl repository verify`".into()))
            }
            "panic.example" => panic!("a view that breaks off"),
            _ if HOSTS.contains(&host) => Ok(vec![json!({"host": host})]),
            _ => Err(Refusal::NotFound(format!("{host}: unknown host"))),
        }
    }

    fn host_text(&self, host: &str) -> Result<String, Refusal> {
        self.host(host).map(|_| format!("host          {host}\n"))
    }

    fn host_report(&self, host: &str, cycles: usize) -> Result<Value, Refusal> {
        self.host(host).map(|_| json!({"host": host, "cycles": vec![json!({"requests": 3}); cycles]}))
    }

    fn host_report_text(&self, host: &str, _cycles: usize) -> Result<String, Refusal> {
        self.host_text(host)
    }

    fn promises(&self) -> Result<Value, Refusal> {
        Ok(json!({"promises": [], "cycles": []}))
    }

    fn promises_text(&self) -> Result<String, Refusal> {
        Ok("promises    none\n".into())
    }

    fn pages(&self, ask: &PageQuery) -> Result<PageList, Refusal> {
        let begin = match &ask.cursor {
            None => 0,
            Some(url) => {
                let page = url.strip_prefix("https://a.example/").and_then(|page| page.parse::<usize>().ok());
                1 + page.filter(|page| *page < PAGES).ok_or_else(no_cursor)?
            }
        };
        let mut fitting = (begin..PAGES).map(MadeUp::url).filter(|url| url.starts_with(&ask.prefix));
        let pages: Vec<Value> = fitting.by_ref().take(ask.limit).map(|url| json!({"url": url})).collect();
        let next = fitting.next().and(pages.last()).and_then(|page| Some(page["url"].as_str()?.to_owned()));
        Ok(PageList { pages, next })
    }

    fn page(&self, page: &OnePage) -> Result<Value, Refusal> {
        page.formula.as_deref().map(expression).transpose()?;
        let url = &*page.url;
        if !url.starts_with("http") {
            return Err(Refusal::invalid("url", "no URL", "begin with http:// or https://"));
        }
        if url.ends_with("/gate") {
            self.pass_gate();
        }
        match (0..PAGES).any(|i| MadeUp::url(i) == url) {
            true => Ok(
                json!({"url": url, "visits": [], "texts": {"none": "one_text", "why": "it was fetched once"}}),
            ),
            false => Err(Refusal::NotFound(format!("{url}: not known"))),
        }
    }

    fn page_text(&self, page: &OnePage) -> Result<String, Refusal> {
        self.page(page).map(|_| format!("url         {}\n", page.url))
    }

    fn page_changes(&self, ask: &PageChangeQuery) -> Result<PageChangeList, Refusal> {
        if ask.kinds.iter().any(|kind| kind == "no-kind") {
            return Err(Refusal::invalid("changes", "no kind", "see docs/console.md"));
        }
        let change = |page: usize| PageChange {
            id: format!("msg_{page}"),
            kind: "changed",
            url: MadeUp::url(page),
            cycle: 7,
            round: 7,
            time: NOW / 1000 - page as u64,
            status: Some(200),
            reason: None,
            title: (ask.max_difference > 0).then(|| format!("Page {page}")),
            difference: (ask.max_difference > 0).then(|| "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n".into()),
            is_cut: false,
            no_text: None,
            hint: None,
        };
        let begin = match &ask.cursor {
            None => 0,
            Some(page) => page.parse().ok().filter(|page| *page < PAGES).ok_or_else(no_cursor)?,
        };
        let end = PAGES.min(begin + ask.limit);
        Ok(PageChangeList {
            changes: (begin..end).map(change).filter(|change| change.time >= ask.since).collect(),
            next: (end < PAGES).then(|| end.to_string()),
            since_cycle: Some(1),
            since_time: Some(1_790_000_000),
        })
    }

    fn search(&self, ask: &SearchQuery) -> Result<SearchList, Refusal> {
        if ask.words == "nothing" {
            return Err(Refusal::conflict("no index is kept", "see docs/searching.md"));
        }
        let part = |text: &str, is_match| SnippetPart { text: text.into(), is_match };
        let result = |page: usize| SearchResult {
            url: MadeUp::url(page),
            title: Some(format!("Page {page}")),
            fetched_at: ask.since,
            snippet: vec![part("some <b>", false), part(&ask.words, true)],
        };
        Ok(SearchList {
            results: (0..ask.limit).map(result).collect(),
            total: PAGES as u64,
            is_partial: ask.host.is_some(),
        })
    }

    fn versions(&self, ask: &VersionQuery) -> Result<VersionList, Refusal> {
        self.page(&OnePage { url: ask.url.clone(), formula: None })?;
        match &ask.cursor {
            None => Ok(VersionList {
                url: ask.url.clone(),
                versions: vec![one_version()],
                next: None,
                missing: None,
            }),
            Some(_) => Err(no_cursor()),
        }
    }

    fn version(&self, version: &OneVersion) -> Result<VersionContent, Refusal> {
        let is_known = match version.which {
            Which::Place { warc_file, warc_offset } => (warc_file, warc_offset) == (1, 7),
            Which::At(time) => time >= one_version().time,
        };
        if !is_known {
            return Err(Refusal::NotFound(format!(
                "{}: no archived version of the page begins there",
                version.url
            )));
        }
        Ok(VersionContent {
            url: version.url.clone(),
            version: one_version(),
            headers: "HTTP/1.1 200 OK\n".into(),
            text: Some("words".into()),
            text_is_cut: false,
            no_text: None,
            difference: json!({"none": "one_text", "why": "no version before this one is archived"}),
        })
    }

    fn archived(&self, version: &OneVersion) -> Result<String, Refusal> {
        self.version(version).map(|_| "<!doctype html><p>words".into())
    }

    fn mementos(&self, url: &str) -> Result<MementoList, Refusal> {
        self.page(&OnePage { url: url.into(), formula: None })?;
        let now = one_version().time;
        Ok(MementoList { url: url.into(), times: vec![now, now - 10, now - 20, now - 30] })
    }

    fn raw(&self, version: &OneVersion) -> Result<RawVersion, Refusal> {
        let VersionContent { url, version, .. } = self.version(version)?;
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nSet-Cookie: a=b\r\n".to_vec();
        let body = b"alert(1)".to_vec();
        Ok(RawVersion { url, time: version.time, status: 200, head, body, target: None })
    }

    fn controls(&self) -> Result<Controls, Refusal> {
        Ok(self.inner.lock().unwrap().controls.clone())
    }

    fn formulas(&self) -> Result<Formulas, Refusal> {
        let inner = self.inner.lock().unwrap();
        let in_force = inner.status.formula.clone();
        let next = inner.formulas.last().map(|used| used.formula.clone());
        let history = inner.formulas.iter().rev().cloned().collect();
        Ok(Formulas { built_in: vec![in_force.clone()], in_force, next, history })
    }

    fn check_formula(&self, text: &str) -> Result<FormulaCheck, Refusal> {
        let expression = expression(text)?.to_owned();
        Ok(FormulaCheck {
            name: expression.clone(),
            expression,
            simplified: None,
            terminals: vec!["cg".into()],
            nodes: 1,
            depth: 1,
            cost: 1,
            warnings: Vec::new(),
        })
    }

    fn elsewhere(&self, sought: &SoughtPages) -> Result<Option<u32>, Refusal> {
        match sought {
            SoughtPages::Page(url) => Ok(url.starts_with("https://elsewhere.example/").then_some(2)),
            SoughtPages::Partition(id @ 1..=2) => Ok((*id == 2).then_some(2)),
            SoughtPages::Partition(_) => {
                Err(Refusal::invalid("partition", "no such partition", "use 1 or 2"))
            }
        }
    }

    /// The answer is the question.
    fn ask_elsewhere(&self, partition: u32, question: &FleetQuestion) -> Result<FleetAnswer, Refusal> {
        let FleetQuestion { path, accept, known } = question;
        assert_eq!(partition, 2);
        if path.ends_with("/gate") {
            self.pass_gate();
        }
        if path.ends_with("/away") {
            return Err(Refusal::Busy("partition 2 has no owner".into()));
        }
        let (tag, node) = ("\"tag\"".to_owned(), "b".to_owned());
        if *known == tag {
            return Ok(FleetAnswer {
                status: 304,
                content_type: String::new(),
                tag,
                body: String::new(),
                node,
            });
        }
        let status = if path.ends_with("/nonsense") { 7 } else { 203 };
        let body = format!("{path} as {accept}");
        Ok(FleetAnswer { status, content_type: "text/html".into(), tag, body, node })
    }

    fn rank_changes(&self, text: &str) -> Result<RankChanges, Refusal> {
        let expression = expression(text)?.to_owned();
        self.pass_gate();
        let change =
            RankChange { url: MadeUp::url(1), rank: 9, other_rank: 1, score: Some(0.1), other_score: None };
        Ok(RankChanges {
            expression,
            pages: 1200,
            k: 100,
            overlap: 0.75,
            expected: vec![Choice { by: ChoiceOf::InForce, change_rate: Some(0.4), freshness: Some(0.9) }],
            basis: "an estimator".into(),
            observed_change_rate: None,
            rise: vec![change],
            fall: Vec::new(),
        })
    }

    fn improve(&self) -> Improve {
        improve::improve()
    }

    fn improve_history(&self, ask: &HistoryQuery) -> Result<EventList, Refusal> {
        improve::history(ask)
    }

    fn candidate(&self, id: &str) -> Result<CandidateDocument, Refusal> {
        improve::candidate(id)
    }

    fn what_if(&self) -> Result<Forecasted<WhatIf>, Refusal> {
        Ok(Forecasted::Computing(improve::computing()))
    }

    fn savings(&self) -> Result<Forecasted<Savings>, Refusal> {
        Ok(Forecasted::Ready(improve::savings()))
    }

    fn ping(&self, ping: &IndexNow) -> Result<Pinged, Refusal> {
        match ping.key.as_str() {
            "unknown-key" => Ok(Pinged { pages: ping.url_list.len() as u64, checking: true }),
            "forged-key" => Err(Refusal::Forbidden("the key file does not have this key".into())),
            "flooding" => Err(Refusal::TooMany { what: "too many pings".into(), seconds: 7 }),
            "too-short" => Err(Refusal::invalid("key", "not a key", "send 8 to 128 characters")),
            "turned-off" => Err(Refusal::NotFound("IndexNow pings are off".into())),
            _ => Ok(Pinged { pages: ping.url_list.len() as u64, checking: false }),
        }
    }

    fn verify_subscription(&self, id: &str, verification: &Verification) -> Result<(), Refusal> {
        match id {
            "turned-off" => Err(Refusal::NotFound("WebSub is off".into())),
            "known" if verification.mode == "subscribe" => Ok(()),
            _ => Err(Refusal::NotFound("no such request".into())),
        }
    }

    fn notify(&self, id: &str, signature: Option<&str>, body: &[u8]) -> Result<PingDelivery, Refusal> {
        match id {
            "turned-off" => Err(Refusal::NotFound("WebSub is off".into())),
            "flooding" => Err(Refusal::TooMany { what: "too many pings".into(), seconds: 7 }),
            "known" if signature == Some("sha1=00") && body == b"<feed/>" => Ok(PingDelivery::Taken),
            _ => Ok(PingDelivery::Gone),
        }
    }

    fn change(&self, change: &Change, who: &Actor) -> Result<Accepted, Refusal> {
        match change {
            Change::Pause { host: Some(host) } if host == "gate.example" => self.pass_gate(),
            Change::Pause { host: Some(host) } if host == "panic.example" => {
                panic!("a change that breaks off")
            }
            _ => {}
        }
        let mut inner = self.inner.lock().unwrap();
        let Inner { status, controls, seeds, recrawls, formulas, held, .. } = &mut *inner;
        let decision = |what: &str| Decision { what: what.into(), who: who.name.clone(), at: NOW };
        let put = |list: &mut Vec<Decision>, what: &str| {
            let is_new = list.iter().all(|d| d.what != what);
            if is_new {
                list.push(decision(what));
            }
            is_new
        };
        let take = |list: &mut Vec<Decision>, what: &str| {
            let before = list.len();
            list.retain(|d| d.what != what);
            list.len() < before
        };
        let is_new = match change {
            Change::Pause { host: None } => controls.paused.replace(decision("")).is_none(),
            Change::Resume { host: None } => controls.paused.take().is_some(),
            Change::Pause { host: Some(host) } => put(&mut controls.paused_hosts, host),
            Change::Resume { host: Some(host) } => take(&mut controls.paused_hosts, host),
            Change::Block { pattern } if pattern.contains(' ') => {
                return Err(Refusal::invalid("pattern", "no host and no URL", "write `example.com`"));
            }
            Change::Block { pattern } => put(&mut controls.blocks, pattern),
            Change::Unblock { pattern } => take(&mut controls.blocks, pattern),
            Change::AddSeeds { urls } => {
                let before = seeds.len();
                seeds.extend(urls.iter().cloned());
                seeds.len() > before
            }
            Change::Recrawl { url } => recrawls.insert(url.clone()),
            Change::UseFormula { text } => {
                let expression = expression(text)?.to_owned();
                let is_new = formulas.last().is_none_or(|used| used.formula.expression != expression);
                let formula = FormulaText { name: "new".into(), expression, ..FormulaText::default() };
                if is_new {
                    formulas.push(FormulaUse {
                        formula,
                        at: NOW,
                        who: who.name.clone(),
                        from_cycle: Some(9),
                    });
                }
                is_new
            }
            Change::RollBackFormula => formulas.pop().is_some(),
            Change::HoldLoop => put(held, "loop"),
            Change::ReleaseLoop => take(held, "loop"),
            Change::PromoteCandidate => {
                let todo = "wait for its end, or hold the loop to end it";
                return Err(Refusal::conflict("its trial runs", todo));
            }
            Change::RollBackCandidate => put(held, "rolled back"),
            Change::LearnNow => put(held, "learning"),
            Change::Reload | Change::StepAside => true,
        };
        status.paused_hosts = controls.paused_hosts.len() as u64;
        status.blocked = controls.blocks.len() as u64;
        status.state = if controls.paused.is_some() { State::Paused } else { State::Crawling };
        controls.seeds_waiting = seeds.len() as u64;
        let waits = !matches!(
            change,
            Change::Pause { .. }
                | Change::Resume { .. }
                | Change::Block { .. }
                | Change::Unblock { .. }
                | Change::Recrawl { .. }
                | Change::HoldLoop
                | Change::ReleaseLoop
        );
        let did = match (is_new, waits) {
            (false, _) => Effect::Already,
            (true, true)
                if matches!(
                    change,
                    Change::AddSeeds { .. } | Change::Reload | Change::StepAside | Change::LearnNow
                ) =>
            {
                Effect::NextRound
            }
            (true, true) => Effect::NextCycle,
            (true, false) => Effect::Done,
        };
        inner.changes.push((change.clone(), who.clone()));
        Ok(Accepted { did, detail: format!("{change:?}") })
    }
}

/// A crawl for tests that change nothing.
pub fn shared() -> Arc<MadeUp> {
    Arc::new(MadeUp::new())
}
