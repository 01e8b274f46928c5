//! Whether a host's validators are believed: what visits told of them, and the rule.
//!
//! A 304 saves a body, and an incremental crawler lives on it; but a host that answers 304 while its pages
//! change makes them look static for ever. So a share of the 304s is checked by asking again without
//! validators, and what was found is counted here, a host (and a cycle) at a time.

use crate::{CanonicalUrl, Cycle, Round};

/// What one visit told of its host's validators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ValidatorSign {
    /// A 304, and where it was checked the page was as before.
    Confirmed = 0,
    /// Validators were sent and a page came that had changed: so a 304 would have meant something.
    Shown = 1,
    /// Validators were sent, and the very same bytes came all the same.
    Vain = 2,
    /// A 304 was checked, and the page had changed: it was a lie.
    Hidden = 3,
}

/// The signs of one host in one cycle, by number, so that their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignTally {
    /// See [`ValidatorSign::Confirmed`].
    pub confirmed: u32,
    /// See [`ValidatorSign::Shown`].
    pub shown: u32,
    /// See [`ValidatorSign::Vain`].
    pub vain: u32,
    /// See [`ValidatorSign::Hidden`].
    pub hidden: u32,
}

impl SignTally {
    /// Counts one sign.
    pub fn add(&mut self, sign: ValidatorSign) {
        let count = match sign {
            ValidatorSign::Confirmed => &mut self.confirmed,
            ValidatorSign::Shown => &mut self.shown,
            ValidatorSign::Vain => &mut self.vain,
            ValidatorSign::Hidden => &mut self.hidden,
        };
        *count = count.saturating_add(1);
    }
}

/// What a host's validators are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Belief {
    /// For true: they are sent with every request, and a 304 is an unchanged page.
    #[default]
    Believed = 0,
    /// A 304 says nothing: pages change under it.
    Lying = 1,
    /// They spare nothing: a new ETag each time, or nobody who compares it.
    Vain = 2,
}

/// What is remembered of a host's validators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValidatorTrust {
    /// What they are taken for.
    pub belief: Belief,
    /// The cycle in which that was last changed; 0 for never.
    pub since: Cycle,
    /// The last round whose signs are in the counts: a round counts once.
    pub as_of: Round,
    /// Changes that validators showed, since the belief changed.
    pub shown: u16,
    /// Changes that a 304 hid and a check found.
    pub hidden: u16,
    /// Requests in a row whose validators spared nothing.
    pub vain: u16,
}

impl ValidatorTrust {
    /// Lies that end belief. One may be a page that changed between 304 and check.
    pub const LIES: u16 = 2;
    /// Belief ends when there are more lies than one for so many changes shown. Of the lies only the
    /// checked ones are seen: with a check of every twentieth 304 that is a host that hides two in five.
    pub const SHOWN_PER_LIE: u16 = 32;
    /// Changes shown in a row, without a lie, that bring belief back.
    pub const SHOWN_TO_RETURN: u16 = 8;
    /// Requests in a row whose validators spared nothing, after which they are sent no more.
    pub const VAIN: u16 = 16;
    /// When so many changes were shown all counts are halved: a good name must not last for ever.
    const FORGET: u16 = 256;

    /// Takes in what a round of this cycle told. Once for each round: again, as after a restart, it changes nothing.
    pub fn fold(&mut self, tally: &SignTally, cycle: Cycle, round: Round) {
        if self.as_of >= round {
            return;
        }
        self.as_of = round;
        let count = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        let belief = match self.belief {
            Belief::Believed => {
                self.hidden = self.hidden.saturating_add(count(tally.hidden));
                self.shown = self.shown.saturating_add(count(tally.shown));
                let spared = tally.confirmed > 0 || tally.hidden > 0;
                self.vain = if spared { 0 } else { self.vain.saturating_add(count(tally.vain)) };
                let lies = u32::from(self.hidden) * u32::from(Self::SHOWN_PER_LIE);
                match () {
                    () if self.hidden >= Self::LIES && lies > u32::from(self.shown) => Belief::Lying,
                    () if self.vain >= Self::VAIN => Belief::Vain,
                    () => Belief::Believed,
                }
            }
            Belief::Lying => {
                let shown = self.shown.saturating_add(count(tally.shown));
                self.shown = if tally.hidden > 0 { 0 } else { shown };
                if self.shown >= Self::SHOWN_TO_RETURN { Belief::Believed } else { Belief::Lying }
            }
            Belief::Vain if tally.hidden > 0 => Belief::Lying,
            Belief::Vain if tally.confirmed > 0 => Belief::Believed,
            Belief::Vain => Belief::Vain,
        };
        if belief != self.belief {
            *self = ValidatorTrust { belief, since: cycle, as_of: round, ..ValidatorTrust::default() };
        }
        while self.shown >= Self::FORGET {
            self.shown /= 2;
            self.hidden /= 2;
        }
    }

    /// Is the page one of those whose validators are put to the test in this cycle? A lot by URL and cycle
    /// with this chance: a 304 is checked, and validators are sent also where they are not believed.
    pub fn is_tested(url: &CanonicalUrl, cycle: Cycle, share: f64) -> bool {
        const SEED: u64 = 0x7661_6c69_6461_746f; // "validato": other lots must not draw the same pages
        let lot = xxhash_rust::xxh3::xxh3_64_with_seed(url.key(), SEED ^ u64::from(cycle.0));
        ((lot >> 11) as f64) < share * (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UrlRules;

    /// Confirmed, shown, vain, hidden.
    fn tally(counts: [u32; 4]) -> SignTally {
        let [confirmed, shown, vain, hidden] = counts;
        SignTally { confirmed, shown, vain, hidden }
    }

    /// What is believed after each of these cycles.
    fn beliefs(cycles: &[[u32; 4]]) -> Vec<Belief> {
        let mut trust = ValidatorTrust::default();
        let told = |(cycle, counts): (u32, &[u32; 4])| {
            trust.fold(&tally(*counts), Cycle(cycle), Round(cycle));
            trust.belief
        };
        (1..).zip(cycles).map(told).collect()
    }

    #[test]
    fn two_lies_end_belief_unless_validators_showed_many_changes() {
        use Belief::{Believed, Lying};
        assert_eq!(beliefs(&[[50, 0, 0, 1], [50, 0, 0, 1]]), [Believed, Lying]);
        assert_eq!(beliefs(&[[50, 64, 0, 1], [50, 0, 0, 1], [50, 0, 0, 1]]), [Believed, Believed, Lying]);
        // A good name of long ago is forgotten.
        let long: Vec<[u32; 4]> = [vec![[0, 200, 0, 0]; 50], vec![[9, 0, 0, 2]; 4]].concat();
        assert_eq!(beliefs(&long).last(), Some(&Lying));
    }

    #[test]
    fn belief_comes_back_when_changes_are_shown_without_a_lie() {
        use Belief::{Believed, Lying};
        let story = [[0, 0, 0, 2], [9, 7, 0, 0], [9, 5, 0, 1], [9, 7, 0, 0], [9, 1, 0, 0], [9, 0, 0, 1]];
        assert_eq!(beliefs(&story), [Lying, Lying, Lying, Lying, Believed, Believed]);
    }

    #[test]
    fn validators_that_spare_nothing_are_not_sent_until_they_do() {
        use Belief::{Believed, Lying, Vain};
        let story = [[0, 0, 10, 0], [1, 0, 10, 0], [0, 3, 15, 0], [0, 3, 1, 0], [0, 2, 9, 0], [1, 0, 5, 0]];
        assert_eq!(beliefs(&story), [Believed, Believed, Believed, Vain, Vain, Believed]);
        assert_eq!(beliefs(&[[0, 0, 16, 0], [0, 0, 0, 1]]), [Vain, Lying]);
    }

    #[test]
    fn a_cycle_counts_once() {
        let mut trust = ValidatorTrust::default();
        for _ in 0..5 {
            trust.fold(&tally([0, 0, 0, 1]), Cycle(3), Round(3));
        }
        assert_eq!((trust.hidden, trust.belief, trust.as_of), (1, Belief::Believed, Round(3)));
    }

    #[test]
    fn the_tested_are_a_share_that_differs_by_cycle() {
        let urls: Vec<CanonicalUrl> = (0..10_000)
            .map(|i| UrlRules::default().canonicalize(&format!("http://a.test/{i}")).unwrap())
            .collect();
        let tested = |cycle, share| -> Vec<bool> {
            urls.iter().map(|url| ValidatorTrust::is_tested(url, Cycle(cycle), share)).collect()
        };
        let count = |lots: &[bool]| lots.iter().filter(|lot| **lot).count();
        assert!((400..600).contains(&count(&tested(1, 0.05))));
        assert_eq!((count(&tested(1, 0.0)), count(&tested(1, 1.0))), (0, 10_000));
        assert_eq!(tested(1, 0.05), tested(1, 0.05));
        let both = tested(1, 0.05).iter().zip(tested(2, 0.05)).filter(|(a, b)| **a && *b).count();
        assert!(both < 60, "{both}");
    }
}
