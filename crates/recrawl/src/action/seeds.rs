//! Seeds of operators.

use super::{failure, logged, todo};
use recrawl_console::view::{Accepted, Change, Effect, Refusal};
use recrawl_crawl::contact_check;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::{self, counted};
use recrawl_crawl::operator::control::{Control, MAX_WAITING_BYTES, MAX_WAITING_SEEDS};
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::settings::Settings;
use recrawl_repository::Generation;
use recrawl_types::{CanonicalUrl, PageRecord, PageStatus, ScheduleEntry, Share, Size};

/// When a crawl that is not running visits its seeds.
const LATER: &str = "the next `recrawl crawl` or `recrawl serve` visits them";

/// When a known page is visited that is named as a seed again.
pub const KNOWN: &str = "a known page is visited when its turn comes; `recrawl fetch URL` fetches it now";

/// Queues seeds in the data directory of a stopped crawl, which need not exist yet.
///
/// # Errors
/// Why one of them may not be fetched; then none is queued.
pub fn add_stopped(settings: &Settings, urls: &[String]) -> Result<Accepted, Failure> {
    let mut settings = settings.clone();
    // First: a wrong URL touches nothing.
    admitted(&settings, urls).map_err(failure)?;
    let stopped = StoppedCrawl::begin(&settings)?;
    settings.scope.refuse_taken_down(stopped.decided.taken_down.clone());
    settings.admit_seed_sites(&stopped.tables, &[])?;
    let generation = stopped.repository.current();
    logged(&settings, &Change::AddSeeds { urls: urls.to_vec() }, || {
        stopped.decide(|control| {
            let queued = queue(control, &settings, &generation, urls, LATER);
            queued.map(|(accepted, _)| accepted).map_err(failure)
        })
    })
}

/// Queues seeds, also in a stopped crawl; `when` says when they are visited. Returns those that a round in progress may
/// take.
pub fn queue(
    control: &Control,
    settings: &Settings,
    generation: &Generation,
    urls: &[String],
    when: &str,
) -> Result<(Accepted, Vec<ScheduleEntry>), Refusal> {
    let seeds = admitted(settings, urls)?;
    let (asked, mut news, mut joining) = (seeds.len(), Vec::with_capacity(seeds.len()), Vec::new());
    for url in seeds {
        // A known page whose site is not in scope yet also counts as new, since it brings the site
        // into scope.
        let is_in_scope = settings.scope.admits(&url);
        let record = generation.get(&url).map_err(Refusal::failed)?.map(|(_, record)| record);
        if is_in_scope && record.as_ref().is_some_and(|record| record.known.status != PageStatus::Gone) {
            continue;
        }
        if is_in_scope {
            let record = record.unwrap_or_else(|| PageRecord::discovered(generation.cycle(), 0));
            joining.push(ScheduleEntry::new(url.clone(), Share::Asked, record));
        }
        news.push(url);
    }
    let already = |detail: &str| Ok((Accepted { did: Effect::Already, detail: detail.into() }, Vec::new()));
    if news.is_empty() {
        return already(&format!("all URLs are already known; {KNOWN}"));
    }
    let blocks = control.blocks();
    let blocked: Vec<String> =
        news.iter().filter(|url| blocks.cover(url).is_some()).map(ToString::to_string).collect();
    let but = match blocked.is_empty() {
        true => String::new(),
        false => format!("; not requested until you unblock them: {}", labels::some_of(&blocked)),
    };
    match control.add_seeds(&news).map_err(Refusal::failed)? {
        None => Err(Refusal::Busy(format!(
            "seed queue full ({MAX_WAITING_SEEDS} seeds or {}); try again after the next round starts",
            Size(MAX_WAITING_BYTES as u64)
        ))),
        Some(0) => already(&format!("all URLs are already known or queued; {KNOWN}")),
        Some(added) => {
            let known = match asked - added {
                0 => String::new(),
                known => format!(", {known} already known or queued"),
            };
            let detail = format!("{} queued{known}; {when}{but}", counted(added as u64, "seed"));
            Ok((Accepted { did: Effect::NextRound, detail }, joining))
        }
    }
}

/// The seeds of these URLs, sorted and without duplicates, if all may be fetched.
pub fn admitted(settings: &Settings, urls: &[String]) -> Result<Vec<CanonicalUrl>, Refusal> {
    let mut seeds = Vec::with_capacity(urls.len());
    for (at, text) in urls.iter().enumerate() {
        let wrong = |what: String, todo: &str| {
            Refusal::invalid(format!("urls[{at}]"), format!("{text:?}: {what}"), todo)
        };
        let url = settings.rules.canonicalize(text.trim());
        let url = url.map_err(|e| wrong(e.to_string(), "write it as https://example.com/page"))?;
        if let Some(refusal) = settings.scope_with_seed(&url).refuse(&url) {
            return Err(wrong(refusal.to_string(), &todo(&refusal)));
        }
        seeds.push(url);
    }
    contact_check::check_pages(settings, &seeds).map_err(|e| {
        Refusal::invalid("urls", e.to_string(), "set crawler.contact and run `recrawl reload`")
    })?;
    seeds.sort_unstable();
    seeds.dedup();
    Ok(seeds)
}
