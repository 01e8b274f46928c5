//! The policies, which select the pages of a cycle.

mod announced;
mod change_probability;
pub mod formula;
mod gp4c_rates;
mod next_change;
mod oracle;
mod scheduler;
mod siblings;
mod true_rate;
mod visit_gain;

pub use formula::ReplayFormula;

use crate::{Dataset, Observed};
use recrawl_formula::Basis;
use recrawl_types::Reads;

/// Scores pages by their observed visits.
pub trait ReplayPolicy: Send {
    /// Name in reports.
    fn name(&self) -> &str;

    /// The expression that it ranks by, if there is one.
    fn expression(&self) -> Option<String> {
        None
    }

    /// What its scores read. Of the columns that no record has, only these are filled.
    fn reads(&self) -> Reads {
        Reads::default()
    }

    /// Whether it reads the [contents of visited pages](Observed::seen).
    fn reads_contents(&self) -> bool {
        false
    }

    /// Whether it reads the [URLs of pages](Observed::url).
    fn reads_urls(&self) -> bool {
        false
    }

    /// How many of the `left` visits of the round to make before it scores again, from 1 to `left`. A policy that
    /// samples asks for the size of the sample here, and sees the outcomes before it chooses the rest.
    fn wants(&mut self, _observed: &Observed, left: u64) -> u64 {
        left
    }

    /// Scores every page for the current cycle: empties `out` and adds one score per page. A higher
    /// score is visited earlier; NaN ranks below every number. Pages that do not exist may get any
    /// score.
    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>);

    /// Called after the visits of each choice, in any order, for policies that keep data of their own
    /// about pages.
    fn observe(&mut self, _observed: &Observed, _visits: &[PolicyVisit]) {}
}

/// A visit, as reported to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyVisit {
    /// Index of the page.
    pub page: u32,
    /// Whether the content differed from the last visit; `None` at the first.
    pub changed: Option<bool>,
}

/// An entry of the registry of policies.
#[derive(Clone, Copy, Debug)]
pub struct ReplayPolicyKind {
    /// Name on the command line.
    pub name: &'static str,
    /// A short description of the ranking.
    pub help: &'static str,
    /// The constructor.
    pub make: Make,
}

/// The constructor of a policy. Only bounds get the truth, so no competing policy can use it.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// An honest policy; gets the basis of the papers' rate estimates.
    Honest(fn(Basis) -> Box<dyn ReplayPolicy>),
    /// An honest policy that [reads contents](ReplayPolicy::reads_contents), which few data sets have.
    WithContents(fn(Basis) -> Box<dyn ReplayPolicy>),
    /// A bound: gets what no crawler can know.
    Bound(for<'a> fn(&'a Dataset) -> Box<dyn ReplayPolicy + 'a>),
}

/// The policies of a crawl, in display order: those of the GP4C papers, gains of a visit, those that read siblings, the
/// bounds. Policies of other crawlers and papers are in the laboratory.
pub const ALL: &[ReplayPolicyKind] = &[
    scheduler::RAND,
    scheduler::AGE,
    gp4c_rates::NAD,
    gp4c_rates::SAD,
    gp4c_rates::AAD,
    gp4c_rates::GAD,
    gp4c_rates::CG,
    change_probability::P_MM,
    change_probability::P_GAMMA,
    change_probability::P_SITE,
    visit_gain::U_FRESH,
    visit_gain::U_FRESH_SITE,
    visit_gain::U_FRESH_SIGNAL,
    announced::KIND,
    visit_gain::U_HARM,
    visit_gain::U_HARM_SITE,
    visit_gain::U_AGE,
    visit_gain::U_AGE_SITE,
    siblings::P_SIB,
    siblings::P_BURST,
    siblings::U_FRESH_SIB,
    siblings::U_HARM_SIB,
    next_change::P_NEXT,
    next_change::U_FRESH_NEXT,
    next_change::U_HARM_NEXT,
    true_rate::KIND,
    oracle::KIND,
];

impl ReplayPolicyKind {
    /// The policy of this name.
    pub fn named(name: &str) -> Option<ReplayPolicyKind> {
        ALL.iter().copied().find(|kind| kind.name == name)
    }

    /// Whether it knows what no crawler could know: the whole history, or how it is distributed.
    pub fn is_bound(&self) -> bool {
        matches!(self.make, Make::Bound(_))
    }

    /// Whether it needs the contents of pages.
    pub fn reads_contents(&self) -> bool {
        matches!(self.make, Make::WithContents(_))
    }

    /// Builds the policy for a replay of `data`.
    pub fn build<'a>(&self, data: &'a Dataset, basis: Basis) -> Box<dyn ReplayPolicy + 'a> {
        match self.make {
            Make::Honest(make) | Make::WithContents(make) => make(basis),
            Make::Bound(make) => make(data),
        }
    }
}

#[cfg(test)]
mod tests;
