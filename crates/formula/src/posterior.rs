//! What is known of a page's rate of change once its own history is weighed against its prior.

use crate::kernel::vectorised;
use crate::math::{exp, ln};
use crate::{Priors, Tile, terminal};

/// The Gamma distribution of a page's rate. The prior has shape a = [`Priors::SHAPE`] and a mean m that
/// others have shown, so that its second parameter is b = a/m; X changes seen while the page was watched
/// for e cycles make of them a' = a + X, b' = b + e. Of an interval that met a change only half counts as
/// watched: the change came in its middle on average, and what came after it could not be seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Posterior {
    /// a'.
    pub shape: f64,
    /// b', in cycles.
    pub watched: f64,
}

/// Whose rate is the mean of the prior.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mean {
    /// That of all pages together.
    Global,
    /// That of the page's site.
    Site,
}

impl Posterior {
    /// The mean rate, in changes a cycle: a'/b'.
    #[inline(always)]
    pub fn rate(self) -> f64 {
        self.shape / self.watched
    }

    /// The logarithm, sign turned, of the probability of no change within `t` cycles: a'·ln(1 + t/b').
    #[inline(always)]
    fn hazard(self, t: f64) -> f64 {
        self.shape * ln(1.0 + t / self.watched)
    }
}

/// Fills `out` with the probability of a change since the last visit, 1 − (b'/(b' + t))^a': that of a Poisson
/// process whose rate is not known better than this.
pub(crate) fn load_probability(tile: &Tile<'_>, mean: Mean, out: &mut [f64]) {
    load(
        tile,
        mean,
        out,
        #[inline(always)]
        |p, t| p.hazard(t),
    );
    // In a loop of its own, since both together need more registers than there are.
    vectorised(
        #[inline(always)]
        move || {
            out.iter_mut().for_each(
                #[inline(always)]
                |out| *out = 1.0 - exp(-*out),
            )
        },
    );
}

/// Fills `out` with `value` of every row's posterior and age.
#[inline(always)]
pub(crate) fn load(tile: &Tile<'_>, mean: Mean, out: &mut [f64], value: impl Fn(Posterior, f64) -> f64) {
    let c = tile.columns;
    match mean {
        Mean::Global => out.fill(Priors::SHAPE / c.global_rate),
        Mean::Site => tile.map(&c.site_rate, out, |rate| Priors::SHAPE / rate),
    }
    let (x, changed) = (tile.of(&c.changes), tile.of(&c.changed_cycles));
    let cycle = tile.cycle;
    let (first, last) = (tile.of(&c.first), tile.of(&c.last));
    vectorised(
        #[inline(always)]
        move || {
            let pages = x.iter().zip(changed).zip(first).zip(last);
            for (out, (((&x, &changed), &first), &last)) in out.iter_mut().zip(pages) {
                let watched = f64::from(last.saturating_sub(first)) - 0.5 * f64::from(changed);
                let shape = Priors::SHAPE + f64::from(x);
                let posterior = Posterior { shape, watched: *out + watched };
                *out = value(posterior, terminal::age(cycle, last));
            }
        },
    );
}
