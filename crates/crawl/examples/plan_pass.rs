//! Measures the passes of a plan over a generation on disk, by what the formula reads: seconds and peak memory.
//!
//! `cargo run --release -p recrawl-crawl --example plan_pass FOLDER [PAGES [focus] [FORMULA]]`
//!
//! Writes the generation if the folder has none: hosts of 10,000 pages in folders of 25, nine of ten pages visited up
//! to 40 times. k is 5 %. Without a formula, each of the list runs in turn. Each is planned as in a crawl that is not
//! measured (`improve.mode`), then as in one that is. With `focus`, the generation is that of a focused crawl, with a group a
//! folder, and each plan has a survey.

use recrawl_crawl::config::Config;
use recrawl_crawl::cycle::inputs::FormulaInputs;
use recrawl_crawl::focus::FocusRules;
use recrawl_crawl::focus::survey::Survey;
use recrawl_crawl::improve::population::PopulationCounter;
use recrawl_focus::live::LiveModel;
use recrawl_formula::Formula;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{Generation, Repository};
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::{PlanMemory, PlanRequest, Planner, Ties};
use recrawl_types::{Content, Cycle, Expectation, History, PageRecord, UrlRules, Verdict, Visited};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const FORMULAS: [&str; 4] = ["t", "p_eb_site", "p_burst", "u_fresh_sib"];
const OF_HOST: u64 = 10_000;
const OF_FOLDER: u64 = 25;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let pages: u64 = arguments.next().map_or(Ok(10_000_000), |pages| pages.parse())?;
    let mut given: Vec<String> = arguments.collect();
    let is_focused = given.first().is_some_and(|first| first == "focus");
    given.drain(..usize::from(is_focused));
    let rules = if is_focused { Some(rules()?) } else { None };
    let mut repository = Repository::open(Arc::new(FileStorage::create(Path::new(&folder))?))?;
    if repository.current().pages() == 0 {
        write(&mut repository, pages, is_focused)?;
    }
    let generation = repository.current();
    let formulas = if given.is_empty() { FORMULAS.map(str::to_owned).to_vec() } else { given };
    for (text, is_measured) in formulas.iter().flat_map(|text| [(text, false), (text, true)]) {
        let started = Instant::now();
        let chosen = plan(&generation, &Formula::from_expression(text)?, is_measured, rules.as_ref())?;
        let (seconds, pages) = (started.elapsed().as_secs_f64(), generation.pages());
        println!(
            "{text}{}: {seconds:.2} s for {pages} pages, {chosen} chosen; peak memory {} MB",
            if is_measured { ", measured" } else { "" },
            peak_memory()? / 1_000_000
        );
    }
    Ok(())
}

/// Rules of a focused crawl with the example of a term file.
fn rules() -> Result<Arc<FocusRules>, Box<dyn Error>> {
    let mut config = Config::default();
    let terms = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/focus/recipe-vegetarian.toml");
    (config.focus.enabled, config.focus.terms) = (true, terms.into());
    Ok(Arc::new(FocusRules::of(&config)?.ok_or("no focus")?))
}

fn plan(
    generation: &Generation,
    formula: &Formula,
    is_measured: bool,
    rules: Option<&Arc<FocusRules>>,
) -> Result<u64, Box<dyn Error>> {
    let request = PlanRequest {
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
        sums_expected: is_measured,
        explore: 0.0,
        round: 0,
        seed: 1,
        ties: Ties::Hash,
        policy: PolicyKind::default(),
    };
    let origins = generation.origins()?;
    let inputs = FormulaInputs::read(formula, request.cycle, generation, &origins, None, &|_| {})?;
    let survey = rules.map(|rules| {
        Survey::read(rules, LiveModel::default(), 0.02, request.cycle, generation, &origins, &|_| {})
    });
    let survey = survey.transpose()?;
    let mut filler = survey.as_ref().map(|survey| survey.filler(false));
    let mut policy = request.policy(formula);
    let hosts = origins.iter().map(|origin| origin.pages);
    let mut population = PopulationCounter::new(request.cycle, request.warmup);
    let mut planner = Planner::new(request, &mut *policy, hosts, PlanMemory::unlimited())?;
    generation.scan(inputs.need_keys(), |first, columns| -> Result<(), Box<dyn Error>> {
        inputs.fill(first, columns);
        filler.iter_mut().for_each(|filler| filler.fill(first, columns));
        if is_measured {
            columns.global_rate = inputs.global_rate().unwrap_or(0.02);
            population.add(columns);
        }
        Ok(planner.scan(columns)?)
    })?;
    Ok(planner.finish()?.chosen.count() as u64)
}

fn write(repository: &mut Repository, pages: u64, is_focused: bool) -> Result<(), Box<dyn Error>> {
    let rules = UrlRules::keep_all();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, Cycle(365))?;
    for page in 0..pages {
        let (host, folder, page_of) = (page / OF_HOST, page % OF_HOST / OF_FOLDER, page % OF_FOLDER);
        let url = format!("https://host-{host:06}.example/section-{folder:04}/an-article-about-{page_of:02}");
        let url = rules.canonicalize(&url)?;
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
    repository.commit(writer, b"")?;
    Ok(())
}

/// Peak memory of this process in bytes.
fn peak_memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse::<u64>()? << 10)
}
