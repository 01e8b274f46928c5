//! The figures of Tan & Mitra (2010) on a data set: sizes of clusters (Table II), τ by the number of clusters
//! (figure 1), variation of change rates within clusters (figure 8).

use super::PagesOfCycle;
use super::fit::{FitError, FitOptions, scaled};
use super::variation::variation_within_groups;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_clusters::bisection::{Bisections, MAX_CLUSTERS};
use recrawl_clusters::choose_k::ChosenK;
use recrawl_clusters::features::FeatureBlock;
use recrawl_simulation::{Dataset, RecordedPage};
use std::collections::BTreeSet;

/// Numbers of clusters on the axis of figure 8.
const CLUSTERS: [usize; 10] = [1, 2, 5, 10, 15, 25, 50, 75, 100, 200];

/// How many groups there are, and how many pages they have.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct GroupSizes {
    /// Groups with pages.
    pub number: usize,
    /// Pages of the smallest group.
    pub least: u64,
    /// Pages of the largest group.
    pub most: u64,
    /// Mean pages of a group; NaN without groups.
    pub mean: f64,
}

impl GroupSizes {
    /// Of groups, by the pages of each. Empty groups do not count.
    pub fn from_counts(pages: impl IntoIterator<Item = u64>) -> GroupSizes {
        let pages: Vec<u64> = pages.into_iter().filter(|&pages| pages > 0).collect();
        GroupSizes {
            number: pages.len(),
            least: pages.iter().copied().min().unwrap_or(0),
            most: pages.iter().copied().max().unwrap_or(0),
            mean: pages.iter().sum::<u64>() as f64 / pages.len() as f64,
        }
    }

    /// Of groups that are given for each page.
    pub fn of_pages(groups: impl IntoIterator<Item = u32>) -> GroupSizes {
        let mut pages = Vec::new();
        for group in groups {
            let group = group as usize;
            if pages.len() <= group {
                pages.resize(group + 1, 0);
            }
            pages[group] += 1;
        }
        GroupSizes::from_counts(pages)
    }
}

/// Figure 1: τ of held-out pages by the number of clusters, and the knee.
///
/// # Errors
/// As [`fit()`](super::fit()).
pub fn figure_1(data: &Dataset, pages: &PagesOfCycle<'_>, options: &FitOptions) -> Result<ChosenK, FitError> {
    let (_, _, rows) = scaled(data, pages, options)?;
    Ok(options.choose(&rows)?)
}

/// Figure 8: the mean coefficient of variation of change rates within groups. NaN where no page changes.
///
/// The features are those up to the cycle of the pages, and the rates those after it: features know the history of
/// changes, so rates of the same cycles would be known to them. *Ours*: the paper does not say which intervals it takes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Variation {
    /// Pages with a cycle after that of the features.
    pub pages: usize,
    /// By the number of clusters, rising.
    pub clusters: Vec<VariationByClusters>,
    /// Within sites.
    pub sites: f64,
    /// Within groups of the data set.
    pub groups: f64,
}

/// A point of each curve of figure 8. `None` where there are not as many clusters, or no such features.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct VariationByClusters {
    /// Number of clusters.
    pub clusters: usize,
    /// By features of content, URL and links.
    #[serde(rename = "static")]
    pub by_static: Option<f64>,
    /// By features of changes.
    #[serde(rename = "dynamic")]
    pub by_dynamic: Option<f64>,
    /// By both.
    #[serde(rename = "both")]
    pub by_both: Option<f64>,
    /// By chance: groups as large as the clusters by both (by static features, if there are no others). Small groups vary
    /// less, so only what is below this curve is due to features.
    #[serde(rename = "chance")]
    pub by_chance: Option<f64>,
}

/// Computes figure 8 from pages with these blocks of features. Blocks of ranking are left out, as in the paper.
///
/// # Errors
/// As [`fit()`](super::fit()).
pub fn figure_8(
    data: &Dataset,
    pages: &PagesOfCycle<'_>,
    options: &FitOptions,
) -> Result<Variation, FitError> {
    // Of later cycles: no feature has seen these rates.
    let (rates, places) = later_rates(data, pages);
    let of_static: BTreeSet<FeatureBlock> = options
        .blocks
        .iter()
        .copied()
        .filter(|b| !matches!(b, FeatureBlock::Dynamic | FeatureBlock::Ranking))
        .collect();
    let of_dynamic =
        options.blocks.contains(&FeatureBlock::Dynamic).then(|| BTreeSet::from([FeatureBlock::Dynamic]));
    let mut points = CLUSTERS.map(|clusters| VariationByClusters { clusters, ..Default::default() }).to_vec();
    let mut fill = |blocks: BTreeSet<FeatureBlock>, curve: Curve, chance: bool| -> Result<(), FitError> {
        if blocks.is_empty() {
            return Ok(());
        }
        let (_, _, rows) = scaled(data, pages, &FitOptions { blocks, ..options.clone() })?;
        let most = CLUSTERS[CLUSTERS.len() - 1].min(MAX_CLUSTERS);
        let run = Bisections::run(&rows, &options.bisection(most))?;
        for point in points.iter_mut().filter(|point| point.clusters <= run.clusters()) {
            let members = run.clustering(point.clusters).members;
            let mut groups: Vec<u32> = places.iter().map(|&place| members[place]).collect();
            *curve(point) = Some(variation_within_groups(&groups, &rates));
            if chance {
                shuffle(&mut groups, options.seed);
                point.by_chance = Some(variation_within_groups(&groups, &rates));
            }
        }
        Ok(())
    };
    let both = of_dynamic.iter().flatten().chain(&of_static).copied().collect();
    let are_two = of_dynamic.is_some() && !of_static.is_empty();
    fill(of_static, |point| &mut point.by_static, !are_two)?;
    fill(of_dynamic.unwrap_or_default(), |point| &mut point.by_dynamic, !are_two)?;
    if are_two {
        fill(both, |point| &mut point.by_both, true)?;
    }
    points.retain(|p| p.by_static.or(p.by_dynamic).or(p.by_both).is_some());
    let within = |group: fn(&RecordedPage) -> u32| {
        let page = |&place: &usize| group(&data.pages[pages.numbers[place] as usize]);
        variation_within_groups(&places.iter().map(page).collect::<Vec<_>>(), &rates)
    };
    Ok(Variation {
        pages: places.len(),
        clusters: points,
        sites: within(|page| page.site),
        groups: within(|page| page.group),
    })
}

/// The field of a curve.
type Curve = fn(&mut VariationByClusters) -> &mut Option<f64>;

/// The changes a cycle after that of the pages, while they exist, and the places of the pages that have such cycles.
fn later_rates(data: &Dataset, pages: &PagesOfCycle<'_>) -> (Vec<f64>, Vec<usize>) {
    let mut changes = vec![0u32; data.pages.len()];
    for cycle in pages.cycle + 1..=data.truth.cycles() {
        data.truth.changed_in(cycle).iter().for_each(|&page| changes[page as usize] += 1);
    }
    let later = pages.numbers.iter().enumerate().filter_map(|(place, &page)| {
        let cycles = data.pages[page as usize].last - pages.cycle;
        (cycles > 0).then(|| (f64::from(changes[page as usize]) / f64::from(cycles), place))
    });
    later.unzip()
}

fn shuffle(groups: &mut [u32], seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for last in (1..groups.len()).rev() {
        groups.swap(last, random.random_range(0..=last));
    }
}
