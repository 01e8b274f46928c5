//! The pages that only one of two plans chooses by score, and a sample of those that would not be visited.

use crate::shuffle::{Shuffle, ShufflePurpose};
use crate::{Chosen, ChosenPage, PlanError};
use recrawl_types::{Cycle, Share};
use serde::{Deserialize, Serialize};
use std::iter::Peekable;

/// How the choices by score of a plan in force and of a candidate's plan differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlap {
    /// Pages that both choose.
    pub both: u64,
    /// Pages that only the plan in force chooses.
    pub only_in_force: u64,
    /// Pages that only the candidate's plan chooses, sampled or not.
    pub only_candidate: u64,
    /// Of these, drawn for the sample.
    pub drawn: u64,
}

impl Overlap {
    /// The part of the plan in force that the candidate chooses too; none if that plan chooses nothing by score.
    pub fn share(&self) -> Option<f64> {
        let chosen = self.both + self.only_in_force;
        (chosen > 0).then(|| self.both as f64 / chosen as f64)
    }
}

/// The pages of the plan in force, and a sample of those that only the candidate's plan chooses by score.
///
/// The sample is Poisson's: each page is drawn by itself with the same probability, so its size varies. That needs
/// neither the number of such pages in advance nor memory for them.
pub struct Contested {
    in_force: Peekable<Chosen>,
    candidate: Peekable<Chosen>,
    shuffle: Shuffle,
    probability: f64,
    overlap: Overlap,
}

impl Contested {
    /// `probability` is that of the draw, from 0 to 1.
    pub fn new(in_force: Chosen, candidate: Chosen, seed: u64, cycle: Cycle, probability: f64) -> Contested {
        Contested {
            in_force: in_force.peekable(),
            candidate: candidate.peekable(),
            shuffle: Shuffle::new(seed, cycle, ShufflePurpose::Contested),
            probability,
            overlap: Overlap::default(),
        }
    }

    /// How the plans differ, once all pages are taken.
    pub fn overlap(&self) -> Overlap {
        self.overlap
    }
}

/// Is the page drawn? Its image is uniform among the 64-bit numbers.
fn draws(shuffle: &Shuffle, probability: f64, ordinal: u64) -> bool {
    (shuffle.apply(ordinal) as f64) < probability * 2f64.powi(64)
}

impl Iterator for Contested {
    type Item = Result<ChosenPage, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // An error comes out first, from either plan.
            if let Some(failed) = self.candidate.next_if(Result::is_err) {
                return Some(failed);
            }
            let ordinal_of = |page: Option<&Result<ChosenPage, PlanError>>| {
                page.and_then(|page| page.as_ref().ok()).map(|page| page.ordinal)
            };
            let next = ordinal_of(self.candidate.peek());
            let page = match self.in_force.peek() {
                Some(Ok(page)) if next.is_none_or(|ordinal| page.ordinal <= ordinal) => *page,
                Some(Err(_)) => return self.in_force.next(),
                // Only the candidate's plan has this page.
                _ => {
                    let page = match self.candidate.next()? {
                        Ok(page) => page,
                        Err(failed) => return Some(Err(failed)),
                    };
                    if page.share != Share::Score {
                        continue;
                    }
                    self.overlap.only_candidate += 1;
                    if !draws(&self.shuffle, self.probability, page.ordinal) {
                        continue;
                    }
                    self.overlap.drawn += 1;
                    return Some(Ok(ChosenPage { share: Share::Contested(self.probability), ..page }));
                }
            };
            self.in_force.next();
            let other = match next == Some(page.ordinal) {
                true => self.candidate.next().and_then(Result::ok),
                false => None,
            };
            let is_by_both = other.is_some_and(|other| other.share == Share::Score);
            let is_only_in_force = page.share == Share::Score && !is_by_both;
            if page.share == Share::Score {
                self.overlap.both += u64::from(is_by_both);
                self.overlap.only_in_force += u64::from(!is_by_both);
            }
            return Some(Ok(ChosenPage { is_only_in_force, ..page }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ListedScores, fetched, request, unfetched};
    use crate::{PlanMemory, PlanRequest, Planner};
    use std::collections::BTreeSet;

    fn chosen(seed: u64, scores: impl Fn(usize) -> f64) -> Chosen {
        let mut pages = vec![fetched(3, 50); 1000];
        pages.extend([fetched(1, 50), unfetched(0)]);
        let request = PlanRequest { pages: 120, audit_share: 0.1, discovery_share: 0.01, seed, ..request() };
        let mut policy = ListedScores((0..pages.len()).map(scores).collect());
        let hosts = std::iter::empty::<u64>();
        let mut planner = Planner::new(request, &mut policy, hosts, PlanMemory::unlimited()).unwrap();
        planner.scan(&crate::testing::columns(&pages)).unwrap();
        planner.finish().unwrap().chosen
    }

    fn in_force(page: usize) -> f64 {
        (page * 7919 % 1009) as f64
    }

    fn candidate(page: usize) -> f64 {
        in_force(page) + (page * 31 % 400) as f64
    }

    fn by_score(pages: Chosen) -> BTreeSet<u64> {
        pages
            .map(|page| page.unwrap())
            .filter(|page| page.share == Share::Score)
            .map(|page| page.ordinal)
            .collect()
    }

    #[test]
    fn the_plan_in_force_stays_and_what_differs_is_counted() {
        for probability in [0.0, 0.3, 1.0] {
            let [f, g] = [by_score(chosen(7, in_force)), by_score(chosen(7, candidate))];
            let mut contested =
                Contested::new(chosen(7, in_force), chosen(7, candidate), 7, Cycle(100), probability);
            let taken: Vec<ChosenPage> = contested.by_ref().map(Result::unwrap).collect();
            assert!(taken.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal), "in order, once each");
            let plan: Vec<_> =
                taken.iter().filter(|page| !matches!(page.share, Share::Contested(_))).collect();
            let alone: Vec<_> = chosen(7, in_force).map(Result::unwrap).collect();
            assert_eq!(plan.len(), alone.len());
            assert!(plan.iter().zip(&alone).all(|(a, b)| (a.ordinal, a.share) == (b.ordinal, b.share)));
            let marked: BTreeSet<u64> =
                taken.iter().filter(|page| page.is_only_in_force).map(|page| page.ordinal).collect();
            assert_eq!(marked, f.difference(&g).copied().collect());
            let drawn = taken.iter().filter(|page| page.share == Share::Contested(probability));
            assert!(drawn.clone().all(|page| g.contains(&page.ordinal) && !f.contains(&page.ordinal)));
            let overlap = contested.overlap();
            assert_eq!(overlap.both, f.intersection(&g).count() as u64);
            assert_eq!(overlap.only_in_force, f.difference(&g).count() as u64);
            let only_candidate = g.difference(&f).count() as u64;
            assert_eq!((overlap.only_candidate, overlap.drawn), (only_candidate, drawn.count() as u64));
            match probability {
                0.0 => assert_eq!(overlap.drawn, 0),
                1.0 => assert_eq!(overlap.drawn, only_candidate),
                _ => assert!(
                    only_candidate > 20 && (1..only_candidate).contains(&overlap.drawn),
                    "{overlap:?}"
                ),
            }
        }
        assert_eq!(Overlap::default().share(), None);
    }

    /// Over many draws, a page is drawn as often as its probability says.
    #[test]
    fn every_contested_page_is_drawn_with_its_probability() {
        let rounds = 4000;
        let mut times = vec![0u64; 1002];
        for cycle in 0..rounds {
            let shuffle = Shuffle::new(3, Cycle(cycle), ShufflePurpose::Contested);
            (0..1002).for_each(|page| times[page as usize] += u64::from(draws(&shuffle, 0.2, page)));
        }
        // Five standard deviations of a binomial.
        let allowed = 5.0 * (f64::from(rounds) * 0.2 * 0.8).sqrt();
        assert!(times.iter().all(|&n| (n as f64 - 0.2 * f64::from(rounds)).abs() < allowed), "{times:?}");
    }
}
