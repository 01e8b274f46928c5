//! A crawl that leaves out repeated links knows what one knows that merges all links at each visit.

use super::*;
use crate::cycle::page::Tools;
use crate::cycle::pipeline::ReaderResources;
use recrawl_fetcher::{FetchResult, FetchedPage, Response};
use recrawl_types::{PageRecord, ScheduleEntry, ScheduleSource};

const CYCLES: u64 = 24;
/// Milliseconds of a cycle: pages that are not found three times in a row are gone.
const CYCLE: u64 = 8 * 86_400_000;
/// Pages of two hosts; those that are not known yet are found by links.
const PAGES: u64 = 24;

/// A made-up web: links change while texts stay and the other way round, pages vanish and come back, redirect, and forbid
/// to follow their links; a calendar has no end.
struct LinkWorld {
    seed: u64,
}

impl LinkWorld {
    fn draw(&self, what: &str, page: u64, cycle: u64, below: u64) -> u64 {
        let drawn = format!("{} {what} {page} {cycle}", self.seed);
        xxhash_rust::xxh3::xxh3_64(drawn.as_bytes()) % below
    }

    fn address(page: u64) -> String {
        format!("http://{}.test/p{page}", ["a", "b"][(page % 2) as usize])
    }

    fn response(body: String) -> Box<Response> {
        let content_type = Some("text/html".into());
        Box::new(Response { status: 200, body: body.into(), content_type, ..Response::default() })
    }

    fn answer(&self, url: &str, cycle: u64) -> FetchResult {
        if let Some(day) = url.strip_prefix("http://b.test/cal/") {
            let day: u64 = day.parse().unwrap();
            let next: String = (day + 1..day + 8).map(|day| format!("<a href=/cal/{day}>next</a>")).collect();
            return FetchResult::Page(LinkWorld::response(format!(
                "<p>No event on this day at all.</p>{next}"
            )));
        }
        let page: u64 = url.rsplit_once("/p").unwrap().1.parse().unwrap();
        let now = |what, below| self.draw(what, page, cycle / (2 + page % 7), below);
        let is_gone = page > 1 && cycle > 2 + page % 9 && self.draw("gone", page, 0, 3) == 0;
        if is_gone || now("missing", 9) == 0 {
            return FetchResult::Nothing(Outcome::NotFound(404));
        }
        if page > 1 && now("redirect", 9) == 0 {
            let target =
                UrlRules::default().canonicalize(&LinkWorld::address((page * 5 + 1) % PAGES)).unwrap();
            return FetchResult::Redirect { target, response: Box::default() };
        }
        let directive = if now("nofollow", 8) == 0 { "<meta name=robots content=nofollow>" } else { "" };
        let text = self.draw("text", page, cycle / 3, u64::MAX);
        let links: String = (0..4)
            .map(|link| LinkWorld::address(self.draw("to", page * 4 + link, now("links", 3), PAGES)))
            .map(|to| format!("<a href={to}>there</a>"))
            .collect();
        let calendar = if page == 1 { "<a href=/cal/0>calendar</a>" } else { "" };
        FetchResult::Page(LinkWorld::response(format!("{directive}<p>{text} {page}</p>{links}{calendar}")))
    }

    /// Small hosts are full soon, and have places again when pages are gone; the calendar of the others becomes a trap.
    fn settings(&self, folder: &Path, cycle: u64) -> Settings {
        let most = [5, 9, 1000][(self.seed % 3) as usize];
        let exclude = if (4..7).contains(&cycle) { "[\"*/p3*\"]" } else { "[]" };
        let mut config: Config = toml::from_str(&format!(
            "[cycle]\npages = \"60%\"\npages_min = 4\ndiscovery_min = 6\nfill = false\n\
             [scope]\nmax_pages_per_host = {most}\nmax_depth = 4\nexclude = {exclude}\n\
             [traps]\nmin_pages = 6\n\
             [politeness]\ndelay_per_host = \"0 ms\"\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
             [storage]\nreserve = \"0 B\"\nlink_wait = 0\narchive = false\n"
        ))
        .unwrap();
        config.storage.data_dir = folder.into();
        Settings::check(config).unwrap()
    }
}

/// A crawl of the world, and what it counted.
struct CountedCrawl<'w> {
    world: &'w LinkWorld,
    folder: tempfile::TempDir,
    crawl: Option<Crawl>,
    merges_all: bool,
    merged: u64,
    repeated: u64,
}

impl<'w> CountedCrawl<'w> {
    fn new(world: &'w LinkWorld, merges_all: bool) -> CountedCrawl<'w> {
        let folder = tempfile::tempdir().unwrap();
        CountedCrawl { world, folder, crawl: None, merges_all, merged: 0, repeated: 0 }
    }

    fn seeds() -> Vec<CanonicalUrl> {
        [0, 1].map(|page| UrlRules::default().canonicalize(&LinkWorld::address(page)).unwrap()).into()
    }

    fn cycle(&mut self, cycle: u64) {
        let (world, seeds) = (self.world, CountedCrawl::seeds());
        // Another scope needs a restart.
        if [0, 4, 7].contains(&cycle) {
            drop(self.crawl.take());
            let settings = world.settings(self.folder.path(), cycle);
            let process = ProgramServices::quiet().unwrap();
            self.crawl = Some(Crawl::open(settings, &seeds, 1, process).unwrap());
        }
        let crawl = self.crawl.as_mut().unwrap();
        crawl.clock = Arc::new(move || 1_700_000_000_000 + cycle * CYCLE);
        if self.merges_all {
            // The digests of earlier cycles are of no use then.
            crawl.tables.remove_setting("dropped_links_since").unwrap();
        }
        let (merged, repeated) = (&mut self.merged, &mut self.repeated);
        let mut fetch = |crawl: &Crawl, plan: RoundPlan, traps: &Arc<Traps>| {
            let resources = ReaderResources::open(crawl).unwrap();
            let reader = resources.reader(crawl, &plan.facts, traps, false).unwrap();
            let (mut log, mut tools) = (plan.log, Tools::new(false));
            for host in plan.schedule.hosts() {
                let entries = plan.schedule.read(host, host.start, host.count as usize).unwrap();
                for (index, entry) in (host.start..).zip(entries) {
                    let page = fetched(world, entry, index, cycle);
                    let visit = reader.read(page, &mut tools).unwrap().visit;
                    *merged += visit.links.len() as u64;
                    *repeated += u64::from(visit.left_out.repeated);
                    log.append(&LogRecord::Visit(Box::new(visit.clone()))).unwrap();
                    traps.observe(&visit).unwrap();
                }
            }
            log.sync().unwrap();
            Ok(Fetched {
                stopped_by: StoppedBy::End,
                skipped: 0,
                asked_again: 0,
                requisites: Default::default(),
                conversions: Default::default(),
                archive: None,
            })
        };
        round_fetched_by(crawl, RoundToRun::OF_NEXT_CYCLE, &seeds, &mut fetch).unwrap();
    }

    /// All that is known, but for digests.
    fn known(&self) -> BTreeMap<String, PageRecord> {
        known_without_digests(self.crawl.as_ref().unwrap())
    }
}

fn fetched(world: &LinkWorld, entry: ScheduleEntry, index: u64, cycle: u64) -> FetchedPage {
    FetchedPage {
        index: Some(index),
        result: world.answer(&entry.url.to_string(), cycle),
        hops: entry.record.known.hops,
        entry,
        condition: Default::default(),
        at: 1_700_000_000_000 + cycle * CYCLE + index,
        elapsed: Default::default(),
        sitemaps: None,
        hold: Default::default(),
    }
}

#[test]
fn a_crawl_that_leaves_out_repeated_links_knows_what_one_that_merges_all_links_knows() {
    let (mut merged, mut repeated, mut dropped, mut cut) = (0, 0, 0, 0);
    for seed in 0..6 {
        let world = LinkWorld { seed };
        let (mut plain, mut all) = (CountedCrawl::new(&world, false), CountedCrawl::new(&world, true));
        for cycle in 0..CYCLES {
            plain.cycle(cycle);
            all.cycle(cycle);
            assert_eq!(plain.known(), all.known(), "seed {seed}, cycle {cycle}");
        }
        assert_eq!(all.repeated, 0, "seed {seed}");
        assert_eq!(
            plain.merged + plain.repeated,
            all.merged,
            "seed {seed}: links are neither merged nor repeated"
        );
        (merged, repeated) = (merged + plain.merged, repeated + plain.repeated);
        let tables = &plain.crawl.as_ref().unwrap().tables;
        let of_host = |host: usize| {
            tables.dropped_links(&Origin::from_url(&CountedCrawl::seeds()[host])).unwrap().linked
        };
        match world.seed % 3 {
            2 => cut += of_host(1),
            _ => dropped += of_host(0) + of_host(1),
        }
    }
    println!("{merged} links merged, {repeated} repeated; dropped {dropped} and {cut} times");
    assert!(repeated > merged / 4, "{merged} merged, {repeated} repeated");
    assert!(dropped > 0 && cut > 0, "hosts were full {dropped} times, and traps cut off {cut} times");
}
