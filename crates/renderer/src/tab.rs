//! One page in a browser: a context of its own, which is thrown away.
//!
//! The page's clock is virtual. It stands still while a request is open, and else it runs as fast as the scripts do.
//! When the page has had [`PageLimits::settle`] of its time, the document is read. So a timer of three seconds costs no
//! three seconds, and a page on a slow host is as complete as one on a fast host.

use crate::browser::Browser;
use crate::cache::Cache;
use crate::clock::{PageClock, WaitingRequest};
use crate::origins;
use crate::pipe::{CallError, Pipe, ReceivedEvent, SessionEvent};
use crate::pool::RenderCounters;
use crate::resources::{
    Ask, RefusedResource, RequestVerdict, Resource, ResourceAnswer, ResourceSource, SENT, decide, is_shown,
};
use crate::scroll::{self, Scrolling};
use crate::{RenderError, ServedPage};
use bytes::Bytes;
use data_encoding::BASE64;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use url::Url;

/// Documents that a page's scripts wanted to go to, at most.
pub const MAX_NAVIGATIONS: usize = 20;

/// Images, fonts and media that are told of a page, at most.
const MAX_LEFT_OUT: usize = 200;

/// The field `Accept` of a request for a stream of events (HTML §9.2.2). The protocol calls it one of XMLHttpRequest.
const EVENTS: &str = "text/event-stream";

/// How long the browser may take to make room for a page, or to throw it away. One that takes longer is ended.
const ANSWER: Duration = Duration::from_secs(30);

/// How long the document may take to be read. Pages can hang.
const READING: Duration = Duration::from_secs(20);

/// Reads the document, in a world whose functions the page cannot replace. Shadow trees, which HTML does not show, are
/// put in place of comments with a key that the page cannot know.
const SNAPSHOT: &str = include_str!("snapshot.js");

/// Limits of a page.
#[derive(Clone, Debug)]
pub struct PageLimits {
    /// From the start until the document is read as it stands, by the clock on the wall.
    pub time: Duration,
    /// How much of the page's own time passes.
    pub settle: Duration,
    /// UTF-16 units of the document.
    pub max_document: usize,
    /// Requests that are asked for; the rest is refused.
    pub max_requests: usize,
    /// Times a page is scrolled to its end.
    pub scroll: u32,
    /// What scripts see as the browser's name.
    pub user_agent: String,
}

impl PageLimits {
    /// How long the answer to a request may take. A page that waits for what never ends must still come to rest.
    fn answer_time(&self) -> Duration {
        (self.settle * 3).min(self.time / 3)
    }

    /// How long a stream of events is read: well within that time.
    fn event_time(&self) -> Duration {
        self.settle.min(self.answer_time() / 2)
    }
}

/// A document that was read.
pub struct RenderedDocument {
    pub html: String,
    pub navigations: Vec<String>,
    pub left_out: Vec<RefusedResource>,
}

impl From<CallError> for RenderError {
    fn from(error: CallError) -> RenderError {
        match error {
            CallError::Closed => RenderError::Crashed,
            CallError::Refused => RenderError::Refused,
            CallError::Unreadable => RenderError::Unreadable,
        }
    }
}

/// What a tab works with.
#[derive(Clone, Copy)]
pub struct Tab<'t> {
    pub browser: &'t Browser,
    pub cache: &'t Cache,
    pub source: &'t dyn ResourceSource,
    pub limits: &'t PageLimits,
    pub counters: &'t RenderCounters,
}

impl<'t> Tab<'t> {
    fn pipe(self) -> &'t Pipe {
        &self.browser.pipe
    }

    /// Renders a page.
    pub async fn render(self, page: &ServedPage) -> Result<RenderedDocument, RenderError> {
        let context =
            self.ask_browser("Target.createBrowserContext", json!({ "disposeOnDetach": true })).await?;
        let context = json!({ "browserContextId": context["browserContextId"] });
        let clock = PageClock::start();
        let longest = self.limits.time + READING.min(self.limits.time);
        let document = clock.within(longest, self.render_in(&context, page, &clock)).await;
        // Ends the page's process, even one that hangs. If the browser fails here, the next page notices it.
        let _ = self.ask_browser("Target.disposeBrowserContext", context).await;
        document.unwrap_or(Err(RenderError::Time))
    }

    /// Calls the browser itself, and ends it if it hangs: pages can hang, the browser must not.
    async fn ask_browser(self, method: &str, params: Value) -> Result<Value, RenderError> {
        match timeout(ANSWER, self.browser.pipe.call(None, method, params)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                tracing::warn!(method, "the browser does not answer: it is started anew");
                self.browser.kill();
                Err(RenderError::Crashed)
            }
        }
    }

    /// The answer to this request of a page of this origin; none if it takes too long.
    async fn answer_to(
        self,
        request: String,
        ask: Ask,
        page: &str,
        is_foreign: bool,
        mut waiting: WaitingRequest,
    ) -> (String, Ask, Option<ResourceAnswer>) {
        let sent = waiting.sent();
        let late = async {
            sent.await;
            sleep(self.limits.answer_time()).await;
        };
        let (mut answer, is_cached) = tokio::select! {
            biased;
            answered = self.cache.get(page, &ask, self.source, waiting) => answered,
            () = late => {
                self.counters.count_refused();
                return (request, ask, None);
            }
        };
        if let ResourceAnswer::Response(resource) = &answer
            && !origins::may_have(&ask, is_foreign, resource)
        {
            answer = ResourceAnswer::Refused;
        }
        self.counters.count_request(&answer, is_cached);
        (request, ask, Some(answer))
    }

    async fn render_in(
        self,
        context: &Value,
        page: &ServedPage,
        clock: &Arc<PageClock>,
    ) -> Result<RenderedDocument, RenderError> {
        let with = |mut params: Value| {
            params["browserContextId"] = context["browserContextId"].clone();
            params
        };
        self.pipe().call(None, "Browser.setDownloadBehavior", with(json!({ "behavior": "deny" }))).await?;
        let target =
            self.pipe().call(None, "Target.createTarget", with(json!({ "url": "about:blank" }))).await?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.pipe().call(None, "Target.attachToTarget", attach).await?;
        let (Some(session), Some(frame)) = (attached["sessionId"].as_str(), target["targetId"].as_str())
        else {
            return Err(RenderError::Refused);
        };
        let events = self.pipe().listen(session);
        let visit = TabVisit {
            tab: self,
            session,
            frame,
            origin: Url::parse(&page.url).map_err(|_| RenderError::Refused)?.origin(),
            page,
            clock,
            is_served: false,
            loader: None,
            requests: 0,
            endless: HashMap::new(),
            navigations: Vec::new(),
            left_out: Vec::new(),
        };
        let document = visit.run(events).await;
        self.pipe().forget(session);
        document
    }
}

/// A page on its way through a tab.
struct TabVisit<'t> {
    tab: Tab<'t>,
    session: &'t str,
    /// The page's own frame.
    frame: &'t str,
    origin: url::Origin,
    page: &'t ServedPage,
    clock: &'t Arc<PageClock>,
    /// Was the page handed to the browser?
    is_served: bool,
    /// The protocol's id of the page's document, when it is there.
    loader: Option<String>,
    requests: usize,
    /// URLs whose answers have no end.
    endless: HashMap<String, EndlessAnswer>,
    navigations: Vec<String>,
    left_out: Vec<RefusedResource>,
}

/// An answer without an end, which a page asks for again and again.
#[derive(Clone, Copy)]
enum EndlessAnswer {
    /// A stream of events. The page has had its part.
    Events,
    /// It took too long.
    Late,
}

/// What an event brings.
enum TabStep {
    Nothing,
    /// Ask for this, on behalf of the request with this id.
    Ask(String, Ask),
    /// The page came to rest.
    Rest,
}

impl TabVisit<'_> {
    async fn run(
        mut self,
        mut events: tokio::sync::mpsc::Receiver<ReceivedEvent>,
    ) -> Result<RenderedDocument, RenderError> {
        let (tab, session) = (self.tab, self.session);
        let call = |method: &'static str, params: Value| tab.pipe().call(Some(session), method, params);
        call("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }] })).await?;
        call("Page.enable", json!({})).await?;
        call("Inspector.enable", json!({})).await?;
        let agent = json!({ "userAgent": tab.limits.user_agent });
        call("Emulation.setUserAgentOverride", agent).await?;
        // The answer comes when the page's document has begun.
        let mut navigate = std::pin::pin!(call("Page.navigate", json!({ "url": self.page.url })));
        let mut is_begun = false;
        let page_origin = self.origin.ascii_serialization();
        let mut asked = FuturesUnordered::new();
        // Answers, which wait while the page is scrolled.
        let mut held: Vec<(String, Option<ResourceAnswer>)> = Vec::new();
        let clock = self.clock;
        let mut over = std::pin::pin!(clock.passed(tab.limits.time));
        let (mut scrolling, mut scrolls) = (Scrolling::new(tab.limits.scroll), FuturesUnordered::new());
        loop {
            let step = tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.on_event(event?).await?,
                    None if tab.pipe().is_closed() => return Err(RenderError::Crashed),
                    None => return Err(RenderError::Flood),
                },
                begun = &mut navigate, if !is_begun => {
                    is_begun = true;
                    // For example a page that is a download.
                    if begun?["errorText"].is_string() {
                        return Err(RenderError::Refused);
                    }
                    TabStep::Nothing
                }
                Some(moved) = scrolls.next(), if !scrolls.is_empty() => {
                    match moved {
                        Ok(moved) => scrolling.moved(&moved?)?,
                        Err(_elapsed) => scrolling.give_up(),
                    }
                    self.settle(scroll::SETTLE).await?;
                    TabStep::Nothing
                }
                Some((request, ask, answer)) = asked.next(), if !asked.is_empty() => {
                    self.note_answer(ask, &answer);
                    held.push((request, answer));
                    TabStep::Nothing
                }
                () = &mut over => match self.loader {
                    Some(_) => break,
                    None => return Err(RenderError::Time),
                }
            };
            if scrolls.is_empty() {
                for (request, answer) in held.drain(..) {
                    self.answer(&request, answer.as_ref()).await?;
                }
            }
            match step {
                TabStep::Nothing => {}
                TabStep::Ask(request, ask) => {
                    let (waiting, is_foreign) = (self.clock.wait(), self.is_foreign(&ask.url));
                    let page = &page_origin;
                    asked.push(tab.answer_to(request, ask, page, is_foreign, waiting));
                }
                TabStep::Rest => match scrolling.script() {
                    Some(script) => {
                        scrolls.push(timeout(scroll::PATIENCE, evaluate(tab, session, self.frame, script)));
                    }
                    None => break,
                },
            }
        }
        // What is under way is wanted no more.
        drop(asked);
        let html = self.read().await?;
        Ok(RenderedDocument { html, navigations: self.navigations, left_out: self.left_out })
    }

    /// Remembers what has no end.
    fn note_answer(&mut self, ask: Ask, answer: &Option<ResourceAnswer>) {
        if ask.body_time.is_some() {
            self.endless.insert(ask.url, EndlessAnswer::Events);
        } else if answer.is_none() {
            self.endless.insert(ask.url, EndlessAnswer::Late);
        }
    }

    async fn tell(&self, method: &str, params: Value) -> Result<(), RenderError> {
        Ok(self.tab.pipe().tell(Some(self.session), method, params).await?)
    }

    async fn on_event(
        &mut self,
        SessionEvent { method, params }: SessionEvent,
    ) -> Result<TabStep, RenderError> {
        match method.as_str() {
            "Fetch.requestPaused" => return self.on_request(&params).await,
            "Page.frameNavigated" if params["frame"]["id"] == self.frame && self.is_served => {
                // Requests for other documents are refused, but some documents need none.
                let loader = params["frame"]["loaderId"].as_str().unwrap_or_default();
                if self.loader.get_or_insert_with(|| loader.to_owned()) != loader {
                    return Err(RenderError::Left);
                }
                self.settle(self.tab.limits.settle).await?;
            }
            "Page.javascriptDialogOpening" => {
                self.tell("Page.handleJavaScriptDialog", json!({ "accept": false })).await?;
            }
            "Emulation.virtualTimeBudgetExpired" => return Ok(TabStep::Rest),
            "Inspector.targetCrashed" | "Inspector.detached" => return Err(RenderError::Crashed),
            _ => {}
        }
        Ok(TabStep::Nothing)
    }

    async fn on_request(&mut self, params: &Value) -> Result<TabStep, RenderError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let request = text(&params["requestId"]);
        let (url, method) = (text(&params["request"]["url"]), text(&params["request"]["method"]));
        let is_main = params["frameId"] == self.frame;
        // What may be wanted later is not wanted now.
        let field = |name: &str| field(&params["request"]["headers"], name).map(str::to_owned);
        let is_prefetch = field("sec-purpose").is_some();
        let kind = if is_prefetch { "Prefetch" } else { params["resourceType"].as_str().unwrap_or_default() };
        let preflight_of = field("access-control-request-method");
        let verdict = decide(&method, kind, &url, is_main, preflight_of.as_deref());
        match self.endless.get(&url).filter(|_| matches!(verdict, RequestVerdict::Ask(_))) {
            Some(EndlessAnswer::Late) => {
                self.tab.counters.count_refused();
                self.refuse(&request, "TimedOut").await?;
                return Ok(TabStep::Nothing);
            }
            Some(EndlessAnswer::Events) => {
                // A browser asks for a stream that ended again, unless there is no content.
                self.fulfil(&request, &Resource { status: 204, ..Resource::default() }).await?;
                return Ok(TabStep::Nothing);
            }
            None => {}
        }
        match verdict {
            RequestVerdict::Navigation if !self.is_served => {
                self.is_served = true;
                let ServedPage { status, headers, body, .. } = self.page;
                let resource = Resource { status: *status, headers: headers.clone(), body: body.clone() };
                self.fulfil(&request, &resource).await?;
            }
            RequestVerdict::Navigation => {
                if url != self.page.url
                    && self.navigations.len() < MAX_NAVIGATIONS
                    && !self.navigations.contains(&url)
                {
                    self.navigations.push(url);
                }
                // The page stays as it is.
                self.refuse(&request, "Aborted").await?;
            }
            RequestVerdict::NoStyle => {
                let headers = vec![("content-type".to_owned(), "text/css".to_owned())];
                self.fulfil(&request, &Resource { status: 200, headers, body: Bytes::new() }).await?;
            }
            RequestVerdict::Ask(kind) if self.requests < self.tab.limits.max_requests => {
                // Whoever redirects a request is not the page, nor is a frame without an origin.
                let is_of_page =
                    field("origin").is_none_or(|origin| origin == self.origin.ascii_serialization());
                let is_direct = is_main && params["redirectedRequestId"].is_null() && is_of_page;
                let is_foreign = self.is_foreign(&url);
                let fields = SENT.into_iter().filter_map(|name| Some((name, field(name)?))).collect();
                let is_stream = field("accept").is_some_and(|accept| accept == EVENTS);
                let body_time = is_stream.then(|| self.tab.limits.event_time());
                let ask = Ask { url, kind, is_own: is_direct && !is_foreign, body_time, fields };
                if origins::may_ask(&ask, is_foreign) {
                    self.requests += 1;
                    return Ok(TabStep::Ask(request, ask));
                }
                self.refuse_counted(&request).await?;
            }
            RequestVerdict::LeaveOut(kind) => {
                let left_out = RefusedResource { kind, url };
                if self.left_out.len() < MAX_LEFT_OUT && !self.left_out.contains(&left_out) {
                    self.left_out.push(left_out);
                }
                self.refuse_counted(&request).await?;
            }
            RequestVerdict::Ask(_) | RequestVerdict::Refuse => self.refuse_counted(&request).await?,
        }
        Ok(TabStep::Nothing)
    }

    /// Is it of another origin than the page?
    fn is_foreign(&self, url: &str) -> bool {
        Url::parse(url).map_or(true, |url| url.origin() != self.origin)
    }

    async fn refuse_counted(&self, request: &str) -> Result<(), RenderError> {
        self.tab.counters.count_refused();
        self.refuse(request, "BlockedByClient").await
    }

    async fn answer(&self, request: &str, answer: Option<&ResourceAnswer>) -> Result<(), RenderError> {
        match answer {
            Some(ResourceAnswer::Response(resource)) => self.fulfil(request, resource).await,
            Some(ResourceAnswer::Refused) => self.refuse(request, "BlockedByClient").await,
            Some(ResourceAnswer::NotNow) => Err(RenderError::NotNow),
            None => self.refuse(request, "TimedOut").await,
        }
    }

    /// Answers with the fields that the server sent: the browser checks by them what the page may read.
    async fn fulfil(&self, request: &str, resource: &Resource) -> Result<(), RenderError> {
        let shown = resource.headers.iter().filter(|(name, _)| is_shown(name));
        let headers: Vec<Value> =
            shown.map(|(name, value)| json!({ "name": name, "value": value })).collect();
        let params = json!({
            "requestId": request,
            "responseCode": resource.status,
            "responseHeaders": headers,
            "body": BASE64.encode(&resource.body),
        });
        self.tell("Fetch.fulfillRequest", params).await
    }

    async fn refuse(&self, request: &str, why: &str) -> Result<(), RenderError> {
        self.tell("Fetch.failRequest", json!({ "requestId": request, "errorReason": why })).await
    }

    /// Lets this much time of the page pass.
    async fn settle(&self, time: Duration) -> Result<(), RenderError> {
        let budget = time.min(self.tab.limits.settle).as_millis() as u64;
        let policy = json!({ "policy": "pauseIfNetworkFetchesPending", "budget": budget });
        self.tell("Emulation.setVirtualTimePolicy", policy).await
    }

    /// Reads the document.
    async fn read(&self) -> Result<String, RenderError> {
        let script = format!("({SNAPSHOT})({})", self.tab.limits.max_document);
        match evaluate(self.tab, self.session, self.frame, script).await? {
            Value::String(html) => Ok(html),
            Value::Bool(false) => Err(RenderError::Size),
            _ => Err(RenderError::Refused),
        }
    }
}

/// What a script returns or promises, in a world whose functions the page cannot replace.
async fn evaluate(
    tab: Tab<'_>,
    session: &str,
    frame: &str,
    expression: String,
) -> Result<Value, RenderError> {
    let (pipe, session) = (tab.pipe(), Some(session));
    let world = json!({ "frameId": frame, "worldName": "recrawl" });
    let world = pipe.call(session, "Page.createIsolatedWorld", world).await?;
    let params = json!({
        "expression": expression,
        "contextId": world["executionContextId"],
        "returnByValue": true,
        "awaitPromise": true,
    });
    let mut answer = pipe.call(session, "Runtime.evaluate", params).await?;
    Ok(answer["result"]["value"].take())
}

/// A field of a request, by its name in lower case.
fn field<'v>(headers: &'v Value, name: &str) -> Option<&'v str> {
    headers.as_object()?.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?.1.as_str()
}
