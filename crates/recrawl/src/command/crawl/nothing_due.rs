//! The reason of a crawl that had nothing to fetch.

use crate::report::explain::{CycleStarts, ExplainedPage, Explanation};
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::page_history::PageHistory;
use recrawl_crawl::settings::formula_file;
use recrawl_types::CanonicalUrl;

/// Explains the seed, or else the first known page; none if it is not known, and nothing keeps it out.
pub fn why(crawl: &Crawl, seed: Option<&CanonicalUrl>) -> Result<Option<String>, Failure> {
    let generation = crawl.repository.current();
    let url = match seed {
        Some(seed) => seed.clone(),
        None => match generation.records().next_record()? {
            Some((_, key, _)) => CanonicalUrl::from_key(key).map_err(Failure::work)?,
            None => return Ok(None),
        },
    };
    let Some((ordinal, record)) = generation.get(&url)? else {
        // Seeds that are out of scope are never known.
        return Ok(crawl.settings.scope.refuse(&url).map(|refusal| format!("{url}: {refusal}")));
    };
    let (mut settings, decided) = (crawl.settings.clone(), crawl.control.decided());
    let page = ExplainedPage {
        url: url.clone(),
        ordinal,
        record,
        formula: formula_file::in_force(&settings)?,
        is_other_formula: false,
        last: None,
        cycle_starts: CycleStarts::default(),
        random_seed: crawl.random_seed,
        history: PageHistory::read(&crawl.repository.kept(), &url)?,
        ranks: None,
        decided: &decided,
    };
    let explanation = Explanation::for_page(page, &mut settings, &generation, || Ok(crawl.tables.clone()))?;
    Ok(Some(format!("{url}: {}", explanation.stopped_by())))
}
