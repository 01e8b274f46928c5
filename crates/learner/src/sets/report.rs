//! The report of learning from several data sets: Markdown.

use super::judge::{LearnedOfSets, SetResult};
use crate::options::LearnOptions;
use crate::report::{p, put, settings};
use recrawl_simulation::compare::Verdict;
use std::collections::BTreeSet;

/// The report as Markdown.
pub fn markdown(learned: &LearnedOfSets, options: &LearnOptions) -> String {
    let mut out = String::new();
    formula(learned, options, &mut out);
    sets(learned, options, &mut out);
    folds(learned, &mut out);
    runs(learned, &mut out);
    out
}

fn formula(learned: &LearnedOfSets, options: &LearnOptions, out: &mut String) {
    let (formula, candidate) = (&learned.formula, &learned.folds[learned.from].candidate);
    let data = formula.provenance.data.as_deref().unwrap_or("");
    put(out, format_args!("# {}\n\n    {}\n", formula.name, formula.expr));
    put(out, format_args!("{}.\n", learned.why()));
    put(
        out,
        format_args!(
            "Learned on {data} to maximise the gain in {}: `{}`. The gain in a set is (f − b)/|b|, with the fitness f of \
             the formula and b of the known formula that is best on the training part of the set. The fitness of a formula \
             is the mean of its gains.\n",
            options.fitness, candidate.simplified,
        ),
    );
    settings(options, data, out);
}

fn sets(learned: &LearnedOfSets, options: &LearnOptions, out: &mut String) {
    put(
        out,
        format_args!(
            "\n## Data sets\n\n{} on the test parts, mean over the folds: the folds' formulas, the known formulas that are \
             best in training, and `{}`, the best known formula for all sets. Learned is better or worse than the best \
             known ones by the paired tests over cycles and over sites, with p below {} in each. `true_rate` knows what \
             no crawler can.\n",
            options.fitness,
            learned.known.name,
            Verdict::LEVEL
        ),
    );
    put(
        out,
        format_args!(
            "| set | pages | cycles | learned | best known | | gain | p cycles | p sites | learned is | `{}` | its gain | `true_rate` |",
            learned.known.name
        ),
    );
    put(out, format_args!("|---|---|---|---|---|---|---|---|---|---|---|---|---|"));
    for set in &learned.sets {
        let SetResult { name, pages, cycles, paired, .. } = set;
        let best: Vec<&str> = unlike(&set.best_known);
        put(
            out,
            format_args!(
                "| {name} | {pages} | {cycles} | {:.4} | {:.4} | {} | {:+.4} | {} | {} | {} | {:.4} | {:+.4} | {:.4} |",
                set.learned,
                set.best_known_fitness,
                best.join(", "),
                set.gain,
                p(paired.over_cycles.p),
                paired.over_sites.map_or("–".to_owned(), |sites| p(sites.p)),
                paired.verdict().name(),
                set.known,
                set.known_gain,
                set.bound
            ),
        );
    }
}

fn folds(learned: &LearnedOfSets, out: &mut String) {
    put(
        out,
        format_args!(
            "\n## Folds\n\nGains, mean over the sets. Others: on the validation parts of the other folds, which decides \
             between the folds.\n\n| fold | training | validation | others | test | nodes | formula |\n\
             |---|---|---|---|---|---|---|"
        ),
    );
    for (fold, gain) in learned.folds.iter().zip(&learned.gains) {
        let candidate = &fold.candidate;
        put(
            out,
            format_args!(
                "| {} | {:+.4} | {:+.4} | {gain:+.4} | {:+.4} | {} | `{}` |",
                fold.fold + 1,
                candidate.train(),
                candidate.validation(),
                fold.test,
                candidate.simplified.nodes(),
                candidate.simplified
            ),
        );
    }
}

fn runs(learned: &LearnedOfSets, out: &mut String) {
    put(
        out,
        format_args!(
            "\n## Runs\n\nThe best training gain of a generation.\n\n| fold | seed | first | half way | last |\n\
             |---|---|---|---|---|"
        ),
    );
    for fold in &learned.folds {
        for run in &fold.runs {
            let at = |i: usize| run.generations[i.min(run.generations.len() - 1)].best;
            put(
                out,
                format_args!(
                    "| {} | {} | {:+.4} | {:+.4} | {:+.4} |",
                    fold.fold + 1,
                    run.seed,
                    at(0),
                    at(run.generations.len() / 2),
                    at(usize::MAX)
                ),
            );
        }
    }
}

/// Each name once.
fn unlike(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
}
