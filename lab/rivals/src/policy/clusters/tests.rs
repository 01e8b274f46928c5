use super::*;
use crate::testing::with_contents;
use recrawl_simulation::{Budget, Dataset, RecordedPage, ReplayDocument, Rules, Truth, replay};

const LAST: u32 = 30;

/// 120 pages of four kinds that differ in their contents, not in their sites. All pages of kind 2 change in each cycle,
/// half of those of kind 1, others never.
fn kinds() -> Dataset {
    let page = |i: u32| RecordedPage {
        url: format!("https://{}.test/{i}", i % 3).into(),
        site: i % 3,
        last: LAST,
        ..RecordedPage::default()
    };
    let words =
        (0..120).map(|i| if kind(i) == 2 || (kind(i) == 1 && i % 8 < 4) { (2 << LAST) - 2 } else { 0 });
    let data = Dataset {
        name: "kinds".into(),
        dates: Vec::new(),
        pages: (0..120).map(page).collect(),
        sites: vec!["0".into(), "1".into(), "2".into()],
        groups: vec!["a".into()],
        truth: Truth::from_words(LAST, words.collect()),
        signals: Default::default(),
        contents: None,
        beginning: None,
    };
    with_contents(data, |page, _| ReplayDocument {
        bytes: 1000 + page,
        images: 30 * u32::from(kind(page) == 1),
        tables: 9 * u32::from(kind(page) == 2),
        links_out: 70 * u32::from(kind(page) == 3),
        words: [(kind(page), 3), (10 + page % 5, 1)].into(),
        ..ReplayDocument::default()
    })
}

fn kind(page: u32) -> u32 {
    page % 4
}

/// Notes the choices of a policy after the warm-up: the cycle, whether it is of a sample, and the pages.
struct Choices {
    policy: Clusters,
    made: Vec<(u32, bool, Vec<PolicyVisit>)>,
    is_sample: bool,
}

impl ReplayPolicy for Choices {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn reads_contents(&self) -> bool {
        true
    }

    fn reads_urls(&self) -> bool {
        true
    }

    fn wants(&mut self, observed: &Observed, left: u64) -> u64 {
        let wanted = self.policy.wants(observed, left);
        self.is_sample = !self.policy.chosen.is_empty();
        wanted
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.policy.score(observed, out);
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.policy.observe(observed, visits);
        if observed.k() > 0 {
            self.made.push((observed.cycle().0, self.is_sample, visits.to_vec()));
        }
    }
}

fn choices(order: Order, k: u64, recluster: u32) -> (Vec<(u32, bool, Vec<PolicyVisit>)>, f64) {
    let made = choices_with(order, k, ClusterOptions { recluster, ..ClusterOptions::default() });
    let visits: Vec<_> = made.iter().flat_map(|choice| &choice.2).collect();
    let changed = visits.iter().filter(|visit| visit.changed == Some(true)).count();
    let share = changed as f64 / visits.len() as f64;
    (made, share)
}

fn choices_with(order: Order, k: u64, options: ClusterOptions) -> Vec<(u32, bool, Vec<PolicyVisit>)> {
    let policy = Clusters::new("clusters", order, options);
    let mut choices = Choices { policy, made: Vec::new(), is_sample: false };
    let rules = Rules { budget: Budget::Pages(k), ..Rules::default() };
    replay::run(&kinds(), &rules, &mut choices).unwrap();
    choices.made
}

#[test]
fn each_cluster_is_sampled_and_the_one_that_changes_comes_first() {
    for order in [Order::Mean(Weighting::Shortsighted), Order::Mean(Weighting::Geometric), Order::Significant]
    {
        let (made, _) = choices(order, 40, 5);
        for cycle in made.chunk_by(|a, b| a.0 == b.0) {
            let visits = |sample: bool| cycle.iter().filter(move |c| c.1 == sample).flat_map(|c| &c.2);
            assert_eq!(visits(true).count() + visits(false).count(), 40);
            // At most R/k = 10 of each of four clusters, at least 5.
            let of_kind = |k: u32| visits(true).filter(|visit| kind(visit.page) == k).count();
            assert!(
                (0..4).all(|kind| (5..=10).contains(&of_kind(kind))),
                "{:?}",
                (0..4).map(of_kind).collect::<Vec<_>>()
            );
            assert!(visits(false).all(|visit| [1, 2].contains(&kind(visit.page))), "{:?}", cycle[0].0);
            let of_2 = visits(false).filter(|visit| kind(visit.page) == 2).count();
            assert!(of_2 >= visits(false).count().min(15), "{of_2}");
            // Kinds whose pages are alike need no more than the least sample.
            assert_eq!((of_kind(0), of_kind(2), of_kind(3)), (5, 5, 5));
        }
    }
}

#[test]
fn clusters_find_more_changes_than_chance() {
    // 3/8 of the pages change.
    for order in [Order::Mean(Weighting::NonAdaptive), Order::Mean(Weighting::Arithmetic), Order::Significant]
    {
        let (made, share) = choices(order, 60, 28);
        assert!(share > 0.5, "{share}");
        assert_eq!(choices(order, 60, 28).0, made, "equal seeds, equal visits");
    }
}

#[test]
fn pages_longest_unvisited_come_first_if_asked() {
    // Cycles between two chosen visits of a page: the least and the most.
    let gaps = |first| {
        let options = ClusterOptions { first, clusters: Some(4), ..ClusterOptions::default() };
        let made = choices_with(Order::Mean(Weighting::NonAdaptive), 30, options);
        let mut last = [None; 120];
        let mut gaps = Vec::new();
        for (cycle, _, visits) in &made {
            for visit in visits {
                let before = last[visit.page as usize].replace(*cycle);
                gaps.extend(before.map(|before: u32| cycle - before));
            }
        }
        (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap())
    };
    assert_eq!(gaps(FirstOfCluster::Nearest).0, 1, "the same pages again and again");
    let (least, most) = gaps(FirstOfCluster::LongestUnvisited);
    assert!(least >= 2 && most <= 8, "{least} to {most}");
}

#[test]
fn clusters_are_as_many_and_of_such_features_as_asked() {
    let clusters = |options: ClusterOptions| {
        let mut policy = Clusters::new("clusters", Order::Significant, options);
        let rules = Rules { budget: Budget::Pages(40), ..Rules::default() };
        replay::run(&kinds(), &rules, &mut policy).unwrap();
        policy.assigned.clusters()
    };
    assert_eq!(clusters(ClusterOptions::default()), 4);
    assert_eq!(clusters(ClusterOptions { clusters: Some(3), ..ClusterOptions::default() }), 3);
    assert_eq!(clusters(ClusterOptions { clusters: Some(20), ..ClusterOptions::default() }), 20);
    // Pages that are equal by these features are one cluster: the types of all files are the same.
    let of =
        |block| ClusterOptions { blocks: [block].into(), clusters: Some(9), ..ClusterOptions::default() };
    assert_eq!(clusters(of(FeatureBlock::Url)), 1);
    assert!(clusters(of(FeatureBlock::Ranking)) > 1, "words of titles");
}

#[test]
fn small_budgets_have_one_cluster() {
    let (made, _) = choices(Order::Significant, 3, 1);
    assert!(made.iter().all(|choice| choice.2.len() == 3), "all is spent on the sample");
}
