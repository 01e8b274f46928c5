//! Requests to a target, and a file of lines.

use crate::notifier::words;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_delivery::protocol::{AfterAnswer, CopyItem, Protocol, TargetRequest, lines, rewritten};
use recrawl_delivery::{ItemAnswer, id};
use recrawl_fetcher::{
    FetchConfig, HeaderMap, HeaderName, HeaderValue, HttpNetwork, Meter, Network, NetworkError, Post, Reply,
    RequestOptions,
};
use recrawl_types::{CanonicalUrl, Span, UrlRules, Validators};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

const ACCEPT: HeaderName = HeaderName::from_static("accept");
const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");
const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 32 << 20;
/// The pause before a task is asked for, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// The reason why items were not sent.
pub enum NotSent {
    /// They are too many or too large for one request.
    TooMany,
    /// The target takes nothing at present, and why.
    Interrupted(String),
}

/// An answer, and its reason unless the change was made.
pub type Answered = (ItemAnswer, Option<String>);

/// A way to one target.
pub enum Channel {
    Http(Box<Http>),
    Lines(PathBuf),
}

/// A server with connections of its own.
pub struct Http {
    network: HttpNetwork,
    protocol: Protocol,
    fields: HeaderMap,
    timeout: Duration,
}

impl Channel {
    /// # Errors
    /// When a header field or the client cannot be made.
    pub fn new(target: &DeliverTarget, fetch: &FetchConfig) -> Result<Channel, String> {
        if let Protocol::Lines(path) = &target.protocol {
            return Ok(Channel::Lines(path.clone()));
        }
        let mut fields = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        if let Some(text) = &target.authorization {
            let value = HeaderValue::from_str(text);
            let mut value = value.map_err(|_| "password or bearer cannot be sent in a header field")?;
            value.set_sensitive(true);
            fields.insert(AUTHORIZATION, value);
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
        let (network, protocol) = (network.map_err(|e| e.to_string())?, target.protocol.clone());
        Ok(Channel::Http(Box::new(Http { network, protocol, fields, timeout: target.timeout })))
    }

    /// Sends items and waits for what becomes of each.
    pub async fn send(
        &self,
        version: u64,
        items: &[CopyItem],
        is_taken_down: &dyn Fn(&CanonicalUrl) -> bool,
    ) -> Result<Vec<Answered>, NotSent> {
        match self {
            Channel::Http(http) => http.send(version, items).await,
            Channel::Lines(path) => {
                let removed = items.iter().filter_map(|item| match item {
                    CopyItem::Delete(url) if is_taken_down(url) => Some(id(url)),
                    CopyItem::Delete(_) | CopyItem::Put(_) => None,
                });
                let written = write_lines(path, &lines(version, items), &removed.collect());
                let failed =
                    |e: io::Error| NotSent::Interrupted(format!("cannot write {}: {e}", path.display()));
                written.map_err(failed)?;
                Ok(vec![(ItemAnswer::Taken, None); items.len()])
            }
        }
    }
}

impl Http {
    async fn send(&self, version: u64, items: &[CopyItem]) -> Result<Vec<Answered>, NotSent> {
        let Some(mut request) = self.protocol.request(version, items) else { return Ok(Vec::new()) };
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let reply = self.reply(&request).await.map_err(NotSent::Interrupted)?;
            match self.protocol.read(items, reply.status, &reply.body) {
                AfterAnswer::Answers(answers) => return Ok(answers),
                AfterAnswer::Divide => return Err(NotSent::TooMany),
                AfterAnswer::Interrupted(why) => return Err(NotSent::Interrupted(why)),
                // It stays in the target's queue; what becomes of it is not known.
                AfterAnswer::Ask(_) if begun.elapsed() >= self.timeout => {
                    let why = format!("its task did not end within {}", Span(self.timeout));
                    return Err(NotSent::Interrupted(why));
                }
                AfterAnswer::Ask(next) => {
                    sleep(pause).await;
                    (request, pause) = (next, (pause * 2).min(PAUSES.1));
                }
            }
        }
    }

    async fn reply(&self, request: &TargetRequest) -> Result<Reply, String> {
        let answered = async {
            match self.once(request).await {
                // It closed a kept connection, or has another address.
                Err(NetworkError::NotProcessed | NetworkError::TryNextAddress) => self.once(request).await,
                answered => answered,
            }
        };
        match timeout(self.timeout, answered).await {
            Ok(answered) => answered.map_err(|error| words(error).replace("notify.", "deliver.")),
            Err(_) => Err(format!("no answer within {}", Span(self.timeout))),
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
        match &request.body {
            None => self.network.get(&sent, &Meter::default()).await,
            Some(body) => {
                let kind = HeaderValue::from_static(request.content_type);
                let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind)]);
                self.network.post(&sent, Post { headers, body: body.clone().into() }).await
            }
        }
    }
}

/// Appends lines, durably. Documents of these ids are removed from the file first, which replaces it as a whole.
fn write_lines(path: &Path, lines: &[u8], removed: &BTreeSet<String>) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if !removed.is_empty() {
        file = without(path, file, removed)?;
    }
    cut_torn_line(&mut file)?;
    file.write_all(lines)?;
    file.sync_all()
}

/// Cuts off a line without end, which a kill has left: its change was not confirmed, so it is sent again.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut end, mut part) = (length, vec![0; 64 << 10]);
    while end > 0 {
        let start = end.saturating_sub(part.len() as u64);
        let part = &mut part[..(end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        match part.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                end = start + at as u64 + 1;
                break;
            }
            None => end = start,
        }
    }
    if end < length { file.set_len(end) } else { Ok(()) }
}

/// The file without documents of these ids.
fn without(path: &Path, file: File, removed: &BTreeSet<String>) -> io::Result<File> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut out = BufWriter::new(File::create(&beside)?);
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Some(kept) = rewritten(&line, removed) {
            out.write_all(kept)?;
        }
        line.clear();
    }
    out.into_inner()?.sync_all()?;
    fs::rename(&beside, path)?;
    OpenOptions::new().read(true).append(true).open(path)
}
