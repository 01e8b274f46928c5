//! The policies, which select the pages of a cycle; one file each.

mod aad;
mod age;
mod binary_lambda_crawl;
mod cg;
mod chance;
mod common_crawl;
mod crawler;
pub mod formula;
mod gad;
mod lambda_crawl;
mod nad;
mod nutch;
mod oracle;
mod p_gamma;
mod p_mm;
mod p_site;
mod rand;
mod rates;
mod sad;
mod stormcrawler;
mod thompson;
mod true_rate;
mod u_age;
mod u_fresh;
mod u_harm;

pub use formula::FormulaPolicy;

use crate::{Dataset, Observed};
use recrawl_formula::Basis;

/// Scores pages by what was observed of them.
pub trait Policy: Send {
    /// Its name, for reports.
    fn name(&self) -> &str;

    /// What it ranks by as an expression, where it is one.
    fn expression(&self) -> Option<String> {
        None
    }

    /// Does it read the rates of sites or of all pages? They are filled only for those that do.
    fn needs_priors(&self) -> bool {
        false
    }

    /// Scores every page for the cycle whose visits are chosen: `out` is emptied and gets one score a
    /// page. The higher the score the sooner the visit; NaN ranks below every number. Pages that are not
    /// there may get any score.
    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>);

    /// Is told of the visits of a cycle, after them, in whatever order: for what a policy keeps of pages
    /// beside the running sums of their records.
    fn observe(&mut self, _observed: &Observed, _visits: &[Visit]) {}
}

/// A visit, as a policy is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The page.
    pub page: u32,
    /// Did it show another content than at its last visit? None at its first.
    pub changed: Option<bool>,
}

/// A policy that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name.
    pub name: &'static str,
    /// What it ranks by, in words.
    pub help: &'static str,
    /// How one is made.
    pub make: Make,
}

/// How a policy is made. The two kinds are kept apart, so that none that competes can come by the truth.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// An honest policy; it is told over what the papers' rates are estimated.
    Honest(fn(Basis) -> Box<dyn Policy>),
    /// A bound: it is given what no crawler can know.
    Bound(for<'a> fn(&'a Dataset) -> Box<dyn Policy + 'a>),
}

/// Every policy, in the order in which they are listed to people: those of the GP4C papers, their rivals, the
/// bounds.
pub const ALL: &[Kind] = &[
    rand::KIND,
    age::KIND,
    nad::KIND,
    sad::KIND,
    aad::KIND,
    gad::KIND,
    cg::KIND,
    p_mm::KIND,
    p_gamma::KIND,
    p_site::KIND,
    u_fresh::KIND,
    u_fresh::SITE,
    u_harm::KIND,
    u_harm::SITE,
    u_age::KIND,
    u_age::SITE,
    lambda_crawl::KIND,
    binary_lambda_crawl::KIND,
    binary_lambda_crawl::WITH_FLOOR,
    nutch::KIND,
    stormcrawler::KIND,
    common_crawl::KIND,
    thompson::KIND,
    true_rate::KIND,
    oracle::KIND,
];

impl Kind {
    /// The policy of that name.
    pub fn named(name: &str) -> Option<Kind> {
        ALL.iter().copied().find(|kind| kind.name == name)
    }

    /// Is it a bound, and no policy that a crawler could follow?
    pub fn is_bound(&self) -> bool {
        matches!(self.make, Make::Bound(_))
    }

    /// Makes one, to be replayed on `data`.
    pub fn build<'a>(&self, data: &'a Dataset, basis: Basis) -> Box<dyn Policy + 'a> {
        match self.make {
            Make::Honest(make) => make(basis),
            Make::Bound(make) => make(data),
        }
    }
}

#[cfg(test)]
mod tests;
