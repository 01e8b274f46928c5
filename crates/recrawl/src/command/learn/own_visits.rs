//! The completed histories of a crawl as a data set to learn from.

use crate::cli::{LearnArgs, SplitProtocol};
use crate::report::forecast;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::formula_file;
use recrawl_forecast::Completions;
use recrawl_formula::Formula;
use recrawl_simulation::Dataset;

/// Completions of each page. Learning sees them as so many pages of one site.
const COMPLETIONS: u64 = 3;

/// What learning from a crawl's own visits needs.
pub struct OwnVisits {
    /// All completions together.
    pub data: Dataset,
    /// The present budget: visits of a page a cycle.
    pub visits_a_page: f64,
    /// The formula in force.
    pub in_force: Formula,
}

/// Reads them if the arguments name a crawl.
///
/// # Errors
/// [`Failure::Usage`] for contradictory arguments; [`Failure::Work`] if the crawl has too little, or cannot be read.
pub fn read(args: &LearnArgs) -> Result<Option<OwnVisits>, Failure> {
    let at = &args.own.at;
    let is_named = at.config.is_named() || at.data_dir.is_some();
    if !is_named && (!args.data.is_empty() || at.config.file().is_none()) {
        return Ok(None);
    }
    let usage = |text: &str| Err(Failure::Usage(text.into()));
    if !args.data.is_empty() {
        return usage(
            "learn from recorded histories (--data) or from a crawl (--data-dir), not from both at once",
        );
    }
    if args.resume {
        return usage(
            "--resume continues learning from recorded histories; a crawl has moved on, so start again",
        );
    }
    if matches!(args.protocol, Some(SplitProtocol::Journal)) {
        return usage("--protocol journal divides by time, which the visits of a crawl are not; use thesis");
    }
    let settings = at.settings()?;
    let histories = forecast::histories(&settings, &args.own)?;
    if histories.pages.is_empty() {
        let why =
            histories.ends_at.unwrap_or_else(|| "no page was visited before the first kept cycle".into());
        return Err(Failure::Work(format!(
            "{}: no histories to learn from: {why}",
            settings.data_dir.display()
        )));
    }
    let completions = Completions::new(&histories);
    let name = settings
        .data_dir
        .file_name()
        .map_or_else(|| "crawl".into(), |name| name.to_string_lossy().into_owned());
    Ok(Some(OwnVisits {
        data: Dataset { name, ..completions.pooled(COMPLETIONS) },
        visits_a_page: histories.visits_a_page(),
        in_force: formula_file::in_force(&settings)?,
    }))
}
