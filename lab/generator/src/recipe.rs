//! Parameters of a generated world.

use recrawl_simulation::format::calendar;
use recrawl_simulation::{Dataset, truth::LAST_OF_A_WORD};

/// The parameters of a generated history. Shares are from 0 to 1; rates are changes per cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The data set's name.
    pub name: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// Number of pages, at least one per site.
    pub pages: u32,
    /// Number of sites.
    pub sites: u32,
    /// σ of ln(pages per site): sizes are log-normal and scaled to the number of pages.
    pub site_sizes: f64,
    /// Maximum pages of a site.
    pub site_pages_max: u32,
    /// The number of the last cycle; a cycle is a day.
    pub cycles: u32,
    /// The day of cycle 0, as YYYY-MM-DD.
    pub start: String,
    /// Share of the pages that never change.
    pub still: f64,
    /// Share of the pages that change all the time.
    pub fast: f64,
    /// The rate of those pages.
    pub fast_rate: f64,
    /// Mean of ln(rate) of all other pages.
    pub mu: f64,
    /// σ of ln(rate) of all other pages.
    pub sigma: f64,
    /// The share of that variance that pages of a site have in common, and the probability that a
    /// page is of its site's kind: still, fast, or other.
    pub site_share: f64,
    /// Share of the sites with two quiet days per week.
    pub quiet: f64,
    /// The rate on quiet days, relative to the other days.
    pub quiet_rate: f64,
    /// Share of those sites whose quiet days are any two consecutive days, not Saturday and Sunday.
    pub shifted: f64,
    /// Share of the time that a page is in a burst of edits; 0 for no bursts.
    pub burst: f64,
    /// Mean length of a burst in cycles, at least 1.
    pub burst_length: f64,
    /// The rate outside of bursts, relative to the mean rate.
    pub burst_rest: f64,
    /// Share of the changes, without a page's first, that return to the previous content.
    pub returns: f64,
    /// Bursts of each folder, a cycle: cycles in which its pages change together. Pages lie in folders only if it is
    /// above 0.
    pub folder_bursts: f64,
    /// Pages of a folder; the last one of a site has what is left.
    pub folder_pages: u32,
    /// Share of the pages of a folder that change in its burst. Pages that never change do not.
    pub folder_share: f64,
    /// Share of the signals that tell of a change; 0 for no signals.
    pub signal_precision: f64,
    /// Share of the changes that are signalled; 0 for no signals.
    pub signal_recall: f64,
}

/// A named recipe.
pub struct RecipePreset {
    /// Name on the command line.
    pub name: &'static str,
    /// A short description.
    pub help: &'static str,
    /// Constructor of the recipe.
    pub recipe: fn() -> Recipe,
}

/// All presets; the first is the default.
pub const PRESETS: &[RecipePreset] = &[
    RecipePreset {
        name: "default",
        help: "10,000 pages on 200 sites, 100 days, returning contents",
        recipe: Recipe::default,
    },
    RecipePreset {
        name: "brdc12",
        help: "the shape of BRDC'12, the data of the GP4C papers: 417,048 pages, 57 days",
        recipe: Recipe::brdc12,
    },
];

impl Default for Recipe {
    fn default() -> Recipe {
        Recipe {
            name: "generated".into(),
            pages: 10_000,
            sites: 200,
            cycles: 100,
            start: "2026-01-05".into(),
            returns: 0.13,
            ..Recipe::brdc12()
        }
    }
}

impl Recipe {
    /// The shape of BRDC'12: pages, sites and days as stated by Santos et al. (2013, table 4.1).
    /// The laws of change are set such that the policies of their table 4.3 get nearly their
    /// figures.
    pub fn brdc12() -> Recipe {
        Recipe {
            name: "brdc12".into(),
            seed: 0,
            pages: 417_048,
            sites: 7_171,
            site_sizes: 1.6,
            site_pages_max: 2_336,
            cycles: 57,
            start: "2012-09-17".into(),
            still: 0.35,
            fast: 0.09,
            fast_rate: 2.5,
            mu: -4.3,
            sigma: 2.3,
            site_share: 0.6,
            quiet: 0.7,
            quiet_rate: 0.5,
            shifted: 0.15,
            burst: 0.38,
            burst_length: 35.0,
            burst_rest: 0.05,
            returns: 0.0,
            folder_bursts: 0.0,
            folder_pages: 8,
            folder_share: 0.8,
            signal_precision: 0.0,
            signal_recall: 0.0,
        }
    }

    /// The preset of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Recipe, RecipeError> {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        found.map(|preset| (preset.recipe)()).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            RecipeError(format!("unknown preset {name:?}; use {}", names.join(", ")))
        })
    }

    /// Sets the number of pages, and scales the number of sites with it.
    pub fn resize(&mut self, pages: u32) {
        let sites = u64::from(self.sites) * u64::from(pages) / u64::from(self.pages.max(1));
        (self.pages, self.sites) = (pages, (sites as u32).max(1));
    }

    /// Checks the recipe; returns the day of cycle 0, counted from 1970.
    pub(crate) fn check(&self) -> Result<i64, RecipeError> {
        let whether =
            |holds: bool, what: &dyn Fn() -> String| if holds { Ok(()) } else { Err(RecipeError(what())) };
        whether(self.sites >= 1 && self.pages >= self.sites, &|| {
            format!(
                "{} pages on {} sites: use at least one page per site, and one site",
                self.pages, self.sites
            )
        })?;
        whether(self.pages as usize <= Dataset::MAX_PAGES, &|| {
            format!("{} pages: at most {}", self.pages, Dataset::MAX_PAGES)
        })?;
        let room = u64::from(self.sites) * u64::from(self.site_pages_max);
        whether(room >= u64::from(self.pages), &|| {
            format!(
                "{} pages on {} sites of at most {}: use more sites",
                self.pages, self.sites, self.site_pages_max
            )
        })?;
        whether((1..=Dataset::MAX_CYCLES).contains(&self.cycles), &|| {
            format!("{} cycles: use 1 to {}", self.cycles, Dataset::MAX_CYCLES)
        })?;
        // Checked before the work: returning changes take two bytes per page and cycle.
        let contents = u64::from(self.pages) * (u64::from(self.cycles) + 1);
        let is_word = self.returns == 0.0 && self.cycles <= LAST_OF_A_WORD;
        whether(is_word || contents <= Dataset::MAX_CONTENTS, &|| {
            format!("{contents} pages times cycles: the maximum is {}", Dataset::MAX_CONTENTS)
        })?;
        for (name, share) in [
            ("still", self.still),
            ("fast", self.fast),
            ("still and fast", self.still + self.fast),
            ("site_share", self.site_share),
            ("quiet", self.quiet),
            ("quiet_rate", self.quiet_rate),
            ("shifted", self.shifted),
            ("burst_rest", self.burst_rest),
            ("returns", self.returns),
            ("folder_bursts", self.folder_bursts),
            ("folder_share", self.folder_share),
            ("signal_precision", self.signal_precision),
            ("signal_recall", self.signal_recall),
        ] {
            whether((0.0..=1.0).contains(&share), &|| format!("{name} = {share}: use 0 to 1"))?;
        }
        whether((self.signal_precision > 0.0) == (self.signal_recall > 0.0), &|| {
            format!(
                "signal_precision = {} and signal_recall = {}: use both above 0, or neither",
                self.signal_precision, self.signal_recall
            )
        })?;
        whether(self.folder_pages >= 1, &|| "folder_pages = 0: use 1 or more".into())?;
        whether((0.0..1.0).contains(&self.burst), &|| format!("burst = {}: use 0 to below 1", self.burst))?;
        // The rests between bursts then also last at least a cycle.
        let rests = self.burst == 0.0 || self.burst_length * (1.0 - self.burst) >= self.burst;
        whether((1.0..=1e6).contains(&self.burst_length) && rests, &|| {
            format!(
                "burst_length = {}: bursts and the rests between them must last at least a cycle",
                self.burst_length
            )
        })?;
        for (name, number, most) in [
            ("fast_rate", self.fast_rate, 100.0),
            ("sigma", self.sigma, 10.0),
            ("site_sizes", self.site_sizes, 10.0),
        ] {
            whether((0.0..=most).contains(&number), &|| format!("{name} = {number}: use 0 to {most}"))?;
        }
        whether((-50.0..=5.0).contains(&self.mu), &|| format!("mu = {}: use -50 to 5", self.mu))?;
        let start = calendar::parse_date(&self.start);
        let start = start.filter(|start| start + i64::from(self.cycles) <= calendar::LAST_DAY);
        start.ok_or_else(|| RecipeError(format!("start = {:?}: use a day as YYYY-MM-DD", self.start)))
    }
}

/// An invalid recipe: what is wrong, and what is possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecipeError(String);

impl RecipeError {
    pub(crate) fn too_large(what: String) -> RecipeError {
        RecipeError(what)
    }
}
