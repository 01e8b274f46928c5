//! The learned formula as a formula file, with its provenance.

use crate::folds::{FoldBy, Folds, Protocol};
use crate::judge::{EvaluatedFormula, FoldComparison, FoldResult};
use crate::options::LearnOptions;
use crate::preset::ChoiceMethod;
use recrawl_formula::{Formula, Provenance};
use recrawl_simulation::rules::{Budget, Parts, Rules};

/// The formula that a fold's selection method chose.
pub(crate) fn formula(fold: &FoldResult, folds: &Folds<'_>, options: &LearnOptions) -> Formula {
    let choice = &fold.choices[fold.chosen];
    LearnedFormula {
        data: &folds.data().name,
        fold: fold.fold,
        folds: folds.count(),
        method: choice.method,
        candidate: &choice.candidate,
        test: choice.test.fitness,
        fitness: options.fitness.to_string(),
    }
    .formula(options)
}

/// The known formula that is written if learning gained too little over it.
pub(crate) fn known(across: &FoldComparison, folds: &Folds<'_>, options: &LearnOptions) -> Formula {
    let (known, data, fitness) = (&across.known, &folds.data().name, options.fitness.to_string());
    let mut formula = instead(known, data, &fitness, across.gain, across.error, options);
    if !across.changes.are_enough() {
        let source = format!("the known formula {}: on {data}, {}", known.name, across.changes.text());
        formula.provenance.source = Some(source);
    }
    formula
}

/// A formula that was learned, and where it comes from.
pub(crate) struct LearnedFormula<'a> {
    /// The data set, or several.
    pub data: &'a str,
    /// The fold, from 0.
    pub fold: usize,
    /// Number of folds.
    pub folds: usize,
    /// How it was selected.
    pub method: ChoiceMethod,
    /// The formula, with its fitness in training and validation.
    pub candidate: &'a EvaluatedFormula,
    /// Its fitness on the test part.
    pub test: f64,
    /// What these figures are.
    pub fitness: String,
}

impl LearnedFormula<'_> {
    /// The formula file.
    pub fn formula(self, options: &LearnOptions) -> Formula {
        let preset = &options.preset;
        let description = format!("learned on {} for {}", self.data, self.fitness);
        let provenance = Provenance {
            source: Some("learned by genetic programming (GP4C: Santos 2013; Santos et al. 2015)".into()),
            data: Some(self.data.into()),
            data_digest: Some(options.data_digest.clone()),
            protocol: Some(protocol(options.preset.protocol).into()),
            fold: Some(format!("{} of {}, by {}", self.fold + 1, self.folds, by(options.fold_by))),
            rules: Some(rules(&options.rules)),
            preset: Some(preset.name.clone()),
            terminals: Some(preset.tree.terminals.name().into()),
            population: Some(preset.population.size as u64),
            generations: Some(preset.population.generations.into()),
            selection: Some(self.method.name().into()),
            fitness: Some(self.fitness),
            random_seed: Some(self.candidate.seed),
            train: Some(self.candidate.train()),
            validation: Some(self.candidate.validation()),
            test: Some(self.test),
            date: Some(options.date.clone()),
            program_version: Some(options.program_version.clone()),
        };
        Formula {
            name: options.name.clone(),
            description,
            expr: self.candidate.simplified.clone(),
            protection: preset.protection,
            basis: preset.estimators,
            provenance,
        }
    }
}

/// A known formula in place of one that was learned on `data` and gained `gain` ± `error` over it.
pub(crate) fn instead(
    known: &Formula,
    data: &str,
    fitness: &str,
    gain: f64,
    error: f64,
    options: &LearnOptions,
) -> Formula {
    let source = format!(
        "the known formula {}: what was learned on {data} for {fitness} gained {gain:+.4} ± {error:.4} over it, no more \
         than one standard error",
        known.name
    );
    let provenance = Provenance {
        source: Some(source),
        data: Some(data.into()),
        data_digest: Some(options.data_digest.clone()),
        protocol: Some(protocol(options.preset.protocol).into()),
        rules: Some(rules(&options.rules)),
        preset: Some(options.preset.name.clone()),
        date: Some(options.date.clone()),
        program_version: Some(options.program_version.clone()),
        ..Provenance::default()
    };
    Formula { name: options.name.clone(), provenance, ..known.clone() }
}

/// The name of a protocol.
pub fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Thesis => "thesis",
        Protocol::Journal => "journal",
    }
}

/// The unit that folds never divide.
pub fn by(by: FoldBy) -> &'static str {
    match by {
        FoldBy::Page => "page",
        FoldBy::Site => "site",
    }
}

/// The rules of the replays, as text.
pub fn rules(rules: &Rules) -> String {
    let budget = match rules.budget {
        Budget::Share(share) => format!("share {share}"),
        Budget::Pages(pages) => format!("{pages} pages a cycle"),
    };
    let rounds = match &rules.rounds {
        Parts::Equal(1) => String::new(),
        Parts::Equal(rounds) => format!(", {rounds} rounds a cycle"),
        Parts::Shares(shares) => {
            let shares: Vec<String> = shares.iter().map(f64::to_string).collect();
            format!(", rounds of {}", shares.join(", "))
        }
    };
    let ties = format!("{:?}", rules.ties).to_lowercase();
    format!("warm-up {}, {budget}, ties by {ties}{rounds}", rules.warmup)
}
