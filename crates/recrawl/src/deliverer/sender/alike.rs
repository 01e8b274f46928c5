//! A target that refuses documents alike: they have a fault of their own, or it has one (say, a full index).
//!
//! A document that the target has taken before tells: it is sent again, in the same version. If the target takes it, the
//! others have the fault, and count as refused. If it does not, nothing more is sent now. Where no document was ever taken,
//! the refused ones wait, and of each further batch one is tried, until one is taken.

use super::{CallAnswers, DeliverySender};
use crate::deliverer::channel::NotSent;
use recrawl_delivery::protocol::CopyItem;
use recrawl_delivery::{BatchAnswers, CopyChange, Interrupted, ItemAnswer};

/// Documents of a batch that are refused alike at most, if no other is taken: more of them are a reason to doubt.
const MAX_ALIKE: usize = 5;

/// Documents that were refused alike by a target that has taken none.
#[derive(Default)]
pub struct RefusedAlike {
    count: usize,
    why: Option<String>,
    /// Was none taken since?
    is_open: bool,
}

impl RefusedAlike {
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn waits(&mut self) -> Option<Interrupted> {
        let why = self.why.take()?;
        Some(refuses_each(self.count, &why))
    }
}

fn refuses_each(count: usize, why: &str) -> Interrupted {
    format!("it refuses each of {count} documents: {why}").into()
}

impl CallAnswers {
    /// The reason that all verdicts share, if all of several are refusals for it.
    fn refused_alike(&self) -> Option<String> {
        let why = self.verdicts.first()?.1.clone()?;
        let is_alike = self.verdicts.iter().all(|(_, found)| found.as_ref() == Some(&why));
        (self.verdicts.len() > MAX_ALIKE && is_alike).then_some(why)
    }

    fn answer_verdicts(&mut self, answer: &ItemAnswer) {
        self.verdicts.iter().for_each(|(at, _)| self.answers[*at] = answer.clone());
    }
}

impl DeliverySender<'_> {
    /// Decides what refusals mean that are all alike: those of deletes, or before an interruption, that the target takes no
    /// more. Such a target interrupts.
    pub(super) fn judge(&mut self, answered: &mut CallAnswers, may_ask: bool) -> Option<Interrupted> {
        let why = answered.refused_alike()?;
        let count = answered.verdicts.len();
        match if may_ask { self.takes_again() } else { Some(Ok(false)) } {
            Some(Ok(true)) => None,
            Some(Ok(false)) => {
                answered.answer_verdicts(&ItemAnswer::Unknown);
                Some(refuses_each(count, &why))
            }
            Some(Err(interrupted)) => {
                answered.answer_verdicts(&ItemAnswer::Unknown);
                Some(interrupted)
            }
            None => {
                answered.answer_verdicts(&ItemAnswer::Later);
                self.alike = RefusedAlike { count: self.alike.count + count, why: Some(why), is_open: true };
                None
            }
        }
    }

    /// Does the target take again what it has? None if nothing is known that it has.
    fn takes_again(&mut self) -> Option<Result<bool, Interrupted>> {
        let (url, version) = self.taken.clone()?;
        let document = self.document(version, &url).ok()?;
        Some(match self.request(version, &[CopyItem::Put(Box::new(document))]) {
            Ok(answers) => Ok(answers.iter().all(|(answer, _)| *answer == ItemAnswer::Taken)),
            Err(NotSent::TooMany) => Ok(false),
            Err(NotSent::Interrupted(interrupted)) => Err(interrupted),
        })
    }

    /// Sends one change of these, another one each time, since the others may have the same fault.
    pub(super) fn sample(&mut self, version: u64, changes: &[CopyChange]) -> BatchAnswers {
        let at = (version % changes.len() as u64) as usize;
        let mut answered = CallAnswers::default();
        let interrupted = self.send_all(version, &changes[at..=at], &mut answered).err();
        let (mut answers, mut digests) = (vec![ItemAnswer::Later; changes.len()], vec![0; changes.len()]);
        let reasons = answered.reasons.into_values().map(|why| (at, why)).collect();
        if let (Some(answer), Some(digest)) = (answered.answers.pop(), answered.digests.pop()) {
            let is_alike = answered.verdicts.iter().all(|(_, why)| why.is_some() && *why == self.alike.why);
            self.alike.is_open = is_alike;
            self.alike.count += answered.verdicts.len();
            if !is_alike || answered.verdicts.is_empty() {
                (answers[at], digests[at]) = (answer, digest);
            }
        }
        self.note_taken(version, changes, &answers);
        BatchAnswers { answers, digests, reasons, interrupted }
    }
}
