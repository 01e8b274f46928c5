//! The learned formula as a formula file, with its provenance.

use crate::folds::{FoldBy, Folds, Protocol};
use crate::judge::{FoldComparison, FoldResult};
use crate::options::Options;
use recrawl_formula::{Formula, Provenance};
use recrawl_simulation::{Budget, Rules};

/// The formula that a fold's selection method chose.
pub(crate) fn formula(fold: &FoldResult, folds: &Folds<'_>, options: &Options) -> Formula {
    let choice = &fold.choices[fold.chosen];
    let preset = &options.preset;
    let provenance = Provenance {
        source: Some("learned by genetic programming (GP4C: Santos 2013; Santos et al. 2015)".into()),
        data: Some(folds.data().name.clone()),
        data_digest: Some(options.data_digest.clone()),
        protocol: Some(protocol(options.preset.protocol).into()),
        fold: Some(format!("{} of {}, by {}", fold.fold + 1, folds.count(), by(options.fold_by))),
        rules: Some(rules(&options.rules)),
        preset: Some(preset.name.clone()),
        terminals: Some(preset.tree.terminals.name().into()),
        population: Some(preset.population.size as u64),
        generations: Some(preset.population.generations.into()),
        selection: Some(choice.method.name().into()),
        fitness: Some(options.fitness.to_string()),
        random_seed: Some(choice.candidate.seed),
        train: Some(choice.candidate.train()),
        validation: Some(choice.candidate.validation()),
        test: Some(choice.test.fitness),
        date: Some(options.date.clone()),
        program_version: Some(options.program_version.clone()),
    };
    Formula {
        name: options.name.clone(),
        description: format!("learned on {} for {}", folds.data().name, options.fitness),
        expr: choice.candidate.simplified.clone(),
        protection: preset.protection,
        basis: preset.estimators,
        provenance,
    }
}

/// The known formula that is written if learning gained too little over it.
pub(crate) fn known(across: &FoldComparison, folds: &Folds<'_>, options: &Options) -> Formula {
    let (known, data) = (&across.known, &folds.data().name);
    let source = format!(
        "the known formula {}: what was learned on {data} for {} gained {:+.4} ± {:.4} over it, no more than one \
         standard error",
        known.name, options.fitness, across.gain, across.error
    );
    let provenance = Provenance {
        source: Some(source),
        data: Some(data.clone()),
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
    format!("warm-up {}, {budget}, ties by {}", rules.warmup, format!("{:?}", rules.ties).to_lowercase())
}
