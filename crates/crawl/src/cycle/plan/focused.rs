//! Changes that a focused crawl makes to a round's request: exploration, and the discovery share.

use crate::clock::RoundToPlan;
use crate::config::units::DiscoveryShare;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::parts::focus::discovery_share::next_share;
use crate::parts::focus::report::FocusFacts;
use crate::parts::focus::state::FocusState;
use crate::parts::focus::survey::FocusSurvey;
use crate::round::RoundKind;
use recrawl_focus::live::recall::{Recall, recall};
use recrawl_repository::Generation;
use recrawl_scheduler::PlanRequest;
use std::sync::Arc;

/// The survey of a round, and what is said of it.
pub(super) struct Focus {
    pub survey: Arc<FocusSurvey>,
    pub facts: FocusFacts,
}

/// The survey of a round, and its request, which is a part of that of the whole cycle.
///
/// # Errors
/// When the generation or the tables cannot be read.
pub(super) fn request(
    crawl: &Crawl,
    generation: &Generation,
    to_plan: &RoundToPlan,
    whole: &PlanRequest,
    request: PlanRequest,
) -> Result<(Focus, PlanRequest), Failure> {
    let rules = crawl.settings.focus.as_ref().expect("the crawl is focused");
    let survey = crawl.survey(rules, generation, to_plan.round)?;
    let state = FocusState::before(&crawl.tables, to_plan.round)?.with(rules);
    let mut facts = survey.facts().clone();
    let target = rules.config.target_recall.0;
    let reaches = |recall: Option<Recall>| target < 1.0 && recall.is_some_and(|recall| recall.low >= target);
    let is_auto = crawl.settings.config.cycle.discovery_share == DiscoveryShare::Auto
        && to_plan.kind == RoundKind::Revisit;
    let may_be_satisfied = reaches(state.recall);
    let [pending, open] = match may_be_satisfied || is_auto && to_plan.begins_cycle() {
        true => survey.pending(generation)?,
        false => Default::default(),
    };
    // Imported URLs came after the estimate of the last round.
    facts.is_satisfied = may_be_satisfied && reaches(recall(facts.relevant, &pending, &state.explored));
    let mut request = PlanRequest { round: to_plan.round.round.0, ..request };
    if is_auto {
        let others = whole.audit_share + whole.announced_share;
        let start = DiscoveryShare::Auto.start(others);
        let share = match to_plan.begins_cycle() {
            true => next_share(&state, rules.config.worth, &survey, &open, whole.pages, others, start),
            false => state.discovery_share.unwrap_or(start),
        };
        // A part of a cycle has its part of the share.
        let others = request.audit_share + request.announced_share;
        request.discovery_share = (request.discovery_share * share / start).min(1.0 - others);
        facts.discovery_share = Some(share);
    }
    // Places of discovery, as far as there are URLs for them; each due URL has the same chance to be explored. Where none is
    // open, only revisit rounds explore: fill rounds would go on until all is explored.
    let share = (request.discovery_share * request.pages as f64).round() as u64;
    let wanted = match to_plan.kind {
        _ if facts.is_satisfied => 0,
        RoundKind::Fill => facts.open,
        _ => facts.due,
    };
    let places = share.max(request.discovery_min).min(wanted) as f64;
    facts.explore = (rules.config.explore_share.0 * places / facts.due.max(1) as f64).min(1.0);
    request.explore = facts.explore;
    Ok((Focus { survey, facts }, request))
}
