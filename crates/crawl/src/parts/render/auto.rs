//! `render = "auto"`: whether the pages of a rule are rendered, learned from a sample.
//!
//! A page of the sample is read as it was sent, and rendered beside that to count the words. So a sample changes no
//! visit. When half of the sample shows its text only after scripts, the rule's pages are rendered from then on; then
//! each of them is measured, at no further request. They are read as sent again when fewer than a quarter need it. What
//! was learned is stored at the end of a round; after a crash the round samples again.

use crate::failure::Failure;
use crate::page_rules::PageRule;
use crate::stored::{keep, kept};
use recrawl_repository::SledTables;
use recrawl_types::CanonicalUrl;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The stored state, by name in the tables.
const STATE: &str = "render_auto";

/// Measured pages from which on a rule is decided.
const ENOUGH: u32 = 5;
/// Pages that are measured before that at a time.
const FIRST: u32 = 10;
/// One page in so many is measured after that.
const THEN: u64 = 50;
/// Measured pages above which all count half, so that a site may change its ways.
const WINDOW: u32 = 40;
/// Words that scripts must add for a page to need them: fewer are a date or a button.
const ADDED: usize = 10;

/// The choice for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderChoice {
    /// Read as it was sent.
    AsSent,
    /// The same, and rendered to be measured.
    Measured,
    /// Read as rendered.
    Rendered,
}

/// The words of a page.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub sent: usize,
    pub rendered: usize,
}

impl Measured {
    /// Do scripts bring at least half of the text?
    fn needs_browser(self) -> bool {
        self.rendered >= self.sent * 2 && self.rendered >= self.sent + ADDED
    }
}

/// State of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AutoRule {
    /// Measured pages.
    pages: u32,
    /// Those whose text appears after scripts.
    need: u32,
    /// Are the rule's pages rendered?
    is_rendered: bool,
    /// Pages that are being measured.
    #[serde(skip)]
    begun: u32,
}

impl AutoRule {
    fn observe(&mut self, measured: Measured) {
        self.pages += 1;
        self.need += u32::from(measured.needs_browser());
        if self.pages >= ENOUGH {
            self.is_rendered =
                if self.is_rendered { self.need * 4 >= self.pages } else { self.need * 2 >= self.pages };
        }
        if self.pages > WINDOW {
            (self.pages, self.need) = (self.pages / 2, self.need / 2);
        }
    }
}

/// The rules with `"auto"`, by their pattern.
#[derive(Debug, Default)]
pub struct AutoRules {
    before: BTreeMap<String, AutoRule>,
    now: Mutex<BTreeMap<String, AutoRule>>,
}

impl AutoRules {
    /// As they were stored.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn open(tables: &SledTables) -> Result<AutoRules, Failure> {
        let before: BTreeMap<String, AutoRule> = kept(tables, STATE)?.unwrap_or_default();
        Ok(AutoRules { now: Mutex::new(before.clone()), before })
    }

    /// Stores what was learned.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn keep(&self, tables: &SledTables) -> Result<(), Failure> {
        let now = self.now();
        if *now == self.before { Ok(()) } else { keep(tables, STATE, &*now) }
    }

    /// Are the rule's pages rendered, or may the next one be, because the rule is not decided?
    pub fn may_render(&self, rule: &PageRule) -> bool {
        self.now().get(&rule.matches).is_none_or(|known| known.is_rendered || known.pages < ENOUGH)
    }

    /// The choice for a page that was fetched at `at`.
    pub fn turn(&self, rule: &PageRule, url: &CanonicalUrl, at: u64) -> RenderChoice {
        let mut now = self.now();
        let known = now.entry(rule.matches.clone()).or_default();
        if known.is_rendered {
            return RenderChoice::Rendered;
        }
        let is_measured = match known.pages >= ENOUGH {
            // Another page each time.
            true => xxh3_64_with_seed(url.key(), at).is_multiple_of(THEN),
            false => known.pages + known.begun < FIRST,
        };
        known.begun += u32::from(is_measured);
        if is_measured { RenderChoice::Measured } else { RenderChoice::AsSent }
    }

    /// Learns from a page; nothing if it could not be measured.
    pub fn observe(&self, rule: &PageRule, turn: RenderChoice, measured: Option<Measured>) {
        let mut now = self.now();
        let known = now.entry(rule.matches.clone()).or_default();
        known.begun = known.begun.saturating_sub(u32::from(turn == RenderChoice::Measured));
        let Some(measured) = measured else { return };
        let before = known.is_rendered;
        known.observe(measured);
        if known.is_rendered != before {
            let what = if before {
                "are read as sent from now on"
            } else {
                "need a browser, and are rendered from now on"
            };
            tracing::info!(matches = rule.matches, need = known.need, of = known.pages, "pages {what}");
        }
    }

    fn now(&self) -> MutexGuard<'_, BTreeMap<String, AutoRule>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PagesTable;
    use crate::config::units::Render;
    use crate::page_rules::PageRules;
    use recrawl_types::UrlRules;

    const SCRIPTED: Measured = Measured { sent: 3, rendered: 200 };
    const PLAIN: Measured = Measured { sent: 300, rendered: 320 };

    #[test]
    fn text_that_scripts_bring_is_told_from_what_they_add() {
        for (sent, rendered, needs) in
            [(0, 10, true), (0, 9, false), (100, 199, false), (100, 200, true), (9, 18, false)]
        {
            assert_eq!(Measured { sent, rendered }.needs_browser(), needs, "{sent} {rendered}");
        }
    }

    #[test]
    fn a_rule_is_decided_by_a_sample_remembered_and_decided_again() {
        let folder = tempfile::tempdir().unwrap();
        let tables = SledTables::open(folder.path()).unwrap();
        let table = PagesTable { matches: "a.test".into(), render: Render::Auto, ..PagesTable::default() };
        let rules = PageRules::new(&[table], &UrlRules::default()).unwrap();
        let url = |i: u64| UrlRules::default().canonicalize(&format!("http://a.test/{i}")).unwrap();
        let rule = rules.rule_for(&url(0)).unwrap();
        let auto = AutoRules::open(&tables).unwrap();
        let first: Vec<RenderChoice> = (0..12).map(|i| auto.turn(rule, &url(i), 0)).collect();
        assert_eq!(first, [[RenderChoice::Measured; 10].as_slice(), &[RenderChoice::AsSent; 2]].concat());
        let is_decided = |auto: &AutoRules| auto.now()["a.test"].is_rendered;
        let observe = |auto: &AutoRules, measured| auto.observe(rule, RenderChoice::Measured, Some(measured));
        auto.observe(rule, RenderChoice::Measured, None);
        assert_eq!(auto.turn(rule, &url(12), 0), RenderChoice::Measured, "in place of the page that failed");
        (0..4).for_each(|_| observe(&auto, SCRIPTED));
        assert!(!is_decided(&auto) && auto.may_render(rule), "not enough");
        observe(&auto, PLAIN);
        assert!(is_decided(&auto) && auto.may_render(rule));
        assert_eq!(auto.turn(rule, &url(99), 0), RenderChoice::Rendered);
        auto.keep(&tables).unwrap();
        let auto = AutoRules::open(&tables).unwrap();
        (0..11).for_each(|_| observe(&auto, PLAIN));
        assert!(is_decided(&auto), "a quarter needs it");
        observe(&auto, PLAIN);
        assert!(!is_decided(&auto) && !auto.may_render(rule));
        let measured = (0..5000).filter(|i| auto.turn(rule, &url(*i), 7) == RenderChoice::Measured).count();
        assert!((60..140).contains(&measured), "one in fifty: {measured}");
        (0..100).for_each(|_| observe(&auto, SCRIPTED));
        assert!(is_decided(&auto), "the site has changed its ways");
        assert!(auto.now()["a.test"].pages <= WINDOW);
    }
}
