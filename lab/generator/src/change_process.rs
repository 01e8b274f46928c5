//! When the pages of a site change.

use crate::Recipe;
use crate::draws::{Chance, Draws};
use recrawl_formula::math::exp;

/// Properties shared by the pages of a site.
pub struct ChangeProcess<'a> {
    recipe: &'a Recipe,
    /// The site's part of ln(rate), standard normal.
    level: f64,
    /// The site's kind: its quantile among still, other and fast pages, from 0 to 1.
    kind: f64,
    /// Rate factors of the seven days of a week that begins with cycle 0; mean 1.
    week: [f64; 7],
}

/// Day 0, 1970-01-01, was a Thursday: two days before a Saturday.
const DAYS_TO_SATURDAY: i64 = 2;

impl ChangeProcess<'_> {
    /// Draws the site's properties; `start` is the day of cycle 0.
    pub fn of_site<'a>(recipe: &'a Recipe, start: i64, draws: &mut Draws) -> ChangeProcess<'a> {
        let (level, kind) = (draws.normal(), draws.uniform());
        let is_quiet = draws.is(Chance::new(recipe.quiet));
        let shift =
            if draws.is(Chance::new(recipe.shifted)) { 1 + (draws.uniform() * 6.0) as i64 } else { 0 };
        let mut week = [1.0; 7];
        if is_quiet {
            let busy_rate = 7.0 / (5.0 + 2.0 * recipe.quiet_rate);
            for (day, rate) in (start..).zip(&mut week) {
                let after_saturday = (day - DAYS_TO_SATURDAY - shift).rem_euclid(7);
                *rate = busy_rate * if after_saturday < 2 { recipe.quiet_rate } else { 1.0 };
            }
        }
        ChangeProcess { recipe, level, kind, week }
    }

    /// The changes of the site's next page. It also changes in the cycles in which it changes together with its folder,
    /// which ascend.
    pub fn write_page(&self, draws: &mut Draws, together: &[u32], changes: &mut Vec<(u32, u16)>) {
        changes.clear();
        let rate = self.rate(draws);
        if rate == 0.0 {
            return;
        }
        let recipe = self.recipe;
        // Bursts and rests have a mean of 1: burst · busy + (1 − burst) · rest.
        let has_spells = recipe.burst > 0.0;
        let rest = if has_spells { recipe.burst_rest } else { 1.0 };
        let busy = if has_spells { (1.0 - (1.0 - recipe.burst) * rest) / recipe.burst } else { 1.0 };
        let chances = [rest, busy].map(|burst| self.week.map(|day| Chance::at_rate(rate * day * burst)));
        // Bursts end such that they have their mean length, and begin such that they take their
        // share of time.
        let end = Chance::new(1.0 / recipe.burst_length);
        let begin = Chance::new(recipe.burst / (1.0 - recipe.burst) / recipe.burst_length);
        let returns = Chance::new(recipe.returns);
        let mut in_spell = has_spells && draws.is(Chance::new(recipe.burst));
        let (mut before, mut version, mut known) = (0, 0, 0);
        let mut together = together.iter().peekable();
        for cycle in 1..=recipe.cycles {
            if has_spells && draws.is(if in_spell { end } else { begin }) {
                in_spell = !in_spell;
            }
            let changes_alone = draws.is(chances[usize::from(in_spell)][cycle as usize % 7]);
            if together.next_if_eq(&&cycle).is_none() && !changes_alone {
                continue;
            }
            let goes_back = known > 0 && recipe.returns > 0.0 && draws.is(returns);
            known += u16::from(!goes_back);
            (before, version) = (version, if goes_back { before } else { known });
            changes.push((cycle, version));
        }
    }

    /// The mean rate of the site's next page.
    fn rate(&self, draws: &mut Draws) -> f64 {
        let recipe = self.recipe;
        let own = draws.uniform();
        let kind = if draws.is(Chance::new(recipe.site_share)) { self.kind } else { own };
        let level = recipe.site_share.sqrt() * self.level + (1.0 - recipe.site_share).sqrt() * draws.normal();
        if kind < recipe.still {
            0.0
        } else if kind >= 1.0 - recipe.fast {
            recipe.fast_rate
        } else {
            exp(recipe.mu + recipe.sigma * level)
        }
    }
}
