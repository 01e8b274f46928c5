//! Tabs of one browser at a time, which is started when a page needs it, and anew after a crash, after a number of pages,
//! or when it takes too much memory.

use crate::browser::{Browser, BrowserError, find};
use crate::cache::Cache;
use crate::memory;
use crate::resources::{ResourceAnswer, ResourceSource};
use crate::tab::{PageLimits, RenderedDocument, Tab};
use crate::{RenderError, Rendered, ServedPage};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Semaphore};

/// Attempts to render a page with which the browser crashed: the page of another tab may have been at fault.
pub const MAX_ATTEMPTS: u32 = 3;

/// How pages are rendered.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// The browser's program; none for the first that is installed.
    pub browser: Option<PathBuf>,
    /// Is Chromium's sandbox used? The user root cannot have it.
    pub sandbox: bool,
    /// Pages at a time.
    pub tabs: usize,
    /// Time of a page, by the clock on the wall.
    pub time: Duration,
    /// Time of a page by its own clock, which stands still while something is loaded.
    pub settle: Duration,
    /// Bytes of memory of all processes of the browser. Above it, the largest page is ended.
    pub memory: u64,
    /// UTF-16 units of a rendered document.
    pub max_document: usize,
    /// Requests of a page.
    pub max_requests: usize,
    /// Times a page is scrolled to its end, so that what comes into view loads; 0 leaves it at its top.
    pub scroll: u32,
    /// Bytes of scripts that are kept for other pages.
    pub cache: usize,
    /// Pages after which the browser is started anew.
    pub restart_after: u64,
    /// What scripts see as the browser's name.
    pub user_agent: String,
}

impl Default for RenderOptions {
    fn default() -> RenderOptions {
        RenderOptions {
            browser: None,
            sandbox: true,
            tabs: 4,
            time: Duration::from_secs(60),
            settle: Duration::from_secs(5),
            memory: 1 << 30,
            max_document: 8 << 20,
            max_requests: 50,
            scroll: 8,
            cache: 64 << 20,
            restart_after: 500,
            user_agent: String::new(),
        }
    }
}

/// Figures since the start. The fields of a kind are read one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderFigures {
    /// Pages rendered.
    pub rendered: u64,
    /// Pages given up.
    pub failed: u64,
    /// Attempts that a crash ended.
    pub crashes: u64,
    /// Browsers started.
    pub starts: u64,
    /// Pages ended because the browser took too much memory.
    pub too_large: u64,
    /// Milliseconds of all pages rendered.
    pub millis: u64,
    /// Requests of pages that the source answered.
    pub answered: u64,
    /// Requests answered from the cache.
    pub cached: u64,
    /// Requests refused, by the kind of the request or by the source.
    pub refused: u64,
}

/// The figures as they are counted.
#[derive(Debug, Default)]
pub struct RenderCounters {
    rendered: AtomicU64,
    failed: AtomicU64,
    crashes: AtomicU64,
    starts: AtomicU64,
    pub too_large: AtomicU64,
    millis: AtomicU64,
    answered: AtomicU64,
    cached: AtomicU64,
    refused: AtomicU64,
}

impl RenderCounters {
    pub fn count_request(&self, answer: &ResourceAnswer, is_cached: bool) {
        let counter = match answer {
            ResourceAnswer::Response(_) if is_cached => &self.cached,
            ResourceAnswer::Response(_) => &self.answered,
            ResourceAnswer::Refused | ResourceAnswer::NotNow => &self.refused,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub fn count_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }
}

/// Renders pages.
#[derive(Debug)]
pub struct Renderer {
    options: RenderOptions,
    limits: PageLimits,
    program: PathBuf,
    tabs: Semaphore,
    current: Mutex<Option<Arc<Browser>>>,
    cache: Cache,
    counters: Arc<RenderCounters>,
}

impl Renderer {
    /// Finds the browser. It is started with the first page.
    ///
    /// # Errors
    /// [`BrowserError`]: none is installed.
    pub fn new(options: RenderOptions) -> Result<Renderer, BrowserError> {
        let program = find(options.browser.as_deref())?;
        let limits = PageLimits {
            time: options.time,
            settle: options.settle,
            max_document: options.max_document,
            max_requests: options.max_requests,
            scroll: options.scroll,
            user_agent: options.user_agent.clone(),
        };
        let (tabs, cache) = (Semaphore::new(options.tabs), Cache::new(options.cache));
        let (current, counters) = (Mutex::default(), Arc::default());
        Ok(Renderer { options, limits, program, tabs, current, cache, counters })
    }

    /// Starts the browser, if none runs.
    ///
    /// # Errors
    /// [`BrowserError`].
    pub async fn start(&self) -> Result<(), BrowserError> {
        self.browser().await.map(|_| ())
    }

    /// Renders a page, when a tab is free. Needs a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// [`RenderError`]; nothing that a page does is worse.
    pub async fn render(
        &self,
        page: &ServedPage,
        source: &dyn ResourceSource,
    ) -> Result<Rendered, RenderError> {
        let _tab = self.tabs.acquire().await.expect("it is never closed");
        let start = Instant::now();
        let result = self.attempts(page, source).await;
        match &result {
            Ok(_) => {
                self.counters.rendered.fetch_add(1, Relaxed);
                self.counters.millis.fetch_add(start.elapsed().as_millis() as u64, Relaxed);
            }
            Err(error) => {
                self.counters.failed.fetch_add(1, Relaxed);
                tracing::debug!(url = page.url, why = error.name(), "a page was not rendered");
            }
        }
        result.map(|RenderedDocument { html, navigations, left_out }| Rendered {
            html,
            navigations,
            left_out,
            took: start.elapsed(),
        })
    }

    async fn attempts(
        &self,
        page: &ServedPage,
        source: &dyn ResourceSource,
    ) -> Result<RenderedDocument, RenderError> {
        let mut starts = 0;
        for _ in 0..MAX_ATTEMPTS {
            let browser = loop {
                match self.browser().await {
                    Ok(browser) => break browser,
                    // The machine may be short of something for a moment.
                    Err(error) if starts < MAX_ATTEMPTS => {
                        tracing::warn!("{error}");
                        starts += 1;
                    }
                    Err(error) => return Err(RenderError::NoBrowser(error.to_string())),
                }
            };
            browser.pages.fetch_add(1, Relaxed);
            let (cache, limits, counters) = (&self.cache, &self.limits, &*self.counters);
            let document = Tab { browser: &browser, cache, source, limits, counters }.render(page).await;
            end(browser).await;
            match document {
                Err(RenderError::Crashed) => self.counters.crashes.fetch_add(1, Relaxed),
                document => return document,
            };
        }
        Err(RenderError::Crashed)
    }

    /// The browser for the next page. Pages of a browser that is replaced end in it.
    async fn browser(&self) -> Result<Arc<Browser>, BrowserError> {
        let mut current = self.current.lock().await;
        let is_good = |browser: &&Arc<Browser>| {
            !browser.has_ended() && browser.pages.load(Relaxed) < self.options.restart_after
        };
        if let Some(browser) = current.as_ref().filter(is_good) {
            return Ok(browser.clone());
        }
        // Its memory is free before the next one starts, unless pages are still in it.
        if let Some(browser) = current.take() {
            end(browser).await;
        }
        // A character takes six bytes at most when it is escaped; the rest is the message around it.
        let max_message = self.options.max_document.saturating_mul(6) + (1 << 20);
        let max_data = memory::process_limit(self.options.memory);
        let browser =
            Arc::new(Browser::start(&self.program, self.options.sandbox, max_message, max_data).await?);
        self.counters.starts.fetch_add(1, Relaxed);
        tokio::spawn(memory::watch(Arc::downgrade(&browser), self.options.memory, self.counters.clone()));
        *current = Some(browser.clone());
        Ok(browser)
    }

    /// Ends the browser, if it runs and no page is in it, and forgets kept scripts. The next page starts it again.
    pub async fn rest(&self) {
        if let Some(browser) = self.current.lock().await.take() {
            end(browser).await;
        }
        self.cache.clear();
    }

    /// Pages that wait for a tab have this many before them at most.
    pub fn tabs(&self) -> usize {
        self.options.tabs
    }

    /// The figures.
    pub fn figures(&self) -> RenderFigures {
        let RenderCounters {
            rendered,
            failed,
            crashes,
            starts,
            too_large,
            millis,
            answered,
            cached,
            refused,
        } = &*self.counters;
        RenderFigures {
            rendered: rendered.load(Relaxed),
            failed: failed.load(Relaxed),
            crashes: crashes.load(Relaxed),
            starts: starts.load(Relaxed),
            too_large: too_large.load(Relaxed),
            millis: millis.load(Relaxed),
            answered: answered.load(Relaxed),
            cached: cached.load(Relaxed),
            refused: refused.load(Relaxed),
        }
    }

    /// Bytes of memory of the browser now; 0 if none runs.
    pub async fn memory(&self) -> u64 {
        let current = self.current.lock().await;
        current.as_ref().map_or(0, |browser| browser.processes().iter().map(|process| process.memory).sum())
    }

    /// Ends the browser's processes as a crash would, for tests. False if none runs.
    pub async fn crash(&self) -> bool {
        let current = self.current.lock().await;
        current.as_ref().inspect(|browser| browser.kill()).is_some()
    }
}

/// Lets go of a browser. Its end, with the last one who has it, waits for processes and removes files.
async fn end(browser: Arc<Browser>) {
    if let Some(browser) = Arc::into_inner(browser) {
        // It fails only if the drop panics, which was reported.
        let _ = tokio::task::spawn_blocking(move || drop(browser)).await;
    }
}
