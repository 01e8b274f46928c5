//! Selects the part of a page's text that counts: CSS selectors over the tree, patterns over the text.
//!
//! Links, title and directives are those of the whole page. A page with a part is read by its tree, since
//! selectors ask for ancestors, siblings and any attribute.

use crate::sink::Handle;
use crate::text::Collapsed;
use recrawl_types::Size;
use recrawl_types::visible::visible;
use regex::{Regex, RegexBuilder};
use scraper::{Html, Selector};
use std::collections::HashSet;

mod cost;

pub(crate) use cost::SelectorCost;

/// Maximum selectors, and maximum patterns, of one part: each costs time at every visit.
pub const MAX_PART_ENTRIES: usize = 50;
/// Maximum bytes of a selector or pattern. Real ones have a few dozen.
pub const MAX_PART_ENTRY_BYTES: usize = 1000;
/// Maximum bytes of a compiled pattern. Searching takes time in proportion to this and to the text.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Steps of selectors that any page may take.
const MIN_SELECTOR_STEPS: u64 = 1 << 22;
/// Further steps per byte of the page. Real pages take less than one for each selector.
const SELECTOR_STEPS_A_BYTE: u64 = 64;

/// The part of a page's text that counts.
#[derive(Clone, Debug, Default)]
pub struct CountedPart {
    include: Option<Selector>,
    ignore: Option<Selector>,
    ignore_text: Vec<Regex>,
    cost: SelectorCost,
}

/// Error: an entry of a part is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartError {
    /// The list: `include`, `ignore` or `ignore_text`.
    pub key: &'static str,
    /// What is wrong, with the entry, and what to do.
    pub why: String,
}

impl CountedPart {
    /// Checks and compiles selectors and patterns. Without `include`, the whole page counts.
    ///
    /// # Errors
    /// The first list with an invalid entry.
    ///
    /// ```
    /// use recrawl_extractor::{Extracted, BodyFields, ExtractOptions, CountedPart, extract_part};
    /// use recrawl_types::UrlRules;
    ///
    /// let price = CountedPart::new(&[".price".into()], &[], &["(?i)incl\\. VAT".into()])?;
    /// let (rules, fields) = (UrlRules::default(), BodyFields { content_type: Some("text/html"), ..BodyFields::default() });
    /// let url = rules.canonicalize("https://example.com/shoe").expect("it is a URL");
    /// let body = b"<p>Shoe</p><p class=price>15 EUR incl. VAT</p><p>Seen 731 times</p>";
    /// let Extracted::Page(page) = extract_part(body, &fields, &url, &rules, &ExtractOptions::default(), Some(&price)) else {
    ///     panic!("it is a page");
    /// };
    /// assert_eq!(page.text.trim(), "15 EUR");
    /// # Ok::<(), recrawl_extractor::PartError>(())
    /// ```
    pub fn new(
        include: &[String],
        ignore: &[String],
        ignore_text: &[String],
    ) -> Result<CountedPart, PartError> {
        let (included, ignored) = (list("include", include)?, list("ignore", ignore)?);
        let ignore_text = patterns(ignore_text)?;
        // Only now their lengths are known to be bounded.
        let cost = SelectorCost::estimate(include.iter().chain(ignore));
        Ok(CountedPart { cost, include: included, ignore: ignored, ignore_text })
    }

    /// Are there selectors? Otherwise the page needs no tree.
    pub(crate) fn selects(&self) -> bool {
        self.include.is_some() || self.ignore.is_some()
    }

    /// The elements that are selected in a tree. A page that would need too many steps is given up, with nothing
    /// selected: few pages are so deep or so flat, and a page without text is counted.
    pub(crate) fn select(&self, html: &Html, bytes: usize) -> Selected {
        let most = most_steps(bytes);
        let steps = self.cost.steps(html, most);
        if steps > most {
            let (included, ignored) = (Some(HashSet::new()), HashSet::new());
            return Selected { included, ignored, is_given_up: true, steps };
        }
        let select = |selector: &Selector| html.select(selector).map(|element| element.id()).collect();
        Selected {
            included: self.include.as_ref().map(select),
            ignored: self.ignore.as_ref().map(select).unwrap_or_default(),
            is_given_up: false,
            steps,
        }
    }

    /// The patterns of text that does not count.
    pub(crate) fn patterns(&self) -> &[Regex] {
        &self.ignore_text
    }

    /// The text without what the patterns match, collapsed again.
    pub(crate) fn strip(&self, text: String) -> String {
        if self.ignore_text.is_empty() {
            return text;
        }
        // A pattern names what its author sees.
        let text = visible(&text).into_owned();
        let limit = text.len();
        let left = self.ignore_text.iter().fold(text, |text, pattern| match pattern.replace_all(&text, "") {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(left) => left,
        });
        let mut collapsed = Collapsed::new(limit);
        for line in left.lines() {
            collapsed.block();
            collapsed.push(line);
        }
        collapsed.finish()
    }
}

/// The elements that a part selects.
#[derive(Default)]
pub(crate) struct Selected {
    /// None if the whole page counts.
    pub(crate) included: Option<HashSet<Handle>>,
    pub(crate) ignored: HashSet<Handle>,
    /// Would the page need too many steps?
    pub(crate) is_given_up: bool,
    /// What it cost.
    pub(crate) steps: u64,
}

fn bounded(key: &'static str, entries: &[String]) -> Result<(), PartError> {
    if entries.len() > MAX_PART_ENTRIES {
        let why = format!("{} entries; at most {MAX_PART_ENTRIES} are read", entries.len());
        return Err(PartError { key, why });
    }
    match entries.iter().find(|entry| entry.len() > MAX_PART_ENTRY_BYTES) {
        Some(entry) => {
            let why = format!("an entry of {} bytes; at most {MAX_PART_ENTRY_BYTES} are read", entry.len());
            Err(PartError { key, why })
        }
        None => Ok(()),
    }
}

/// Steps that the selectors of a page of this size may take.
pub(crate) fn most_steps(bytes: usize) -> u64 {
    MIN_SELECTOR_STEPS + SELECTOR_STEPS_A_BYTE * bytes as u64
}

/// Compiles a selector whose cost on a page has a bound.
pub(crate) fn checked_selector(entry: &str) -> Result<Selector, String> {
    let failed = |why: &str| format!("{entry:?} {why}");
    let example = "is not a CSS selector; write one such as \"main article\", \"#price\" or \".ads\"";
    let selector = Selector::parse(entry).map_err(|_| failed(example))?;
    match entry.to_ascii_lowercase().contains(":has(") {
        true => Err(failed("contains :has(), whose cost on a page has no bound; select the element itself")),
        false => Ok(selector),
    }
}

/// One selector that matches whatever an entry matches.
fn list(key: &'static str, entries: &[String]) -> Result<Option<Selector>, PartError> {
    bounded(key, entries)?;
    for entry in entries {
        checked_selector(entry).map_err(|why| PartError { key, why })?;
    }
    let joined = (!entries.is_empty()).then(|| Selector::parse(&entries.join(", ")));
    joined
        .transpose()
        .map_err(|_| PartError { key, why: format!("{entries:?} is not a list of CSS selectors") })
}

fn patterns(entries: &[String]) -> Result<Vec<Regex>, PartError> {
    let key = "ignore_text";
    bounded(key, entries)?;
    let compile = |entry: &String| {
        // Each block of the text is a line, so `^` and `$` stand for its ends.
        let mut builder = RegexBuilder::new(entry);
        builder.multi_line(true).size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
        builder.build().map_err(|error| {
            let why = match error {
                regex::Error::CompiledTooBig(limit) => {
                    let limit = Size(limit as u64);
                    format!("{entry:?} needs more than {limit} when compiled; write smaller repetitions")
                }
                // The parser draws the position over several lines; the last one says what is wrong.
                error => {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    format!("{entry:?} is not a regular expression: {last} (put a backslash before a literal character)")
                }
            };
            PartError { key, why }
        })
    };
    entries.iter().map(compile).collect()
}

#[cfg(test)]
mod tests;
