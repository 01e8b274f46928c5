//! Measures the passes of a plan over a generation on disk, by what the formula reads: seconds, bytes and peak
//! memory. Then what the ranks of all pages take, and a question about one. For a formula that reads the model of the
//! next change, then what the model learns from a round of k visits.
//!
//! `cargo run --release -p recrawl-crawl --example plan_pass FOLDER [PAGES [focus|one-folder|folders-of-8|no-folder]
//! [FORMULA]]`
//!
//! Writes the generation if the folder has none: hosts of 10,000 pages in folders of 25, or the pages of one host in one
//! folder, in folders of 8, or in none; nine of ten pages visited up to 40 times. k is 5 %. Without a formula, each of the list runs in turn. Each is planned as in a crawl that is not
//! measured (`improve.mode`), in one that is, in one whose loop counts the next arms, and in a shadow run beside `t`.
//! With `focus`, the generation is that of a focused crawl, with a group a folder, and each plan has a survey.

use recrawl_crawl::config::Config;
use recrawl_crawl::cycle::inputs::FormulaInputs;
use recrawl_crawl::cycle::ranks::Ranks;
use recrawl_crawl::lesson::RoundLesson;
use recrawl_crawl::page_rules::PageRules;
use recrawl_crawl::parts::focus::FocusRules;
use recrawl_crawl::parts::focus::survey::FocusSurvey;
use recrawl_crawl::parts::improve::population::PopulationCounter;
use recrawl_crawl::parts::next_change::NextChangeLesson;
use recrawl_crawl::report::{IMPORT, RoundReport};
use recrawl_crawl::round::RoundKind;
use recrawl_crawl::settings::Settings;
use recrawl_focus::live::LiveModel;
use recrawl_formula::Formula;
use recrawl_repository::spill::SpillRuns;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{Generation, Repository, SledTables};
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::{
    ArmRuns, ArmsPlanner, PlanArm, PlanError, PlanMemory, PlanRequest, Planner, Policy, Ties,
};
use recrawl_types::{
    CanonicalUrl, Content, Cycle, DatedRound, Expectation, History, PageRecord, Reads, Round, Spill,
    UrlRules, Verdict, Visited,
};
use recrawl_verifier::MergeReport;
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const FORMULAS: [&str; 4] = ["t", "p_eb_site", "p_burst", "u_fresh_sib"];
/// As `storage.plan_memory` is by default.
const MEMORY: u64 = 64 << 20;
/// Pages that are asked for.
const QUESTIONS: u64 = 200;
const OF_HOST: u64 = 10_000;
const OF_FOLDER: u64 = 25;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let pages: u64 = arguments.next().map_or(Ok(10_000_000), |pages| pages.parse())?;
    let mut given: Vec<String> = arguments.collect();
    let is_focused = given.first().is_some_and(|first| first == "focus");
    let shape = given.first().map_or(WebShape::Hosts, |first| WebShape::named(first));
    given.drain(..usize::from(is_focused || shape != WebShape::Hosts));
    let rules = if is_focused { Some(rules()?) } else { None };
    let storage = Arc::new(FileStorage::create(Path::new(&folder))?);
    let mut repository = Repository::open(storage.clone())?;
    if repository.current().pages() == 0 {
        write(&mut repository, pages, is_focused, shape)?;
    }
    let generation = repository.current();
    let formulas = if given.is_empty() { FORMULAS.map(str::to_owned).to_vec() } else { given };
    let kinds = [PassKind::Plain, PassKind::Measured, PassKind::Loop, PassKind::Shadow];
    for (text, kind) in formulas.iter().flat_map(|text| kinds.map(|kind| (text, kind))) {
        let formula = Formula::from_expression(text)?;
        let started = Used::now()?;
        let chosen = plan(&storage, &generation, &formula, kind, rules.as_ref())?;
        println!(
            "{text}, {kind:?}: {} for {} pages, {chosen} chosen; peak memory {} MB",
            Used::now()?.since(started),
            generation.pages(),
            peak_memory()? / 1_000_000
        );
        if kind == PassKind::Plain && rules.is_none() {
            ranks(&generation, &formula)?;
        }
        if kind == PassKind::Plain && formula.compile().reads().contains(Reads::NEXT_CHANGE) {
            lesson(&generation, &formula, shape)?;
        }
    }
    Ok(())
}

/// What a plan does beside choosing pages by one formula.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PassKind {
    Plain,
    /// It sums up what is expected of all pages.
    Measured,
    /// And of the next arms.
    Loop,
    /// And scores by another formula, too.
    Shadow,
}

/// What the ranks of all pages take, and a question about one of them.
fn ranks(generation: &Generation, formula: &Formula) -> Result<(), Box<dyn Error>> {
    let (settings, tables) = (Settings::check(Config::default())?, SledTables::temporary()?);
    let request = request(generation, false);
    let started = Used::now()?;
    let ranks = Ranks::gather(&request, formula, generation, Some(&tables), &settings)?;
    let gathered = Used::now()?.since(started);
    let (policy, mut scores, mut answers) = (request.policy(formula), Vec::new(), Vec::new());
    for ordinal in (0..generation.pages()).step_by((generation.pages() / QUESTIONS).max(1) as usize) {
        let page = ranks.inputs.page(generation, ordinal)?;
        policy.score(&page, ordinal, &mut scores);
        let started = Used::now()?;
        std::hint::black_box(ranks.rank(ordinal, scores[0]));
        answers.push(Used::now()?.since(started).clock * 1e3);
    }
    answers.sort_unstable_by(f64::total_cmp);
    let (median, longest) = (answers[answers.len() / 2], answers[answers.len() - 1]);
    println!(
        "  ranks: {gathered}; a question {median:.4} ms, at most {longest:.4} ms, {} ranks off at most",
        ranks.rank(0, 0.0).error
    );
    Ok(())
}

/// What a round of every twentieth page teaches the model. Making their URLs is not counted.
fn lesson(generation: &Generation, formula: &Formula, shape: WebShape) -> Result<(), Box<dyn Error>> {
    let round = DatedRound::only_of(generation.cycle().next());
    let toml = formula.to_toml()?;
    let tables = SledTables::temporary()?;
    let mut taken = Used::default();
    let started = Used::now()?;
    let lesson =
        NextChangeLesson::of_round(&tables, generation, (round, RoundKind::Revisit), Some(&toml), &|_| {})?;
    let mut lesson = lesson.ok_or("a revisit round by this formula teaches")?;
    taken.add(Used::now()?.since(started));
    let rules = UrlRules::keep_all();
    let mut pages = (0..generation.pages()).step_by(20).peekable();
    let mut count = 0;
    while pages.peek().is_some() {
        let batch: Vec<CanonicalUrl> = pages
            .by_ref()
            .take(100_000)
            .map(|page| rules.canonicalize(&shape.url(page)))
            .collect::<Result<_, _>>()?;
        let started = Used::now()?;
        for url in &batch {
            count += 1;
            lesson.compared(url, None, count % 11 == 0);
        }
        taken.add(Used::now()?.since(started));
    }
    let started = Used::now()?;
    lesson.store(&tables, round)?;
    taken.add(Used::now()?.since(started));
    println!("  lesson of {count} visits: {taken}; peak memory {} MB", peak_memory()? / 1_000_000);
    Ok(())
}

/// Rules of a focused crawl with the example of a term file.
fn rules() -> Result<Arc<FocusRules>, Box<dyn Error>> {
    let mut config = Config::default();
    let terms = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/focus/recipe-vegetarian.toml");
    (config.focus.enabled, config.focus.terms) = (true, terms.into());
    Ok(Arc::new(FocusRules::from_config(&config)?.ok_or("no focus")?))
}

fn request(generation: &Generation, sums_expected: bool) -> PlanRequest {
    PlanRequest {
        cycle: generation.cycle().next(),
        pages: generation.pages() / 20,
        discovery_share: 0.2,
        audit_share: 0.05,
        announced_share: 0.0,
        discovery_min: 0,
        warmup: 0,
        max_per_host: None,
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected,
        explore: 0.0,
        round: 0,
        seed: 1,
        ties: Ties::Hash,
        policy: PolicyKind::default(),
    }
}

fn plan(
    storage: &Arc<FileStorage>,
    generation: &Generation,
    formula: &Formula,
    kind: PassKind,
    rules: Option<&Arc<FocusRules>>,
) -> Result<u64, Box<dyn Error>> {
    let is_measured = kind != PassKind::Plain;
    let request = request(generation, is_measured);
    let inputs =
        FormulaInputs::read(formula, request.cycle, generation, None, &PageRules::default(), &|_| {})?;
    let survey = rules.map(|rules| {
        FocusSurvey::read(rules, LiveModel::default(), 0.02, request.cycle, generation, &|_| {})
    });
    let survey = survey.transpose()?;
    let mut filler = survey.as_ref().map(|survey| survey.filler(false));
    let mut policy = request.policy(formula);
    // Only read with a limit per host.
    let hosts = std::iter::empty::<u64>();
    let mut population = PopulationCounter::new(request.cycle, request.warmup);
    let runs = || -> ArmRuns {
        let (mut origins, mut arms) =
            (generation.origin_runs(), [0, 1, 2, 2, 2, 2, 2, 2, 2, 2].into_iter().cycle());
        Box::new(std::iter::from_fn(move || match origins.next_run() {
            Ok(run) => Some(Ok((run?.pages, arms.next()?))),
            Err(error) => Some(Err(PlanError::Read(Box::new(error)))),
        }))
    };
    let spill = |number: usize| -> Box<dyn Spill> {
        Box::new(SpillRuns::of_plan(storage.clone(), Round(0), number as u32))
    };
    let other = Formula::from_expression("t")?;
    let mut other = request.policy(&other);
    let (mut planner, mut shadow) = match kind {
        PassKind::Shadow => {
            let arm = |policy| PlanArm {
                request: request.clone(),
                policy,
                hosts: hosts.clone(),
                first: Vec::new(),
            };
            let policies: Vec<&mut dyn Policy> = vec![&mut *policy, &mut *other];
            let planner = ArmsPlanner::new(vec![arm(0), arm(1)], policies, None, MEMORY, spill)?;
            (None, Some(planner.count_arms(runs())))
        }
        _ => {
            let memory = PlanMemory::new(MEMORY, spill(0));
            let planner = Planner::new(request, &mut *policy, hosts.clone(), memory)?;
            (Some(if kind == PassKind::Loop { planner.count_arms(runs()) } else { planner }), None)
        }
    };
    generation.scan(inputs.need_keys(), |first, columns| -> Result<(), Box<dyn Error>> {
        inputs.fill(first, columns);
        filler.iter_mut().for_each(|filler| filler.fill(first, columns));
        if is_measured {
            columns.global_rate = inputs.global_rate().unwrap_or(0.02);
            population.add(columns);
        }
        planner.iter_mut().try_for_each(|planner| planner.scan(columns))?;
        Ok(shadow.iter_mut().try_for_each(|shadow| shadow.scan(columns))?)
    })?;
    let mut plans = match (planner, shadow) {
        (Some(planner), _) => vec![planner.finish()?],
        (None, shadow) => shadow.ok_or("one of them plans")?.finish()?,
    };
    Ok(plans.swap_remove(0).chosen.count() as u64)
}

fn write(
    repository: &mut Repository,
    pages: u64,
    is_focused: bool,
    shape: WebShape,
) -> Result<(), Box<dyn Error>> {
    let rules = UrlRules::keep_all();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, Cycle(365))?;
    for page in 0..pages {
        let url = rules.canonicalize(&shape.url(page))?;
        let mut record = PageRecord::discovered(Cycle(1), 1);
        let lot = page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if is_focused {
            let group = ((page / OF_FOLDER) as u32).wrapping_mul(0x9e37_79b9);
            record.known.expectation =
                Some(Expectation::new((lot % 8) as f64 - 6.0, (lot >> 4) as u8 % 4, group));
        }
        if lot % 10 > 0 {
            let relevance = (lot >> 5) % 100;
            record.known.verdict = is_focused.then(|| Verdict::new(relevance as f64 / 100.0, 0.2, 0.3, 0.0));
            let mut history = History::first_fetch(Cycle(1 + (lot % 20) as u32));
            for visit in 0..(lot >> 8) % 40 {
                let cycle = Cycle(21 + (visit * 8 + (lot >> 3) % 8) as u32);
                history.record(cycle, (lot >> 13).wrapping_mul(visit + 1) % 11 == 0);
            }
            record.visited = Some(Visited { history, content: Content::default() });
        }
        writer.push(url.key(), &record)?;
    }
    // So that the folder is a data directory.
    let round = DatedRound { round: Round(1), cycle: Cycle(365) };
    let report = RoundReport::without_visits(IMPORT, round, 0, &MergeReport::default(), 0);
    repository.commit(writer, &serde_json::to_vec(&report)?)?;
    Ok(())
}

/// Where pages lie.
#[derive(Clone, Copy, PartialEq)]
enum WebShape {
    Hosts,
    OneFolder,
    SmallFolders,
    NoFolder,
}

impl WebShape {
    fn named(name: &str) -> WebShape {
        match name {
            "one-folder" => WebShape::OneFolder,
            "folders-of-8" => WebShape::SmallFolders,
            "no-folder" => WebShape::NoFolder,
            _ => WebShape::Hosts,
        }
    }

    /// In the order of pages.
    fn url(self, page: u64) -> String {
        match self {
            WebShape::Hosts => {
                let (host, folder, page_of) = (page / OF_HOST, page % OF_HOST / OF_FOLDER, page % OF_FOLDER);
                format!("https://host-{host:06}.example/section-{folder:04}/an-article-about-{page_of:02}")
            }
            WebShape::OneFolder => format!("https://host.example/all/{page:08}"),
            WebShape::SmallFolders => format!("https://host.example/{:08}/{}", page / 8, page % 8),
            WebShape::NoFolder => format!("https://host.example/?page={page:08}"),
        }
    }
}

/// What a step took: seconds of a clock and of all processors together, and bytes read and written.
#[derive(Clone, Copy, Default)]
struct Used {
    clock: f64,
    processor: f64,
    read: f64,
    written: f64,
}

impl Used {
    /// Of this process until now.
    fn now() -> Result<Used, Box<dyn Error>> {
        let of = |clock| Ok::<_, Box<dyn Error>>(Duration::try_from(clock_gettime(clock))?.as_secs_f64());
        let io = std::fs::read_to_string("/proc/self/io")?;
        let bytes = |name: &str| -> Result<f64, Box<dyn Error>> {
            let line = io.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
            Ok(line.trim_start_matches(':').trim().parse()?)
        };
        let (clock, processor) = (of(ClockId::Monotonic)?, of(ClockId::ProcessCPUTime)?);
        Ok(Used { clock, processor, read: bytes("rchar")?, written: bytes("wchar")? })
    }

    fn since(self, earlier: Used) -> Used {
        Used {
            clock: self.clock - earlier.clock,
            processor: self.processor - earlier.processor,
            read: self.read - earlier.read,
            written: self.written - earlier.written,
        }
    }

    fn add(&mut self, more: Used) {
        self.clock += more.clock;
        self.processor += more.processor;
        self.read += more.read;
        self.written += more.written;
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} s, of processors {:.2} s, ", self.clock, self.processor)?;
        write!(f, "read {:.0} MB, written {:.0} MB", self.read / 1e6, self.written / 1e6)
    }
}

/// Peak memory of this process in bytes.
fn peak_memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse::<u64>()? << 10)
}
