//! Rounds of several crawls, as those of one.

use recrawl_repository::JoinedRound;
use recrawl_types::{Cycle, DatedRound, Round};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Rounds of several crawls side by side: those of one cycle that come as far before its end are one. They get numbers that end
/// before `next`; what finds none is left out.
pub fn aligned(rounds: &[Vec<DatedRound>], next: Round) -> Vec<JoinedRound> {
    let mut groups = BTreeMap::<(Cycle, Reverse<usize>), Vec<(usize, DatedRound)>>::new();
    for (at, of_part) in rounds.iter().enumerate() {
        let mut of_cycle = BTreeMap::<Cycle, usize>::new();
        for round in of_part.iter().rev() {
            let before_end = of_cycle.entry(round.cycle).or_default();
            groups.entry((round.cycle, Reverse(*before_end))).or_default().push((at, *round));
            *before_end += 1;
        }
    }
    let numbers = (1..next.0).rev().map(Round);
    let mut joined: Vec<JoinedRound> = numbers
        .zip(groups.into_iter().rev())
        .map(|(round, ((cycle, _), parts))| JoinedRound { round: DatedRound { round, cycle }, parts })
        .collect();
    joined.reverse();
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_a_cycle_are_one_and_have_numbers_without_gaps() {
        let dated = |(round, cycle): (u32, u32)| DatedRound { round: Round(round), cycle: Cycle(cycle) };
        let rounds = |all: &[(u32, u32)]| all.iter().copied().map(dated).collect::<Vec<_>>();
        // The second was divided in cycle 6, and missed cycle 5.
        let parts = [rounds(&[(4, 4), (5, 5), (6, 6), (7, 7)]), rounds(&[(3, 4), (4, 6), (5, 6), (6, 7)])];
        let joined = aligned(&parts, Round(8));
        let told: Vec<_> = joined
            .iter()
            .map(|of| {
                let parts = of.parts.iter().map(|(at, round)| (*at, round.round.0)).collect::<Vec<_>>();
                (of.round.round.0, of.round.cycle.0, parts)
            })
            .collect();
        assert_eq!(
            told,
            [
                (3, 4, vec![(0, 4), (1, 3)]),
                (4, 5, vec![(0, 5)]),
                (5, 6, vec![(1, 4)]),
                (6, 6, vec![(0, 6), (1, 5)]),
                (7, 7, vec![(0, 7), (1, 6)]),
            ]
        );
        assert_eq!(aligned(&parts, Round(3)).len(), 2, "the last ones stay");
    }
}
