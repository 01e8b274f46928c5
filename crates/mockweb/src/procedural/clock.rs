//! Clocks of hosts, so that the habits of a web change while it is crawled.
//!
//! The change laws of pages are functions of a local time. It advances by a host's speed in each cycle, so a host at
//! twice the speed changes twice as often, and what happened before a speed changed stays as it was. Without options
//! local time is the cycle.

use crate::seed::{mix, unit};

const LIVELY: u64 = 0x6c69_7665;
const DRIFTS: u64 = 0x6472_6966;
/// Speeds of the days of a week; their mean is 1.
const WEEK: [f64; 7] = [1.25, 1.25, 1.25, 1.25, 1.25, 0.5, 0.25];

/// From a cycle on, some hosts change more or less often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateDrift {
    /// The first cycle of the new speed.
    pub cycle: u32,
    /// Factor of the speed, above 0.
    pub factor: f64,
    /// Share of hosts, 0 to 1.
    pub share: f64,
}

impl std::str::FromStr for RateDrift {
    type Err = String;

    /// Parses `CYCLE:FACTOR` and `CYCLE:FACTOR@SHARE`.
    fn from_str(text: &str) -> Result<RateDrift, String> {
        let form = || format!("{text:?} is not of the form CYCLE:FACTOR or CYCLE:FACTOR@SHARE");
        let (cycle, rest) = text.split_once(':').ok_or_else(form)?;
        let (factor, share) = rest.split_once('@').unwrap_or((rest, "1"));
        let cycle = cycle.parse().map_err(|_| form())?;
        let [factor, share]: [f64; 2] = match [factor.parse(), share.parse()] {
            [Ok(factor), Ok(share)] => [factor, share],
            _ => return Err(form()),
        };
        if !(factor.is_finite() && factor > 0.0 && factor <= 1000.0) {
            return Err(format!("factor {factor}: use a number above 0, at most 1000"));
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(format!("share {share}: use a number from 0 to 1"));
        }
        Ok(RateDrift { cycle, factor, share })
    }
}

/// How the habits of hosts differ and change. The default is all alike, for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct Habits {
    /// The liveliest host changes this many times as often as the mean, the quietest as many times less.
    pub liveliness: f64,
    /// Changes of speed.
    pub drifts: Vec<RateDrift>,
    /// Cycles at which quiet and lively hosts trade places: the liveliest with the quietest, and so on.
    pub swaps: Vec<u32>,
    /// Do hosts change less often at the end of a week?
    pub week: bool,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits { liveliness: 1.0, drifts: Vec::new(), swaps: Vec::new(), week: false }
    }
}

/// The local time of a host: pieces of constant speed, each from a cycle and a local time on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostClock {
    pieces: Vec<SpeedPiece>,
    week: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct SpeedPiece {
    cycle: u32,
    local: f64,
    speed: f64,
}

impl Habits {
    /// The clocks of all hosts; none if all have the time of the web.
    pub(super) fn clocks(&self, seed: u64, hosts: u32) -> Option<Vec<HostClock>> {
        if *self == Habits::default() {
            return None;
        }
        let spread = self.liveliness.ln();
        let base: Vec<f64> = (0..hosts)
            .map(|host| ((2.0 * unit(mix(&[seed, LIVELY, u64::from(host)])) - 1.0) * spread).exp())
            .collect();
        let mut ranked: Vec<u32> = (0..hosts).collect();
        ranked.sort_by(|a, b| base[*a as usize].total_cmp(&base[*b as usize]).then(a.cmp(b)));
        let mut partner = vec![0; hosts as usize];
        ranked.iter().zip(ranked.iter().rev()).for_each(|(host, other)| partner[*host as usize] = *other);
        // As many hosts as the share says, whatever their number.
        let drifting = |number: usize, drift: &RateDrift| {
            let mut drawn: Vec<u32> = (0..hosts).collect();
            drawn.sort_by_key(|host| mix(&[seed, DRIFTS, number as u64, u64::from(*host)]));
            drawn.truncate((drift.share * f64::from(hosts)).round() as usize);
            drawn
        };
        let swaps = self.swaps.iter().map(|cycle| (*cycle, SpeedEvent::Swap));
        let drifts = self.drifts.iter().enumerate().map(|(number, drift)| {
            (drift.cycle, SpeedEvent::Drift { factor: drift.factor, hosts: drifting(number, drift) })
        });
        let mut events: Vec<(u32, SpeedEvent)> = swaps.chain(drifts).collect();
        events.sort_by_key(|(cycle, _)| *cycle);
        let clock = |host: u32| {
            let (mut is_swapped, mut factor) = (false, 1.0);
            let mut clock = HostClock { pieces: Vec::new(), week: self.week };
            clock.begin(0, base[host as usize]);
            for (cycle, event) in &events {
                match event {
                    SpeedEvent::Swap => is_swapped = !is_swapped,
                    SpeedEvent::Drift { factor: by, hosts } if hosts.contains(&host) => factor *= by,
                    SpeedEvent::Drift { .. } => continue,
                }
                let of = if is_swapped { partner[host as usize] } else { host };
                clock.begin(*cycle, base[of as usize] * factor);
            }
            clock
        };
        Some((0..hosts).map(clock).collect())
    }
}

/// What changes the speeds of hosts at a cycle.
enum SpeedEvent {
    Swap,
    Drift { factor: f64, hosts: Vec<u32> },
}

/// The sum of the days' speeds in the cycles up to this one.
fn days(cycle: u32, week: bool) -> f64 {
    match week {
        false => f64::from(cycle),
        true => f64::from(cycle - cycle % 7) + WEEK[..(cycle % 7) as usize].iter().sum::<f64>(),
    }
}

impl HostClock {
    /// From this cycle on, the speed is another one.
    fn begin(&mut self, cycle: u32, speed: f64) {
        let local = self.exact(cycle);
        self.pieces.push(SpeedPiece { cycle, local, speed });
    }

    fn exact(&self, cycle: u32) -> f64 {
        let last = self.pieces.iter().rev().find(|piece| piece.cycle <= cycle);
        last.map_or(0.0, |piece| {
            piece.local + piece.speed * (days(cycle, self.week) - days(piece.cycle, self.week))
        })
    }

    /// The local time of a cycle.
    pub fn local(&self, cycle: u32) -> u32 {
        self.exact(cycle).min(f64::from(u32::MAX - 1)) as u32
    }

    /// The first cycle up to `last` at which the local time is at least this.
    pub fn cycle_of(&self, local: u32, last: u32) -> u32 {
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.local(middle) >= local { high = middle } else { low = middle + 1 }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_habits() -> impl Strategy<Value = Habits> {
        let drift = (0..300u32, 0.1..5.0f64, 0.0..=1.0f64).prop_map(|(cycle, factor, share)| RateDrift {
            cycle,
            factor,
            share,
        });
        let drifts = prop::collection::vec(drift, 0..4);
        (1.0..6.0f64, drifts, prop::collection::vec(0..300u32, 0..4), any::<bool>())
            .prop_map(|(liveliness, drifts, swaps, week)| Habits { liveliness, drifts, swaps, week })
    }

    proptest! {
        #[test]
        fn clocks_never_go_back_and_a_cycle_is_the_first_of_its_local_time(
            habits in any_habits(), seed: u64, cycle in 0..400u32,
        ) {
            for clock in habits.clocks(seed, 5).into_iter().flatten() {
                prop_assert!(clock.local(cycle) <= clock.local(cycle + 1));
                let local = clock.local(cycle);
                let first = clock.cycle_of(local, 500);
                prop_assert!(first <= cycle && clock.local(first) >= local);
                prop_assert!(first == 0 || clock.local(first - 1) < local);
            }
        }

        #[test]
        fn what_is_to_come_changes_nothing_before(habits in any_habits(), seed: u64, cycle in 0..300u32) {
            let before = Habits {
                drifts: habits.drifts.iter().copied().filter(|drift| drift.cycle < cycle).collect(),
                swaps: habits.swaps.iter().copied().filter(|swap| *swap < cycle).collect(),
                ..habits.clone()
            };
            let local = |habits: &Habits| {
                habits.clocks(seed, 5).map(|clocks| clocks.iter().map(|clock| clock.local(cycle)).collect())
            };
            let plain: Vec<u32> = vec![cycle; 5];
            let [all, before] = [&habits, &before].map(|habits| local(habits).unwrap_or(plain.clone()));
            // Shares are drawn by the number of a drift, which an earlier one may have shifted.
            if habits.drifts.iter().all(|drift| drift.cycle < cycle || drift.share == 0.0) || habits.drifts.len() < 2 {
                prop_assert_eq!(all, before);
            }
        }
    }

    #[test]
    fn speeds_multiply_and_a_second_swap_undoes_the_first() {
        let habits = |text: &[&str], swaps: &[u32]| Habits {
            liveliness: 4.0,
            drifts: text.iter().map(|drift| drift.parse().unwrap()).collect(),
            swaps: swaps.to_vec(),
            ..Habits::default()
        };
        let speeds = |habits: Habits, cycle: u32| -> Vec<f64> {
            let clocks = habits.clocks(3, 9).unwrap();
            clocks.iter().map(|clock| clock.exact(cycle + 1) - clock.exact(cycle)).collect()
        };
        let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        let base = speeds(habits(&[], &[]), 0);
        assert!(base.iter().all(|speed| (0.25..=4.0).contains(speed)), "{base:?}");
        assert!(same(&speeds(habits(&[], &[50, 80]), 90), &base));
        let swapped = speeds(habits(&[], &[50, 80]), 60);
        let sorted = |mut speeds: Vec<f64>| {
            speeds.sort_by(f64::total_cmp);
            speeds
        };
        assert!(same(&sorted(swapped.clone()), &sorted(base.clone())) && !same(&swapped, &base));
        let quietest =
            base.iter().position(|speed| *speed == base.iter().copied().fold(9.0, f64::min)).unwrap();
        assert!((swapped[quietest] - base.iter().copied().fold(0.0, f64::max)).abs() < 1e-9);
        let drifted = speeds(habits(&["10:3@0.34", "20:2"], &[]), 30);
        let factors: Vec<f64> = drifted.iter().zip(&base).map(|(now, then)| (now / then).round()).collect();
        assert_eq!(factors.iter().filter(|factor| **factor == 6.0).count(), 3, "{factors:?}");
        assert_eq!(factors.iter().filter(|factor| **factor == 2.0).count(), 6);
    }

    #[test]
    fn a_week_has_quiet_days_and_the_same_sum() {
        assert_eq!(WEEK.iter().sum::<f64>(), 7.0);
        let clocks = Habits { week: true, ..Habits::default() }.clocks(1, 1).unwrap();
        assert_eq!([0, 7, 70].map(|cycle| clocks[0].local(cycle)), [0, 7, 70]);
        let day = |cycle: u32| clocks[0].exact(cycle + 1) - clocks[0].exact(cycle);
        assert_eq!([0, 5, 6, 12, 13].map(day), [1.25, 0.5, 0.25, 0.5, 0.25]);
    }

    #[test]
    fn drifts_are_read() {
        assert_eq!("60:3@0.33".parse(), Ok(RateDrift { cycle: 60, factor: 3.0, share: 0.33 }));
        assert_eq!("60:0.5".parse(), Ok(RateDrift { cycle: 60, factor: 0.5, share: 1.0 }));
        for wrong in ["", "60", "x:3", "60:0", "60:-1", "60:NaN", "60:3@2", "60:3@", "60:1e9"] {
            assert!(wrong.parse::<RateDrift>().is_err(), "{wrong:?}");
        }
    }
}
