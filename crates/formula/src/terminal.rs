//! The terminals: the values of a page that an expression can use, one file each.

mod aad;
mod burst;
mod cg;
mod eb;
mod eb_site;
mod gad;
mod global_rate;
mod importance;
mod in_links_rank;
mod mm;
mod n;
mod nad;
mod p_aad;
mod p_burst;
mod p_eb;
mod p_eb_sib;
mod p_eb_site;
mod p_gad;
mod p_nad;
mod p_next;
mod p_next_section;
mod p_sad;
mod p_signal;
mod quiet;
mod recent_2;
mod recent_32;
mod recent_8;
mod relevance;
mod sad;
mod section_rate;
mod sib_rate;
mod signals;
mod site_rate;
mod span;
mod span_changed;
mod span_same;
mod streak;
mod t;
mod u_age;
mod u_age_site;
mod u_fresh;
mod u_fresh_next;
mod u_fresh_next_section;
mod u_fresh_sib;
mod u_fresh_signal;
mod u_fresh_site;
mod u_harm;
mod u_harm_next;
mod u_harm_next_section;
mod u_harm_sib;
mod u_harm_site;
mod weekday;
mod x;

use crate::math::exp;
use crate::signal::Signalled;
use crate::{Basis, Estimator, Tile, estimator};
use recrawl_types::{Cycle, Reads, decay};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::LazyLock;

/// A value that a page's record holds or that follows from it in constant time.
#[derive(Debug)]
pub struct Terminal {
    /// Name in expressions (`X` is a capital, as in the papers).
    pub name: &'static str,
    /// A short description with its unit.
    pub help: &'static str,
    /// The history fields that it reads, besides the cycle of the last visit.
    pub reads: fn(Basis) -> Reads,
    /// Fills `out` with the value of every row of the tile. Never −0, which the simplifier relies
    /// on.
    pub load: fn(&Tile<'_>, out: &mut [f64]),
}

/// Every terminal, in display order; each [`TerminalSet`] is a prefix of it.
pub static ALL: &[&Terminal] = &[
    &n::TERMINAL,
    &x::TERMINAL,
    &t::TERMINAL,
    &cg::TERMINAL,
    &nad::TERMINAL,
    &sad::TERMINAL,
    &aad::TERMINAL,
    &gad::TERMINAL,
    &p_nad::TERMINAL,
    &p_sad::TERMINAL,
    &p_aad::TERMINAL,
    &p_gad::TERMINAL,
    &span::TERMINAL,
    &span_changed::TERMINAL,
    &span_same::TERMINAL,
    &quiet::TERMINAL,
    &recent_2::TERMINAL,
    &recent_8::TERMINAL,
    &recent_32::TERMINAL,
    &streak::TERMINAL,
    &weekday::TERMINAL,
    &mm::TERMINAL,
    &global_rate::TERMINAL,
    &site_rate::TERMINAL,
    &eb::TERMINAL,
    &p_eb::TERMINAL,
    &u_fresh::TERMINAL,
    &u_harm::TERMINAL,
    &u_age::TERMINAL,
    &eb_site::TERMINAL,
    &p_eb_site::TERMINAL,
    &u_fresh_site::TERMINAL,
    &u_harm_site::TERMINAL,
    &u_age_site::TERMINAL,
    &sib_rate::TERMINAL,
    &p_eb_sib::TERMINAL,
    &burst::TERMINAL,
    &p_burst::TERMINAL,
    &u_fresh_sib::TERMINAL,
    &u_harm_sib::TERMINAL,
    &p_next::TERMINAL,
    &u_fresh_next::TERMINAL,
    &u_harm_next::TERMINAL,
    &section_rate::TERMINAL,
    &p_next_section::TERMINAL,
    &u_fresh_next_section::TERMINAL,
    &u_harm_next_section::TERMINAL,
    &signals::TERMINAL,
    &p_signal::TERMINAL,
    &u_fresh_signal::TERMINAL,
    &relevance::TERMINAL,
    &importance::TERMINAL,
    &in_links_rank::TERMINAL,
];

/// The terminals at the end of [`ALL`] that no set has, since the learner's replays have no signals, focus, importance and links.
const IN_NO_SET: usize = 6;
/// The terminals before these, which only [`TerminalSet::Related`] has.
const OF_RELATED_PAGES: usize = 13;

/// A set of terminals for expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalSet {
    /// n, X and t: "GP4C" in the article of Santos et al. (2015), and all that the thesis (2013) has.
    #[default]
    Basic,
    /// These and the rates of the five estimators: the article's "GP4C with all terminals".
    All,
    /// Every terminal that follows from the visits of a page and of its site.
    Extended,
    /// These, what visits of siblings and of sections showed, and the model of the next change.
    Related,
}

impl TerminalSet {
    /// Every set.
    pub const ALL: [TerminalSet; 4] =
        [TerminalSet::Basic, TerminalSet::All, TerminalSet::Extended, TerminalSet::Related];

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            TerminalSet::Basic => "basic",
            TerminalSet::All => "all",
            TerminalSet::Extended => "extended",
            TerminalSet::Related => "related",
        }
    }

    /// The set with this name.
    pub fn named(name: &str) -> Option<TerminalSet> {
        TerminalSet::ALL.into_iter().find(|set| set.name() == name)
    }

    /// Its terminals.
    pub fn terminals(self) -> &'static [&'static Terminal] {
        match self {
            TerminalSet::Basic => &ALL[..3],
            TerminalSet::All => &ALL[..3 + estimator::ALL.len()],
            TerminalSet::Extended => &ALL[..ALL.len() - IN_NO_SET - OF_RELATED_PAGES],
            TerminalSet::Related => &ALL[..ALL.len() - IN_NO_SET],
        }
    }
}

impl fmt::Display for TerminalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Terminal {
    /// The terminal with this name.
    pub fn named(name: &str) -> Option<&'static Terminal> {
        ALL.iter().copied().find(|t| t.name == name)
    }

    /// The terminal of an estimator's rate.
    const fn rate(estimator: Estimator) -> Terminal {
        Terminal { name: estimator.name, help: estimator.help, reads: estimator.reads, load: estimator.load }
    }
}

impl PartialEq for Terminal {
    fn eq(&self, other: &Terminal) -> bool {
        self.name == other.name
    }
}

/// The fields that determine the Gamma posterior with the global rate.
const GAMMA: Reads = Reads::CHANGES.and(Reads::CHANGED_CYCLES).and(Reads::FIRST);
const GAMMA_GLOBAL: Reads = GAMMA.and(Reads::GLOBAL_RATE);
/// The same with the site's rate.
const GAMMA_SITE: Reads = GAMMA.and(Reads::SITE_RATE);

/// These and signals.
const GAMMA_SIGNAL: Reads = GAMMA_SITE.and(Reads::SIGNALS);
/// What siblings showed, whose rates are shrunk towards those of sites.
const OF_SIBLINGS: Reads = Reads::SIBLINGS.and(Reads::SITE_RATE);
/// The fields that determine the Gamma posterior with the siblings' rate.
const GAMMA_SIBLINGS: Reads = GAMMA.and(OF_SIBLINGS);
/// What the model of the next change reads.
pub(crate) const NEXT_CHANGE: Reads = {
    let [two, eight, thirty_two] = Reads::DECAYED;
    let recent = two.and(eight).and(thirty_two).and(Reads::LAST_CHANGE);
    GAMMA_SIBLINGS.and(Reads::GLOBAL_RATE).and(recent).and(Reads::NEXT_CHANGE)
};

/// Inputs of the rate of a section: that of a page without a known URL is the rate of its site.
const SECTION: Reads = Reads::SECTION.and(Reads::SITE_RATE);
/// Inputs of the model with the feature of sections.
pub(crate) const NEXT_CHANGE_SECTION: Reads = NEXT_CHANGE.and(SECTION).and(Reads::NEXT_CHANGE_BY_SECTION);

/// Cycles from `since` to `cycle`; 0 if a damaged record has a later `since`.
#[inline(always)]
pub(crate) fn age(cycle: Cycle, since: u32) -> f64 {
    f64::from(cycle.since(Cycle(since)))
}

/// The weights within one half-life; every other one is one of these times a power of ½, exactly.
static WEIGHTS: LazyLock<[[f64; 32]; decay::HALF_LIVES.len()]> =
    LazyLock::new(|| decay::HALF_LIVES.map(|h| std::array::from_fn(|age| decay::weight(h, age as u32))));

/// Observed changes with weight 2^−(age/h), for half-life number `number`.
pub(crate) fn recent(number: usize, tile: &Tile<'_>, out: &mut [f64]) {
    let (c, cycle, half_life) = (tile.columns, tile.cycle, decay::HALF_LIVES[number]);
    let weights = &WEIGHTS[number];
    let (shift, within) = (half_life.trailing_zeros(), half_life - 1);
    for ((out, &sum), &at) in
        out.iter_mut().zip(tile.slice(&c.decayed[number])).zip(tile.slice(&c.last_change))
    {
        let age = cycle.since(Cycle(at));
        let weight = weights[(age & within) as usize % 32] * estimator::half_to_the(age >> shift);
        *out = f64::from(sum) * weight;
    }
}

/// 1 − e^(−λt): the probability of an event of a Poisson process with rate λ within t.
fn probability(estimator: Estimator, tile: &Tile<'_>, out: &mut [f64]) {
    (estimator.load)(tile, out);
    let (c, cycle) = (tile.columns, tile.cycle);
    tile.update(
        &c.last,
        out,
        #[inline(always)]
        move |rate, last| 1.0 - exp(-(rate * age(cycle, last))),
    );
}

/// Fills `out` with `value` of every row's rate (with the site's rate as prior), age and signals.
/// Where nothing is known of signals, there are none, and their precision and recall are 0.
fn signalled(tile: &Tile<'_>, out: &mut [f64], value: impl Fn(Signalled) -> f64) {
    (eb_site::TERMINAL.load)(tile, out);
    let c = tile.columns;
    for (row, out) in tile.rows.clone().zip(out) {
        *out = value(Signalled {
            rate: *out,
            precision: c.signal_precision.get(row).copied().unwrap_or(0.0),
            recall: c.signal_recall.get(row).copied().unwrap_or(0.0),
            age: age(tile.cycle, c.last[row]),
            signals: c.signals.get(row).copied().map_or(0.0, f64::from),
        });
    }
}

#[cfg(test)]
mod tests;
