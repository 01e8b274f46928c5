//! The stage between fetcher and readers in which pages are rendered, if a rule of `[[pages]]` asks for it.
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

pub use auto::AutoRules;

use crate::admission::consent;
use crate::admission::scope::Scope;
use crate::config::units::Render;
use crate::config::{Config, RenderTable};
use crate::failure::Failure;
use crate::operator::control::Control;
use crate::page_rules::{PageRule, PageRules};
use auto::{Measured, RenderChoice};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use recrawl_extractor::Extracted;
use recrawl_fetcher::{
    FetchResult, FetchedPage, Fetcher, Hold, RenderedPages, Rendering, Resources, Response, StoppedBy,
};
use recrawl_renderer::{Options, Page, RenderError, Rendered, Renderer};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Outcome, Skip, UrlRules};
use source::PageSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::mpsc::{Receiver, Sender};

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

fn options(config: &Config) -> Options {
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
    Options {
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
    /// Requests what they load.
    pub fetcher: &'c Fetcher,
    /// Which pages are rendered.
    pub pages: PageRules,
    /// How URLs are read.
    pub urls: UrlRules,
    /// How pages are read.
    pub reading: recrawl_extractor::Options,
    /// The URLs that may be requested.
    pub scope: &'c Scope,
    /// The decisions of operators.
    pub control: &'c Control,
    /// The tables, for what was learned of rules with `render = "auto"`.
    pub tables: &'c SledTables,
}

/// The stage of one round.
pub struct Stage<'c> {
    scope: &'c Scope,
    control: &'c Control,
    tables: &'c SledTables,
    renderer: Arc<Renderer>,
    resources: Arc<Resources>,
    rules: Arc<Rules>,
}

/// Which pages are rendered.
struct Rules {
    pages: PageRules,
    auto: AutoRules,
    urls: UrlRules,
    reading: recrawl_extractor::Options,
    /// Pages that are rendered or wait for it.
    waiting: AtomicUsize,
    /// From how many on the fetcher requests no more.
    room: usize,
}

impl RenderedPages for Rules {
    fn is_rendered(&self, url: &CanonicalUrl) -> bool {
        self.pages.of(url).is_some_and(|rule| match rule.render {
            Render::Never => false,
            Render::Always => true,
            Render::Auto => self.auto.may_render(rule),
        })
    }

    fn is_full(&self) -> bool {
        self.waiting.load(Relaxed) >= self.room
    }
}

impl<'c> Stage<'c> {
    /// The stage of the next round.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn of_round(inputs: StageInputs<'c>) -> Result<Stage<'c>, Failure> {
        let StageInputs { renderer, fetcher, pages, urls, reading, scope, control, tables } = inputs;
        let auto = AutoRules::open(tables)?;
        let room = renderer.tabs() * (1 + WAITING_PER_TAB);
        let rules = Arc::new(Rules { pages, auto, urls, reading, waiting: AtomicUsize::new(0), room });
        let resources = fetcher.resources(Box::new(SharedRules(rules.clone())));
        Ok(Stage { scope, control, tables, renderer, resources, rules })
    }

    /// For the fetcher.
    pub fn resources(&self) -> Arc<Resources> {
        self.resources.clone()
    }

    /// Passes pages on, rendered where a rule asks for it, until there are no more.
    ///
    /// # Errors
    /// When no browser starts, or what was learned cannot be stored.
    pub async fn run(
        self,
        mut pages: Receiver<FetchedPage>,
        out: Sender<FetchedPage>,
    ) -> Result<(), Failure> {
        let mut rendering = FuturesUnordered::new();
        loop {
            tokio::select! {
                page = pages.recv() => match page {
                    Some(mut page) => match self.turn(&page) {
                        RenderChoice::AsSent => if out.send(page).await.is_err() { break },
                        turn => {
                            let begun = self.resources.begin();
                            self.rules.waiting.fetch_add(1, Relaxed);
                            page.hold = Hold::default();
                            rendering.push(self.render(page, begun, turn));
                        }
                    },
                    None => break,
                },
                Some(page) = rendering.next(), if !rendering.is_empty() => {
                    if let Some(page) = page? && out.send(page).await.is_err() {
                        break;
                    }
                }
            }
        }
        // Nothing that they ask for would come. Those of a round that was cut short are left to the next.
        if matches!(self.resources.ended(), Some(StoppedBy::Deadline | StoppedBy::ByteBudget)) {
            while let Some(page) = rendering.next().await {
                if let Some(page) = page?
                    && out.send(page).await.is_err()
                {
                    break;
                }
            }
        }
        drop(rendering);
        self.renderer.rest().await;
        self.rules.auto.keep(self.tables)
    }

    /// The choice for a page.
    fn turn(&self, page: &FetchedPage) -> RenderChoice {
        let FetchResult::Page(response) = &page.result else { return RenderChoice::AsSent };
        let Some(rule) = self.rules.pages.of(&page.entry.url).filter(|_| is_html(response)) else {
            return RenderChoice::AsSent;
        };
        match rule.render {
            Render::Never => RenderChoice::AsSent,
            Render::Always => RenderChoice::Rendered,
            Render::Auto => self.rules.auto.turn(rule, &page.entry.url, page.at),
        }
    }

    /// Renders a page; none if it is left to a later round.
    async fn render(
        &self,
        mut page: FetchedPage,
        begun: Rendering,
        turn: RenderChoice,
    ) -> Result<Option<FetchedPage>, Failure> {
        let _waiting = Waiting(&self.rules.waiting);
        let FetchResult::Page(response) = &mut page.result else { return Ok(Some(page)) };
        let url = &page.entry.url;
        let (scope, control) = (self.scope, self.control);
        let is_inside = source::is_inside(url, response);
        let source = PageSource { page: url, is_inside, rendering: &begun, scope, control };
        let rendered = self.renderer.render(&to_render(url, response), &source).await;
        let rule = self.rules.pages.of(url).expect("a page is rendered by its rule");
        if rule.render == Render::Auto {
            let measured = match &rendered {
                Ok(rendered) => Rules::measure(&self.rules, url, response, rendered).await,
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
            }
            Err(why) => match self.resources.ended().filter(|_| why == RenderError::NotNow) {
                Some(StoppedBy::Deadline) => page.result = skipped(Skip::Deadline),
                Some(StoppedBy::ByteBudget) => page.result = skipped(Skip::ByteBudget),
                Some(StoppedBy::Stop | StoppedBy::SlowHosts | StoppedBy::FirstLook) => return Ok(None),
                Some(StoppedBy::End) | None => {
                    tracing::info!(%url, "not rendered: {why}");
                    page.result = FetchResult::Nothing(Outcome::Failed(recrawl_types::Failure::Render));
                }
            },
        }
        Ok(Some(page))
    }
}

impl Rules {
    /// Counts the words with and without scripts, on a thread of its own; none if the page cannot be read.
    async fn measure(
        rules: &Arc<Rules>,
        url: &CanonicalUrl,
        response: &Response,
        rendered: &Rendered,
    ) -> Option<Measured> {
        let (rules, url, response) = (rules.clone(), url.clone(), response.clone());
        let html = rendered.html.clone();
        let measured = tokio::task::spawn_blocking(move || {
            let part = rules.pages.of(&url).and_then(PageRule::part);
            let words = |body: &[u8], is_rendered: bool| {
                let mut fields = consent::fields(&response);
                let (urls, reading) = (&rules.urls, &rules.reading);
                if is_rendered {
                    fields = fields.rendered(&response.body, &url, &reading.types);
                }
                match recrawl_extractor::extract_part(body, &fields, &url, urls, reading, part) {
                    Extracted::Page(read) => read.text.split_whitespace().count(),
                    Extracted::Listing(..) | Extracted::Opaque(_) => 0,
                }
            };
            Measured { sent: words(&response.body, false), rendered: words(html.as_bytes(), true) }
        });
        measured.await.inspect_err(|e| tracing::error!("a page was not measured: {e}")).ok()
    }
}

/// The rules as the fetcher's own.
struct SharedRules(Arc<Rules>);

impl RenderedPages for SharedRules {
    fn is_rendered(&self, url: &CanonicalUrl) -> bool {
        self.0.is_rendered(url)
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }
}

/// Counts a page as waiting or rendered.
struct Waiting<'w>(&'w AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn skipped(why: Skip) -> FetchResult {
    FetchResult::Nothing(Outcome::Skipped(why))
}

/// Only whole HTML documents are rendered: a browser shows others without their scripts, or not at all.
fn is_html(response: &Response) -> bool {
    let media =
        response.content_type.as_deref().and_then(|value| value.split(';').next()).unwrap_or_default();
    let is_html =
        ["text/html", "application/xhtml+xml"].iter().any(|html| media.trim().eq_ignore_ascii_case(html));
    is_html && !response.is_cut() && !response.body.is_empty()
}

fn to_render(url: &CanonicalUrl, response: &Response) -> Page {
    let (headers, body): (_, Bytes) = (source::fields(response), response.body.clone());
    Page { url: url.to_string(), status: response.status, headers, body }
}
