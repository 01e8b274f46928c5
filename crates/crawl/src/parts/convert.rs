//! Converts documents without text of their own, such as PDFs, between fetcher and readers, if a rule of `[[pages]]` names
//! a command for it.
//!
//! What the command makes is read as the page's document, and archived beside what was sent. A document that cannot be
//! converted has failed, whatever was sent: its text is unknown, so it is neither changed nor gone.

use crate::config::ConvertTable;
use crate::failure::Failure;
use crate::page_rules::PageRules;
use crate::process::{Converter, SourceDocument};
use recrawl_extractor::inert_text;
use recrawl_fetcher::{FetchResult, FetchedPage, Response};
use recrawl_types::{ContentType, MediaTypes, Outcome, Size};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;

/// The beginning of a PDF. Many servers name no type of it.
const PDF: &[u8] = b"%PDF-";

/// Checks `[convert]`.
///
/// # Errors
/// The key, and what is wrong with it.
pub fn check(table: &ConvertTable) -> Result<(), String> {
    let ConvertTable { types, at_once, time, memory, max_document } = table;
    MediaTypes::new(types.iter().map(String::as_str)).map_err(|e| format!("convert.types: {e}"))?;
    if *at_once == 0 || *at_once > 64 {
        return Err("convert.at_once must be 1 to 64".into());
    }
    if time.0.is_zero() {
        return Err("convert.time must not be 0".into());
    }
    if memory.0 < 16 << 20 {
        return Err("convert.memory must be at least 16 MiB, which small programs take".into());
    }
    if max_document.0 == 0 || max_document.0 > 64 << 20 {
        return Err("convert.max_document must be 1 B to 64 MiB".into());
    }
    Ok(())
}

/// Checks that the commands can be run.
///
/// # Errors
/// The rule, and what is missing.
pub fn check_programs(pages: &PageRules) -> Result<(), Failure> {
    for (matches, command) in pages.converters() {
        if recrawl_renderer::program(Path::new(&command[0])).is_none() {
            let text = format!("pages.convert of {matches:?}: {} is no program that can be run", command[0]);
            return Err(Failure::Usage(format!("{text}: install it, or name its path")));
        }
    }
    Ok(())
}

/// Counts of conversions since the process started.
#[derive(Debug, Default)]
pub struct ConvertCounts {
    converted: AtomicU64,
    failed: AtomicU64,
    millis: AtomicU64,
    /// Failures since a document was converted, and why the last one failed.
    failures: Mutex<(u64, String)>,
}

/// Figures of conversions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertFigures {
    /// Documents that were converted.
    pub converted: u64,
    /// Documents of which a command made no text.
    pub failed: u64,
    /// Milliseconds of all commands.
    pub millis: u64,
    /// Failures since a document was converted.
    pub failed_in_a_row: u64,
    /// Why the last of these failed.
    pub error: String,
}

impl ConvertCounts {
    /// The figures so far.
    pub fn figures(&self) -> ConvertFigures {
        let [converted, failed, millis] =
            [&self.converted, &self.failed, &self.millis].map(|count| count.load(Relaxed));
        let (failed_in_a_row, error) = self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ConvertFigures { converted, failed, millis, failed_in_a_row, error }
    }

    fn count(&self, why: Option<&String>, begun: Instant) {
        self.millis.fetch_add(begun.elapsed().as_millis() as u64, Relaxed);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = match why {
            None => {
                *failures = Default::default();
                &self.converted
            }
            Some(why) => {
                *failures = (failures.0 + 1, why.clone());
                &self.failed
            }
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// The conversions of one round.
pub struct Converts {
    pages: PageRules,
    types: MediaTypes,
    table: ConvertTable,
    converter: Arc<dyn Converter>,
    places: Semaphore,
    counts: Arc<ConvertCounts>,
}

impl Converts {
    /// Of the next round; none if no rule asks for it.
    pub fn new(
        pages: PageRules,
        table: ConvertTable,
        converter: Arc<dyn Converter>,
        counts: impl FnOnce() -> Arc<ConvertCounts>,
    ) -> Option<Converts> {
        if !pages.need_converter() {
            return None;
        }
        let types = MediaTypes::new(table.types.iter().map(String::as_str)).expect("they were checked");
        let places = Semaphore::new(table.at_once as usize);
        Some(Converts { pages, types, table, converter, places, counts: counts() })
    }

    /// The conversion of a page; none if it is read as it was sent.
    pub fn begin(&self, page: &FetchedPage) -> Option<Conversion<'_>> {
        let FetchResult::Page(response) = &page.result else { return None };
        let command = self.pages.rule_for(&page.entry.url).map(|rule| &*rule.convert)?;
        if command.is_empty() || response.body.is_empty() {
            return None;
        }
        let media_type = media_type(response);
        self.types.admits(&media_type).then_some(Conversion { all: self, command, media_type })
    }
}

/// A page that is converted.
pub struct Conversion<'c> {
    all: &'c Converts,
    command: &'c [String],
    media_type: String,
}

impl Conversion<'_> {
    /// The page with what was made of it, or failed.
    pub async fn run(self, mut page: FetchedPage) -> FetchedPage {
        let FetchResult::Page(response) = &mut page.result else { return page };
        match self.document(page.entry.url.to_string(), response).await {
            Ok(document) => {
                response.rendered = Some(document.into());
                response.is_converted = true;
            }
            Err(why) => {
                tracing::info!(url = %page.entry.url, "not converted: {why}");
                page.result = FetchResult::Nothing(Outcome::Failed(recrawl_types::Failure::Render));
            }
        }
        page
    }

    /// As HTML.
    async fn document(self, url: String, response: &Response) -> Result<String, String> {
        if response.is_cut() {
            return Err("only its beginning was fetched (fetch.max_body)".into());
        }
        let Converts { table, converter, places, counts, .. } = self.all;
        let _place = places.acquire().await.expect("it is never closed");
        let document = SourceDocument { url, media_type: self.media_type, body: response.body.clone() };
        let begun = Instant::now();
        let made = converter.convert(self.command, document, table).await;
        let document = made.and_then(|made| {
            let document = html(&String::from_utf8_lossy(&made));
            // The kernel cuts off what is longer, and a command may still end well.
            match made.len().max(document.len()) as u64 > table.max_document.0 {
                true => Err(too_large(table.max_document)),
                false => Ok(document),
            }
        });
        counts.count(document.as_ref().err(), begun);
        document
    }
}

/// Why a document is not converted that would be larger than `convert.max_document`.
pub fn too_large(limit: Size) -> String {
    format!("what the command makes of it is larger than {limit} (convert.max_document)")
}

/// `type/subtype` in lower case, as declared; else as the body begins.
fn media_type(response: &Response) -> String {
    let declared = ContentType::of_fields(response.content_type.as_deref().unwrap_or_default());
    let says_nothing = !declared.is_declared() || declared.essence == "application/octet-stream";
    match says_nothing && response.body.starts_with(PDF) {
        true => "application/pdf".into(),
        false => declared.essence,
    }
}

/// HTML stays as it is; text becomes a document. Form feeds divide pages of paper.
fn html(made: &str) -> String {
    let start = made.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let begins = |with: &str| start.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    match ["<!doctype html", "<html", "<?xml"].iter().any(|with| begins(with)) {
        true => start.to_owned(),
        false => inert_text(&made.replace('\u{c}', "\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_stays_and_text_becomes_a_document() {
        for document in ["<!DOCTYPE html><p>a", "<HTML><p>a", "<?xml version='1.0'?><html/>"] {
            assert_eq!(html(&format!("\u{feff}\n{document}")), document);
        }
        for (text, lines) in [("a <b> & c\n\u{c}d", "a &lt;b&gt; &amp; c\n\nd"), ("<head>", "&lt;head&gt;")] {
            let document = html(text);
            assert!(document.contains(lines), "{document}");
        }
    }

    #[test]
    fn limits_of_which_no_document_comes_are_refused() {
        let table = ConvertTable::default;
        assert_eq!(check(&table()), Ok(()));
        for (wrong, key) in [
            (ConvertTable { types: vec!["pdf".into()], ..table() }, "convert.types"),
            (ConvertTable { at_once: 0, ..table() }, "convert.at_once"),
            (ConvertTable { time: recrawl_types::Span::millis(0), ..table() }, "convert.time"),
            (ConvertTable { memory: Size(1 << 20), ..table() }, "convert.memory"),
            (ConvertTable { max_document: Size(1 << 30), ..table() }, "convert.max_document"),
        ] {
            assert!(check(&wrong).unwrap_err().starts_with(key), "{key}");
        }
    }
}
