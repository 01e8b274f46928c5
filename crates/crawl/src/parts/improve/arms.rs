//! The arms of a trial: sites, or folders of few sites, that are planned by themselves, so that two formulas can be
//! compared.

use recrawl_estimation::{Audited, Interval, Population, Sample};
use recrawl_types::{CanonicalUrl, Importance, Site};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Places of an arm at least; with fewer in all, arms take larger parts.
const PLACES: f64 = 30.0;
/// Part of the places that an arm has where there are many.
const PART: f64 = 0.1;
/// From as many places on, arms do not get smaller.
pub const MANY: u64 = (PLACES / PART) as u64;
/// Part of the audit sample that each arm of a trial gets, where there are other sites.
pub const AUDIT_PART: f64 = 0.25;

/// Which formula visits the pages of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteArm {
    /// The candidate, or the formula that was promoted.
    Candidate,
    /// The formula in force before.
    Control,
    /// All other sites.
    Rest,
}

impl SiteArm {
    /// Its place among all arms.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Where a crawl has its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialPlaces {
    /// Sites or folders; [`MANY`] stands for more, too.
    pub count: u64,
    /// Are they folders, since there are few sites?
    pub are_folders: bool,
}

/// How sites or folders are divided: by a salted hash, so that none chooses its arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Division {
    /// The salt.
    pub salt: u64,
    /// Part of the places that each of the two arms has, at most ½.
    pub part: f64,
    /// Is each folder in an arm, and not each site?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_folder: bool,
}

impl Division {
    /// For these places.
    pub fn new(salt: u64, places: TrialPlaces) -> Division {
        let part = (PLACES / places.count.max(1) as f64).clamp(PART, 0.5);
        Division { salt, part, by_folder: places.are_folders }
    }

    /// How many times as many pages of the arms are audited in a trial as while they are only counted.
    pub fn audited_more(&self) -> f64 {
        if self.part < 0.5 { AUDIT_PART / self.part } else { 1.0 }
    }

    /// The arm of a site, if sites are divided.
    pub fn of_site(&self, site: &Site) -> SiteArm {
        self.arm(site.as_str().as_bytes())
    }

    /// The arm of a folder ([`CanonicalUrl::folder`]), if folders are divided.
    pub fn of_folder(&self, folder: &[u8]) -> SiteArm {
        self.arm(folder)
    }

    /// The arm of a page.
    pub fn of_page(&self, url: &CanonicalUrl) -> SiteArm {
        if self.by_folder {
            self.of_folder(CanonicalUrl::folder(url.key()))
        } else {
            self.of_site(&Site::from_url(url))
        }
    }

    fn arm(&self, place: &[u8]) -> SiteArm {
        let image = xxh3_64_with_seed(place, self.salt) as f64 / 2f64.powi(64);
        match image {
            image if image < self.part => SiteArm::Candidate,
            image if image < 2.0 * self.part => SiteArm::Control,
            _ => SiteArm::Rest,
        }
    }
}

/// The arms of a plan: planned apart, or only counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmsFacts {
    /// The places of the arms.
    pub division: Division,
    /// The populations of the candidate's places, and of the control's, from which audit samples are drawn.
    pub populations: [Population; 2],
    /// Do pages count by their importance?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_importance: bool,
}

impl ArmsFacts {
    /// Counts an audited page for its arm. With importance, it is drawn from pages that are there as often as they count,
    /// and nothing is expected of it: nobody summed up what to expect of those.
    pub fn count(
        &self,
        samples: &mut [Sample; 2],
        url: &CanonicalUrl,
        page: Audited,
        importance: impl FnOnce() -> Importance,
    ) {
        let Some(sample) = samples.get_mut(self.division.of_page(url).index()) else { return };
        let importance = if self.by_importance { importance() } else { Importance::ONE };
        if importance.thousandths() == 0 {
            return;
        }
        let expected = if self.by_importance { 0.0 } else { page.expected };
        let probability = page.probability / importance.value();
        sample.count(&url.host(), Audited { expected, probability, ..page });
    }

    /// Freshness before the visits in both arms, from the audit sample of each.
    pub fn freshness(&self, samples: &[Sample; 2]) -> [Option<Interval>; 2] {
        [0, 1].map(|arm| {
            let Population { pages, expected } = self.populations[arm];
            let expected = if self.by_importance { 0.0 } else { expected };
            let changed = samples[arm].changed(Population { pages, expected })?;
            Some(Interval { value: 1.0 - changed.value, ..changed })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;

    fn of_sites(salt: u64, count: u64) -> Division {
        Division::new(salt, TrialPlaces { count, are_folders: false })
    }

    #[test]
    fn arms_have_their_part_of_the_sites_and_another_salt_divides_anew() {
        let sites: Vec<Site> = (0..3000).map(|n| Site::of_host(&format!("site{n}.example"))).collect();
        let counts = |division: Division| {
            let mut counts = [0; 3];
            sites.iter().for_each(|site| counts[division.of_site(site).index()] += 1);
            counts
        };
        let [candidate, control, rest] = counts(of_sites(1, 3000));
        assert!((240..360).contains(&candidate) && (240..360).contains(&control), "{candidate}, {control}");
        assert_eq!(candidate + control + rest, 3000);
        assert_eq!((of_sites(1, 100).part, of_sites(1, 10).part), (0.3, 0.5));
        assert_eq!(counts(Division { part: 0.5, ..of_sites(1, 1) })[2], 0);
        let moved =
            sites.iter().filter(|site| of_sites(1, 3000).of_site(site) != of_sites(2, 3000).of_site(site));
        assert!(moved.count() > 700);
    }
    #[test]
    fn pages_of_a_folder_are_in_one_arm_and_count_there_by_their_importance() {
        let division = Division::new(1, TrialPlaces { count: 60, are_folders: true });
        let url = |text: &str| UrlRules::keep_all().canonicalize(text).unwrap();
        let page = |folder: u32, page: u32| url(&format!("https://a.example/{folder}/{page}?a=/x"));
        for folder in 0..100 {
            let arms: Vec<SiteArm> = (0..3).map(|n| division.of_page(&page(folder, n))).collect();
            assert!(arms.iter().all(|arm| *arm == arms[0]), "{folder}: {arms:?}");
        }
        let in_arm = |arm| (0..100).filter(move |n| division.of_page(&page(*n, 0)) == arm);
        assert!(in_arm(SiteArm::Control).count() > 25 && in_arm(SiteArm::Candidate).count() > 25);
        let populations = [Population { pages: 1_000, expected: 300.0 }; 2];
        let facts = |by_importance| ArmsFacts { division, populations, by_importance };
        let freshness = |facts: ArmsFacts| {
            let mut samples: [Sample; 2] = Default::default();
            // In the candidate's arm every fifth page has changed, and counts four times; another counts nothing.
            for (i, folder) in in_arm(SiteArm::Candidate).take(20).enumerate() {
                let audited = Audited { changed: Some(i % 5 == 0), expected: 0.3, probability: 0.1 };
                let importance = [4.0, 1.0, 1.0, 1.0, 0.0][i % 5];
                facts.count(&mut samples, &page(folder, 1), audited, || Importance::new(importance).unwrap());
            }
            facts.freshness(&samples)
        };
        let [plain, control] = freshness(facts(false));
        // 0.3 expected, and 0.2 less 0.3 more.
        assert!((plain.unwrap().value - 0.8).abs() < 1e-12 && control.is_none());
        let weighed = freshness(facts(true))[0].unwrap();
        assert!((weighed.value - 3.0 / 7.0).abs() < 1e-12, "{weighed:?}");
        assert_eq!((plain.unwrap().sample, weighed.sample), (20, 16));
    }
}
