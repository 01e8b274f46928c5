//! `recrawl-lab focus train`: the linear classifier, measured beside the term scores on sites that it has not seen.

use super::corpus;
use crate::cli::FocusTrainArgs;
use crate::command::pool;
use rayon::prelude::*;
use recrawl_corpora::evaluate::{Evaluation, Training, evaluate, sample};
use recrawl_corpora::linear::train;
use recrawl_crawl::failure::Failure;
use recrawl_focus::Words;
use recrawl_focus::classifier::linear::LinearModel;
use recrawl_terminal::{print, print_heading, print_json};
use serde_json::json;
use std::fs;
use std::path::Path;

pub fn run(args: &FocusTrainArgs) -> Result<(), Failure> {
    if args.out.is_some() && args.of.terms.len() > 1 {
        return Err(Failure::Usage("--out writes one model (give one term file)".into()));
    }
    // Before the training, not behind it.
    if let Some(out) = args.out.as_deref().filter(|out| out.exists() && !args.force) {
        return Err(Failure::Usage(format!("{} exists (give --force to overwrite it)", out.display())));
    }
    let corpus::ReadCorpus { corpus, readings, wanted, .. } = corpus::read(&args.of, |_| {})?;
    let training = Training {
        folds: args.folds as usize,
        positives: args.positives as usize,
        random_seed: args.random_seed,
    };
    let evaluated: Vec<Vec<Evaluation>> = pool(args.of.threads)?.install(|| {
        let of = |wanted: &corpus::Wanted| {
            evaluate(&corpus, &readings, &wanted.labels, &wanted.terms, &training, &mut Words::new())
        };
        wanted.par_iter().map(of).collect()
    });
    // The model learns from all sites, its evaluation from those that each fold leaves.
    if let (Some(out), [wanted]) = (&args.out, wanted.as_slice()) {
        write(out, &train(&sample(&corpus, &readings, &wanted.labels, &training, |_| true)))?;
    }
    if args.of.json {
        return print_json(&json!({
            "corpus": args.of.corpus,
            "pages": corpus.pages.len(),
            "sites": corpus.sites.len(),
            "urls_hidden": args.of.hide_urls,
            "folds": training.folds,
            "positives": training.positives,
            "random_seed": training.random_seed,
            "model": args.out,
            "cases": wanted.iter().zip(&evaluated).map(|(wanted, evaluations)| json!({
                "name": wanted.name,
                "terms_digest": wanted.terms.topic().digest(),
                "relevant": wanted.labels.iter().filter(|label| **label == Some(true)).count(),
                "classifiers": evaluations,
            })).collect::<Vec<_>>(),
        }));
    }
    table(&wanted, &evaluated)?;
    args.out.as_ref().map_or(Ok(()), |out| print(format!("model: {}", out.display())))
}

fn table(wanted: &[corpus::Wanted], evaluated: &[Vec<Evaluation>]) -> Result<(), Failure> {
    let width = wanted.iter().map(|wanted| wanted.name.len()).max().unwrap_or(0).max("relevant".len());
    print_heading(&format!(
        "{:width$}  {:14}  {:>5}  {:>9}  {:>9}  {:>6}  {:>9}  {:>11}",
        "relevant", "classifier", "F1", "threshold", "precision", "recall", "F1 at 0.5", "calibration"
    ))?;
    for (wanted, evaluations) in wanted.iter().zip(evaluated) {
        for Evaluation { classifier, best, at_half, calibration_error } in evaluations {
            let optional =
                |value: Option<f64>| value.map_or_else(|| "–".into(), |value| format!("{value:.3}"));
            print(format!(
                "{:width$}  {classifier:14}  {:>5.3}  {:>9.2}  {:>9.3}  {:>6.3}  {:>9}  {:>11}",
                wanted.name,
                best.f1,
                best.threshold,
                best.precision,
                best.recall,
                optional(at_half.map(|at| at.f1)),
                optional(*calibration_error)
            ))?;
        }
    }
    Ok(())
}

/// Writes a model to a new file, which then takes the name.
fn write(out: &Path, model: &LinearModel) -> Result<(), Failure> {
    let beside = out.with_extension("new");
    let written = fs::write(&beside, model.to_bytes()).and_then(|()| fs::rename(&beside, out));
    written.map_err(|e| Failure::Work(format!("cannot write {}: {e} (check the folder)", out.display())))
}
