//! A crawl without sockets: plan, log, merge, lessons, reports and the loop are the program's own. Only the answers come
//! from a [`World`] in memory.

use crate::Failure;
use crate::world::World;
use recrawl_crawl::clock::RoundToRun;
use recrawl_crawl::config::Config;
use recrawl_crawl::cycle::Fetched;
use recrawl_crawl::cycle::plan::RoundPlan;
use recrawl_crawl::cycle::{self, RoundEnd};
use recrawl_crawl::parts::improve::candidate::{BackTestFigures, FormulaCandidate};
use recrawl_crawl::process::ProgramServices;
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::{self as crawl, Crawl};
use recrawl_fetcher::StoppedBy;
use recrawl_formula::Formula;
use recrawl_scheduler::Gate;
use recrawl_types::{
    CanonicalUrl, Change, Content, Cycle, Fingerprint, LogRecord, Outcome, ScheduleEntry, ScheduleSource,
    Visit,
};
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

/// Milliseconds of a cycle.
const DAY: u64 = 86_400_000;
/// Entries of a schedule that are read at a time.
const READ: usize = 1000;

/// An open crawl of a world.
pub struct Simulated<'w> {
    /// The crawl.
    pub crawl: Crawl,
    world: &'w World,
    /// Of each page by ordinal, its number; empty until all are known.
    numbers: Vec<u32>,
    /// What visits found so far.
    pub met: Met,
}

/// What the visits of a crawl met, as only the world knows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// Visits that could compare.
    pub visits: u64,
    /// Of these, with a change.
    pub changed: u64,
    /// Changes that were overwritten before a visit saw them.
    pub missed: u64,
}

/// A cycle with what was true when it began.
pub struct TrueCycle {
    /// The program's report.
    pub report: RoundReport,
    /// Pages of the population, and how many of them were fresh before the visits.
    pub eligible: u64,
    /// Of these, fresh.
    pub fresh: u64,
}

impl<'w> Simulated<'w> {
    /// Opens a crawl of all pages of the world, with these settings beside those that every study needs.
    pub fn open(
        world: &'w World,
        folder: &Path,
        settings: &str,
        seed: u64,
    ) -> Result<Simulated<'w>, Failure> {
        Simulated::open_with(world, folder, settings, seed, |_| true)
    }

    /// Opens a crawl of the pages of some hosts.
    ///
    /// # Errors
    /// If the settings are wrong, or the folder cannot be opened.
    pub fn open_with(
        world: &'w World,
        folder: &Path,
        settings: &str,
        seed: u64,
        is_known: impl Fn(u32) -> bool,
    ) -> Result<Simulated<'w>, Failure> {
        let seeds = of_hosts(world, is_known);
        let mut crawl = open(world, folder, settings, seed, &seeds)?;
        let clock = crawl.repository.current().cycle();
        crawl.clock = at(clock.next());
        let mut simulated = Simulated { crawl, world, numbers: Vec::new(), met: Met::default() };
        if simulated.crawl.repository.current().pages() == 0 {
            simulated.round(&seeds)?;
        }
        simulated.number()?;
        Ok(simulated)
    }

    /// Visits the pages of further hosts for the first time, in a cycle of its own.
    ///
    /// # Errors
    /// As of [`Simulated::cycle`].
    pub fn import(&mut self, is_new: impl Fn(u32) -> bool) -> Result<(), Failure> {
        let seeds = of_hosts(self.world, is_new);
        self.round(&seeds)?;
        self.number()
    }

    /// Finds the numbers of all pages.
    fn number(&mut self) -> Result<(), Failure> {
        let generation = self.crawl.repository.current();
        let mut pages = generation.gather(0..generation.pages());
        self.numbers.clear();
        while let Some((_, url, _)) = pages.next_page()? {
            self.numbers.push(self.world.number(&url));
        }
        Ok(())
    }

    /// The cycle that comes next.
    pub fn next(&self) -> Cycle {
        self.crawl.repository.current().cycle().next()
    }

    /// Runs a cycle, and counts before it which pages are fresh.
    pub fn cycle(&mut self) -> Result<TrueCycle, Failure> {
        let (eligible, fresh) = self.truth()?;
        let report = self.round(&[])?;
        Ok(TrueCycle { report, eligible, fresh })
    }

    /// Pages that compete by score in the next cycle, and how many of them are as they were at their last visit.
    fn truth(&self) -> Result<(u64, u64), Failure> {
        let generation = self.crawl.repository.current();
        let (cycle, warmup) = (self.next(), self.crawl.settings.config.cycle.warmup);
        let (mut eligible, mut fresh) = (0, 0);
        generation.scan(false, |first, columns| -> Result<(), Failure> {
            for row in 0..columns.len() {
                if Gate::of_row(columns, row, cycle, warmup) == Gate::Revisit {
                    let page = self.numbers[first as usize + row];
                    let seen = self.world.version(page, Cycle(columns.last[row]));
                    eligible += 1;
                    fresh += u64::from(seen == self.world.version(page, cycle));
                }
            }
            Ok(())
        })?;
        Ok((eligible, fresh))
    }

    fn round(&mut self, seeds: &[CanonicalUrl]) -> Result<RoundReport, Failure> {
        let cycle = self.next();
        self.crawl.clock = at(cycle);
        let (world, met) = (self.world, &mut self.met);
        let mut answer = |entry: &ScheduleEntry, index| answer(world, entry, index, cycle, met);
        let mut fetch = |_: &Crawl, plan: RoundPlan, _: &Arc<_>| fetch(plan, &mut answer);
        match cycle::round_fetched_by(&mut self.crawl, RoundToRun::OF_NEXT_CYCLE, seeds, &mut fetch)? {
            RoundEnd::Committed(report) => Ok(*report),
            RoundEnd::NothingDue | RoundEnd::Interrupted => Err("a cycle had nothing to do".into()),
        }
    }
}

/// Fetches the pages of a plan by these answers, of entry and index.
///
/// # Errors
/// When the schedule cannot be read, or the log not written.
pub fn fetch(
    plan: RoundPlan,
    answer: &mut dyn FnMut(&ScheduleEntry, u64) -> Visit,
) -> Result<Fetched, crawl::Failure> {
    let RoundPlan { schedule, mut log, .. } = plan;
    for host in schedule.hosts() {
        let mut index = host.start;
        while index < host.start + host.count {
            let entries = schedule.read(host, index, READ).map_err(crawl::Failure::work)?;
            for (index, entry) in (index..).zip(&entries) {
                log.append(&LogRecord::Visit(Box::new(answer(entry, index))))
                    .map_err(crawl::Failure::work)?;
            }
            index += entries.len() as u64;
        }
    }
    log.sync().map_err(crawl::Failure::work)?;
    Ok(Fetched {
        stopped_by: StoppedBy::End,
        skipped: 0,
        asked_again: 0,
        conversions: Default::default(),
        requisites: Default::default(),
        archive: None,
    })
}

/// Opens a crawl with these settings beside those that every study needs.
fn open(
    world: &World,
    folder: &Path,
    settings: &str,
    seed: u64,
    seeds: &[CanonicalUrl],
) -> Result<Crawl, Failure> {
    let mut config = config(folder, settings)?;
    config.cycle.fill = false;
    // All pages are visited in the first cycle.
    config.cycle.discovery_min = world.pages.len() as u64;
    Ok(Crawl::open(Settings::check(config)?, seeds, seed, ProgramServices::quiet()?)?)
}

/// These settings of a crawl that has no sockets and keeps no bodies.
///
/// # Errors
/// If they are wrong.
pub fn config(folder: &Path, settings: &str) -> Result<Config, Failure> {
    let mut config: Config = toml::from_str(settings)?;
    config.storage.data_dir = folder.into();
    config.storage.reserve.0 = 0;
    config.storage.archive = false;
    config.crawler.contact = "https://studies.example/".into();
    // A study plans a round a cycle.
    if config.schedule.formula.is_empty() {
        config.schedule.formula = "default".into();
    }
    Ok(config)
}

/// The pages of some hosts.
fn of_hosts(world: &World, is_wanted: impl Fn(u32) -> bool) -> Vec<CanonicalUrl> {
    world.pages.iter().filter(|(_, host)| is_wanted(*host)).map(|(url, _)| url.clone()).collect()
}

/// What a visit finds.
pub fn answer(world: &World, entry: &ScheduleEntry, index: u64, cycle: Cycle, met: &mut Met) -> Visit {
    let page = world.number(&entry.url);
    let visit = Visit {
        index: Some(index),
        share: entry.share,
        standing: entry.standing,
        at: u64::from(cycle.0) * DAY,
        ..Visit::new(entry.url.clone(), Outcome::Failed(recrawl_types::Failure::Timeout))
    };
    if world.is_down(page, cycle) {
        return visit;
    }
    let version = world.version(page, cycle);
    let change = match &entry.record.visited {
        None => Change::First,
        Some(visited) => {
            let behind = version - world.version(page, visited.history.last);
            met.visits += 1;
            met.changed += u64::from(behind > 0);
            met.missed += u64::from(behind.saturating_sub(1));
            if behind > 0 { Change::Changed } else { Change::Unchanged }
        }
    };
    let simhash = u64::from(version).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let fingerprint = Fingerprint { simhash, digest: version.into() };
    let content = Some(Content { fingerprint, ..Content::default() });
    Visit { content, outcome: Outcome::Fetched(change), ..visit }
}

/// The clock of a cycle.
pub fn at(cycle: Cycle) -> recrawl_fetcher::WallClock {
    Arc::new(move || u64::from(cycle.0) * DAY)
}

/// Copies the data directory of a crawl that is closed.
///
/// # Errors
/// When a file cannot be copied.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, to) = (entry?, to.to_owned());
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Leaves a candidate in a data directory whose back-test gained this much.
///
/// # Errors
/// When it cannot be written.
pub fn offer(folder: &Path, formula: &Formula, gain: [f64; 2]) -> Result<(), Failure> {
    let back_test = BackTestFigures {
        fitness: "change_rate".into(),
        in_force: (String::new(), 0.0),
        candidate: 0.0,
        closed_forms: Vec::new(),
        gain,
        alpha: 0.05,
        coverage: [1.0, 1.0],
        sample: [0; 3],
        freshness: None,
    };
    Ok(FormulaCandidate::new(formula, 0, back_test)?.write(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_mockweb::{ProceduralConfig, Server, WebConfig};
    use serde_json::Value;

    #[test]
    fn a_crawl_without_sockets_is_judged_by_what_is_true() {
        let config = ProceduralConfig { pages: 300, hosts: 6, seed: 3, ..ProceduralConfig::default() };
        let world = World::procedural(config, 20).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let settings = "[cycle]\npages = \"20%\"\naudit_share = 0.2\n[improve]\nmode = \"watch\"\n";
        let mut crawl = Simulated::open(&world, folder.path(), settings, 1).unwrap();
        let judged: Vec<TrueCycle> = (0..12).map(|_| crawl.cycle().unwrap()).collect();
        for TrueCycle { report, eligible, fresh } in &judged {
            let population = report.population.as_ref().unwrap();
            assert_eq!(population.revisit_due, *eligible);
            assert!(fresh <= eligible);
        }
        // The first visits after the warm-up are of pages that changed, or not, as the web says.
        let last = judged.last().unwrap();
        assert!(last.eligible == world.pages.len() as u64 && last.fresh < last.eligible && last.fresh > 0);
        let Met { visits, changed, missed } = crawl.met;
        assert!(visits > 300 && changed > 0 && changed < visits && missed > 0, "{:?}", crawl.met);
        // A copy goes on as the crawl itself.
        drop(crawl);
        let copied = folder.path().with_extension("copy");
        copy(folder.path(), &copied).unwrap();
        let [own, copy] = [folder.path(), &copied].map(|place| {
            let mut crawl = Simulated::open(&world, place, settings, 1).unwrap();
            crawl.cycle().unwrap().report.found
        });
        assert_eq!(own, copy);
        fs::remove_dir_all(copied).unwrap();
    }

    /// Equal but for rounding: visits are added up in the order in which they came.
    fn are_close(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(a, b)| a.0 == b.0 && are_close(a.1, b.1))
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(a, b)| are_close(a, b))
            }
            (Value::Number(one), Value::Number(other)) if one.is_f64() => {
                other.as_f64().is_some_and(|other| (one.as_f64().unwrap() - other).abs() < 1e-9)
            }
            (one, other) => one == other,
        }
    }

    /// What a study finds is what the program would find: seeds of webs and crawls, with and without bursts.
    #[test]
    fn a_crawl_over_sockets_reports_the_same_as_one_without() {
        const CYCLES: u32 = 24;
        let settings = "[cycle]\npages = \"15%\"\npages_min = 1\ndiscovery_share = 0\naudit_share = 0.3\n\
                        [politeness]\ndelay_per_host = \"0 ms\"\ndelay_per_ip = \"0 ms\"\n\
                        [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
                        [scope]\nmax_depth = 0\n[schedule]\nformula = \"n\"\n\
                        [improve]\nmode = \"promote\"\nshadow_cycles = 3\nbefore_cycles = 2\n\
                        settling_cycles = 2\ntrial_cycles = 4\nguard_cycles = 5\nmax_loss = 0.4\ntrial_sites = 20\n";
        let mut promoted = 0;
        for (seed, mix) in [(1, "poisson=100"), (2, "static=30,poisson=70"), (3, "bursty=100")] {
            let config = ProceduralConfig {
                pages: 300,
                hosts: 24,
                seed,
                mix: mix.parse().unwrap(),
                page_bytes: 2_000,
                ..ProceduralConfig::default()
            };
            let web = WebConfig::Procedural(config.clone());
            let server = Server::start(recrawl_mockweb::Config::new(web)).unwrap();
            let world = World::procedural_at(config, CYCLES + 2, |page, _, _| server.url(page)).unwrap();
            let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let mut simulated = Simulated::open(&world, folders[0].path(), settings, seed).unwrap();
            let seeds = of_hosts(&world, |_| true);
            let mut real = open(&world, folders[1].path(), settings, seed, &seeds).unwrap();
            let mut round = |seeds: &[CanonicalUrl], offered: bool| {
                let cycle = real.repository.current().cycle().next();
                server.set_clock(cycle.0).unwrap();
                real.clock = at(cycle);
                if offered {
                    offer(folders[1].path(), &Formula::from_expression("t").unwrap(), [0.01, 0.02]).unwrap();
                }
                match cycle::round(&mut real, RoundToRun::OF_NEXT_CYCLE, seeds).unwrap() {
                    RoundEnd::Committed(report) => *report,
                    RoundEnd::NothingDue | RoundEnd::Interrupted => panic!("nothing was due"),
                }
            };
            round(&seeds, false);
            for number in 0..CYCLES {
                let offered = number == 4;
                if offered {
                    offer(folders[0].path(), &Formula::from_expression("t").unwrap(), [0.01, 0.02]).unwrap();
                }
                let expected = simulated.cycle().unwrap().report;
                let report = round(&[], offered);
                let [of_sockets, without] = [&report, &expected].map(|report| {
                    let RoundReport { formula, population, found, estimates, .. } = report;
                    serde_json::to_value((formula, population, found, estimates)).unwrap()
                });
                assert!(are_close(&of_sockets, &without), "{mix}, {number}: {of_sockets} {without}");
                promoted += u32::from(report.formula != "n");
            }
        }
        assert!(promoted > 0, "no formula came into force");
    }
}
