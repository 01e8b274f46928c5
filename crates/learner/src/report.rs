//! The report of learning: Markdown and curves.

mod curves;

use crate::artifact;
use crate::fitness::mean;
use crate::judge::{FoldResult, LearningResult};
use crate::options::LearnOptions;
use crate::policy_result::{self, PolicyResult};
use crate::preset::{ChoiceMethod, Sigma};
use recrawl_simulation::compare::{Comparison, ReplayRole, Verdict};
use recrawl_simulation::table;
use std::fmt::Write;

/// The learned formula and known policies.
#[derive(Debug)]
pub struct Report<'a> {
    learned: &'a LearningResult,
    options: &'a LearnOptions,
    /// The selection methods, the known policies and the bounds, on all test parts together.
    pub policy_results: Vec<PolicyResult>,
}

impl<'a> Report<'a> {
    /// Joins the folds and compares.
    pub fn new(learned: &'a LearningResult, options: &'a LearnOptions) -> Report<'a> {
        let policy_results = policy_result::policy_results(learned, &options.fitness, options.rules.seed);
        Report { learned, options, policy_results }
    }

    /// The results of the chosen method.
    pub fn chosen(&self) -> &PolicyResult {
        &self.policy_results[self.learned.folds[0].chosen]
    }

    /// The best known policy.
    pub fn best_known(&self) -> Option<&PolicyResult> {
        let known = self.policy_results.iter().filter(|s| s.role == ReplayRole::Baseline);
        known.reduce(|best, s| if s.fitness > best.fitness { s } else { best })
    }

    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        self.formula(&mut out);
        if !self.learned.across.changes.are_enough() {
            put(&mut out, format_args!("\n## Figures\n\n— (so few changes tell no figure from chance)"));
            return out;
        }
        self.folds(&mut out);
        self.methods(&mut out);
        self.beside(&mut out);
        self.figures(&mut out);
        self.front(&mut out);
        self.runs(&mut out);
        out
    }

    /// The curves of the test parts as SVG.
    pub fn svg(&self) -> String {
        curves::plot(self, &self.options.name, &self.options.fitness).svg()
    }

    fn formula(&self, out: &mut String) {
        let (formula, options) = (&self.learned.formula, self.options);
        let fold = &self.learned.folds[self.learned.from];
        let candidate = &fold.choices[fold.chosen].candidate;
        let data = formula.provenance.data.as_deref().unwrap_or("");
        put(out, format_args!("# {}\n\n    {}\n", formula.name, formula.expr));
        put(out, format_args!("{}.\n", self.learned.why()));
        if self.learned.across.changes.are_enough() {
            put(
                out,
                format_args!(
                    "Learned on {data} to maximise {}: `{}`. {} nodes, simplified from {}; both forms scored all pages of \
                 training, validation and test equally, bit for bit. Division and logarithm are protected as \
                 in `{}`; rates are estimated over {}.\n",
                    options.fitness,
                    candidate.simplified,
                    candidate.simplified.nodes(),
                    candidate.bred.nodes(),
                    formula.protection,
                    formula.basis,
                ),
            );
        }
        settings(options, data, out);
        put(out, format_args!("\nData: {}.", self.learned.across.changes.text()));
    }

    fn folds(&self, out: &mut String) {
        let method = ChoiceMethod::ALL[self.learned.folds[0].chosen].name();
        put(
            out,
            format_args!(
                "\n## Folds\n\nThe formula of each fold, selected by `{method}`. Learning did not use its test part. \
                 Others: its gain over the known formula `{}` on the validation parts of the other folds, which \
                 decides between the folds.\n",
                self.learned.across.known.name
            ),
        );
        put(
            out,
            format_args!(
                "| fold | pages: training, validation, test | training | validation | others | test | {} | formula |",
                self.options.best_known()
            ),
        );
        put(out, format_args!("|---|---|---|---|---|---|---|---|"));
        for (fold, gain) in self.learned.folds.iter().zip(&self.learned.across.gains) {
            let choice = &fold.choices[fold.chosen];
            let [train, validation, test] = fold.sizes.map(|(pages, _)| pages);
            let (name, best) = best_policy(fold);
            put(
                out,
                format_args!(
                    "| {} | {train}, {validation}, {test} | {:.4} | {:.4} | {gain:+.4} | {:.4} | {name} {best:.4} | `{}` |",
                    fold.fold + 1,
                    choice.candidate.train(),
                    choice.candidate.validation(),
                    choice.test.fitness,
                    choice.candidate.simplified,
                ),
            );
        }
    }

    fn methods(&self, out: &mut String) {
        let folds = &self.learned.folds;
        let sigma = match self.options.preset.selection.sigma {
            Sigma::Deviation => "the standard deviation over the cycles of training and validation",
            Sigma::Undivided => {
                "the root of the sum of squared deviations over the cycles of training and validation"
            }
        };
        put(
            out,
            format_args!(
                "\n## Selection methods\n\nMeans over the folds. `best` selects by training, `sum` and `avg` by the sum \
                 and the mean of training and validation minus {sigma}, `validation` by validation.\n"
            ),
        );
        put(out, format_args!("| method | training | validation | test | nodes |\n|---|---|---|---|---|"));
        for (place, method) in ChoiceMethod::ALL.into_iter().enumerate() {
            let over =
                |value: &dyn Fn(&FoldResult) -> f64| mean(&folds.iter().map(value).collect::<Vec<_>>());
            put(
                out,
                format_args!(
                    "| {}{} | {:.4} | {:.4} | {:.4} | {:.1} |",
                    method.name(),
                    if place == folds[0].chosen { " (selected)" } else { "" },
                    over(&|f| f.choices[place].candidate.train()),
                    over(&|f| f.choices[place].candidate.validation()),
                    over(&|f| f.choices[place].test.fitness),
                    over(&|f| f.choices[place].candidate.simplified.nodes() as f64),
                ),
            );
        }
    }

    fn beside(&self, out: &mut String) {
        put(
            out,
            format_args!(
                "\n## Comparison with known policies\n\n{} on the test parts, mean over folds and cycles, and the \
                 difference of the learned formula. p: paired t-test over cycles, corrected for autocorrelation, and \
                 paired bootstrap over sites (if sites have this figure). Better and worse need p below {} in each \
                 test; otherwise the data cannot tell. Bounds know what no crawler can know.\n",
                self.options.fitness,
                Verdict::LEVEL
            ),
        );
        put(
            out,
            format_args!(
                "| policy | test | learned − policy | p cycles | p sites | learned is |\n|---|---|---|---|---|---|"
            ),
        );
        let mut known: Vec<&PolicyResult> =
            self.policy_results.iter().filter(|s| s.role != ReplayRole::Candidate).collect();
        known.sort_by(|a, b| b.fitness.total_cmp(&a.fitness));
        let chosen = self.chosen();
        put(out, format_args!("| **learned** | **{:.4}** | | | | |", chosen.fitness));
        for s in known {
            let bound = if s.role == ReplayRole::Bound { " (bound)" } else { "" };
            let p_sites = s.over_sites.map_or("–".to_owned(), |sites| p(sites.p));
            put(
                out,
                format_args!(
                    "| {}{bound} | {:.4} | {:+.4} | {} | {p_sites} | {} |",
                    s.name,
                    s.fitness,
                    s.difference,
                    p(s.over_cycles.p),
                    s.verdict().name()
                ),
            );
        }
    }

    fn figures(&self, out: &mut String) {
        let replays: Vec<_> = self.policy_results.iter().map(|s| (&s.trace, s.role)).collect();
        let names: Vec<(&str, ReplayRole)> =
            self.policy_results.iter().map(|s| (s.name.as_str(), s.role)).collect();
        let comparison = Comparison::of_parts(&replays, self.learned.folds.len(), self.options.rules.seed);
        put(
            out,
            format_args!(
                "\n## All figures\n\nOn the test parts of all folds together. A policy that is good by one figure can be bad by \
                 another.\n\n```\n{}\n\n{}\n```",
                table::render(&names, &comparison, None),
                table::LEGEND
            ),
        );
    }

    fn front(&self, out: &mut String) {
        let fold = &self.learned.folds[self.learned.from];
        put(
            out,
            format_args!(
                "\n## Fitness against size\n\nThe best formula of each size in the runs of fold {}; sizes without a gain in \
                 training are omitted.\n\n| nodes | training | validation | test | formula |\n|---|---|---|---|---|",
                fold.fold + 1
            ),
        );
        for (point, test) in fold.front.iter().zip(&fold.front_test) {
            put(
                out,
                format_args!(
                    "| {} | {:.4} | {:.4} | {test:.4} | `{}` |",
                    point.simplified.nodes(),
                    point.train(),
                    point.validation(),
                    point.simplified
                ),
            );
        }
    }

    fn runs(&self, out: &mut String) {
        put(
            out,
            format_args!(
                "\n## Runs\n\nThe best training fitness of a generation, and its mean number of nodes.\n\n\
                 | fold | seed | first | half way | last | nodes at last |\n|---|---|---|---|---|---|"
            ),
        );
        for fold in &self.learned.folds {
            for run in &fold.runs {
                let at = |i: usize| run.generations[i.min(run.generations.len() - 1)];
                put(
                    out,
                    format_args!(
                        "| {} | {} | {:.4} | {:.4} | {:.4} | {:.1} |",
                        fold.fold + 1,
                        run.seed,
                        at(0).best,
                        at(run.generations.len() / 2).best,
                        at(usize::MAX).best,
                        at(usize::MAX).nodes
                    ),
                );
            }
        }
    }
}

/// The table of data and options.
pub(crate) fn settings(options: &LearnOptions, data: &str, out: &mut String) {
    let population = &options.preset.population;
    let seeds: Vec<String> = population.random_seeds.iter().map(u64::to_string).collect();
    let rows = [
        ("data set", format!("{data}, digest `{}`", options.data_digest)),
        (
            "protocol",
            format!(
                "{}, {} folds by {}",
                artifact::protocol(options.preset.protocol),
                options.folds,
                artifact::by(options.fold_by)
            ),
        ),
        ("replay", artifact::rules(&options.rules)),
        ("preset", format!("{} ({})", options.preset.name, options.preset.description)),
        ("terminals", options.preset.tree.terminals.name().to_owned()),
        (
            "population",
            format!(
                "{} individuals, {} generations, seeds {}",
                population.size,
                population.generations,
                seeds.join(", ")
            ),
        ),
        ("started from", format!("{} known formulas", options.start.len())),
        ("made", format!("{} by recrawl {}", options.date, options.program_version)),
    ];
    put(out, format_args!("| | |\n|---|---|"));
    rows.iter().for_each(|(name, value)| put(out, format_args!("| {name} | {value} |")));
}

/// The best known policy on the test part of a fold.
fn best_policy(fold: &FoldResult) -> (&str, f64) {
    let known = fold.policies.iter().filter(|p| !p.is_bound);
    let best = known.reduce(|best, p| if p.fitness > best.fitness { p } else { best });
    best.map_or(("none", 0.0), |p| (p.name.as_str(), p.fitness))
}

/// A p-value as text.
pub(crate) fn p(value: f64) -> String {
    if value < 0.0001 { "< .0001".to_owned() } else { format!("{value:.4}") }
}

pub(crate) fn put(out: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("a string takes all");
}

#[cfg(test)]
mod tests;
