//! Rules for pages (`[[pages]]`): the parts that count, for change detection and its text, and the importance.
//!
//! The first rule that matches a page applies. A content keeps the number of the rule under which its
//! fingerprint was made. When the rule of a page has changed, its next visit is compared under the rule of the
//! last visit, from the body at hand, and stored under the new one. So a new rule is no change of any page, and
//! needs no archive. For that the tables keep the lists of former rules ([`KnownRules`]).
//!
//! Without `[[pages]]` nothing is stored, and pages are read as ever.

pub mod importance;

use crate::admission::pattern::Pattern;
use crate::config::PagesTable;
use crate::config::units::Render;
use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_change::ChangeRules;
use recrawl_extractor::{CountedPart, PartError};
use recrawl_repository::SledTables;
use recrawl_types::{
    CanonicalUrl, Content, ContentKind, Importance, Outcome, Span, UrlRules, Visit, Visited,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

/// Rules at most: each page is compared with all.
pub const MAX_PAGE_RULES: usize = 100;
/// Former and present rules that are remembered. The rule that was in force longest ago is forgotten first.
const MAX_KNOWN_RULES: usize = 400;

/// Shortest interval of visits of a page.
const MIN_EVERY: Duration = Duration::from_secs(1);

/// The stored lists of rules, by name in the tables.
const KNOWN: &str = "page_rules";

/// The selectors and patterns of a rule of `[[pages]]`, which say what of the text counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lists {
    /// CSS selectors of the elements that count; empty for the whole page.
    pub include: Vec<String>,
    /// CSS selectors of elements that do not count.
    pub ignore: Vec<String>,
    /// Regular expressions of text that does not count.
    pub ignore_text: Vec<String>,
    /// Is the text that of the page after its scripts?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rendered: bool,
    /// The command whose output the text is; empty if it is that of the page itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub converter: Vec<String>,
}

impl Lists {
    /// Compiles the lists.
    ///
    /// # Errors
    /// What is wrong with an entry.
    pub fn part(&self) -> Result<CountedPart, PartError> {
        CountedPart::new(&self.include, &self.ignore, &self.ignore_text)
    }

    /// Is there no entry?
    pub fn are_empty(&self) -> bool {
        *self == Lists::default()
    }

    /// [`Content::rule`] of pages that were read with these lists: 0 for the whole page as it was sent.
    pub fn number(&self) -> u32 {
        if self.are_empty() {
            return 0;
        }
        Content::rule_of(&serde_json::to_string(self).expect("lists are plain data"))
    }
}

/// A rule of the configuration.
#[derive(Clone, Debug)]
pub struct PageRule {
    /// `pages.match`, as written.
    pub matches: String,
    /// Its selectors and patterns, as written.
    pub lists: Lists,
    /// The part of the page that counts.
    pub part: CountedPart,
    /// Are the pages rendered?
    pub render: Render,
    /// The command that makes text of documents that have none; empty without a command.
    pub convert: Vec<String>,
    /// Are their requisites archived?
    pub requisites: bool,
    /// The one page of the rule and the interval of its visits, if it has one of its own.
    pub rhythm: Option<(CanonicalUrl, Duration)>,
    /// As how many ordinary pages each of its pages counts.
    pub importance: Importance,
    /// [`Lists::number`] of pages as they were sent.
    pub number: u32,
    /// The same of rendered pages.
    pub rendered_number: u32,
    /// The same of documents that are converted, or would be if they had another media type.
    pub converted_number: u32,
    pattern: Pattern,
}

/// The rules of a configuration, in their order.
#[derive(Clone, Debug, Default)]
pub struct PageRules(Vec<PageRule>);

impl PageRules {
    /// Checks and compiles the `[[pages]]` tables.
    ///
    /// # Errors
    /// The rule and the key, and what is wrong.
    pub fn new(tables: &[PagesTable], urls: &UrlRules) -> Result<PageRules, String> {
        if tables.len() > MAX_PAGE_RULES {
            return Err(format!("at most {MAX_PAGE_RULES} [[pages]] can be given, not {}", tables.len()));
        }
        let mut rules: Vec<PageRule> = Vec::new();
        for table in tables {
            let rule = PageRule::new(table, urls)?;
            if let Some(earlier) = rules.iter().find(|earlier| earlier.pattern.covers(&rule.pattern)) {
                return Err(format!(
                    "pages.match {:?} never applies, since {:?} before it matches all its pages: put it first",
                    rule.matches, earlier.matches
                ));
            }
            rules.push(rule);
        }
        Ok(PageRules(rules))
    }

    /// The rule of a page: the first that matches.
    pub fn rule_for(&self, url: &CanonicalUrl) -> Option<&PageRule> {
        self.0.iter().find(|rule| rule.pattern.matches(url))
    }

    /// Is a page read by another rule than at its last visit?
    pub fn read_anew(&self, url: &CanonicalUrl, visited: Option<&Visited>) -> bool {
        let Some(Visited { content, .. }) = visited else { return false };
        let rule = self.rule_for(url);
        let converts = rule.filter(|rule| !rule.convert.is_empty()).map(|rule| rule.converted_number);
        match content.kind {
            ContentKind::Text | ContentKind::Hints => {
                let numbers = rule.map_or([0; 2], |rule| [rule.number, rule.rendered_number]);
                !numbers.contains(&content.rule) && converts != Some(content.rule)
            }
            // Nobody has read it, or nobody may have.
            ContentKind::Opaque => converts.is_some_and(|number| content.rule != number),
            _ => false,
        }
    }

    /// The pages with a rhythm of their own.
    pub fn rhythms(&self) -> impl Iterator<Item = (&CanonicalUrl, Duration)> {
        self.0.iter().filter_map(|rule| rule.rhythm.as_ref()).map(|(url, every)| (url, *every))
    }

    /// The importance of a page.
    pub fn importance(&self, url: &CanonicalUrl) -> Importance {
        self.rule_for(url).map_or(Importance::ONE, |rule| rule.importance)
    }

    /// The first rule of an importance other than 1, if some page may have one.
    pub fn weighing(&self) -> Option<&PageRule> {
        self.0.iter().find(|rule| rule.importance != Importance::ONE)
    }

    /// Does a rule ask for requisites?
    pub fn need_requisites(&self) -> bool {
        self.0.iter().any(|rule| rule.requisites)
    }

    /// Does a rule name a command that converts?
    pub fn need_converter(&self) -> bool {
        self.converters().next().is_some()
    }

    /// The patterns and commands of rules that name one.
    pub fn converters(&self) -> impl Iterator<Item = (&str, &[String])> {
        let rules = self.0.iter().filter(|rule| !rule.convert.is_empty());
        rules.map(|rule| (&*rule.matches, &*rule.convert))
    }

    /// Does a rule ask for a browser?
    pub fn need_browser(&self) -> bool {
        self.0.iter().any(|rule| rule.render != Render::Never)
    }
}

impl PageRule {
    fn new(table: &PagesTable, urls: &UrlRules) -> Result<PageRule, String> {
        let PagesTable {
            matches,
            include,
            ignore,
            ignore_text,
            render,
            convert,
            requisites,
            every,
            importance,
        } = table.clone();
        let pattern = Pattern::parse(&matches, urls).map_err(|e| format!("pages.match: {e}"))?;
        let lists = Lists { include, ignore, ignore_text, ..Lists::default() };
        let has_more = requisites || !convert.is_empty() || every.is_some() || importance.is_some();
        if lists.are_empty() && render == Render::Never && !has_more {
            let text = "needs include, ignore, ignore_text, render, convert, requisites, every or importance; remove the rule to count the \
                        whole page";
            return Err(format!("[[pages]] with match {matches:?} {text}"));
        }
        let part =
            lists.part().map_err(|PartError { key, why }| format!("pages.{key} of {matches:?}: {why}"))?;
        let rhythm = every.map(|every| rhythm(&pattern, every.0)).transpose();
        let rhythm = rhythm.map_err(|e| format!("pages.every of {matches:?}: {e}"))?;
        let rendered_number = Lists { is_rendered: true, ..lists.clone() }.number();
        Ok(PageRule {
            number: lists.number(),
            rendered_number,
            converted_number: Lists { converter: convert.clone(), ..lists.clone() }.number(),
            render,
            convert,
            requisites,
            rhythm,
            importance: importance.unwrap_or_default(),
            matches,
            lists,
            part,
            pattern,
        })
    }

    /// The part of the page that counts; none for the whole page.
    pub fn part(&self) -> Option<&CountedPart> {
        Some(&self.part).filter(|_| !self.lists.are_empty())
    }

    /// The lists under which its pages are read.
    fn in_force(&self) -> impl Iterator<Item = Lists> {
        let sent =
            Some(self.lists.clone()).filter(|lists| self.render != Render::Always && !lists.are_empty());
        let rendered = Lists { is_rendered: true, ..self.lists.clone() };
        let converted = Lists { converter: self.convert.clone(), ..self.lists.clone() };
        let rendered = Some(rendered).filter(|_| self.render != Render::Never);
        sent.into_iter().chain(rendered).chain(Some(converted).filter(|_| !self.convert.is_empty()))
    }
}

/// The page of a rule with an interval.
fn rhythm(pattern: &Pattern, every: Duration) -> Result<(CanonicalUrl, Duration), String> {
    if every < MIN_EVERY {
        return Err(format!("at least {}", Span(MIN_EVERY)));
    }
    match pattern {
        Pattern::Page(url) => Ok((url.clone(), every)),
        Pattern::Host(_) | Pattern::Prefix(_) => {
            Err("only one page, by its URL, can have a rhythm of its own".into())
        }
    }
}

/// The rules in force and former ones, of the contents that were made under them.
#[derive(Debug, Default)]
pub struct KnownRules {
    /// By number; compiled when a page needs it.
    former: BTreeMap<u32, (Lists, OnceLock<Option<CountedPart>>)>,
}

impl KnownRules {
    /// The rules known so far, after the present ones were stored durably. Without any, nothing is written.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn open(tables: &SledTables, present: &PageRules) -> Result<KnownRules, Failure> {
        let before = KnownRules::stored(tables)?;
        let in_force: Vec<Lists> = present.0.iter().flat_map(PageRule::in_force).collect();
        let numbers: Vec<u32> = in_force.iter().map(Lists::number).collect();
        // The newest come last.
        let mut known: Vec<Lists> =
            before.iter().filter(|lists| !numbers.contains(&lists.number())).cloned().collect();
        for lists in in_force {
            if !known.contains(&lists) {
                known.push(lists);
            }
        }
        known.drain(..known.len().saturating_sub(MAX_KNOWN_RULES));
        if known != before {
            keep(tables, KNOWN, &known)?;
            tables.flush()?;
        }
        Ok(KnownRules::new(known))
    }

    fn stored(tables: &SledTables) -> Result<Vec<Lists>, Failure> {
        Ok(kept(tables, KNOWN)?.unwrap_or_default())
    }

    fn new(lists: Vec<Lists>) -> KnownRules {
        let numbered = |lists: Lists| (lists.number(), (lists, OnceLock::new()));
        KnownRules { former: lists.into_iter().map(numbered).collect() }
    }

    /// The lists under which the content was made, if they are known.
    pub fn lists(&self, content: &Content) -> Option<&Lists> {
        self.former.get(&content.rule).map(|(lists, _)| lists)
    }

    /// How the text of a content was selected; none if its rule is no longer known.
    pub fn of_content(&self, content: &Content) -> Option<TextSelection<'_>> {
        match content.rule {
            0 => Some(TextSelection::Whole),
            number => {
                let (lists, part) = self.former.get(&number)?;
                // A former version compiled it, so it fails only if a newer library reads it otherwise.
                part.get_or_init(|| lists.part().ok()).as_ref().map(TextSelection::Part)
            }
        }
    }
}

/// How the text of a page is selected.
#[derive(Clone, Copy, Debug)]
pub enum TextSelection<'p> {
    /// The whole page.
    Whole,
    /// By a rule.
    Part(&'p CountedPart),
}

impl<'p> TextSelection<'p> {
    /// The part; none for the whole page.
    pub fn part(self) -> Option<&'p CountedPart> {
        match self {
            TextSelection::Whole => None,
            TextSelection::Part(part) => Some(part),
        }
    }
}

/// How many pages of a round each rule left without text.
#[derive(Debug, Default)]
pub struct RuleUse {
    /// Pages, and those without text, by number of the rule.
    pages: BTreeMap<u32, (u64, u64)>,
}

impl RuleUse {
    /// Counts a visit. True if its rule left no text.
    pub fn observe(&mut self, visit: &Visit, change: &ChangeRules) -> bool {
        let content = visit.content.as_ref().filter(|content| content.rule != 0);
        let Some(content) = content.filter(|_| matches!(visit.outcome, Outcome::Fetched(_))) else {
            return false;
        };
        let is_empty = content.fingerprint.digest == change.fingerprint("").digest;
        let (pages, empty) = self.pages.entry(content.rule).or_default();
        *pages += 1;
        *empty += u64::from(is_empty);
        is_empty
    }

    /// The rules in force that left no page of the round any text, with the number of pages.
    pub fn without_text<'r>(&self, rules: &'r PageRules) -> Vec<(&'r PageRule, u64)> {
        let of = |rule: &'r PageRule| {
            // A rule without a command has one number twice.
            let numbers = BTreeSet::from([rule.number, rule.rendered_number, rule.converted_number]);
            let read = numbers.iter().filter_map(|number| self.pages.get(number));
            let (pages, empty) = read.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            (pages > 0 && pages == empty).then_some((rule, pages))
        };
        rules.0.iter().filter_map(of).collect()
    }

    /// Warns of such rules.
    pub fn warn(&self, rules: &PageRules) {
        for (rule, pages) in self.without_text(rules) {
            let matches = &rule.matches;
            tracing::warn!(
                "[[pages]] match {matches:?} left no text of any of the {pages} pages that this round read under it, so \
                 none of them can change; test it with recrawl page test URL"
            );
        }
    }
}

#[cfg(test)]
mod tests;
