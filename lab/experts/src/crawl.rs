//! A crawl that visits some pages a day by their predicted probability to have changed, and learns from its own visits
//! alone (Radinsky and Bennett 2013, section 8.3).
//!
//! What a page shows between visits is not known. An example is a visit: the features that were known then, and whether
//! the next visit found a significant change. A related page is known as of its own last visit.
//!
//! Ours, where the paper is silent: every ten days the crawl searches related pages and trains machines, with C = 1.
//! Platt's sigmoid is fitted to the decision values of the examples. A page with fewer than [`EXAMPLES_MIN`] examples, or
//! with examples of one class, has its share of changed visits as probability. That share counts one more visit, which
//! found half a change.

use crate::PredictionMethod;
use crate::draws::{Purpose, stream};
use crate::evaluate::ExperimentSettings;
use crate::platt::Sigmoid;
use crate::recording::{ExpertPage, FixedPages, PageBag, distance};
use crate::related::{self, RelatedPages, RelatedSearch};
use crate::svm::{Gram, Machine};
use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;

/// Fewest examples that machines learn from.
pub const EXAMPLES_MIN: usize = 6;
/// Days between trainings.
const TRAINING: u32 = 10;
const COST: f64 = 1.0;
/// The first day on which pages are chosen; on the days before, all are visited.
const WARM_UP: u32 = 3;
/// Times that all pages get a coin in a day. Then those that are left are drawn without one.
const COIN_ROUNDS: u32 = 50;

/// What a crawl knows of its pages.
struct CrawlKnowledge {
    /// The targets as they were seen: contents and bits change only on days of visits.
    seen: FixedPages,
    /// Days of visits of each page, ascending.
    visits: Vec<Vec<u32>>,
    /// The texts that visits of each page met.
    met: Vec<MetTexts>,
}

/// The texts that visits of a page met, with their inner products: each day asks for the same ones again.
#[derive(Default)]
struct MetTexts {
    /// The different texts by their places in the page, in the order of the visits.
    places: Vec<u32>,
    /// Row i holds the products of the word distributions of text i and the texts 0 to i.
    products: Vec<Vec<f64>>,
}

impl MetTexts {
    /// Adds a text unless it was met before.
    fn add(&mut self, texts: &[PageBag], place: u32) {
        if !self.places.contains(&place) {
            self.places.push(place);
            let product = |&other: &u32| texts[place as usize].product(&texts[other as usize]);
            self.products.push(self.places.iter().map(product).collect());
        }
    }

    /// The number of a text among those met.
    ///
    /// # Panics
    /// If no visit met it.
    fn number(&self, place: u32) -> usize {
        self.places.iter().position(|&met| met == place).expect("a page is known to show what a visit met")
    }

    fn product(&self, a: usize, b: usize) -> f64 {
        self.products[a.max(b)][a.min(b)]
    }

    fn cosine(&self, a: usize, b: usize) -> f64 {
        match self.product(a, a).sqrt() * self.product(b, b).sqrt() {
            0.0 => 0.0,
            lengths => self.product(a, b) / lengths,
        }
    }

    /// The distance of the word distributions of two texts.
    fn distance(&self, a: usize, b: usize) -> f64 {
        distance(self.product(a, a), self.product(b, b), self.product(a, b))
    }
}

/// The probabilities of a page, learned at the last training.
enum PageProbabilities {
    Share,
    /// Experts with weights, and the days of the examples.
    Machines {
        experts: Vec<(u32, f64, Machine, Sigmoid)>,
        days: Vec<u32>,
    },
}

/// Mean freshness of each ten days, from the first choice of pages on: the share of pages that have not changed
/// significantly since their last visit, after a day's visits.
///
/// # Errors
/// If there is no page, no day, or no such crawl: methods are the coin, the single machine and experts.
pub fn freshness(
    recording: &FixedPages,
    targets: &[u32],
    settings: &ExperimentSettings,
    method: PredictionMethod,
    share: f64,
) -> Result<Vec<f64>, String> {
    if !matches!(method, PredictionMethod::Coin | PredictionMethod::Single | PredictionMethod::Experts(..)) {
        return Err(format!("no crawl by {method}: use 1D, 2D or experts"));
    }
    if targets.is_empty() || recording.last <= WARM_UP {
        return Err("no page or no day to crawl".into());
    }
    let budget = ((share * targets.len() as f64).round() as usize).clamp(1, targets.len());
    let truth: Vec<&ExpertPage> = targets.iter().map(|&target| &recording.pages[target as usize]).collect();
    let mut known = CrawlKnowledge::before(recording, targets);
    let mut learned: Vec<PageProbabilities> = Vec::new();
    let mut by_day = Vec::new();
    for day in 0..=recording.last {
        let chosen: Vec<u32> = if day < WARM_UP {
            (0..targets.len() as u32).collect()
        } else {
            // What is known until yesterday.
            if (day - WARM_UP).is_multiple_of(TRAINING) {
                learned = known.train(day - 1, settings, method);
            }
            let probabilities: Vec<f64> = learned
                .par_iter()
                .enumerate()
                .map(|(page, learned)| known.probability(page, learned, day - 1))
                .collect();
            choose(&probabilities, budget, settings.seed, day)
        };
        known.visit(day, &chosen, &truth);
        if day >= WARM_UP {
            let is_fresh = |page: &usize| {
                let last = known.visits[*page].last().copied().unwrap_or(0);
                !truth[*page].changed[last as usize + 1..=day as usize].contains(&true)
            };
            by_day.push((0..targets.len()).filter(is_fresh).count() as f64 / targets.len() as f64);
        }
    }
    Ok(by_day.chunks(TRAINING as usize).map(|days| days.iter().sum::<f64>() / days.len() as f64).collect())
}

/// Goes round the pages in a seeded order, and visits each whose coin says so, until the budget is spent.
fn choose(probabilities: &[f64], budget: usize, seed: u64, day: u32) -> Vec<u32> {
    let mut source = stream(seed, Purpose::Visits, 0, day);
    let mut order: Vec<u32> = (0..probabilities.len() as u32).collect();
    order.shuffle(&mut source);
    let mut chosen = Vec::new();
    for _ in 0..COIN_ROUNDS {
        order.retain(|&page| {
            let is_drawn = chosen.len() < budget && source.random::<f64>() < probabilities[page as usize];
            if is_drawn {
                chosen.push(page);
            }
            !is_drawn
        });
    }
    let left = budget - chosen.len();
    chosen.extend(order.into_iter().take(left));
    chosen
}

impl CrawlKnowledge {
    /// Nothing seen yet: each page shows its first content.
    fn before(recording: &FixedPages, targets: &[u32]) -> CrawlKnowledge {
        let place = |page: &u32| targets.binary_search(page).ok().map(|place| place as u32);
        let text =
            |text: &PageBag| PageBag::new(text.words.clone(), text.links.iter().filter_map(place).collect());
        let page = |&target: &u32| {
            let page = &recording.pages[target as usize];
            let days = page.changed.len();
            ExpertPage {
                texts: page.texts.iter().map(text).collect(),
                observed: vec![false; days],
                shown: page.shown.first().map(|&first| vec![first; days]).unwrap_or_default(),
                ..page.clone()
            }
        };
        let pages = targets.iter().map(page).collect();
        let seen = FixedPages { pages, last: recording.last, has_texts: recording.has_texts };
        let met = targets.iter().map(|_| MetTexts::default()).collect();
        CrawlKnowledge { visits: vec![Vec::new(); targets.len()], seen, met }
    }

    /// Visits pages; what they show stays known until the next visit.
    fn visit(&mut self, day: u32, chosen: &[u32], truth: &[&ExpertPage]) {
        for &page in chosen {
            let page = page as usize;
            let seen = &mut self.seen.pages[page];
            let last = self.visits[page].last().copied();
            seen.observed[day as usize] = last
                .is_some_and(|last| truth[page].changed[last as usize + 1..=day as usize].contains(&true));
            if let Some(&now) = truth[page].shown.get(day as usize) {
                seen.shown[day as usize..].fill(now);
                self.met[page].add(&seen.texts, now);
            }
            self.visits[page].push(day);
        }
    }

    /// What is known of a page on a day: bits and sizes of its last two steps between visits, and the number of its text.
    fn features(&self, page: usize, day: u32) -> ([f64; 4], Option<usize>) {
        let (seen, met) = (&self.seen.pages[page], &self.met[page]);
        let text = |day: u32| seen.shown.get(day as usize).map(|&place| met.number(place));
        let visits = &self.visits[page][..self.visits[page].partition_point(|&visit| visit <= day)];
        let step = |back: usize| -> (f64, f64) {
            let Some(place) = visits.len().checked_sub(back + 2) else { return (0.0, 0.0) };
            let (before, now) = (visits[place], visits[place + 1]);
            let size = text(before).zip(text(now)).map_or(0.0, |(before, now)| met.distance(before, now));
            (f64::from(u8::from(seen.observed[now as usize])), size)
        };
        let ((bit, size), (bit_before, size_before)) = (step(0), step(1));
        ([bit, bit_before, size, size_before], text(day))
    }

    /// The products of the features of an expert on the days of a target's visits and, last, today.
    fn gram(&self, expert: usize, days: &[u32]) -> Gram {
        let examples = days.len() - 1;
        let mut gram = Gram::new(examples);
        let features: Vec<_> = days.iter().map(|&day| self.features(expert, day)).collect();
        for column in 0..4 {
            let values: Vec<f64> = features.iter().map(|(values, _)| values[column]).collect();
            gram.add_feature(&values);
        }
        if self.seen.has_texts {
            let shown: Vec<usize> = features.iter().filter_map(|(_, shown)| *shown).collect();
            for (row, &a) in gram.products.chunks_exact_mut(examples).zip(&shown) {
                row.iter_mut()
                    .zip(&shown)
                    .for_each(|(product, &b)| *product += self.met[expert].cosine(a, b));
            }
            gram.features += 1;
        }
        gram
    }

    /// Examples of a page: the day of each visit but the last, and whether the next visit found a change.
    fn examples(&self, page: usize, most: usize) -> (Vec<u32>, Vec<bool>) {
        let visits = &self.visits[page][self.visits[page].len().saturating_sub(most + 1)..];
        let found = visits[1..].iter().map(|&visit| self.seen.pages[page].observed[visit as usize]);
        (visits[..visits.len() - 1].to_vec(), found.collect())
    }

    fn train(
        &self,
        today: u32,
        settings: &ExperimentSettings,
        method: PredictionMethod,
    ) -> Vec<PageProbabilities> {
        let pages: Vec<u32> = (0..self.visits.len() as u32).collect();
        let days = settings.days.min(today);
        let related: Option<Vec<RelatedPages>> = method.relation().map(|relation| {
            let search = RelatedSearch {
                today,
                days,
                count: settings.experts,
                delays: settings.delays,
                seed: settings.seed,
            };
            related::find(&self.seen, relation, &pages, search)
        });
        let of_page = |&page: &u32| {
            let (days, classes) = self.examples(page as usize, settings.days as usize);
            let is_one_class = classes.iter().all(|class| *class == classes[0]);
            if method == PredictionMethod::Coin || classes.len() < EXAMPLES_MIN || is_one_class {
                return PageProbabilities::Share;
            }
            let related = related.as_ref().map(|related| &related[page as usize]);
            let own = (page, related.map_or(1.0, |related| related.own));
            let others = related.into_iter().flat_map(|related| related.others.iter().copied());
            let train = |(expert, weight): (u32, f64)| {
                // Today's row is not used in training.
                let days: Vec<u32> = days.iter().copied().chain([today]).collect();
                let kernel = self.gram(expert as usize, &days).polynomial();
                let machine = Machine::train(&kernel, &classes, &vec![COST; classes.len()]);
                let values: Vec<f64> = (0..classes.len()).map(|i| machine.decide(kernel.row(i))).collect();
                let sigmoid = Sigmoid::fit(&values, &classes);
                (expert, weight, machine, sigmoid)
            };
            PageProbabilities::Machines {
                experts: [own].into_iter().chain(others).map(train).collect(),
                days,
            }
        };
        pages.par_iter().map(of_page).collect()
    }

    /// The probability that a visit finds a change.
    fn probability(&self, page: usize, learned: &PageProbabilities, today: u32) -> f64 {
        let PageProbabilities::Machines { experts, days } = learned else {
            let (_, classes) = self.examples(page, usize::MAX - 1);
            let found = classes.iter().filter(|&&class| class).count() as f64;
            return (found + 0.5) / (classes.len() as f64 + 1.0);
        };
        let days: Vec<u32> = days.iter().copied().chain([today]).collect();
        let (mut sum, mut weights) = (0.0, 0.0);
        for (expert, weight, machine, sigmoid) in experts {
            let kernel = self.gram(*expert as usize, &days).polynomial();
            sum += weight * sigmoid.probability(machine.decide(kernel.row(kernel.examples)));
            weights += weight;
        }
        sum / weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Relation;
    use crate::similarity::Delays;
    use crate::testing::{other_future, threes};

    fn settings() -> ExperimentSettings {
        ExperimentSettings {
            days: 20,
            first_days: 20,
            every: 1,
            refresh: 20,
            experts: 2,
            members: 3,
            delays: Delays::Quarter,
            seed: 4,
            methods: Vec::new(),
            planted: Vec::new(),
        }
    }

    const METHODS: [PredictionMethod; 3] = [
        PredictionMethod::Coin,
        PredictionMethod::Single,
        PredictionMethod::Experts(Relation::Correlation, 2),
    ];

    #[test]
    fn a_crawl_of_all_pages_is_always_fresh() {
        let recording = threes(6, 43, 1);
        for method in METHODS {
            let all = freshness(&recording, &[0, 2, 5], &settings(), method, 1.0).unwrap();
            assert_eq!(all, [1.0; 5], "{method}");
            let some = freshness(&recording, &[0, 2, 5], &settings(), method, 0.34).unwrap();
            assert!(some.iter().all(|&fresh| (0.3..0.95).contains(&fresh)), "{method}: {some:?}");
        }
        let error = freshness(&recording, &[0], &settings(), PredictionMethod::Majority, 0.1).unwrap_err();
        assert!(error.contains("no crawl by majority"), "{error}");
    }

    #[test]
    fn no_choice_reads_a_later_day() {
        // Days 3 to 32 are three bins, and what is planted comes after.
        let recording = threes(9, 60, 2);
        let planted = other_future(recording.clone(), 33);
        let targets: Vec<u32> = (0..9).collect();
        let mut differs = false;
        for method in METHODS {
            let [known, other] = [&recording, &planted]
                .map(|recording| freshness(recording, &targets, &settings(), method, 0.3).unwrap());
            assert_eq!(known[..3], other[..3], "{method}");
            differs |= known != other;
        }
        assert!(differs, "texts are read");
    }

    #[test]
    fn kept_products_change_no_digit() {
        let recording = threes(9, 60, 2);
        let targets: Vec<u32> = (0..9).collect();
        let truth: Vec<&ExpertPage> = recording.pages.iter().collect();
        let mut known = CrawlKnowledge::before(&recording, &targets);
        for day in 0..=60 {
            known.visit(day, &targets[day as usize % 4..], &truth);
        }
        let mut differing = 0;
        for ((page, visits), met) in truth.iter().zip(&known.visits).zip(&known.met) {
            let pairs = visits.iter().flat_map(|&a| visits.iter().map(move |&b| (a, b)));
            for (a, b) in pairs {
                let [number_a, number_b] = [a, b].map(|day| met.number(page.shown[day as usize]));
                let length = |day: u32| page.text(day).product(page.text(day)).sqrt();
                let cosine = page.text(a).product(page.text(b)) / (length(a) * length(b));
                assert_eq!(met.cosine(number_a, number_b), cosine);
                assert_eq!(met.distance(number_a, number_b), page.moved(a, b));
                differing += usize::from(page.moved(a, b) > 0.0);
            }
        }
        assert!(differing > 1_000, "{differing} pairs of different texts");
        // How many of nine pages are fresh, summed over ten days. The program of 2026-11-23, which kept no products, gave the
        // same.
        let fresh = |method| {
            let by_ten = freshness(&recording, &targets, &settings(), method, 0.3).unwrap();
            by_ten[..5].iter().map(|fresh| (fresh * 90.0).round() as u32).collect::<Vec<u32>>()
        };
        assert_eq!(METHODS.map(fresh), [[54, 46, 44, 47, 50], [54, 45, 40, 51, 50], [54, 47, 41, 48, 54]]);
    }

    #[test]
    fn pages_are_drawn_by_their_probability() {
        let mut counts = [0; 4];
        for day in 0..2_000 {
            let chosen = choose(&[0.8, 0.2, 0.0, 0.2], 1, 7, day);
            assert_eq!(chosen.len(), 1);
            counts[chosen[0] as usize] += 1;
        }
        assert!(counts[0] > 1_100 && counts[2] == 0 && counts[1] > 200 && counts[3] > 200, "{counts:?}");
        // Without any probability the budget is spent all the same.
        assert_eq!(choose(&[0.0; 5], 3, 7, 1).len(), 3);
    }
}
