//! The request of a round to the scheduler: k, or its part of k, or what was never fetched.

use crate::clock::{RoundToPlan, SoFar};
use crate::crawl::Crawl;
use crate::cycle::plan::focused;
use crate::failure::Failure;
use crate::round::RoundKind;
use crate::settings::Settings;
use recrawl_repository::Generation;
use recrawl_scheduler::{Parts, PlanRequest};
use recrawl_types::Cycle;

/// Pages that a fill round may plan, however few the round before it fetched.
const FILL: u64 = 100_000;

/// Pages that the first fill round of a focused crawl without `cycle.fill_pages` may plan.
const FIRST_FOCUSED: u64 = 100;

/// The plan request for this many known pages.
pub fn request(settings: &Settings, cycle: Cycle, known: u64, seed: u64) -> PlanRequest {
    let config = &settings.config;
    PlanRequest {
        cycle,
        pages: config.cycle.pages.out_of(known).max(config.cycle.pages_min),
        discovery_share: config
            .cycle
            .discovery_share
            .start(config.cycle.audit_share.0 + config.cycle.announced_share.0),
        discovery_min: config.cycle.discovery_min,
        audit_share: config.cycle.audit_share.0,
        announced_share: config.cycle.announced_share.0,
        warmup: config.cycle.warmup,
        max_per_host: Some(config.schedule.max_per_host).filter(|cap| *cap > 0),
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected: false,
        explore: 0.0,
        round: 0,
        seed,
        ties: settings.ties,
        policy: settings.policy,
    }
}

/// The pages that a round asks its plan for.
pub(super) struct RoundRequest {
    pub request: PlanRequest,
    /// New seeds that it visits.
    pub seeds: u64,
    pub focus: Option<focused::Focus>,
    /// k of the whole cycle, if the round has a part of it.
    pub of_cycle: Option<u64>,
}

impl RoundRequest {
    /// Of `known` pages, `news` are new seeds: in a fleet, of all partitions. Of k, `reserved` pages are left to others.
    pub fn for_round(
        crawl: &Crawl,
        generation: &Generation,
        to_plan: &RoundToPlan,
        known: u64,
        (news, reserved): (u64, u64),
    ) -> Result<RoundRequest, Failure> {
        let whole = request(&crawl.settings, to_plan.round.cycle, known, crawl.random_seed);
        let whole = PlanRequest { pages: whole.pages.saturating_sub(reserved), ..whole };
        let of_cycle = (crawl.settings.rounds.of_cycle(generation).count() > 1).then_some(whole.pages);
        let (seeds, request) = match to_plan.kind {
            RoundKind::Revisit => {
                let so_far = to_plan.cycle_started.map(|_| &crawl.so_far);
                let part = part_of(whole.clone(), crawl.settings.rounds.of_cycle(generation), so_far);
                // New seeds come first: they reduce all shares of k alike.
                let seeds = news.min(part.pages.max(part.discovery_min));
                let pages = part.pages.saturating_sub(seeds);
                let discovery_min = part.discovery_min.saturating_sub(seeds);
                (seeds, PlanRequest { pages, discovery_min, ..part })
            }
            RoundKind::Fill => (news, of_fill(crawl, &whole)),
            RoundKind::Urgent => {
                (news, PlanRequest { pages: 0, discovery_min: 0, warmup: 0, ..whole.clone() })
            }
        };
        if crawl.settings.focus.is_none() || to_plan.kind == RoundKind::Urgent {
            return Ok(RoundRequest { request, seeds, focus: None, of_cycle });
        }
        let (focus, request) = focused::request(crawl, generation, to_plan, &whole, request)?;
        Ok(RoundRequest { request, seeds, focus: Some(focus), of_cycle })
    }

    /// At most so much of k: for a partition that does not hear the others, so that all together spend no more than k.
    pub fn at_most(self, most: u64) -> RoundRequest {
        let seeds = self.seeds.min(most);
        let pages = self.request.pages.min(most - seeds);
        let discovery_min = self.request.discovery_min.min(pages);
        RoundRequest { request: PlanRequest { pages, discovery_min, ..self.request }, seeds, ..self }
    }

    /// The part of k that the round has, with its seeds.
    pub fn k(&self, kind: RoundKind) -> u64 {
        self.request.pages + if kind == RoundKind::Revisit { self.seeds } else { 0 }
    }
}

/// Revisit rounds of the cycle that are still to come after this one.
pub(super) fn revisits_left(crawl: &Crawl, generation: &Generation, to_plan: &RoundToPlan) -> u32 {
    match to_plan.cycle_started {
        _ if to_plan.kind != RoundKind::Revisit => 0,
        None => crawl.settings.rounds.of_cycle(generation).count() - 1,
        Some(_) => crawl.so_far.revisits_left.saturating_sub(1),
    }
}

/// The part of a cycle's request that falls to one of its revisit rounds. The audit sample is drawn in the
/// first: so a page has one probability in the cycle. The other shares divide the rest of k alike. All rounds but the
/// last one visit a sample of siblings, if the formula reads these.
pub(super) fn part_of(whole: PlanRequest, parts: &Parts, so_far: Option<&SoFar>) -> PlanRequest {
    // A cycle that began with several rounds ends with what is left of k, also if one round is configured by now.
    if parts.count() == 1 && so_far.is_none() {
        return whole;
    }
    let (part, spent) = so_far.map_or((0, 0), |so_far| match so_far.revisits_left {
        // The last one gets the rest, also if the configuration has changed.
        0 | 1 => (parts.count(), so_far.of_k),
        _ => (so_far.revisits, so_far.of_k),
    });
    let k = whole.pages as f64;
    let audit = (whole.audit_share * k).round();
    let up_to = (audit + (k - audit) * parts.up_to(part)).round() as u64;
    let pages = up_to.saturating_sub(spent);
    let drawn = if part == 0 { audit } else { 0.0 };
    // So that rounding makes no share exceed its whole.
    let scale = (pages as f64 - drawn).max(0.0) * k / ((k - audit) * pages as f64).max(1.0) * (1.0 - 1e-9);
    PlanRequest {
        pages,
        discovery_share: whole.discovery_share * scale,
        announced_share: whole.announced_share * scale,
        audit_share: if pages == 0 { 0.0 } else { (drawn / pages as f64).min(1.0) },
        discovery_min: if part == 0 { whole.discovery_min } else { 0 },
        samples_siblings: part + 1 < parts.count(),
        ..whole
    }
}

/// The request of a fill round: never-fetched URLs alone, as many as it can reach by its end.
fn of_fill(crawl: &Crawl, revisit: &PlanRequest) -> PlanRequest {
    let config = &crawl.settings.config;
    let (so_far, limit) = (&crawl.so_far, config.cycle.fill_pages);
    let left = if limit == 0 { u64::MAX } else { limit.saturating_sub(so_far.filled) };
    let delay = config.politeness.delay_per_host.0.as_millis() as u64;
    // What a host can deliver before the round ends.
    let of_host = (config.round.max.0.as_millis() as u64).checked_div(delay).map(|pages| pages.max(1));
    let all = left.min(FILL.max(4 * so_far.fetched));
    PlanRequest {
        pages: 0,
        discovery_min: if config.focus.enabled { all.min(focused_fill(crawl, left)) } else { all },
        warmup: 0,
        max_per_host_in_round: of_host,
        ..revisit.clone()
    }
}

/// URLs that a fill round of a focused crawl visits before the next one is planned from what it found: an equal part of what
/// is left of `cycle.fill_pages`. Without that limit, as many as were visited so far, so that rounds double; the last of
/// `focus.rounds` takes all.
fn focused_fill(crawl: &Crawl, left: u64) -> u64 {
    let rounds = crawl.settings.config.focus.rounds;
    let rounds_left = rounds.saturating_sub(crawl.so_far.fills).max(1);
    match (crawl.settings.config.cycle.fill_pages, rounds_left) {
        (_, 1) => u64::MAX,
        (0, _) => crawl.repository.current().summary().visited.max(FIRST_FOCUSED),
        _ => left.div_ceil(rounds_left.into()),
    }
}
