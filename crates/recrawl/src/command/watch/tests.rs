//! A watch over weeks of a clock of its own, against a mock web that changes, fails, vanishes, comes back and is slow:
//! what is told, and when.

use super::additions::Additions;
use crate::notifier::{self, Crawled, Until};
use recrawl_crawl::clock::RoundToRun;
use recrawl_crawl::config::{Config, PagesTable};
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle::{self, RoundEnd};
use recrawl_crawl::process::ProgramServices;
use recrawl_crawl::settings::Settings;
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Server, WebConfig};
use recrawl_notifications::message::ToldChange;
use recrawl_notifications::store::Deliveries;
use recrawl_notifications::{ChangeContents, ChangeKind, ChangeNotice, MessageCondition};
use recrawl_repository::Generation;
use recrawl_repository::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, PageStatus, Round, Span, UrlRules};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A Tuesday in 2026, in milliseconds since 1970.
const BEGIN: u64 = 1_790_000_000_000;
/// Most pages are visited so often.
const EVERY: Duration = Duration::from_secs(12 * 3600);

/// Pages that are watched, and the web that has them.
struct WatchedWeb {
    web: Server,
    pages: Vec<u32>,
    urls: Vec<CanonicalUrl>,
    crawl: Crawl,
    /// How often the pages are visited.
    every: Duration,
    /// Steps of `every` since the beginning.
    step: u32,
    now: Arc<AtomicU64>,
    /// What was told of a page at a step.
    told: Vec<(u32, usize, String)>,
    folder: tempfile::TempDir,
}

impl WatchedWeb {
    /// Watches so many pages. No other page of the web begins with their address, which a fault needs.
    fn begin(number: usize, every: Duration) -> WatchedWeb {
        let procedural = ProceduralConfig {
            pages: 60,
            hosts: 3,
            seed: 7,
            page_bytes: 4_000,
            mix: "poisson=1".parse().unwrap(),
            ..Default::default()
        };
        let web = Server::start(recrawl_mockweb::Config::new(WebConfig::Procedural(procedural))).unwrap();
        let all: Vec<String> = (0..60).map(|page| web.url(page)).collect();
        let is_lone = |url: &String| all.iter().filter(|other| other.starts_with(url.as_str())).count() == 1;
        let lone = (0..60).filter(|page| !all[*page].contains(['?', '%', '=']) && is_lone(&all[*page]));
        let pages: Vec<u32> = lone.take(number).map(|page| page as u32).collect();
        let urls: Vec<String> = pages.iter().map(|page| web.url(*page)).collect();
        let folder = tempfile::tempdir().unwrap();
        let kinds = ChangeKind::ALL.map(ChangeKind::name);
        let rhythm = Some(Span(every));
        let rule = |url: &String| PagesTable { matches: url.clone(), every: rhythm, ..PagesTable::default() };
        let written = Additions {
            pages: &urls,
            rules: &urls.iter().map(rule).collect::<Vec<_>>(),
            is_first: true,
            changes: &kinds[1..],
            when: None,
            to: Some(format!("file = {:?}\n", folder.path().join("told.jsonl"))),
            host: "watched",
        };
        let mut config: Config = toml::from_str(&written.to(None)).unwrap();
        config.storage.data_dir = folder.path().join("data");
        config.storage.reserve.0 = 0;
        config.fetch.allow_addresses = vec!["127.0.0.0/8".into()];
        config.fetch.timeout.0 = Duration::from_secs(2);
        (config.politeness.delay_per_host.0, config.politeness.delay_per_ip.0) = Default::default();
        let settings = Settings::check(config).unwrap();
        let urls: Vec<CanonicalUrl> = urls.iter().map(|url| settings.named_page(url).unwrap()).collect();
        let mut crawl = Crawl::open(settings, &urls, 1, ProgramServices::quiet().unwrap()).unwrap();
        let now = Arc::new(AtomicU64::new(BEGIN));
        let clock = now.clone();
        crawl.clock = Arc::new(move || clock.load(Relaxed));
        crawl.renew_fetcher().unwrap();
        let mut watch = WatchedWeb { web, pages, urls, crawl, every, step: 0, now, told: Vec::new(), folder };
        watch.run(&watch.urls.clone());
        watch
    }

    /// Rounds as `recrawl serve` runs them until nothing is due; then tells of them.
    fn run(&mut self, seeds: &[CanonicalUrl]) {
        let mut seeds = seeds.to_vec();
        for _ in 0..20 {
            self.crawl.keep_rhythm().unwrap();
            let period = self.crawl.settings.config.cycle.period.0;
            let is_due = self.crawl.so_far.started.is_none_or(|started| self.crawl.since(started) >= period);
            let next = self.crawl.next_round(is_due, !seeds.is_empty()).unwrap();
            let Some(next) = next else { return self.tell() };
            if let RoundEnd::Interrupted = self.round(next, &seeds) {
                panic!("no signal came");
            }
            seeds.clear();
        }
        panic!("there is always another round");
    }

    fn round(&mut self, next: RoundToRun, seeds: &[CanonicalUrl]) -> RoundEnd {
        self.crawl.admit(seeds).unwrap();
        cycle::round(&mut self.crawl, next, seeds).unwrap()
    }

    fn tell(&mut self) {
        let crawled = AtRest {
            settings: Arc::new(self.crawl.settings.clone()),
            generation: self.crawl.repository.current(),
            storage: self.crawl.storage.clone(),
            now: self.now.load(Relaxed),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(notifier::run(&crawled, &CancellationToken::new(), Until::Told)).unwrap();
        let lines = std::fs::read_to_string(self.folder.path().join("told.jsonl")).unwrap_or_default();
        for line in lines.lines().skip(self.told.len()) {
            let data = &serde_json::from_str::<Value>(line).unwrap()["data"];
            let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
            let page = self.urls.iter().position(|url| url.to_string() == text("url")).unwrap();
            let what = format!("{} {}", text("kind"), text("reason")).trim().to_owned();
            self.told.push((self.step, page, what));
        }
    }

    /// The clock moves on, and these pages have faults from now on.
    fn next(&mut self, faults: &[(usize, &str)]) {
        self.step += 1;
        self.now.fetch_add(self.every.as_millis() as u64, Relaxed);
        self.web.set_clock(self.step).unwrap();
        let home = |host: usize| self.web.seeds()[host].clone();
        let rule = |(page, kind): &(usize, &str)| {
            let url = self.urls[*page].to_string();
            let host = (0..self.web.seeds().len()).find(|host| url.starts_with(&home(*host))).unwrap();
            format!("{}/{}={kind}", host + 1, &url[home(host).len()..]).parse().unwrap()
        };
        self.web.set_faults(faults.iter().map(rule).collect());
        self.run(&[]);
    }
}

/// A crawl between two rounds.
struct AtRest {
    settings: Arc<Settings>,
    generation: Arc<Generation>,
    storage: Arc<dyn Storage>,
    now: u64,
}

impl Crawled for AtRest {
    fn settings(&self) -> Arc<Settings> {
        self.settings.clone()
    }

    fn reloads(&self) -> u64 {
        0
    }

    fn generation(&self) -> Arc<Generation> {
        self.generation.clone()
    }

    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn publish(&self, _: &Deliveries) {}
}

/// What befalls single pages, in steps.
const FAULTS: [(usize, std::ops::Range<u32>, &str); 6] = [
    (1, 4..9, "status:500"),
    (2, 4..6, "reset"),
    (3, 4..10, "status:404"),
    (4, 2..6, "slow:20000"),
    (4, 20..23, "timeout"),
    (5, 3..33, "status:404"),
];
/// A page that is absent for so many steps is gone: two weeks.
const GONE: u32 = 28;

/// What is to be told of a page, by what the web says of it.
fn expected(watch: &WatchedWeb, page: usize, steps: u32) -> Vec<(u32, usize, String)> {
    let version = |step| watch.web.version(watch.pages[page], step);
    let (mut told, mut seen, mut missed) = (Vec::new(), version(0), 0);
    for step in 1..=steps {
        let fault = FAULTS.iter().find(|(of, steps, _)| *of == page && steps.contains(&step));
        let fault = fault.map(|(.., kind)| *kind).filter(|kind| !kind.starts_with("slow"));
        missed += u32::from(fault.is_some());
        let what = match fault {
            Some("status:404") if missed == 3 => Some("not_found HTTP status 404"),
            Some("status:404") if missed == GONE + 1 => Some("gone HTTP status 404"),
            Some("status:500") if missed == 3 => Some("failed HTTP status 500"),
            Some("timeout") if missed == 3 => Some("failed no response within fetch.timeout"),
            Some(_) => None,
            None if missed >= 3 => Some("back"),
            None if seen != version(step) => Some("changed"),
            None => None,
        };
        told.extend(what.map(|what| (step, page, what.to_owned())));
        if fault.is_none() {
            (seen, missed) = (version(step), 0);
        }
    }
    told
}

#[test]
fn all_that_happens_to_watched_pages_is_told_once_and_nothing_else() {
    let (mut watch, steps) = (WatchedWeb::begin(6, EVERY), 36);
    for step in 1..=steps {
        let faults = FAULTS.iter().filter(|(_, steps, _)| steps.contains(&step));
        watch.next(&faults.map(|(page, _, kind)| (*page, *kind)).collect::<Vec<_>>());
    }
    let mut all: Vec<_> = (0..6).flat_map(|page| expected(&watch, page, steps)).collect();
    all.sort();
    watch.told.sort();
    assert_eq!(watch.told, all);
    let kinds = ["changed", "failed", "not_found", "gone", "back"];
    assert!(kinds.iter().all(|kind| all.iter().any(|(.., what)| what.starts_with(kind))), "{all:?}");
}

#[test]
fn a_page_watched_by_the_second_is_told_of_soon_and_looked_at_again_when_its_host_is_back() {
    let mut watch = WatchedWeb::begin(1, Duration::from_secs(10));
    let home = watch.crawl.repository.current().get(&watch.urls[0]).unwrap().unwrap().1;
    let before = home.known.failures;
    // The fifth failure in a row begins a back-off of a minute.
    (0..7).for_each(|_| watch.next(&[(0, "status:500")]));
    assert_eq!(watch.told, [(3, 0, "failed HTTP status 500".to_owned())]);
    let now = watch.now.load(Relaxed);
    let wakes_at = watch.crawl.stalled_until().unwrap().expect("the page waits for its host");
    assert!((now..=now + 60_000).contains(&wakes_at), "{}", wakes_at - now);
    (0..6).for_each(|_| watch.next(&[]));
    let back = watch.told.iter().position(|(.., what)| what == "back").expect("it was looked at again");
    assert_eq!(back, 1);
    let page = watch.crawl.repository.current().get(&watch.urls[0]).unwrap().unwrap().1;
    assert_eq!((before, page.known.failures), (0, 0));
}

#[test]
fn a_seed_whose_host_was_down_is_tried_again_after_a_minute_and_not_a_cycle() {
    let mut watch = WatchedWeb::begin(1, EVERY);
    let page = watch.urls[0].to_string();
    let host = (0..3).find(|host| !page.starts_with(&watch.web.seeds()[*host])).unwrap();
    let seed = watch.crawl.settings.named_page(&watch.web.seeds()[host]).unwrap();
    watch.web.set_faults(vec![format!("{}/robots.txt=reset", host + 1).parse().unwrap()]);
    watch.run(std::slice::from_ref(&seed));
    let after = |watch: &mut WatchedWeb, seconds: u64| {
        watch.now.fetch_add(1_000 * seconds, Relaxed);
        watch.run(&[]);
        let (_, page) = watch.crawl.repository.current().get(&seed).unwrap().unwrap();
        (page.known.failures, page.visited.is_some())
    };
    assert_eq!(after(&mut watch, 59), (1, false));
    assert_eq!(after(&mut watch, 1), (1, false), "once a cycle");
    watch.web.set_faults(Vec::new());
    assert_eq!(after(&mut watch, 119), (1, false), "two minutes this time");
    assert_eq!(after(&mut watch, 1), (0, true));
    let retries = recrawl_crawl::parts::seed_hosts::retries(&watch.crawl.tables).unwrap();
    assert!(watch.crawl.keep_rhythm().unwrap().is_some() && retries.is_empty(), "{retries:?}");
}

#[test]
fn a_page_on_a_refused_address_is_due_once_the_address_is_allowed() {
    let mut watch = WatchedWeb::begin(1, EVERY);
    let page = watch.urls[0].to_string();
    let mut others = (0..3).filter(|host| !page.starts_with(&watch.web.seeds()[*host]));
    let [seen, seed] = [(); 2].map(|()| others.next().unwrap());
    let [seen, seed] =
        [seen, seed].map(|host| watch.crawl.settings.named_page(&watch.web.seeds()[host]).unwrap());
    watch.crawl.settings.use_contact(Some("anna@example.org")).unwrap();
    watch.run(std::slice::from_ref(&seen));
    let allow = |watch: &mut WatchedWeb, blocks: &[&str]| {
        watch.crawl.settings.fetch.allow_addresses =
            blocks.iter().map(|block| block.parse().unwrap()).collect();
        watch.crawl.renew_fetcher().unwrap();
        watch.crawl.stir();
    };
    let after = |watch: &mut WatchedWeb, minutes: u64, url: &CanonicalUrl| {
        watch.now.fetch_add(60_000 * minutes, Relaxed);
        watch.run(&[]);
        let (_, page) = watch.crawl.repository.current().get(url).unwrap().unwrap();
        let last = page.visited.map(|visited| visited.history.last);
        (page.known.status, page.known.failures, last)
    };
    let cycle = watch.crawl.repository.current().cycle();
    allow(&mut watch, &[]);
    watch.run(std::slice::from_ref(&seed));
    // An hour of retries lengthens no back-off of cycles.
    for _ in 0..60 {
        assert_eq!(after(&mut watch, 1, &seed), (PageStatus::AddressRefused, 1, None));
    }
    for failures in 1..4 {
        let refused = (PageStatus::AddressRefused, failures, Some(cycle));
        let days = if failures == 3 { 2 } else { 1 };
        for _ in 1..days {
            after(&mut watch, 24 * 60, &seen);
        }
        assert_eq!(after(&mut watch, 24 * 60, &seen), refused);
    }
    allow(&mut watch, &["127.0.0.0/8"]);
    let (status, failures, last) = after(&mut watch, 0, &seed);
    assert_eq!((status, failures), (PageStatus::Live, 0), "without waiting for its next try");
    assert!(last.is_some());
    // In the second round of the next cycle. Without the change it would wait for three cycles more.
    let seen = after(&mut watch, 24 * 60, &seen);
    assert_eq!(seen, (PageStatus::Live, 0, Some(watch.crawl.repository.current().cycle())));
}

#[test]
fn a_number_that_is_below_or_gone_is_told() {
    let condition = MessageCondition::parse(&super::targets::condition(15.0)).unwrap();
    let is_told = |kind, text: Option<&str>| {
        let url = UrlRules::default().canonicalize("https://shop.example/shoe").unwrap();
        let (id, cycle, round) = (String::new(), Cycle(2), Round(2));
        let change =
            ChangeNotice { id, kind, url, cycle, round, time: 7, status: None, reason: None, is_same: false };
        let mut contents = ChangeContents { new_text: text.map(str::to_owned), ..ChangeContents::default() };
        contents.read_numbers();
        condition.holds(&ToldChange { change, contents })
    };
    // Without a text, it is a redirect, say.
    for (text, expected) in [
        (Some("EUR 14.90"), true),
        (Some("EUR 15"), false),
        (Some("EUR 16"), false),
        (Some("sold out"), true),
        (None, true),
    ] {
        assert_eq!(is_told(ChangeKind::Changed, text), expected, "{text:?}");
    }
    assert!(is_told(ChangeKind::NotFound, None));
}
