//! The policies, which select the pages of a cycle.

mod announced;
pub mod formula;
mod oracle;
mod scheduler;
mod true_rate;

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
    /// An honest policy that ranks by the built-in formula of its name.
    Builtin,
    /// An honest policy that ranks by this expression.
    Expression(&'static str),
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
    // All changes count equally, X/n: the baseline NAD (Tan & Mitra 2010; Santos et al. 2013 §3, 2015 §4.2).
    by_builtin("nad", "rate NAD times age: nad * t"),
    // Only the last visit counts: the baseline SAD (the same authors).
    by_builtin("sad", "rate SAD times age: sad * t"),
    // Recent changes count more: the baseline AAD (the same authors).
    by_builtin("aad", "rate AAD times age: aad * t"),
    // A change counts twice as much as one in the previous visit: the baseline GAD (the same authors).
    by_builtin("gad", "rate GAD times age: gad * t"),
    // The rate alone, regardless of age, as the authors of GP4C rank by it (Cho & Garcia-Molina 2003; Santos et al.
    // 2015 §4.2).
    by_builtin("cg", "rate of Cho and Garcia-Molina, regardless of age: cg"),
    // λt gives the same order as 1 − e^(−λt). The rate λ is estimated by the method of moments with one imaginary changed
    // and one unchanged interval of half a cycle (Cho & Garcia-Molina 2003 for irregular visits; the pseudo-data of
    // Kolobov et al. 2019).
    by_expression("p_mm", "mm * t", "probability of a change, rate by moments: same order as mm * t"),
    // The integrated posterior of a Gamma prior: 1 − (b′/(b′ + t))^a′. A page that never changed keeps a positive
    // probability, so no page starves (empirical Bayes: Robbins 1956; for page changes Cho & Garcia-Molina 2003 §5).
    by_expression("p_gamma", "p_eb", "probability of a change, Gamma prior with the rate of all pages: p_eb"),
    // The mean of the prior is the rate of the page's site, itself shrunk towards that of all pages: pages of one site
    // change alike (Cho & Ntoulas 2002; Tan & Mitra 2010).
    by_expression(
        "p_site",
        "p_eb_site",
        "probability of a change, Gamma prior with the site's rate: p_eb_site",
    ),
    // The index of Olston & Pandey 2008 (eq. 4) if a copy is either fresh or stale: (1 − (1 + x)e^−x)/λ with x = λt. Its
    // optimum is that of Cho & Garcia-Molina 2000: pages that change too fast to be kept fresh are given up.
    by_terminal("u_fresh", "gain in freshness (Olston and Pandey), Gamma prior with the rate of all pages"),
    by_terminal("u_fresh_site", "gain in freshness (Olston and Pandey), Gamma prior with the site's rate"),
    // The same with the page's signals and what its site's signals proved to be worth (Busa-Fekete et al. 2025). The same
    // scores without signals.
    by_terminal(
        "u_fresh_signal",
        "gain in freshness, given signals (Busa-Fekete et al.), Gamma prior with the site's rate",
    ),
    announced::KIND,
    // The same index if the m-th unseen change costs 1/m (Kolobov et al. 2019): t − (1 − e^−x)/λ with x = λt. It rises
    // with the rate, so no page is given up.
    by_terminal(
        "u_harm",
        "gain in harmonic penalty (Olston and Pandey), Gamma prior with the rate of all pages",
    ),
    by_terminal(
        "u_harm_site",
        "gain in harmonic penalty (Olston and Pandey), Gamma prior with the site's rate",
    ),
    // The same index if a copy costs its age: t²/2 − (1 − (1 + x)e^−x)/λ² with x = λt (age: Cho & Garcia-Molina 2000).
    by_terminal("u_age", "gain in age (Olston and Pandey), Gamma prior with the rate of all pages"),
    by_terminal("u_age_site", "gain in age (Olston and Pandey), Gamma prior with the site's rate"),
    // The mean of the prior is the rate of the page's siblings, shrunk towards that of its site.
    by_expression(
        "p_sib",
        "p_eb_sib",
        "probability of a change, Gamma prior with the siblings' rate: p_eb_sib",
    ),
    // The hazard times the burst among the siblings since the page's last visit, and gains of a Poisson process with it.
    by_terminal("p_burst", "probability of a change, given what visits of its siblings have shown"),
    by_terminal("u_fresh_sib", "gain in freshness, given what visits of its siblings have shown"),
    by_terminal("u_harm_sib", "gain in harmonic penalty, given what visits of its siblings have shown"),
    // The model that learns from the policy's own visits ([`NextChangeModel`](recrawl_formula::NextChangeModel)).
    by_terminal("p_next", "probability of a change, by the model learned from the visits so far"),
    by_terminal("u_fresh_next", "gain in freshness, by the same model"),
    by_terminal("u_harm_next", "gain in harmonic penalty, by the same model"),
    true_rate::KIND,
    oracle::KIND,
];

const fn by_builtin(name: &'static str, help: &'static str) -> ReplayPolicyKind {
    ReplayPolicyKind { name, help, make: Make::Builtin }
}

const fn by_expression(name: &'static str, text: &'static str, help: &'static str) -> ReplayPolicyKind {
    ReplayPolicyKind { name, help, make: Make::Expression(text) }
}

/// The policy of a terminal, which has its name.
const fn by_terminal(name: &'static str, help: &'static str) -> ReplayPolicyKind {
    by_expression(name, name, help)
}

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
            Make::Builtin => ReplayFormula::builtin(self.name, basis),
            Make::Expression(text) => ReplayFormula::expression(self.name, text),
            Make::Bound(make) => make(data),
        }
    }
}

#[cfg(test)]
mod tests;
