//! Renders pages between fetcher and readers, if a rule of `[[pages]]` asks for it.
//!
//! A page that is rendered keeps the round going, since its requests are requests of the round (`source`). It gives
//! back its connection at once, for it may need its own host. So pages that wait are bounded elsewhere: when
//! [`WAITING_PER_TAB`] wait for each tab, the fetcher requests no more pages that would be rendered.
//!
//! A page that the browser cannot render has failed, whatever was sent: its text is unknown, so it is neither changed
//! nor gone. When the round ends early, the pages that were not rendered are left to a later one, like those that were
//! not fetched.

mod auto;
mod source;

pub use auto::{AutoRules, RenderChoice};

use crate::admission::consent;
use crate::admission::loading::LoadRules;
use crate::admission::scope::Scope;
use crate::config::units::Render;
use crate::config::{Config, RenderTable};
use crate::failure::Failure;
use crate::operator::control::Control;
use crate::page_rules::{PageRule, PageRules};
use auto::Measured;
use bytes::Bytes;
use recrawl_extractor::{Extracted, Requisite, RequisiteKind};
use recrawl_fetcher::{FetchResult, FetchedPage, PageLoad, Response, StoppedBy};
use recrawl_renderer::{
    RefusedKind, RefusedResource, RenderError, RenderOptions, Rendered, Renderer, ServedPage,
};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Outcome, Skip, UrlRules};
use source::{Loaded, PageSource};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

/// Pages that wait for a tab, for each tab: then the fetcher requests no more.
pub const WAITING_PER_TAB: usize = 4;

/// The renderer of a crawl; none if no rule asks for it.
///
/// # Errors
/// No browser is installed.
pub fn renderer(pages: &PageRules, config: &Config) -> Result<Option<Arc<Renderer>>, Failure> {
    if !pages.need_browser() {
        return Ok(None);
    }
    let renderer =
        Renderer::new(options(config)).map_err(|e| Failure::Usage(format!("[[pages]] render: {e}")))?;
    Ok(Some(Arc::new(renderer)))
}

fn options(config: &Config) -> RenderOptions {
    let table = config.render.clone();
    let RenderTable {
        browser,
        sandbox,
        tabs,
        time,
        settle,
        memory,
        max_document,
        max_requests,
        scroll,
        cache,
        restart_after,
    } = table;
    RenderOptions {
        browser: Some(browser).filter(|path| !path.as_os_str().is_empty()),
        sandbox,
        tabs: tabs as usize,
        time: time.0,
        settle: settle.0,
        memory: memory.0,
        max_document: max_document.0 as usize,
        max_requests: max_requests as usize,
        scroll,
        cache: cache.0 as usize,
        restart_after: restart_after.into(),
        user_agent: config.crawler.user_agent.clone(),
    }
}

/// Checks `[render]`.
///
/// # Errors
/// The key, and what is wrong with it.
pub fn check(table: &RenderTable) -> Result<(), String> {
    let RenderTable { tabs, time, settle, memory, max_document, restart_after, .. } = table;
    if *tabs == 0 || *tabs > 64 {
        return Err("render.tabs must be 1 to 64".into());
    }
    if time.0.is_zero() || settle.0.is_zero() || *restart_after == 0 {
        return Err("render.time, render.settle and render.restart_after must not be 0".into());
    }
    if memory.0 < 256 << 20 {
        return Err("render.memory must be at least 256 MiB, which a browser without pages takes".into());
    }
    if max_document.0 == 0 || max_document.0 > 64 << 20 {
        return Err("render.max_document must be 1 B to 64 MiB".into());
    }
    Ok(())
}

/// The parts of a crawl that the stage needs.
pub struct StageInputs<'c> {
    /// Renders pages.
    pub renderer: Arc<Renderer>,
    /// Which pages are rendered.
    pub pages: PageRules,
    /// How URLs are read.
    pub urls: UrlRules,
    /// How pages are read.
    pub reading: recrawl_extractor::ExtractOptions,
    /// The URLs that may be requested.
    pub scope: &'c Scope,
    /// The decisions of operators.
    pub control: &'c Control,
    /// The tables, for what was learned of rules with `render = "auto"`.
    pub tables: &'c SledTables,
}

/// The rendering of one round.
pub struct Renders<'c> {
    scope: &'c Scope,
    control: &'c Control,
    tables: &'c SledTables,
    renderer: Arc<Renderer>,
    rules: Arc<RenderRules>,
}

/// A page, and what is archived with it: the answers that a browser got, and what it was refused.
pub type RenderedPage = (FetchedPage, (Vec<(CanonicalUrl, FetchResult)>, Vec<Requisite>));

/// Which pages are rendered, for the fetcher.
pub struct RenderRules {
    pages: PageRules,
    auto: AutoRules,
    urls: UrlRules,
    reading: recrawl_extractor::ExtractOptions,
    /// Pages that are rendered or wait for it.
    waiting: AtomicUsize,
    /// From how many on the fetcher requests no more.
    room: usize,
}

impl RenderRules {
    /// Is this page rendered?
    pub fn is_rendered(&self, url: &CanonicalUrl) -> bool {
        self.pages.rule_for(url).is_some_and(|rule| match rule.render {
            Render::Never => false,
            Render::Always => true,
            Render::Auto => self.auto.may_render(rule),
        })
    }

    /// Must this page not be requested yet?
    pub fn waits(&self, url: &CanonicalUrl) -> bool {
        self.waiting.load(Relaxed) >= self.room && self.is_rendered(url)
    }
}

impl<'c> Renders<'c> {
    /// Of the next round.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn of_round(inputs: StageInputs<'c>) -> Result<Renders<'c>, Failure> {
        let StageInputs { renderer, pages, urls, reading, scope, control, tables } = inputs;
        let auto = AutoRules::open(tables)?;
        let room = renderer.tabs() * (1 + WAITING_PER_TAB);
        let rules = Arc::new(RenderRules { pages, auto, urls, reading, waiting: AtomicUsize::new(0), room });
        Ok(Renders { scope, control, tables, renderer, rules })
    }

    /// For the fetcher.
    pub fn rules(&self) -> Arc<RenderRules> {
        self.rules.clone()
    }

    /// Ends the round: stores what was learned.
    ///
    /// # Errors
    /// When that cannot be stored.
    pub async fn finish(&self) -> Result<(), Failure> {
        self.renderer.rest().await;
        self.rules.auto.keep(self.tables)
    }

    /// The choice for a page.
    pub fn turn(&self, page: &FetchedPage) -> RenderChoice {
        let FetchResult::Page(response) = &page.result else { return RenderChoice::AsSent };
        let Some(rule) = self.rules.pages.rule_for(&page.entry.url).filter(|_| is_html(response)) else {
            return RenderChoice::AsSent;
        };
        match rule.render {
            Render::Never => RenderChoice::AsSent,
            Render::Always => RenderChoice::Rendered,
            Render::Auto => self.rules.auto.turn(rule, &page.entry.url, page.at),
        }
    }

    /// Counts a page as waiting.
    pub fn begin(&self) -> RenderWait {
        self.rules.waiting.fetch_add(1, Relaxed);
        RenderWait(self.rules.clone())
    }

    /// Renders a page, and what it loaded if that is archived; none if it is left to a later round.
    ///
    /// # Errors
    /// When no browser starts.
    pub async fn render(
        &self,
        mut page: FetchedPage,
        turn: RenderChoice,
        _waiting: RenderWait,
        load: &PageLoad,
    ) -> Result<Option<RenderedPage>, Failure> {
        let FetchResult::Page(response) = &mut page.result else {
            return Ok(Some((page, Default::default())));
        };
        let url = &page.entry.url;
        let rules = LoadRules::new(url, response, self.scope);
        let rule = self.rules.pages.rule_for(url).expect("a page is rendered by its rule");
        let (loaded, mut left_out) = (Loaded::default(), Vec::new());
        let kept = Some(&loaded).filter(|_| rule.requisites && turn == RenderChoice::Rendered);
        let source = PageSource { page: url, rules, rendering: load, control: self.control, loaded: kept };
        let rendered = self.renderer.render(&to_render(url, response), &source).await;
        if rule.render == Render::Auto {
            let measured = match &rendered {
                Ok(rendered) => RenderRules::measure(&self.rules, url, response, rendered).await,
                Err(_) => None,
            };
            self.rules.auto.observe(rule, turn, measured);
        }
        match rendered {
            Err(RenderError::NoBrowser(why)) => {
                return Err(Failure::Work(format!("[[pages]] render: {why}")));
            }
            _ if turn == RenderChoice::Measured => {}
            Ok(rendered) => {
                response.rendered = Some(rendered.html.into());
                response.navigations = rendered.navigations;
                if kept.is_some() {
                    left_out = rendered.left_out.into_iter().filter_map(requisite).collect();
                }
            }
            Err(why) => match load.ended().filter(|_| why == RenderError::NotNow) {
                Some(StoppedBy::Deadline) => page.result = skipped(Skip::Deadline),
                Some(StoppedBy::ByteBudget) => page.result = skipped(Skip::ByteBudget),
                Some(StoppedBy::Stop | StoppedBy::SlowHosts | StoppedBy::FirstLook) => return Ok(None),
                Some(StoppedBy::End) | None => {
                    tracing::info!(%url, "not rendered: {why}");
                    page.result = FetchResult::Nothing(Outcome::Failed(recrawl_types::Failure::Render));
                }
            },
        }
        let loaded = loaded.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Some((page, (loaded, left_out))))
    }
}

impl RenderRules {
    /// Counts the words with and without scripts, on a thread of its own; none if the page cannot be read.
    async fn measure(
        rules: &Arc<RenderRules>,
        url: &CanonicalUrl,
        response: &Response,
        rendered: &Rendered,
    ) -> Option<Measured> {
        let (rules, url, response) = (rules.clone(), url.clone(), response.clone());
        let html = rendered.html.clone();
        let measured = tokio::task::spawn_blocking(move || {
            let part = rules.pages.rule_for(&url).and_then(PageRule::part);
            let words = |body: &[u8], is_rendered: bool| {
                let mut fields = consent::fields(&response);
                let (urls, reading) = (&rules.urls, &rules.reading);
                if is_rendered {
                    fields = fields.rendered(&response.body, &url, &reading.types);
                }
                match recrawl_extractor::extract_part(body, &fields, &url, urls, reading, part) {
                    Extracted::Page(read) => read.text.split_whitespace().count(),
                    Extracted::Listing(..) | Extracted::Opaque(..) => 0,
                }
            };
            Measured { sent: words(&response.body, false), rendered: words(html.as_bytes(), true) }
        });
        measured.await.inspect_err(|e| tracing::error!("a page was not measured: {e}")).ok()
    }
}

/// Counts a page as waiting or rendered.
pub struct RenderWait(Arc<RenderRules>);

impl Drop for RenderWait {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

fn skipped(why: Skip) -> FetchResult {
    FetchResult::Nothing(Outcome::Skipped(why))
}

/// Only whole HTML documents are rendered: a browser shows others without their scripts, or not at all.
/// A URL that a browser was refused, as a requisite.
fn requisite(RefusedResource { kind, url }: RefusedResource) -> Option<Requisite> {
    let kind = match kind {
        RefusedKind::Font => RequisiteKind::Font,
        RefusedKind::Image => RequisiteKind::Image,
        RefusedKind::Media => RequisiteKind::Media,
    };
    Some(Requisite { url: UrlRules::keep_all().canonicalize(&url).ok()?, kind })
}

fn is_html(response: &Response) -> bool {
    let media =
        response.content_type.as_deref().and_then(|value| value.split(';').next()).unwrap_or_default();
    let is_html =
        ["text/html", "application/xhtml+xml"].iter().any(|html| media.trim().eq_ignore_ascii_case(html));
    is_html && !response.is_cut() && !response.body.is_empty()
}

fn to_render(url: &CanonicalUrl, response: &Response) -> ServedPage {
    let (headers, body): (_, Bytes) = (source::fields(response), response.body.clone());
    ServedPage { url: url.to_string(), status: response.status, headers, body }
}
