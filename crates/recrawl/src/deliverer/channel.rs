//! Requests to a target, a file of lines, and a program that reads them.

use super::lines_file;
use super::lines_objects::LinesObjects;
use crate::notifier::{NotifierProgram, words};
use crate::process::random_tag;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_delivery::protocol::{
    AfterAnswer, CopyItem, DocumentList, HttpMethod, TargetProtocol, TargetRequest, TargetServer, lines, told,
};
use recrawl_delivery::verify::ListedDocument;
use recrawl_delivery::{Interrupted, ItemAnswer};
use recrawl_fetcher::{
    FetchConfig, HeaderMap, HeaderName, HeaderValue, HttpNetwork, Meter, Network, NetworkError, Post, Reply,
    RequestOptions, system_clock,
};
use recrawl_types::{Size, Span, UrlRules, Validators};
use recrawl_vault::store::StoreError;
use rustix::fs::Access;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};
use xxhash_rust::xxh3::xxh3_64;

const ACCEPT: HeaderName = HeaderName::from_static("accept");
const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");
const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 32 << 20;
/// The pause before a task is asked for, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// Time limits of a request that its task has. It stays in the target's queue behind them, and would be posted again.
const MAX_TASK: u32 = 60;

/// The exit code of a program that takes none of these documents, ever (`EX_DATAERR` of sysexits.h).
const REFUSED: i32 = 65;

/// The reason why items were not sent.
pub enum NotSent {
    /// They are too many or too large for one request.
    TooMany,
    /// The target takes nothing at present.
    Interrupted(Interrupted),
}

impl From<String> for NotSent {
    fn from(why: String) -> NotSent {
        NotSent::Interrupted(why.into())
    }
}

/// An answer, and its reason unless the change was made.
pub type ReasonedAnswer = (ItemAnswer, Option<String>);

/// A way to one target outside of recrawl.
pub enum Channel {
    Http(Box<Http>),
    Lines(PathBuf),
    Objects(Arc<LinesObjects>),
    /// With the target's name.
    Program(NotifierProgram, String),
}

/// No answer.
struct NoReply {
    why: String,
    /// The request did not reach the server, nor will it.
    is_unsent: bool,
}

/// A server with connections of its own.
pub struct Http {
    network: HttpNetwork,
    server: Arc<dyn TargetServer>,
    fields: HeaderMap,
    timeout: Duration,
}

impl Channel {
    /// # Errors
    /// When a header field or the client cannot be made.
    pub fn new(target: &DeliverTarget, fetch: &FetchConfig) -> Result<Channel, String> {
        let server = match &target.place.protocol {
            TargetProtocol::Lines(path) => return Ok(Channel::Lines(path.clone())),
            TargetProtocol::Objects(store) => {
                return Ok(Channel::Objects(LinesObjects::open(store)?));
            }
            TargetProtocol::Program(command) => {
                let (command, timeout) = (command.clone(), target.timeout);
                return Ok(Channel::Program(NotifierProgram { command, timeout }, target.name.clone()));
            }
            TargetProtocol::Server(server) => server.clone(),
            TargetProtocol::Index => return Err("the index is checked by each first delivery".into()),
        };
        let mut fields = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        if let Some(text) = &target.authorization {
            let (name, text) = match (server.key_field(), text.strip_prefix("Bearer ")) {
                (Some(name), Some(key)) => (HeaderName::from_static(name), key),
                _ => (AUTHORIZATION, text.as_str()),
            };
            let value = HeaderValue::from_str(text);
            let mut value = value.map_err(|_| "password or bearer cannot be sent in a header field")?;
            value.set_sensitive(true);
            fields.insert(name, value);
        }
        let network = HttpNetwork::new(&FetchConfig {
            allow_addresses: target.allow_addresses.clone(),
            access: Vec::new(),
            // The address guard would not see behind it.
            proxy: None,
            keep_requests: false,
            timeout: target.timeout,
            ..fetch.clone()
        });
        let network = network.map_err(|e| e.to_string())?;
        Ok(Channel::Http(Box::new(Http { network, server, fields, timeout: target.timeout })))
    }

    /// Sends items and waits for what becomes of each.
    pub async fn send(&self, version: u64, items: &[CopyItem]) -> Result<Vec<ReasonedAnswer>, NotSent> {
        match self {
            Channel::Http(http) => http.send(version, items).await,
            Channel::Lines(path) => {
                let written = lines_file::append(path, &lines(version, items));
                written.map_err(|e| format!("cannot write {}: {e}", path.display()))?;
                Ok(vec![(ItemAnswer::Taken, None); items.len()])
            }
            Channel::Objects(objects) => {
                let lines = lines(version, items);
                asked(objects, move |objects, is_given_up| objects.append(&lines, is_given_up)).await?;
                Ok(vec![(ItemAnswer::Taken, None); items.len()])
            }
            Channel::Program(program, target) => {
                run(program, target, &lines(version, items), items.len()).await
            }
        }
    }
}

/// Of no page.
const NO_PAGE: &str = "http://recrawl.invalid/";

impl Channel {
    /// Says whether it would take documents; `now` in milliseconds since 1970. A delete of a page that cannot be there is
    /// sent to a server, so that a key that may only read is found.
    pub async fn probe(&self, now: u64) -> Result<String, String> {
        match self {
            Channel::Http(http) => {
                if http.page(None).await?.is_absent {
                    return Ok("it answers; its index is made by the first document".into());
                }
                let url = UrlRules::keep_all().canonicalize(NO_PAGE).expect("it is a URL");
                let sent = http.send(now, &[CopyItem::Delete(url)]).await;
                match sent.map(|answers| answers.into_iter().next()) {
                    Ok(Some((ItemAnswer::Taken, _))) => Ok("it answers, and takes changes".into()),
                    Ok(answer) => {
                        Err(answer.and_then(|(_, why)| why).unwrap_or_else(|| "it gives no reason".into()))
                    }
                    Err(NotSent::Interrupted(interrupted)) => Err(interrupted.to_string()),
                    Err(NotSent::TooMany) => Err("it says that one delete is too large".into()),
                }
            }
            Channel::Lines(path) => match lines_file::is_writable(path) {
                Ok(()) => Ok("its file can be written".into()),
                Err(e) => Err(format!("cannot write {}: {e}", path.display())),
            },
            Channel::Objects(objects) => {
                let name = format!("probe-{}", random_tag().map_err(|e| e.to_string())?);
                asked(objects, move |objects, _| objects.probe(&name)).await?;
                Ok("its objects can be written".into())
            }
            Channel::Program(program, _) => match rustix::fs::access(&*program.command[0], Access::EXEC_OK) {
                Ok(()) => Ok("its program can be run; it was not".into()),
                Err(e) => Err(format!("cannot run {}: {e}", program.command[0])),
            },
        }
    }

    /// Gives each document that the target has.
    pub async fn list(&self, each: &mut dyn FnMut(&ListedDocument)) -> Result<(), String> {
        match self {
            Channel::Http(http) => {
                let (mut after, mut seen) = (None, HashSet::new());
                loop {
                    let listing = http.page(after.as_deref()).await?;
                    let listed = seen.len();
                    seen.extend(listing.documents.iter().map(|document| xxh3_64(document.id.as_bytes())));
                    if listed == seen.len() && after.is_some() && listing.next.is_some() {
                        return Err(
                            "it lists the same documents again and again, so the list has no end".into()
                        );
                    }
                    listing.documents.iter().for_each(&mut *each);
                    after = listing.next;
                    if after.is_none() {
                        return Ok(());
                    }
                }
            }
            Channel::Lines(path) => {
                lines_file::list(path, each).map_err(|e| format!("cannot read {}: {e}", path.display()))
            }
            Channel::Objects(objects) => {
                asked(objects, |objects, _| objects.list()).await?.documents().for_each(each);
                Ok(())
            }
            Channel::Program(..) => Err("a program cannot be asked what it holds".into()),
        }
    }
}

/// Tells that nobody waits any more.
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asks a store, which blocks: what has begun goes on although nobody waits for it any more.
async fn asked<T: Send + 'static>(
    objects: &Arc<LinesObjects>,
    work: impl FnOnce(&LinesObjects, &AtomicBool) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, String> {
    let objects = objects.clone();
    let given_up = GivenUp(Arc::default());
    let is_given_up = given_up.0.clone();
    let done = spawn_blocking(move || work(&objects, &is_given_up)).await.map_err(|e| e.to_string())?;
    done.map_err(|e| e.to_string())
}

/// Lets a program take lines.
async fn run(
    program: &NotifierProgram,
    target: &str,
    lines: &[u8],
    items: usize,
) -> Result<Vec<ReasonedAnswer>, NotSent> {
    let body = String::from_utf8(lines.to_vec()).expect("JSON is text");
    let (status, told) = program.end(&[("RECRAWL_TARGET", target)], body).await.map_err(|e| e.to_string())?;
    match status.code() {
        Some(0) => Ok(vec![(ItemAnswer::Taken, None); items]),
        Some(REFUSED) if items == 1 => Ok(vec![(ItemAnswer::Refused, Some(told))]),
        Some(REFUSED) => Err(NotSent::TooMany),
        _ => Err(told.into()),
    }
}

impl Http {
    async fn send(&self, version: u64, items: &[CopyItem]) -> Result<Vec<ReasonedAnswer>, NotSent> {
        let deletes = items.iter().filter(|item| matches!(item, CopyItem::Delete(_))).count();
        if deletes > self.server.max_deletes() {
            return Err(NotSent::TooMany);
        }
        let mut request = self.server.request(version, items);
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        // When something was heard of the task, if the target has made one of the request.
        let mut heard = None;
        let mut has_made = false;
        loop {
            let reply = self.reply(&request).await;
            let is_silent = reply.as_ref().map_or(true, |reply| reply.status == 429 || reply.status >= 500);
            match (reply, heard) {
                // It may restart. The task is still in its queue then.
                (_, Some(at)) if is_silent && Instant::elapsed(&at) < self.timeout => {}
                (Err(NoReply { why, is_unsent }), heard) => {
                    let given_up = (!is_unsent && heard.is_none()).then(|| system_clock()());
                    return Err(NotSent::Interrupted(Interrupted { given_up, ..why.into() }));
                }
                (Ok(reply), _) => match self.server.read(items, reply.status, &reply.body) {
                    AfterAnswer::Answers(answers) => return Ok(answers),
                    AfterAnswer::Divide => return Err(NotSent::TooMany),
                    AfterAnswer::Interrupted(why) => {
                        let now = system_clock()();
                        // A proxy gave up, and nobody knows whether the server did.
                        let given_up = matches!(reply.status, 502 | 504).then_some(now);
                        let retry_after = reply.retry_after(now);
                        return Err(NotSent::Interrupted(Interrupted { why, retry_after, given_up }));
                    }
                    AfterAnswer::Ask(_) if begun.elapsed() >= self.timeout * MAX_TASK => {
                        let limit = Span(self.timeout * MAX_TASK);
                        return Err(format!("its task did not end within {limit}").into());
                    }
                    AfterAnswer::Make(_) if has_made => {
                        return Err("its index was made, and it says that there is none".to_owned().into());
                    }
                    AfterAnswer::Make(index) => {
                        self.make(&index).await?;
                        has_made = true;
                        continue;
                    }
                    AfterAnswer::Ask(next) => (request, heard) = (next, Some(Instant::now())),
                },
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Makes the index, unless another process was faster.
    async fn make(&self, index: &TargetRequest) -> Result<(), String> {
        let reply = self.reply(index).await.map_err(|none| none.why)?;
        match reply.status {
            200 | 201 | 409 => Ok(()),
            status => Err(format!("it makes no index: {}", told(status, &reply.body))),
        }
    }

    /// A part of the list of all documents.
    async fn page(&self, after: Option<&str>) -> Result<DocumentList, String> {
        let reply = self.reply(&self.server.list(after)).await.map_err(|none| none.why)?;
        match reply.cut {
            None => self.server.read_list(after, reply.status, &reply.body),
            Some(_) => Err(format!("its list is longer than {}, or broke off", Size(MAX_ANSWER as u64))),
        }
    }

    async fn reply(&self, request: &TargetRequest) -> Result<Reply, NoReply> {
        use NetworkError::{Connect, Dns, Tls};
        let answered = async {
            match self.once(request).await {
                // It closed a kept connection, or has another address.
                Err(NetworkError::NotProcessed | NetworkError::TryNextAddress) => self.once(request).await,
                answered => answered,
            }
        };
        match timeout(self.timeout, answered).await {
            Ok(answered) => answered.map_err(|error| NoReply {
                why: words(error).replace("notify.", "deliver."),
                is_unsent: error.reached_no_server() || matches!(error, Connect | Dns | Tls),
            }),
            Err(_) => {
                let why = format!("no answer within {}", Span(self.timeout));
                Err(NoReply { why, is_unsent: false })
            }
        }
    }

    async fn once(&self, request: &TargetRequest) -> Result<Reply, NetworkError> {
        let url =
            UrlRules::keep_all().canonicalize(request.url.as_str()).map_err(|_| NetworkError::Refused)?;
        let manner =
            RequestOptions { is_anonymous: true, fields: self.fields.clone(), ..RequestOptions::default() };
        let sent = recrawl_fetcher::Request {
            url,
            hop: None,
            validators: Validators::default(),
            max_body: MAX_ANSWER,
            types: None,
            last: false,
            manner,
        };
        if request.method == HttpMethod::Get {
            return self.network.get(&sent, &Meter::default()).await;
        }
        let kind = HeaderValue::from_static(request.content_type);
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind)]);
        let is_delete = request.method == HttpMethod::Delete;
        self.network
            .post(&sent, Post { headers, body: request.body.clone().into(), is_delete, is_message: false })
            .await
    }
}
