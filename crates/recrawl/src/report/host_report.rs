//! The report of a host, for its owner. Who we are, when we came and how often, beside the
//! delay that was in force; what robots.txt says; how to opt out.

use super::host::{KnownOrigin, origins_of};
use super::refused::Refusals;
use super::{counted, thousands};
use recrawl_archive::timestamp;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::named_host::NamedHost;
use recrawl_crawl::cycle::requests::in_force;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::report::hosts::{HostCycle, cycles_of, robots_text};
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::HostDelay;
use recrawl_repository::{Generation, SledTables, StoredRounds};
use recrawl_types::{AnswerClass, Origin, RobotsInForce, Size, Span};
use serde_json::{Value, json};
use std::time::Duration;

/// A host's report.
pub struct HostReport {
    host: String,
    user_agent: String,
    contact: Option<String>,
    product_token: String,
    robots_cache: Duration,
    /// The line of the opt-out list.
    opted_out: Option<String>,
    origins: Vec<OriginNow>,
    /// None if it is not kept what hosts were asked.
    cycles: Option<Vec<HostCycle>>,
}

/// An origin of the host, as of now.
struct OriginNow {
    origin: Origin,
    pages: u64,
    visited: u64,
    requests: u64,
    last_request: u64,
    delay: HostDelay,
    robots: RobotsInForce,
    robots_fetched: Option<u64>,
    /// When robots.txt was first found to say what it says; none while it never said anything else.
    robots_since: Option<u64>,
    refusals: Refusals,
}

/// What a report reads.
pub struct HostSources<'s> {
    pub settings: &'s Settings,
    pub tables: &'s SledTables,
    pub generation: &'s Generation,
    pub kept: &'s StoredRounds,
    pub decided: &'s Decisions,
    /// In milliseconds since 1970.
    pub now: u64,
}

impl HostReport {
    /// The report of a host, with at most the last `cycles` cycles; none if it was never contacted, no page of
    /// it is known, and it did not opt out.
    ///
    /// # Errors
    /// When pages, rows or tables cannot be read.
    pub fn for_host(
        sources: &HostSources<'_>,
        host: &NamedHost,
        cycles: usize,
    ) -> Result<Option<HostReport>, Failure> {
        let HostSources { settings, tables, generation, kept, decided, now } = sources;
        let found = origins_of(tables, generation, host)?;
        let opted_out = settings.scope.opt_out().because(&host.name);
        if found.is_empty() && opted_out.is_none() {
            return Ok(None);
        }
        let forbidding = settings.forbidding(tables, decided)?;
        let origin_now = |(origin, KnownOrigin { state, run })| {
            let of_origin = forbidding.of_origin(tables, &origin)?;
            Ok(OriginNow {
                pages: run.as_ref().map_or(0, |run| run.pages),
                visited: run.as_ref().map_or(0, |run| run.visited),
                requests: state.requests,
                last_request: state.last_request,
                delay: HostDelay::from_state(&state, &settings.fetch, *now),
                robots: in_force(&state),
                robots_fetched: state.robots.as_ref().map(|robots| robots.fetched),
                robots_since: Some(state.rules_changed).filter(|at| *at > 0),
                refusals: Refusals::for_origin(&forbidding, generation, run.as_ref(), &of_origin)?,
                origin,
            })
        };
        Ok(Some(HostReport {
            host: host.name.clone(),
            user_agent: settings.fetch.user_agent.clone(),
            contact: settings.fetch.contact.clone(),
            product_token: settings.fetch.product_token().to_owned(),
            robots_cache: settings.fetch.robots_cache,
            opted_out,
            origins: found.into_iter().map(origin_now).collect::<Result<_, Failure>>()?,
            cycles: cycles_of(kept, &host.name, cycles)?,
        }))
    }

    /// How the owner can opt out, each way with its effect.
    fn opt_outs(&self) -> Vec<String> {
        let cache = Span(self.robots_cache);
        let mut ways = vec![
            format!(
                "robots.txt with `User-agent: {}` and `Disallow: /`, in force within {cache}: no page is requested",
                self.product_token
            ),
            format!(
                "`noindex`, `noarchive` or `nofollow` in `X-Robots-Tag: {}: …` or <meta name=\"{}\">, page by page",
                self.product_token, self.product_token
            ),
        ];
        if let Some(contact) = &self.contact {
            ways.push(format!(
                "write to {contact}: the host is put on the opt-out list, and nothing is sent to it, not even for \
                 robots.txt; what is stored can be removed"
            ));
        }
        ways
    }

    /// The document of `recrawl report HOST --json`.
    pub fn json(&self) -> Value {
        // A host may have several origins, each with a robots.txt of its own.
        let robots = |robots: &RobotsInForce| match robots {
            RobotsInForce::File(_) => json!({"state": "file", "sha256": robots_text(robots)}),
            other => json!({"state": robots_text(other), "sha256": null}),
        };
        let origin = |now: &OriginNow| {
            let mut of_robots = robots(&now.robots);
            of_robots["fetched"] = json!(now.robots_fetched);
            of_robots["since"] = json!(now.robots_since);
            json!({
                "origin": now.origin.to_string(), "pages": now.pages, "visited": now.visited,
                "requests": now.requests, "last_request": now.last_request,
                "delay_ms": now.delay.delay.as_millis() as u64,
                "delay_because": now.delay.because.map(|because| because.to_string()),
                "left_alone": now.delay.left_alone.map(|left| left.name()),
                "left_alone_until": now.delay.left_alone.and_then(|left| left.until()),
                "robots": of_robots, "refused": now.refusals.json(),
            })
        };
        let cycle = |HostCycle { cycle, rounds, requests, robots: of_origins }: &HostCycle| {
            let mut document = json!({
                "cycle": cycle, "rounds": rounds, "first": requests.first, "last": requests.last,
                "requests": requests.requests(), "bytes": requests.bytes,
                "shortest_gap_ms": requests.shortest.map(|gap| gap.millis),
                "delay_at_gap_ms": requests.shortest.map(|gap| gap.delay),
                "early": requests.early, "delay_ms": requests.delay,
                "busiest_minute": {"at": requests.busiest.at, "requests": requests.busiest.requests},
                "robots": of_origins.iter().map(|(scheme, port, of)| {
                    let origin = Origin { scheme: *scheme, host: self.host.as_str().into(), port: *port };
                    let mut document = robots(of);
                    document["origin"] = json!(origin.to_string());
                    document
                }).collect::<Vec<Value>>(),
            });
            for (class, name) in AnswerClass::ALL {
                document[name] = json!(requests.answered(class));
            }
            document
        };
        json!({
            "host": self.host,
            "crawler": {
                "user_agent": self.user_agent, "contact": self.contact, "product_token": self.product_token,
            },
            "opted_out": self.opted_out, "opt_out": self.opt_outs(),
            "origins": self.origins.iter().map(origin).collect::<Vec<Value>>(),
            "cycles": self.cycles.as_ref().map(|cycles| cycles.iter().map(cycle).collect::<Vec<Value>>()),
        })
    }

    /// The text of `recrawl report HOST`.
    pub fn text(&self) -> String {
        let mut lines = vec![format!("host          {}", self.host)];
        let contact =
            self.contact.as_deref().unwrap_or("none: 100 requests of a first look, else only loopback");
        lines.push(format!("crawler       {}, contact: {contact}", self.user_agent));
        if let Some(why) = &self.opted_out {
            lines.push(format!("opted out     {why}: no requests are sent"));
        }
        for now in &self.origins {
            lines.extend(origin_lines(now));
        }
        match &self.cycles {
            None => lines.push(
                "cycles        not kept; set storage.keep_hosts = true to keep what hosts are asked".into(),
            ),
            Some(cycles) if cycles.is_empty() => {
                lines.push("cycles        no request in the kept cycles".into())
            }
            Some(cycles) => cycles.iter().for_each(|cycle| lines.extend(cycle_lines(cycle))),
        }
        let robots = self.robots_changes();
        lines.extend(robots.iter().map(|change| format!("robots.txt    {change}")));
        lines.extend(self.opt_outs().iter().map(|way| format!("opt out       {way}")));
        lines.join("\n")
    }

    /// Changes of robots.txt within the kept cycles, newest first.
    fn robots_changes(&self) -> Vec<String> {
        let cycles = self.cycles.as_deref().unwrap_or_default();
        let mut changes = Vec::new();
        for pair in cycles.windows(2) {
            let (newer, older) = (&pair[0], &pair[1]);
            for (scheme, port, robots) in &newer.robots {
                let of = older.robots.iter().find(|(other, of_port, _)| (other, of_port) == (scheme, port));
                if let Some((_, _, before)) = of.filter(|(_, _, before)| before != robots) {
                    let origin = Origin { scheme: *scheme, host: self.host.as_str().into(), port: *port };
                    changes.push(format!(
                        "of {origin} changed in cycle {}: {}, before {}",
                        newer.cycle,
                        robots_text(robots),
                        robots_text(before)
                    ));
                }
            }
        }
        changes
    }
}

fn origin_lines(now: &OriginNow) -> Vec<String> {
    let mut lines = vec![format!(
        "origin        {}: {} known, {} visited, {} so far",
        now.origin,
        counted(now.pages, "page"),
        thousands(now.visited),
        counted(now.requests, "request")
    )];
    let HostDelay { delay, because, left_alone } = &now.delay;
    let because = because.map(|why| format!(": {why}")).unwrap_or_default();
    let delay = Span(*delay).rounded();
    lines.push(format!("delay         {delay} between a response and the next request{because}"));
    if let Some(left_alone) = left_alone {
        let until = left_alone.until().map(|at| format!("until {}: ", timestamp(at))).unwrap_or_default();
        lines.push(format!("skipped       {until}{left_alone}"));
    }
    let fetched = now.robots_fetched.map(|at| format!(", fetched {}", timestamp(at))).unwrap_or_default();
    let since = match now.robots_since {
        Some(at) => format!(", says so since {}", timestamp(at)),
        None if now.robots_fetched.is_some() => ", never said anything else".into(),
        None => String::new(),
    };
    let text = match &now.robots {
        RobotsInForce::File(_) => format!("SHA-256 {}", robots_text(&now.robots)),
        RobotsInForce::Absent => "not found: everything is allowed".into(),
        RobotsInForce::Unreachable => {
            "unreachable: everything is forbidden (RFC 9309 section 2.3.1.4)".into()
        }
        RobotsInForce::Unknown => "not fetched yet".into(),
    };
    lines.push(format!("robots.txt    {text}{fetched}{since}"));
    lines.extend(now.refusals.lines().iter().map(|line| format!("refused       {line}")));
    lines
}

fn cycle_lines(HostCycle { cycle, requests, .. }: &HostCycle) -> [String; 3] {
    let answers: Vec<String> = AnswerClass::ALL
        .iter()
        .filter(|(class, _)| requests.answered(*class) > 0)
        .map(|(class, name)| format!("{} {}", thousands(requests.answered(*class)), name.replace('_', " ")))
        .collect();
    let gap = match requests.shortest {
        Some(gap) => {
            let [shortest, delay] = [gap.millis, gap.delay].map(|ms| Span::millis(ms).rounded());
            format!("shortest gap {shortest} at a delay of {delay}")
        }
        None => "one request, so no gap".into(),
    };
    let busiest = requests.busiest;
    let minute = timestamp(busiest.at);
    let minute = minute.get(11..16).unwrap_or(&minute);
    [
        format!(
            "{:<13} {} ({}), {}",
            format!("cycle {cycle}"),
            counted(requests.requests(), "request"),
            answers.join(", "),
            Size(requests.bytes).rounded()
        ),
        format!("              from {} to {}", timestamp(requests.first), timestamp(requests.last)),
        format!(
            "              {gap}, {} before their delay had passed; busiest minute {minute}: {}",
            thousands(requests.early),
            counted(busiest.requests, "request")
        ),
    ]
}
