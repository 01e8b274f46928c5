//! The arms of a trial: sites that are planned by themselves, so that two formulas can be compared.

use recrawl_estimation::{Interval, Population, Sample};
use recrawl_types::Site;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Sites of an arm at least; with fewer sites in all, arms take larger parts.
pub const SITES: f64 = 30.0;
/// Part of the sites that an arm has where there are many.
const PART: f64 = 0.1;

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

/// How sites are divided: by a salted hash, so that no site chooses its arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Division {
    /// The salt.
    pub salt: u64,
    /// Part of the sites that each of the two arms has, at most ½.
    pub part: f64,
}

impl Division {
    /// For this number of sites.
    pub fn new(salt: u64, sites: u64) -> Division {
        Division { salt, part: (SITES / sites.max(1) as f64).clamp(PART, 0.5) }
    }

    /// The arm of a site.
    pub fn arm(&self, site: &Site) -> SiteArm {
        let image = xxh3_64_with_seed(site.as_str().as_bytes(), self.salt) as f64 / 2f64.powi(64);
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
    /// The sites of the arms.
    pub division: Division,
    /// The populations of the candidate's sites, and of the control's, from which audit samples are drawn.
    pub populations: [Population; 2],
}

impl ArmsFacts {
    /// Freshness before the visits in both arms, from an audit sample of all sites.
    pub fn freshness(&self, audited: &Sample) -> [Option<Interval>; 2] {
        [SiteArm::Candidate, SiteArm::Control].map(|arm| {
            let own = audited.of_hosts(|host| self.division.arm(&Site::of_host(host)) == arm);
            let changed = own.changed(self.populations[arm.index()])?;
            Some(Interval { value: 1.0 - changed.value, ..changed })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_have_their_part_of_the_sites_and_another_salt_divides_anew() {
        let sites: Vec<Site> = (0..3000).map(|n| Site::of_host(&format!("site{n}.example"))).collect();
        let counts = |division: Division| {
            let mut counts = [0; 3];
            sites.iter().for_each(|site| counts[division.arm(site).index()] += 1);
            counts
        };
        let [candidate, control, rest] = counts(Division::new(1, 3000));
        assert!((240..360).contains(&candidate) && (240..360).contains(&control), "{candidate}, {control}");
        assert_eq!(candidate + control + rest, 3000);
        assert_eq!((Division::new(1, 100).part, Division::new(1, 10).part), (0.3, 0.5));
        assert_eq!(counts(Division { salt: 1, part: 0.5 })[2], 0);
        let moved =
            sites.iter().filter(|site| Division::new(1, 3000).arm(site) != Division::new(2, 3000).arm(site));
        assert!(moved.count() > 700);
    }
}
