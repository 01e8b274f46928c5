use super::*;
use crate::kind::ChangeKind;
use proptest::prelude::*;
use recrawl_types::{Cycle, UrlRules};
use std::collections::{BTreeMap, BTreeSet};

const WINDOW: usize = 4;
const DAY: u64 = GIVE_UP_AFTER.as_millis() as u64;

fn change(number: usize) -> ChangeNotice {
    let url = UrlRules::keep_all().canonicalize(&format!("http://a.test/{number}")).unwrap();
    let kind = ChangeKind::Changed;
    ChangeNotice {
        id: format!("msg_{number}"),
        kind,
        url,
        cycle: Cycle(1),
        round: Round(1),
        time: 1,
        status: None,
        reason: None,
        is_same: false,
    }
}

/// A crawl's changes, a target that answers by a rule, and a clock.
struct DeliveryWorld {
    delivery: Delivery,
    /// Changes read so far, of all.
    read: usize,
    total: usize,
    now: u64,
    /// In flight, by id.
    sent: Vec<String>,
    taken: BTreeMap<String, u32>,
    tries: Vec<u64>,
}

impl DeliveryWorld {
    fn new(total: usize) -> DeliveryWorld {
        let delivery = Delivery::from(Round(1));
        DeliveryWorld {
            delivery,
            read: 0,
            total,
            now: 1_000,
            sent: Vec::new(),
            taken: BTreeMap::new(),
            tries: Vec::new(),
        }
    }

    /// Sends what may be sent; gives the time of the next try.
    fn send(&mut self) -> u64 {
        loop {
            assert!(self.sent.len() <= WINDOW);
            match self.delivery.next(self.now, WINDOW, self.read < self.total) {
                DeliveryStep::Read => {
                    self.delivery.hold(vec![change(self.read)]);
                    self.read += 1;
                }
                DeliveryStep::Send(change) => {
                    assert!(!self.sent.contains(&change.id), "{} is in flight twice", change.id);
                    self.sent.push(change.id);
                    self.tries.push(self.now);
                }
                DeliveryStep::Wait(until) => return until,
            }
        }
    }

    /// The target answers what is in flight.
    fn answer(&mut self, takes: impl Fn(&str) -> bool) {
        for id in std::mem::take(&mut self.sent) {
            self.now += 1;
            if takes(&id) {
                *self.taken.entry(id.clone()).or_default() += 1;
                self.delivery.took(&id, self.now);
            } else {
                self.delivery.failed(&id, self.now, "no answer".into());
            }
        }
    }

    /// For so long. The clock jumps to the next try.
    fn run(&mut self, millis: u64, takes: impl Fn(&str) -> bool) {
        let end = self.now + millis;
        while self.now < end {
            let until = self.send();
            if self.sent.is_empty() {
                self.now = until.clamp(self.now + 1, end);
            }
            self.answer(&takes);
        }
    }
}

#[test]
fn a_target_that_takes_all_gets_each_once() {
    let mut world = DeliveryWorld::new(100);
    world.run(1_000, |_| true);
    assert_eq!((world.taken.len(), world.tries.len()), (100, 100));
    assert!(world.delivery.held.is_empty());
}

#[test]
fn a_target_gets_nothing_before_the_time_that_it_asks_for() {
    let mut world = DeliveryWorld::new(100);
    world.send();
    let until = world.now + 600_000;
    world.delivery.rest(until);
    world.answer(|_| false);
    let tries = world.tries.len();
    assert_eq!(world.delivery.failing.as_ref().unwrap().retry_at, until, "so it is shown");
    assert_eq!(world.delivery.next_digest(world.now, 1_000, Round(1), None), DigestStep::Wait(until));
    world.run(590_000, |_| true);
    assert_eq!((tries, world.tries.len(), world.read), (WINDOW, WINDOW, 100), "only read");
    world.run(20_000, |_| true);
    assert_eq!((world.taken.len(), world.tries[WINDOW] >= until), (100, true));
    // A new configuration may name another receiver.
    world.delivery.rest(u64::MAX);
    world.delivery.restart(false);
    world.delivery.hold(vec![change(200)]);
    assert!(matches!(world.delivery.next(world.now, WINDOW, false), DeliveryStep::Send(_)));
}

#[test]
fn a_dead_target_is_tried_less_and_less_and_gets_all_when_it_is_back() {
    let mut world = DeliveryWorld::new(10_000);
    world.run(3 * DAY, |_| false);
    assert!(world.delivery.is_failing());
    assert!(world.tries.len() < 120, "{} tries in three days", world.tries.len());
    assert!(world.read < 120 && world.delivery.given_up == 0, "{} read", world.read);
    let last = world.tries[world.tries.len() - 1] - world.tries[world.tries.len() - 2];
    assert!((0..9).contains(&(last - MAX_DELAY.as_millis() as u64)), "{last}");
    world.run(2 * 3_600_000, |_| true);
    assert_eq!((world.taken.len(), world.delivery.given_up), (10_000, 0));
    assert!(world.taken.values().all(|times| *times == 1) && !world.delivery.is_failing());
}

#[test]
fn refused_messages_hold_up_no_others_and_are_given_up_after_a_day() {
    let mut world = DeliveryWorld::new(500);
    world.run(60_000, |id| !id.ends_with("7"));
    assert_eq!(world.taken.len(), 450, "the others are told within a minute");
    assert_eq!(world.delivery.given_up, 0);
    // Nothing shows that the target would take others.
    world.run(5 * DAY, |id| !id.ends_with("7"));
    assert_eq!(world.delivery.given_up, 0);
    world.total += 1;
    world.run(DAY / 24 + 1, |id| !id.ends_with("7"));
    assert_eq!((world.taken.len(), world.delivery.given_up, world.delivery.held.len()), (451, 50, 0));
}

/// Hourly rounds of 100 changes, of which the target refuses ten for ever.
#[test]
fn refused_messages_never_slow_down_the_others() {
    const HOUR: u64 = 3_600_000;
    let takes = |id: &str| !id.ends_with('7');
    let mut world = DeliveryWorld::new(0);
    for round in 1..=48 {
        world.total += 100;
        world.run(60_000, takes);
        assert_eq!(world.taken.len(), round * 90, "after the minute of round {round}");
        world.run(HOUR - 60_000, takes);
        assert!(!world.delivery.is_failing(), "round {round}: {:?}", world.delivery.failing);
    }
    let tries = world.tries.len() - world.taken.len();
    assert!(tries < 48 * 10 * 40, "{tries} tries of refused messages");
    assert!(world.delivery.given_up >= 23 * 10, "{} given up", world.delivery.given_up);
    assert!(world.taken.values().all(|times| *times == 1));
}

#[test]
fn what_failed_before_a_target_broke_down_is_not_given_up_while_it_takes_nothing() {
    let mut world = DeliveryWorld::new(1);
    world.run(1_000, |_| false);
    world.total += 1;
    world.run(1_000, |id| id == "msg_1");
    world.total += 3;
    world.run(3 * DAY, |_| false);
    assert_eq!((world.taken.len(), world.delivery.given_up), (1, 0));
    world.run(DAY / 12, |_| true);
    assert_eq!((world.taken.len(), world.delivery.given_up), (5, 0));
}

#[test]
fn a_message_that_is_refused_alone_delays_the_next_one_by_nothing() {
    let mut world = DeliveryWorld::new(1);
    world.run(DAY / 2, |_| false);
    world.total += 1;
    world.send();
    assert!(world.sent.contains(&"msg_1".to_owned()), "{:?}", world.sent);
}

#[test]
fn no_more_than_the_limit_is_held() {
    let mut world = DeliveryWorld::new(5_000);
    world.run(DAY / 24, |id| id == "msg_0");
    for _ in 0..MAX_HELD * 2 {
        world.run(3_600_000, |_| false);
    }
    assert!(world.delivery.held.len() <= MAX_HELD);
}

#[test]
fn a_target_that_is_full_of_refused_messages_goes_on_after_a_day() {
    let half = MAX_HELD + 100;
    let mut world = DeliveryWorld::new(2 * half);
    let takes = |id: &str| id.ends_with(['0', '2', '4', '6', '8']);
    world.run(DAY / 2, takes);
    assert_eq!((world.taken.len(), world.delivery.held.len()), (MAX_HELD, MAX_HELD));
    world.run(3 * DAY, takes);
    assert_eq!((world.taken.len(), world.delivery.held.len()), (half, half - MAX_HELD));
    assert_eq!(world.delivery.given_up, MAX_HELD as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The program is killed at any time and goes on from any earlier copy of the state.
    #[test]
    fn from_any_copy_each_change_is_told_at_least_once(
        steps in proptest::collection::vec((0u8..8, any::<u16>()), 1..60), total in 1usize..80,
    ) {
        let mut world = DeliveryWorld::new(total);
        let mut copy = (world.delivery.clone(), world.read);
        for (what, some) in steps {
            match what {
                0 => copy = (world.delivery.clone(), world.read),
                1 => {
                    // As from the file: what is in flight is forgotten.
                    let text = serde_json::to_string(&copy.0).unwrap();
                    (world.delivery, world.read) = (serde_json::from_str(&text).unwrap(), copy.1);
                    world.sent.clear();
                }
                // Less than a day in all, after which messages may be given up.
                2 => { world.now += u64::from(some) * 20; }
                3 | 4 => { world.send(); }
                _ => world.answer(|id| !(id.len() as u64 + world_hash(id) + u64::from(some)).is_multiple_of(3)),
            }
        }
        world.run(2 * 3_600_000, |_| true);
        let ids: BTreeSet<String> = (0..total).map(|number| change(number).id).collect();
        prop_assert_eq!(world.taken.keys().cloned().collect::<BTreeSet<_>>(), ids);
    }
}

fn world_hash(id: &str) -> u64 {
    id.bytes().map(u64::from).sum()
}
