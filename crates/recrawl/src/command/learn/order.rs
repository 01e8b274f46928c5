//! Converts command-line arguments to the learner's options.

use crate::cli::{FoldUnit, LearnArgs, SplitProtocol, Terminals};
use recrawl_crawl::failure::Failure;
use recrawl_formula::Formula;
use recrawl_formula::terminal::TerminalSet;
use recrawl_learner::{Fitness, LearnOptions, Preset, StartFormula, folds, options};
use recrawl_simulation::{Budget, Dataset, Rules};
use recrawl_terminal::clock;
use std::path::Path;
use std::time::SystemTime;

/// Checked options, before the data is read.
pub struct LearnOrder(LearnOptions);

/// Checks the arguments.
///
/// # Errors
/// [`Failure::Usage`] when an argument is invalid.
pub fn check(args: &LearnArgs) -> Result<LearnOrder, Failure> {
    let mut preset = Preset::find(&args.preset).map_err(Failure::usage)?;
    if let Some(terminals) = args.terminals {
        preset.tree.terminals = match terminals {
            Terminals::Basic => TerminalSet::Basic,
            Terminals::All => TerminalSet::All,
            Terminals::Extended => TerminalSet::Extended,
            Terminals::Related => TerminalSet::Related,
        };
    }
    preset.protocol = match args.protocol {
        None => preset.protocol,
        Some(SplitProtocol::Thesis) => folds::Protocol::Thesis,
        Some(SplitProtocol::Journal) => folds::Protocol::Journal,
    };
    let population = &mut preset.population;
    population.size = args.population.unwrap_or(population.size);
    population.generations = args.generations.unwrap_or(population.generations);
    if let Some(seeds) = &args.random_seeds {
        population.random_seeds.clone_from(seeds);
    }
    if !args.start_from.is_empty() {
        population.start_from.clone_from(&args.start_from);
    }
    // A population may be smaller than the elite of the preset.
    preset.breeding.elite = preset.breeding.elite.min(preset.population.size);
    preset.check().map_err(Failure::usage)?;
    let fitness = args.fitness.parse::<Fitness>().map_err(Failure::usage)?;
    if fitness.is_by_importance() && args.replay.importance.is_none() && !args.data.is_empty() {
        return Err(Failure::Usage(format!(
            "--fitness {fitness}: all pages count alike; add --importance FILE"
        )));
    }
    let start = start(&preset, &fitness)?;
    let rules = Rules { rounds: args.rounds.clone(), ..args.replay.rules() };
    // Checks share and number of pages only: pages and cycles of the data are not known yet.
    rules.check(1, rules.warmup.saturating_add(1)).map_err(Failure::usage)?;
    let now = clock::precise(SystemTime::now());
    Ok(LearnOrder(LearnOptions {
        preset,
        folds: args.folds,
        fold_by: match (args.fold_by, args.data.is_empty()) {
            (Some(FoldUnit::Page), _) | (None, false) => folds::FoldBy::Page,
            (Some(FoldUnit::Site), _) | (None, true) => folds::FoldBy::Site,
        },
        only_fold: args.only_fold.map(|n| n as usize - 1),
        rules,
        fitness,
        all_policies: args.all_policies,
        start,
        name: String::new(),
        data_digest: String::new(),
        date: now.chars().take("2026-01-31".len()).collect(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}

impl LearnOrder {
    /// For the completed histories of a crawl: the budget is the crawl's unless another one is given, and learning starts
    /// from its formula as well.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the histories cannot be divided by time, or the formula cannot be started from.
    pub fn for_own_visits(mut self, visits_a_page: f64, in_force: &Formula) -> Result<LearnOrder, Failure> {
        let LearnOptions { preset, rules, start, fitness, .. } = &mut self.0;
        if preset.protocol != folds::Protocol::Thesis {
            let text = "the visits of a crawl are not divided by time; use --protocol thesis";
            return Err(Failure::Usage(text.into()));
        }
        if rules.budget == Rules::default().budget {
            rules.budget = Budget::Share(visits_a_page.clamp(f64::MIN_POSITIVE, 1.0));
        }
        // A formula beyond the preset cannot be started from; it is compared all the same.
        let one = options::start(preset, fitness, &[StartFormula::Formula(Box::new(in_force.clone()))]);
        let new = one.into_iter().flatten().filter(|expr| !start.contains(expr)).collect::<Vec<_>>();
        start.extend(new);
        Ok(self)
    }

    /// Adds the name, and the digest of each data set.
    pub fn for_data(self, sets: &[Dataset], name: &str) -> LearnOptions {
        let digests: Vec<String> = sets.iter().map(Dataset::digest).collect();
        LearnOptions { name: name.to_owned(), data_digest: digests.join(", "), ..self.0 }
    }
}

/// The formulas to start from.
fn start(preset: &Preset, fitness: &Fitness) -> Result<Vec<recrawl_formula::Expr>, Failure> {
    let mut formulas = Vec::new();
    for text in &preset.population.start_from {
        match text.as_str() {
            "none" => {}
            "rivals" => formulas.push(StartFormula::Rivals),
            _ => formulas.push(StartFormula::Formula(Box::new(formula(text, preset)?))),
        }
    }
    options::start(preset, fitness, &formulas).map_err(Failure::usage)
}

/// An expression, or a file whose protection and basis match the preset.
fn formula(text: &str, preset: &Preset) -> Result<Formula, Failure> {
    if !text.ends_with(".toml") {
        return recrawl_crawl::settings::formula_file::find(text)
            .map_err(|e| Failure::Usage(format!("--start-from: {e}")));
    }
    let formula = Formula::load(Path::new(text)).map_err(Failure::usage)?;
    let (theirs, ours) = ((formula.protection, formula.basis), (preset.protection, preset.estimators));
    if theirs != ours {
        return Err(Failure::Usage(format!(
            "--start-from {text}: protection {} and estimators by {} do not match preset {} ({}, by {})",
            theirs.0, theirs.1, preset.name, ours.0, ours.1
        )));
    }
    Ok(formula)
}
