use super::*;
use crate::delivery::{GIVE_UP_AFTER, MAX_DELAY};
use crate::kind::ChangeKind;
use proptest::prelude::*;
use recrawl_types::{Cycle, UrlRules};
use std::collections::BTreeSet;

const HOUR: u64 = 3_600_000;
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

/// How the target answers a message.
#[derive(Clone, Copy, PartialEq)]
enum TargetAnswer {
    Takes,
    Refuses,
    /// It does not answer.
    Fails,
}

/// A crawl with one change a number, a target, a disk and a clock.
struct DigestWorld {
    delivery: Delivery,
    read: usize,
    read_to: Option<Round>,
    committed: (Round, usize),
    now: u64,
    /// What the disk has of the delivery, and how much of the backlog was read then.
    disk: (String, usize),
    taken: Vec<Vec<String>>,
    sent: u64,
}

impl DigestWorld {
    fn new(total: usize) -> DigestWorld {
        let delivery = Delivery::from(Round(1));
        let disk = (serde_json::to_string(&delivery).unwrap(), 0);
        DigestWorld {
            delivery,
            read: 0,
            read_to: None,
            committed: (Round(1), total),
            now: 1_000,
            disk,
            taken: Vec::new(),
            sent: 0,
        }
    }

    fn commit(&mut self, changes: usize) {
        self.committed = (self.committed.0.next(), self.committed.1 + changes);
    }

    fn store(&mut self) {
        self.disk = (serde_json::to_string(&self.delivery).unwrap(), self.read);
    }

    fn restart(&mut self) {
        self.delivery = serde_json::from_str(&self.disk.0).unwrap();
        (self.read, self.read_to) = (self.disk.1, None);
        self.delivery.restart(true);
    }

    /// One step; gives the time of the next one.
    fn step(&mut self, answers: &impl Fn(&[String]) -> TargetAnswer) -> u64 {
        let (number, total) = self.committed;
        match self.delivery.next_digest(self.now, HOUR, number, self.read_to) {
            DigestStep::Wait(until) => return until,
            DigestStep::Read(to) if self.read == total => self.read_to = Some(to),
            DigestStep::Read(_) => {
                self.delivery.hold(vec![change(self.read)]);
                self.read += 1;
            }
            DigestStep::Store => {
                self.delivery.stored();
                self.store();
            }
            DigestStep::Send(changes) => {
                self.sent += 1;
                let ids: Vec<String> = changes.into_iter().map(|change| change.id).collect();
                let disk: Delivery = serde_json::from_str(&self.disk.0).unwrap();
                let stored: Vec<String> = disk.marked().map(|held| held.change.id.clone()).collect();
                assert_eq!(ids, stored, "it is stored before it is sent");
                match answers(&ids) {
                    TargetAnswer::Takes => {
                        self.delivery.took_digest(self.now);
                        self.taken.push(ids);
                    }
                    answer => {
                        let is_refused = answer == TargetAnswer::Refuses;
                        self.delivery.failed_digest(self.now, "no".into(), is_refused);
                    }
                }
            }
        }
        self.now
    }

    /// For so long. The clock jumps to the next step.
    fn run(&mut self, millis: u64, answers: impl Fn(&[String]) -> TargetAnswer) {
        let end = self.now + millis;
        while self.now < end {
            let until = self.step(&answers);
            if until > self.now {
                self.now = until.min(end);
            }
        }
    }

    fn taken(&self) -> BTreeSet<String> {
        self.taken.iter().flatten().cloned().collect()
    }
}

fn all(total: usize) -> BTreeSet<String> {
    (0..total).map(|number| change(number).id).collect()
}

#[test]
fn a_digest_comes_at_the_end_of_the_period_in_as_few_messages_as_it_takes() {
    let mut world = DigestWorld::new(250);
    world.run(HOUR - 1_001, |_| TargetAnswer::Takes);
    assert!(world.taken.is_empty() && world.read == 0, "nothing is read before");
    world.run(1_000, |_| TargetAnswer::Takes);
    assert_eq!(world.taken.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
    world.run(3 * HOUR, |_| TargetAnswer::Takes);
    assert_eq!(world.taken.len(), 3, "without changes there is no digest");
    world.commit(1);
    world.run(HOUR, |_| TargetAnswer::Takes);
    assert_eq!((world.taken.len(), world.taken()), (4, all(251)));
}

#[test]
fn a_digest_that_is_too_large_is_told_in_smaller_ones() {
    let mut world = DigestWorld::new(250);
    let takes = |ids: &[String]| if ids.len() > 20 { TargetAnswer::Refuses } else { TargetAnswer::Takes };
    world.run(2 * HOUR, takes);
    assert_eq!(world.taken(), all(250));
    assert_eq!(world.taken.iter().map(Vec::len).sum::<usize>(), 250, "none is told twice");
}

#[test]
fn a_change_that_is_refused_alone_holds_up_no_others_and_is_given_up() {
    let mut world = DigestWorld::new(250);
    let answers = |ids: &[String]| match ids.iter().any(|id| id == "msg_42") {
        true => TargetAnswer::Refuses,
        false => TargetAnswer::Takes,
    };
    world.run(3 * HOUR, answers);
    assert_eq!((world.taken().len(), world.delivery.given_up), (249, 0));
    for _ in 0..30 {
        world.commit(10);
        world.run(HOUR, answers);
    }
    assert_eq!((world.taken().len(), world.delivery.given_up), (549, 1));
    assert!(world.delivery.held.is_empty());
    let grown = world.taken.last().map(Vec::len);
    assert_eq!(grown, Some(10), "the messages are as large as before");
}

#[test]
fn a_target_that_refuses_all_loses_nothing() {
    for answer in [TargetAnswer::Refuses, TargetAnswer::Fails] {
        let mut world = DigestWorld::new(250);
        world.run(5 * DAY, |_| answer);
        assert!(world.delivery.is_failing() && world.sent < 200, "{} sent", world.sent);
        assert_eq!((world.taken.len(), world.delivery.given_up), (0, 0));
        world.run(3 * HOUR, |_| TargetAnswer::Takes);
        assert_eq!(world.taken(), all(250));
        assert!(world.taken.len() < 20, "{} messages", world.taken.len());
    }
}

#[test]
fn a_target_that_does_not_answer_gets_the_same_message_later() {
    let mut world = DigestWorld::new(250);
    world.run(DAY, |_| TargetAnswer::Fails);
    world.run(2 * MAX_DELAY.as_millis() as u64, |_| TargetAnswer::Takes);
    assert_eq!(world.taken.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
}

#[test]
fn what_a_target_has_pending_of_single_messages_is_in_its_next_digest() {
    let mut delivery = Delivery::from(Round(1));
    delivery.hold((0..3).map(change).collect());
    for id in ["msg_0", "msg_1"] {
        delivery.next(1_000, 2, false);
        delivery.failed(id, 1_000, "no".into());
    }
    let mut world = DigestWorld::new(5);
    (world.delivery, world.read) = (delivery, 3);
    world.store();
    world.restart();
    world.run(HOUR, |_| TargetAnswer::Takes);
    assert_eq!(world.taken, [(0..5).map(|number| change(number).id).collect::<Vec<_>>()]);
    // And the other way round.
    world.commit(4);
    while !matches!(world.step(&|_| TargetAnswer::Fails), until if until > world.now) {}
    world.run(HOUR, |_| TargetAnswer::Fails);
    world.delivery.restart(false);
    let sent = std::iter::from_fn(|| match world.delivery.next(world.now, 9, false) {
        crate::delivery::DeliveryStep::Send(change) => Some(change.id),
        _ => None,
    });
    assert_eq!(sent.collect::<Vec<_>>(), (5..9).map(|number| change(number).id).collect::<Vec<_>>());
    assert_eq!((world.delivery.digest_to, world.delivery.digest_at), (None, 0));
}

#[test]
fn nothing_is_sent_that_could_not_be_stored() {
    let mut world = DigestWorld::new(1);
    world.now = HOUR - 1;
    let next = |world: &mut DigestWorld| world.delivery.next_digest(world.now, HOUR, Round(1), world.read_to);
    assert_eq!(next(&mut world), DigestStep::Wait(HOUR));
    world.now = HOUR;
    assert_eq!(next(&mut world), DigestStep::Read(Round(1)));
    world.delivery.hold(vec![change(0)]);
    world.read_to = Some(Round(1));
    assert_eq!(next(&mut world), DigestStep::Store);
    // The disk is full.
    assert_eq!(next(&mut world), DigestStep::Store);
    world.delivery.stored();
    assert_eq!(next(&mut world), DigestStep::Send(vec![change(0)]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The program is killed at any time, and the target refuses, fails or loses its answers.
    #[test]
    fn each_change_is_told_at_least_once_whatever_happens(
        steps in proptest::collection::vec((0u8..10, any::<u16>()), 1..120), total in 0usize..300,
    ) {
        let mut world = DigestWorld::new(total);
        for (what, some) in steps {
            match what {
                0 => world.commit(usize::from(some % 150)),
                1 => world.restart(),
                2 => world.store(),
                // Less than a day in all, after which changes may be given up.
                3 | 4 => world.now += u64::from(some) * 10,
                _ => {
                    let answers = |ids: &[String]| match (ids.len() + usize::from(some)) % 3 {
                        0 => TargetAnswer::Takes,
                        1 => TargetAnswer::Refuses,
                        _ => TargetAnswer::Fails,
                    };
                    world.step(&answers);
                }
            }
        }
        world.run(4 * HOUR, |_| TargetAnswer::Takes);
        prop_assert_eq!(world.taken(), all(world.committed.1));
    }
}
