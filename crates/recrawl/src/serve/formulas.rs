//! Formulas over HTTP: list, compare, choose and roll back.

use super::next::FormulaLock;
use super::shared_state::SharedState;
use crate::action::accepted;
use crate::action::formula::{FROM_CONFIGURATION, NOTHING_BEFORE, in_force_from, parse, warnings};
use crate::audit::COMMAND_LINE;
use recrawl_console::view::Refusal;
use recrawl_console::view::{
    Accepted, Actor, Choice, ChoiceOf, Effect, FormulaText, FormulaUse, Formulas, RankChange, RankChanges,
};
use recrawl_crawl::cycle::inputs::FormulaInputs;
use recrawl_crawl::cycle::plan;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::control::{ChosenFormula, Mark};
use recrawl_crawl::operator::rollback::{self, RolledBack};
use recrawl_crawl::parts::focus::survey;
use recrawl_crawl::settings::Settings;
use recrawl_formula::{Formula, builtin};
use recrawl_repository::Generation;
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::{Gate, PlanRequest, TieBreak};
use std::sync::Arc;

/// Maximum pages ranked by two formulas; with more, every second, third etc. is.
const MAX_COMPARED: u64 = 2_000_000;
/// The formula that estimates what a choice brings: the probability of a change since the last visit.
const ESTIMATOR: &str = "change_probability";
/// Maximum reports in which the last audit sample is searched.
const REPORTS: usize = 10;
/// Maximum pages shown that rise or fall.
const SHOWN: usize = 20;

pub fn list(shared: &SharedState) -> Result<Formulas, Refusal> {
    shared.next.reread(&shared.settings());
    let chosen = shared.control.chosen();
    let use_of = |chosen: &ChosenFormula| {
        Formula::from_toml(&chosen.toml).ok().map(|formula| FormulaUse {
            formula: formula_text(&formula),
            at: chosen.mark.at,
            who: chosen.mark.who.clone(),
            from_cycle: chosen.from_cycle,
        })
    };
    let (in_force, coming) = (in_force(shared), shared.formula());
    Ok(Formulas {
        in_force: ranking_text(shared, &shared.settings()),
        next: (coming != in_force).then(|| formula_text(&coming)),
        history: chosen.iter().rev().filter_map(use_of).collect(),
        built_in: builtin::ALL.iter().map(|b| formula_text(&b.formula())).collect(),
    })
}

/// What ranks the pages: the formula, or the policy that needs none.
pub fn ranking_text(shared: &SharedState, settings: &Settings) -> FormulaText {
    if settings.policy.is_formula() {
        return formula_text(&in_force(shared));
    }
    let PolicyKind { name, help, .. } = settings.policy;
    FormulaText { name: name.into(), expression: help.into(), description: String::new(), provenance: None }
}

/// A formula for display.
pub fn formula_text(formula: &Formula) -> FormulaText {
    FormulaText {
        name: formula.name.clone(),
        expression: formula.expr.to_string(),
        description: formula.description.clone(),
        provenance: serde_json::to_value(&formula.provenance).ok().filter(|value| !is_empty(value)),
    }
}

fn is_empty(value: &serde_json::Value) -> bool {
    value.as_object().is_none_or(serde_json::Map::is_empty)
}

/// The formula of the running cycle, or else of the next one.
pub fn in_force(shared: &SharedState) -> Arc<Formula> {
    shared.live.now().and_then(|now| now.ranked_by).unwrap_or_else(|| shared.formula())
}

/// Uses this formula from the next cycle on.
pub fn choose(shared: &SharedState, text: &str, who: &Actor) -> Result<Accepted, Refusal> {
    let formula = parse(text)?;
    let lock = shared.next.lock(&shared.settings());
    let before = lock.in_force();
    if before.as_deref() == Some(&formula) {
        let detail = format!("{} is already in force", formula.name);
        return Ok(Accepted { did: Effect::Already, detail });
    }
    let mut chosen = shared.control.chosen();
    if let Some(before) = before.filter(|before| !rollback::is_last(&chosen, before)) {
        // The formula to roll back to: it was set by the configuration or on the command line.
        let mark = Mark { who: COMMAND_LINE.into(), at: shared.now() };
        chosen.push(entry(&before, mark, None)?);
    }
    let mark = Mark { who: who.name.clone(), at: shared.now() };
    chosen.push(entry(&formula, mark, Some(next_cycle(shared)))?);
    let warnings = warnings(&formula);
    let accepted = put_in_force(shared, lock, formula, chosen)?;
    Ok(Accepted { detail: accepted.detail + &warnings, ..accepted })
}

/// Uses the previous formula from the next cycle on: the last chosen one if the command line set
/// another since, or else the one before it.
pub fn roll_back(shared: &SharedState) -> Result<Accepted, Refusal> {
    earlier(shared)?.map_or_else(nothing_before, |earlier| roll_back_to(shared, earlier))
}

fn nothing_before() -> Result<Accepted, Refusal> {
    accepted(Effect::Already, NOTHING_BEFORE)
}

/// The formula that a roll-back goes to now; none without an earlier one.
pub fn earlier(shared: &SharedState) -> Result<Option<Formula>, Refusal> {
    let (settings, lock) = (shared.settings(), shared.next.lock(&shared.settings()));
    rollback::target(&shared.control.chosen(), lock.in_force().as_deref(), &settings).map_err(Refusal::failed)
}

/// Uses this earlier formula from the next cycle on, and forgets those chosen since. Done before, it changes nothing.
pub fn roll_back_to(shared: &SharedState, earlier: Formula) -> Result<Accepted, Refusal> {
    let (settings, lock) = (shared.settings(), shared.next.lock(&shared.settings()));
    let (in_force, cycle) = (lock.in_force(), next_cycle(shared));
    let back =
        rollback::roll_back_to(earlier, shared.control.chosen(), in_force.as_deref(), &settings, cycle);
    let Some(RolledBack { formula, is_configured, chosen }) = back else { return nothing_before() };
    if !is_configured {
        return put_in_force(shared, lock, formula, chosen);
    }
    let detail = in_force_from(&settings, &formula, cycle, FROM_CONFIGURATION);
    lock.leave_to(&settings).map_err(Refusal::failed)?;
    shared.control.set_chosen(chosen).map_err(Refusal::failed)?;
    Ok(Accepted { did: Effect::NextCycle, detail })
}

fn put_in_force(
    shared: &SharedState,
    lock: FormulaLock<'_>,
    formula: Formula,
    chosen: Vec<ChosenFormula>,
) -> Result<Accepted, Refusal> {
    let detail = in_force_from(&shared.settings(), &formula, next_cycle(shared), "");
    lock.put(&shared.data_dir, formula).map_err(Refusal::failed)?;
    shared.control.set_chosen(chosen).map_err(Refusal::failed)?;
    Ok(Accepted { did: Effect::NextCycle, detail })
}

fn entry(formula: &Formula, mark: Mark, from_cycle: Option<u64>) -> Result<ChosenFormula, Refusal> {
    Ok(ChosenFormula { toml: formula.to_toml().map_err(Refusal::failed)?, mark, from_cycle })
}

fn next_cycle(shared: &SharedState) -> u64 {
    shared.unplanned_cycle().0.into()
}

/// How a formula would rank pages differently from the next cycle.
pub fn rank_changes(shared: &SharedState, text: &str) -> Result<RankChanges, Refusal> {
    let other = parse(text)?;
    let too_many = || Refusal::Busy("too many scans are running; try again later".into());
    // Each comparison reads the states of all pages: a few at a time leave the processor to the crawl.
    let _scan = shared.scans.begin().ok_or_else(too_many)?;
    let (generation, settings, in_force) = (shared.generation(), shared.settings(), shared.formula());
    let request = plan::request(&settings, generation.cycle().next(), generation.pages(), shared.random_seed);
    let step = generation.pages().div_ceil(MAX_COMPARED).max(1);
    // The other formula and the estimator rank as formulas, whatever policy the crawl has.
    let by_formula = PlanRequest { policy: PolicyKind::default(), ..request.clone() };
    let estimator = builtin::resolve(ESTIMATOR).map_err(Refusal::failed)?;
    let scored = |formula: &Formula, request| scores(&generation, shared, formula, request, step);
    let mine = scored(&in_force, &request).map_err(Refusal::failed)?;
    let others = scored(&other, &by_formula).map_err(Refusal::failed)?;
    let chances = scored(&estimator, &by_formula).map_err(Refusal::failed)?;
    let ties = TieBreak::new(request.ties, request.seed, request.cycle);
    let (ranks, other_ranks) = (ranked(&mine, &ties), ranked(&others, &ties));
    let k = (request.pages / step).min(mine.len() as u64);
    let best = ranked(&chances, &ties);
    let chances: Vec<f64> = chances.iter().map(|(_, chance)| *chance).collect();
    let both =
        ranks.iter().zip(&other_ranks).filter(|(a, b)| u64::from(**a) < k && u64::from(**b) < k).count();
    let mut moved: Vec<usize> = (0..mine.len()).filter(|at| ranks[*at] != other_ranks[*at]).collect();
    // Risers first, ties in URL order.
    moved.sort_by_key(|at| i64::from(other_ranks[*at]) - i64::from(ranks[*at]));
    let rises = |at: &&usize| other_ranks[**at] < ranks[**at];
    let rise: Vec<usize> = moved.iter().filter(rises).take(SHOWN).copied().collect();
    let fall: Vec<usize> = moved.iter().rev().filter(|at| !rises(at)).take(SHOWN).copied().collect();
    let show = |places: &[usize]| {
        let one = |at: &usize| -> Result<RankChange, Failure> {
            let mut page = generation.gather(std::iter::once(mine[*at].0));
            let missing = || Failure::work("a page disappeared during the scan");
            let (_, url, _) = page.next_page().map_err(Failure::work)?.ok_or_else(missing)?;
            let rank = |rank: u32| u64::from(rank) * step + 1;
            Ok(RankChange {
                url: url.to_string(),
                rank: rank(ranks[*at]),
                other_rank: rank(other_ranks[*at]),
                score: Some(mine[*at].1).filter(|score| score.is_finite()),
                other_score: Some(others[*at].1).filter(|score| score.is_finite()),
            })
        };
        places.iter().map(one).collect::<Result<Vec<_>, _>>().map_err(Refusal::failed)
    };
    Ok(RankChanges {
        expression: other.expr.to_string(),
        pages: mine.len() as u64,
        k,
        overlap: if k == 0 { 1.0 } else { both as f64 / k as f64 },
        expected: expected(&chances, k, [&ranks, &other_ranks, &best]),
        basis: format!(
            "Each page's probability of a change since its last visit is estimated by `{}` ({}), from its \
             own visits and those of all pages, whichever formula chooses it.",
            estimator.name, estimator.expr
        ),
        observed_change_rate: shared
            .crawl_reports(REPORTS)
            .iter()
            .find_map(|report| report.estimates.audit_change_rate)
            .map(|estimate| estimate.share),
        rise: show(&rise)?,
        fall: show(&fall)?,
    })
}

/// What choosing the first k pages by each of these ranks brings, and what chance does. A visited page is
/// fresh; any other is with the complement of its chance of a change.
fn expected(chances: &[f64], k: u64, [mine, others, best]: [&[u32]; 3]) -> Vec<Choice> {
    let (pages, all) = (chances.len() as f64, chances.iter().sum::<f64>());
    let choice = |by, found: f64| Choice {
        by,
        change_rate: (k > 0).then(|| found / k as f64),
        freshness: (pages > 0.0).then(|| 1.0 - (all - found) / pages),
    };
    let found = |ranks: &[u32]| {
        let chosen = chances.iter().zip(ranks).filter(|(_, rank)| u64::from(**rank) < k);
        chosen.map(|(chance, _)| chance).sum::<f64>()
    };
    vec![
        choice(ChoiceOf::InForce, found(mine)),
        choice(ChoiceOf::Candidate, found(others)),
        choice(ChoiceOf::Best, found(best)),
        choice(ChoiceOf::Random, if pages > 0.0 { all * k as f64 / pages } else { 0.0 }),
    ]
}

/// Ordinal and score of every `step`-th page that competes by score in the next cycle.
fn scores(
    generation: &Generation,
    shared: &SharedState,
    formula: &Formula,
    request: &PlanRequest,
    step: u64,
) -> Result<Vec<(u64, f64)>, Failure> {
    let tables = Some(&*shared.tables);
    let settings = shared.settings();
    let focus = survey::of_formula(formula, settings.focus.as_ref(), generation, tables)?;
    let inputs = FormulaInputs::read(formula, request.cycle, generation, tables, &settings.pages, &|_| {})?;
    let inputs = inputs.with_focus(focus);
    let policy = request.policy(formula);
    let (mut scores, mut scored) = (Vec::new(), Vec::new());
    generation.scan(inputs.need_keys(), |first, columns| -> Result<(), Failure> {
        inputs.fill(first, columns);
        policy.score(columns, first, &mut scores);
        for (row, score) in scores.iter().enumerate() {
            let ordinal = first + row as u64;
            let gate = Gate::of_row(columns, row, request.cycle, request.warmup);
            if gate == Gate::Revisit && ordinal.is_multiple_of(step) {
                scored.push((ordinal, *score));
            }
        }
        Ok(())
    })?;
    Ok(scored)
}

/// The rank of each place, from 0 for the best, in the order in which a plan would choose.
fn ranked(scored: &[(u64, f64)], ties: &TieBreak) -> Vec<u32> {
    let candidate = |place: &u32| {
        let (ordinal, score) = scored[*place as usize];
        ties.by_score(score, ordinal)
    };
    let mut order: Vec<u32> = (0..scored.len() as u32).collect();
    order.sort_by_cached_key(candidate);
    let mut ranks = vec![0; scored.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place as usize] = rank as u32;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_scheduler::Ties;
    use recrawl_types::Cycle;
    use std::collections::BTreeSet;

    #[test]
    fn a_choice_is_expected_to_bring_what_its_pages_do() {
        let chances = [0.9, 0.1, 0.5, 0.5];
        let found = expected(&chances, 2, [&[0, 3, 1, 2], &[3, 0, 1, 2], &[0, 3, 1, 2]]);
        let told: Vec<(ChoiceOf, f64, f64)> =
            found.iter().map(|c| (c.by, c.change_rate.unwrap(), c.freshness.unwrap())).collect();
        let near = |(by, rate, fresh): (ChoiceOf, f64, f64), (other, r, f): (ChoiceOf, f64, f64)| {
            by == other && (rate - r).abs() < 1e-12 && (fresh - f).abs() < 1e-12
        };
        let wanted = [
            (ChoiceOf::InForce, 0.7, 0.85),
            (ChoiceOf::Candidate, 0.3, 0.65),
            (ChoiceOf::Best, 0.7, 0.85),
            (ChoiceOf::Random, 0.5, 0.75),
        ];
        assert!(told.iter().zip(wanted).all(|(a, b)| near(*a, b)), "{told:?}");
        let none = expected(&[], 0, [&[], &[], &[]]);
        assert!(none.iter().all(|c| c.change_rate.is_none() && c.freshness.is_none()), "{none:?}");
    }

    #[test]
    fn ranks_follow_scores_and_equals_follow_the_plan() {
        let scores = [0.5, f64::NAN, 2.0, 0.5, f64::INFINITY];
        let scored: Vec<(u64, f64)> = (0..).zip(scores).collect();
        let ranks = |kind, seed| ranked(&scored, &TieBreak::new(kind, seed, Cycle(3)));
        assert_eq!(ranks(Ties::Index, 0), [2, 4, 1, 3, 0]);
        let by_seed: BTreeSet<Vec<u32>> = (0..20).map(|seed| ranks(Ties::Hash, seed)).collect();
        assert_eq!(by_seed.into_iter().collect::<Vec<_>>(), [vec![2, 4, 1, 3, 0], vec![3, 4, 1, 2, 0]]);
    }
}
