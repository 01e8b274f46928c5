//! The archived versions of a page, for the console. As `recrawl show`, it reads what the last commit leads to.

use super::shared_state::SharedState;
use crate::action::recrawl::known_page;
use crate::report::explain::unknown;
use crate::report::versions::{content, fill, why_not};
use crate::texts::{
    ArchivedPage, ArchivedRequisites, ArchivedVersion, MissingText, WhichVersion, inert_body,
};
use recrawl_archive::answer::ArchivedAnswer;
use recrawl_archive::timestamp;
use recrawl_console::view::{
    MementoList, OneVersion, RawVersion, Refusal, VersionContent, VersionList, VersionQuery, Which,
};
use recrawl_crawl::labels::counted;
use recrawl_extractor::Looked;
use recrawl_types::{ArchivePosition, CanonicalUrl};

/// So that no style sheet of a page hides what this document is.
const SHOWN: &str = "all: initial !important; display: block !important; visibility: visible !important; \
    opacity: 1 !important; clip-path: none !important; position: relative !important; z-index: 2147483647 !important; \
    font: 14px/1.5 system-ui, sans-serif !important; color: CanvasText !important; background: Canvas !important";
/// Maximum bytes of a body that becomes a document. The rest is left out.
const MAX_SHOWN_BODY: usize = 1 << 20;

/// Looks of an archived document. It follows the system's theme, and inherits nothing of the page.
const STYLE: &str = ":root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }\n\
    body { margin: 0; padding: .75rem 1rem; overflow-wrap: anywhere }\n\
    pre { white-space: pre-wrap }\n\
    table { border-collapse: collapse } td, th { padding: .2rem .5rem; vertical-align: top; text-align: start }\n\
    a { text-decoration: underline dotted }";

/// A page of the last commit, or why nothing of it is kept.
fn page(
    shared: &SharedState,
    url: &str,
) -> Result<(CanonicalUrl, Result<ArchivedPage, MissingText>), Refusal> {
    let settings = shared.settings();
    let (url, found) = known_page(&settings, &shared.generation(), url)?;
    let Some((_, record)) = found else {
        let tables = Ok(shared.tables.clone());
        let why = unknown(&mut (*settings).clone(), &shared.control.decided(), &tables, &url)
            .map_err(Refusal::failed)?;
        return Err(Refusal::NotFound(why.to_string()));
    };
    Ok((url.clone(), ArchivedPage::open(settings, url, record.visited)))
}

/// The versions from the cursor on.
pub fn list(shared: &SharedState, ask: &VersionQuery) -> Result<VersionList, Refusal> {
    let (url, found) = page(shared, &ask.url)?;
    let mut list = VersionList { url: url.to_string(), versions: Vec::new(), next: None, missing: None };
    match found {
        Ok(page) => fill(&mut list, &page, ask, shared.now())?,
        Err(missing) => list.missing = Some(why_not(missing)),
    }
    Ok(list)
}

/// Text, headers and difference of one version.
pub fn one(shared: &SharedState, asked: &OneVersion) -> Result<VersionContent, Refusal> {
    let (page, number, version) = version(shared, asked, None)?;
    Ok(content(&page, number, &version))
}

/// One version as an inert HTML document.
pub fn document(shared: &SharedState, asked: &OneVersion) -> Result<String, Refusal> {
    let (page, _, version) = version(shared, asked, Some(MAX_SHOWN_BODY))?;
    let ArchivedVersion { answer, .. } = &version;
    let requisites = ArchivedRequisites::new(&shared.tables, &page.archive, &page.settings);
    let looked = match requisites.are_archived().map_err(Refusal::failed)? {
        true => requisites.look(answer, &page.url),
        false => None,
    };
    if let Some(looked) = looked {
        return Ok(with_look(&page, answer, &looked));
    }
    let Some(body) = inert_body(answer, &page.url, &page.settings) else {
        let why = page.text(&version).err().map_or_else(|| "no text".to_owned(), |missing| missing.why);
        return Err(Refusal::NotFound(format!("{}: {why}, so it is not shown as a page", page.url)));
    };
    // With a place in the tab order, a keyboard can scroll the frame.
    let (head, notice) =
        head_and_notice(&page, answer, "Scripts, styles, images, forms and links are left out.");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n{head}<style>{STYLE}</style>\n</head>\n<body tabindex=\"0\">\n\
         {notice}<hr>\n{body}\n{}</body>\n</html>\n",
        rest_of(answer)
    ))
}

/// The times of the versions, newest first. The chain ends where one cannot be read.
pub fn times(shared: &SharedState, url: &str) -> Result<MementoList, Refusal> {
    let (url, found) = page(shared, url)?;
    let not_found = |missing: MissingText| Refusal::NotFound(format!("{url}: {}", missing.why));
    let page = found.map_err(not_found)?;
    let times: Vec<u64> = page.places().map_while(|place| Some(place.ok()?.time)).collect();
    if times.is_empty() {
        let why = page.places().find_map(Result::err).unwrap_or_else(|| page.none(shared.now()));
        return Err(not_found(why));
    }
    Ok(MementoList { url: url.to_string(), times })
}

/// One version as it was received.
pub fn raw(shared: &SharedState, asked: &OneVersion) -> Result<RawVersion, Refusal> {
    let (ArchivedPage { url, .. }, _, ArchivedVersion { answer, .. }) = version(shared, asked, None)?;
    if answer.body.len() < answer.body_bytes as usize {
        let what =
            format!("{url}: the archived body has {} bytes, more than fetch.max_body", answer.body_bytes);
        return Err(Refusal::conflict(what, "raise fetch.max_body and run `recrawl reload`"));
    }
    let target = answer.target(&url);
    Ok(RawVersion {
        time: answer.time(),
        status: answer.status(),
        head: answer.http_head().to_vec(),
        url: url.to_string(),
        target: target.map(|target| target.to_string()),
        body: answer.body,
    })
}

/// The same of a page whose style sheets, images and frames are archived.
fn with_look(page: &ArchivedPage, answer: &ArchivedAnswer, looked: &Looked) -> String {
    let Looked { head: look, html_attributes, body_attributes, body, missing, has_quirks } = looked;
    let document_type = if *has_quirks { "" } else { "<!doctype html>\n" };
    let mut left_out = "Scripts do not run, forms and links do nothing.".to_owned();
    if *missing > 0 {
        left_out += &format!(" Not archived: {}.", counted(*missing as u64, "requisite"));
    }
    let (head, notice) = head_and_notice(page, answer, &left_out);
    format!(
        "{document_type}<html{html_attributes}>\n{head}{look}</head>\n<body tabindex=\"0\"{body_attributes}>\n\
         {body}\n<hr>\n{notice}{}</body>\n</html>\n",
        rest_of(answer)
    )
}

/// The head of a document, which is still open, and a line that says what it is.
fn head_and_notice(page: &ArchivedPage, answer: &ArchivedAnswer, left_out: &str) -> (String, String) {
    let url = page.url.to_string().replace('&', "&amp;").replace('<', "&lt;");
    let head = format!(
        "<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Archived: {url}</title>\n"
    );
    (head, notice(&url, answer.time(), left_out))
}

/// The line that says what a document is. No element stands in it: a style sheet would reach that.
fn notice(url: &str, second: u64, left_out: &str) -> String {
    let time = timestamp(second * 1000);
    format!("<p style=\"{SHOWN}\">Archived copy of {url}, {time}. {left_out}</p>\n")
}

/// A line behind the body of a page of which only the beginning is shown.
fn rest_of(answer: &ArchivedAnswer) -> &'static str {
    if answer.is_cut { "<p>The page goes on; the rest is left out.</p>\n" } else { "" }
}

/// A version that the page's record leads to, its body read up to a limit, or as far as a text is read.
fn version(
    shared: &SharedState,
    asked: &OneVersion,
    max_body: Option<usize>,
) -> Result<(ArchivedPage, usize, ArchivedVersion), Refusal> {
    let (url, found) = page(shared, &asked.url)?;
    let not_found = |missing: MissingText| Refusal::NotFound(format!("{url}: {}", missing.why));
    let page = found.map_err(not_found)?;
    let which = match asked.which {
        Which::Place { warc_file: file, warc_offset: offset } => {
            WhichVersion::At(ArchivePosition { file, offset })
        }
        Which::At(time) => WhichVersion::Until(time),
    };
    let found = page.find(which, shared.now()).map_err(not_found)?;
    let max_body = max_body.unwrap_or_else(|| page.settings.max_archived_body());
    let version = page.read(found.place.at, max_body).map_err(not_found)?;
    Ok((page, found.number, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_style_sheet_of_a_page_outweighs_a_part_of_the_notice() {
        let line = notice("http://a.test/?a&amp;b", 1, "All is left out.");
        let (style, words) = line.strip_prefix("<p style=\"").unwrap().split_once("\">").unwrap();
        assert_eq!(
            words,
            "Archived copy of http://a.test/?a&amp;b, 1970-01-01T00:00:01Z. All is left out.</p>\n"
        );
        // The first resets each property, so that what is not named here is not the page's either.
        assert!(style.starts_with("all: initial !important; "), "{style}");
        assert!(style.split(';').all(|declaration| declaration.ends_with(" !important")), "{style}");
    }
}
