//! `recrawl improve run`: learns a formula from the crawl's own visits, back-tests it, and leaves it as a candidate.

use crate::cli::ImproveRunArgs;
use crate::command::learn::{self as learning, LearnProgress};
use crate::command::{print, print_json, print_labelled};
use crate::process::signals;
use crate::report::forecast;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::improve::candidate::{BackTestFigures, FormulaCandidate, FreshnessTest};
use recrawl_crawl::parts::improve::rules::alpha_of;
use recrawl_crawl::settings::ranking::Objective;
use recrawl_crawl::settings::{Settings, formula_file};
use recrawl_forecast::Completions;
use recrawl_forecast::back_test::{Aim, BackTested, back_test, best};
use recrawl_formula::Formula;
use recrawl_formula::builtin::Builtin;
use recrawl_learner::{
    Ending, Fitness, FoldBy, LearnOptions, Preset, Protocol, StartFormula, learn, options,
};
use recrawl_simulation::{Budget, Dataset, Rules};
use recrawl_terminal::clock;
use serde_json::json;
use std::time::SystemTime;

/// Completions of each page that is learned from.
const COMPLETIONS: u64 = 3;
/// Folds of the sites that are learned from.
const FOLDS: usize = 3;
/// Individuals and generations of a run, and its seeds.
const POPULATION: usize = 150;
const GENERATIONS: u32 = 30;
/// Sites of each half, below which nothing is learned.
const MIN_SITES: usize = 10;

/// # Errors
/// When the crawl cannot be read, or has too little to learn from.
pub fn run(args: &ImproveRunArgs) -> Result<(), Failure> {
    let Some(daemon) = args.child_of else { return learn_and_test(args) };
    give_way(daemon)?;
    // The daemon reads standard output to tell why there is no candidate.
    learn_and_test(args).inspect_err(|failure| _ = print(failure.to_string()))
}

fn learn_and_test(args: &ImproveRunArgs) -> Result<(), Failure> {
    let settings = args.own.at.settings()?;
    let in_force = formula_file::in_force(&settings)?;
    let histories = forecast::histories(&settings, &args.own)?;
    // The halves follow from the last cycle: another try on the same visits must not draw better ones.
    let seed = u64::from(histories.last.0);
    let (to_learn, to_test) = histories.halves(seed);
    let [learn_sites, test_sites] = [&to_learn, &to_test].map(|half| Completions::new(half).groups());
    if learn_sites.min(test_sites) < MIN_SITES {
        let text = format!(
            "too little to learn from: {learn_sites} and {test_sites} sites or folders with a history, {MIN_SITES} to learn \
             from and as many to test on are needed"
        );
        return Err(Failure::Work(text));
    }
    let visits = histories.visits_a_page();
    let data = Completions::new(&to_learn).pooled(COMPLETIONS);
    let shutdown = signals::shutdown("stopping after this generation (a second signal stops at once)")?;
    let pool = learning::pool(args.threads)?;
    let cpu = args.cpu.unwrap_or(settings.config.improve.learn_cpu);
    let aim = aim(&settings)?;
    let options = options_of(&data, &in_force, visits, aim)?;
    let mut progress = LearnProgress::new(&shutdown, Some(cpu.0));
    let ending = learn(&data, &options, Vec::new(), &pool, &mut progress).map_err(Failure::work)?;
    progress.finish();
    let Ending::Learned(learned) = ending else {
        return Err(Failure::Work("stopped; nothing was learned".into()));
    };
    // The learner does not replay the forms of the objectives, which read what pages show of each other.
    let forms = Objective::ALL.map(|objective| Builtin::named(objective.name()).expect("a built-in formula"));
    let forms = forms.map(|form| if data.is_weighed() { form.by_importance() } else { form.formula() });
    let rivals = options.rivals();
    // The best of several is tested, so each has its part of the chance of error.
    let alpha = alpha_of(args.tries) / (1 + rivals.len() + forms.len()) as f64;
    let known = rivals.into_iter().find(|formula| formula.name == learned.across.known.name);
    let mut formulas: Vec<Formula> = [in_force.clone()].into_iter().chain(known).chain(forms).collect();
    let [of_all, of_half] = [&histories, &to_test].map(Completions::new);
    let mut tested = pool.install(|| back_test(&of_all, &formulas, visits, aim));
    // What was learned is tested on sites that it was not learned from; nothing else was fitted to any.
    let pair = [in_force.clone(), learned.formula.clone()];
    let [before, own] = pool.install(|| back_test(&of_half, &pair, visits, aim)).try_into().expect("two");
    formulas.push(learned.formula.clone());
    tested.push(own);
    let place = best(&tested, aim).expect("a formula was learned");
    let (sample, before) =
        if place + 1 == tested.len() { (&of_half, &before) } else { (&of_all, &tested[0]) };
    let found = BackTestFigures {
        fitness: aim.name().into(),
        in_force: (in_force.name.clone(), before.reached),
        candidate: tested[place].reached,
        closed_forms: (1..tested.len() - 1)
            .map(|place| (formulas[place].name.clone(), tested[place].reached))
            .collect(),
        gain: tested[place].gain.ends(alpha),
        alpha,
        coverage: [before.coverage, tested[place].coverage],
        sample: [sample.pages() as u64, sample.groups() as u64, sample.cycles().into()],
        freshness: Some(FreshnessTest {
            in_force: before.freshness,
            candidate: tested[place].freshness,
            gain: tested[place].gains[1].ends(alpha),
        }),
    };
    let candidate = FormulaCandidate::new(&formulas[place], histories.last.0, found)?;
    candidate.write(&settings.data_dir)?;
    if args.json {
        return print_json(&json!({"candidate": candidate, "why": learned.why()}));
    }
    print_labelled(text(&candidate, &tested[place]))
}

/// Takes the lowest priority, and ends with the daemon that started this process.
fn give_way(daemon: u32) -> Result<(), Failure> {
    let death = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(death).map_err(Failure::work)?;
    // A daemon that ended before is no parent any more, and its end sends no signal.
    if std::os::unix::process::parent_id() != daemon {
        return Err(Failure::Work("the daemon that started this learner has ended".into()));
    }
    rustix::process::nice(19).map_err(Failure::work)?;
    Ok(())
}

fn text(candidate: &FormulaCandidate, tested: &BackTested) -> String {
    let BackTestFigures {
        fitness,
        in_force,
        gain: [low, high],
        coverage: [before, after],
        sample,
        freshness,
        ..
    } = &candidate.back_test;
    [
        format!("candidate  {}", candidate.expression),
        format!("in force   {}: {fitness} {:.4}", in_force.0, in_force.1),
        format!("gain       {:+.4} ({low:+.4} to {high:+.4}) on {} pages of {} sites or folders that it was not learned from", tested.gain.value, sample[0], sample[1]),
        freshness.map_or(String::new(), |test| {
            format!("freshness  {:.4}, {:.4} with the formula in force", test.candidate, test.in_force)
        }),
        format!("coverage   {:.1} % of the pages, {:.1} % with the formula in force", 100.0 * after, 100.0 * before),
        "next       the loop takes it up at the next cycle, if improve.mode is \"propose\" or \"promote\"".to_owned(),
    ]
    .join("\n")
}

/// The aim of learning and of the choice.
fn aim(settings: &Settings) -> Result<Aim, Failure> {
    let named = Objective::named("improve.objective", &settings.config.improve.objective);
    Ok(match named.map_err(Failure::Usage)?.or(settings.objective).unwrap_or_default() {
        Objective::Changes => Aim::ChangeRate,
        Objective::Fresh => Aim::Freshness,
        Objective::Balanced => Aim::Balanced,
    })
}

/// The fitness that is learned for.
fn fitness(aim: Aim, data: &Dataset) -> Result<Fitness, Failure> {
    let by = if data.is_weighed() { "_by_importance" } else { "" };
    let text = match aim {
        Aim::ChangeRate => format!("change_rate{by}"),
        Aim::Freshness => format!("freshness{by}"),
        Aim::Balanced => format!("0.5*change_rate{by}+0.5*freshness{by}"),
    };
    text.parse().map_err(Failure::work)
}

fn options_of(data: &Dataset, in_force: &Formula, visits: f64, aim: Aim) -> Result<LearnOptions, Failure> {
    let mut preset = Preset::find("recrawl").map_err(Failure::work)?;
    preset.protocol = Protocol::Thesis;
    (preset.population.size, preset.population.generations) = (POPULATION, GENERATIONS);
    preset.population.random_seeds.truncate(1);
    let fitness = fitness(aim, data)?;
    let start = |starts: &[StartFormula]| options::start(&preset, &fitness, starts).map_err(Failure::work);
    // A formula beyond the preset cannot be started from.
    let own = start(&[StartFormula::Rivals, StartFormula::Formula(Box::new(in_force.clone()))]);
    let start = own.or_else(|_| start(&[StartFormula::Rivals]))?;
    Ok(LearnOptions {
        folds: FOLDS,
        fold_by: FoldBy::Site,
        only_fold: None,
        rules: Rules {
            warmup: 0,
            budget: Budget::Share(visits.clamp(f64::MIN_POSITIVE, 1.0)),
            ..Rules::default()
        },
        fitness,
        all_policies: false,
        start,
        name: "learned-here".into(),
        data_digest: data.digest(),
        date: clock::precise(SystemTime::now()).chars().take("2026-01-31".len()).collect(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        preset,
    })
}
