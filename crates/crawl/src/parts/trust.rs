//! Trust in hosts' validators: the sign given by each visit, and what a cycle teaches.

use crate::failure::Failure;
use crate::lesson::RoundLesson;
use recrawl_fetcher::{Condition, FetchResult};
use recrawl_repository::SledTables;
use recrawl_types::{
    Belief, Change, DatedRound, HostTable, Origin, SignTally, ValidatorSign, ValidatorTrust, Visit,
};
use std::collections::BTreeMap;

/// The evidence of a visit about the host's validators, if it sent them. `is_same` means that the body
/// equals that of the last visit.
pub fn sign(
    condition: Condition,
    result: &FetchResult,
    change: Option<Change>,
    is_same: bool,
) -> Option<ValidatorSign> {
    match (condition, result, change?) {
        (Condition::Unconditional, ..) => None,
        (Condition::Conditional, FetchResult::NotModified(_), _) => Some(ValidatorSign::Confirmed),
        (Condition::Conditional, _, Change::Changed) => Some(ValidatorSign::Shown),
        (Condition::Conditional, _, Change::Unchanged) if is_same => Some(ValidatorSign::Vain),
        (Condition::Checked, _, Change::Changed) => Some(ValidatorSign::Hidden),
        (Condition::Checked, _, Change::Unchanged) => Some(ValidatorSign::Confirmed),
        (Condition::Conditional | Condition::Checked, ..) => None,
    }
}

/// The evidence of a cycle about validators, a small entry for each origin that was sent any.
#[derive(Default)]
pub struct TrustLesson(BTreeMap<Origin, SignTally>);

impl RoundLesson for TrustLesson {
    fn visited(&mut self, visit: &Visit) {
        if let Some(sign) = visit.sign {
            self.0.entry(Origin::from_url(&visit.url)).or_default().add(sign);
        }
    }

    /// Adds the counts to each host's trust, once per cycle. The fetcher must have ended, since it
    /// writes the same entries.
    fn store(&mut self, tables: &SledTables, DatedRound { round, cycle }: DatedRound) -> Result<(), Failure> {
        for (origin, tally) in std::mem::take(&mut self.0) {
            let mut state = HostTable::load(tables, &origin)?.unwrap_or_default();
            let before = state.trust;
            state.trust.fold(&tally, cycle, round);
            if state.trust == before {
                continue;
            }
            if state.trust.belief != before.belief {
                tracing::warn!(%origin, "validators {}", words(&state.trust));
            }
            HostTable::store(tables, &origin, &state)?;
        }
        Ok(())
    }
}

/// One word for programs.
pub fn name(belief: Belief) -> &'static str {
    match belief {
        Belief::Believed => "believed",
        Belief::Lying => "lying",
        Belief::Vain => "vain",
    }
}

/// Text for people.
pub fn words(trust: &ValidatorTrust) -> String {
    let ValidatorTrust { since, shown, hidden, .. } = trust;
    match trust.belief {
        Belief::Believed => format!("trusted: {shown} changes reported, {hidden} hidden behind a 304"),
        Belief::Lying => format!(
            "not trusted since cycle {since}: changes were hidden behind a 304; \
             {shown} of {} changes reported that restore trust",
            ValidatorTrust::SHOWN_TO_RETURN
        ),
        Belief::Vain => format!("not sent since cycle {since}: they saved no transfers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_fetcher::Response;
    use recrawl_types::{Cycle, HostState, UrlRules};

    #[test]
    fn what_a_visit_tells() {
        let (page, same) =
            (FetchResult::Page(Box::default()), FetchResult::NotModified(Box::<Response>::default()));
        let (changed, unchanged) = (Some(Change::Changed), Some(Change::Unchanged));
        for (condition, result, change, is_same, told) in [
            (Condition::Unconditional, &page, changed, false, None),
            (Condition::Conditional, &same, unchanged, false, Some(ValidatorSign::Confirmed)),
            (Condition::Conditional, &page, changed, false, Some(ValidatorSign::Shown)),
            (Condition::Conditional, &page, unchanged, true, Some(ValidatorSign::Vain)),
            // Other bytes with the same text: validators depend on the bytes.
            (Condition::Conditional, &page, unchanged, false, None),
            (Condition::Checked, &page, changed, false, Some(ValidatorSign::Hidden)),
            (Condition::Checked, &page, unchanged, true, Some(ValidatorSign::Confirmed)),
            (Condition::Checked, &page, Some(Change::Undecided), false, None),
            (
                Condition::Checked,
                &FetchResult::Nothing(recrawl_types::Outcome::RobotsDenied),
                None,
                false,
                None,
            ),
        ] {
            assert_eq!(sign(condition, result, change, is_same), told, "{condition:?} {change:?}");
        }
    }

    #[test]
    fn a_lesson_is_kept_once_beside_what_the_fetcher_keeps() {
        let tables = SledTables::temporary().unwrap();
        let url = UrlRules::default().canonicalize("http://a.test/").unwrap();
        let origin = Origin::from_url(&url);
        let state = HostState { requests: 7, ..HostState::default() };
        HostTable::store(&tables, &origin, &state).unwrap();
        let tally = SignTally { hidden: 3, ..SignTally::default() };
        for _ in 0..2 {
            TrustLesson([(origin.clone(), tally)].into())
                .store(&tables, DatedRound::only_of(Cycle(4)))
                .unwrap();
            let kept = HostTable::load(&tables, &origin).unwrap().unwrap();
            assert_eq!((kept.requests, kept.trust.belief, kept.trust.since), (7, Belief::Lying, Cycle(4)));
            assert!(words(&kept.trust).contains("since cycle 4"));
        }
    }
}
