//! The real network: reqwest over rustls.

mod body;
mod chunk_lines;
mod connection;
mod downgrade;
mod exchange;
mod sent;
mod tap;
mod trust;
mod way;

use crate::net::access::{self, HostAccess};
use crate::net::client::body_memory::BodyMemory;
use crate::net::client::{
    AddressFuture, Cut, FirstLook, Meter, Network, NetworkError, PublicFuture, Reply, ReplyFuture, Request,
};
use crate::net::dns::{ResolveError, Resolver};
use crate::net::exhausted::is_exhausted;
use crate::net::guard::Guard;
use crate::net::limits::{FetchConfig, MAX_HEADERS};
use crate::net::proxy::Proxy;
use body::Coding;
use bytes::Bytes;
use connection::{was_not_processed, with_connect_flag};
use downgrade::{Http1Origins, requires_http1};
use hyper_util::client::legacy;
use recrawl_types::Origin;
use recrawl_types::host::literal;
use recrawl_types::url::is_refused_port;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, FROM, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, USER_AGENT,
};
use reqwest::{Method, StatusCode, Version};
use sent::SentRequests;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tap::RawHead;
use tokio::time::timeout;
pub use trust::check_authorities;
use way::{PublicWay, Way};

/// How long the body of a response is waited for that its header decides, such as a redirect or a 404. A page's is only
/// read so that the connection can serve the next request.
const DECIDED_BODY: Duration = Duration::from_secs(3);
/// The field `Accept` of pages, of which any may be a sitemap or a feed.
const ACCEPTED_PAGES: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Why the HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The text is not allowed in a header field.
    #[error("{key} {value:?} cannot be sent in a header field: use printable ASCII")]
    Header {
        /// The configuration key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// A certificate of `extra_ca` cannot be read.
    #[error("extra_ca: cannot read a certificate: {0} (use PEM)")]
    Authority(String),
    /// A file of `extra_ca` holds no certificate.
    #[error("extra_ca: a file contains no certificate (use PEM)")]
    NoAuthority,
    /// TLS could not be set up, for example because the system has no CA certificates.
    #[error("cannot set up the HTTP client: {} (is ca-certificates installed?)", last_source(.0))]
    Client(#[source] reqwest::Error),
    /// The same with certificates of `extra_ca`.
    #[error("cannot set up TLS: {0} (is ca-certificates installed?)")]
    Tls(#[source] rustls::Error),
}

/// Fields and body of a POST.
#[derive(Clone, Debug, Default)]
pub struct Post {
    /// Header fields, with the content type.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Is it a DELETE instead?
    pub is_delete: bool,
    /// Does only the status of a success count? What follows it is not read, so nothing can make a failure of it.
    pub is_message: bool,
}

/// A response up to its body.
struct OpenedResponse {
    response: reqwest::Response,
    /// Its header as received; none for HTTP/2.
    head: Option<RawHead>,
    /// The server's address; none behind a proxy.
    peer: Option<SocketAddr>,
    /// The request as it was sent, if requests are kept.
    sent: Option<Box<[u8]>>,
}

impl Post {
    /// A form, already encoded.
    pub fn form(form: String) -> Post {
        let media = HeaderValue::from_static("application/x-www-form-urlencoded");
        Post { headers: HeaderMap::from_iter([(CONTENT_TYPE, media)]), body: form.into(), ..Post::default() }
    }
}

/// HTTP/1.1 and HTTP/2 over TCP and TLS.
#[derive(Clone, Debug)]
pub struct HttpNetwork {
    usual: Way,
    public: PublicWay,
    proxy: Option<Proxy>,
    http1: Http1Origins,
    access: Arc<[HostAccess]>,
    memory: BodyMemory,
    /// Writes requests down; none if nobody keeps them.
    sent: Option<Arc<SentRequests>>,
    /// Requests beyond loopback that need no contact, and the way that they go.
    look: Option<(Way, Arc<dyn FirstLook>)>,
}

impl HttpNetwork {
    /// Makes a client: no redirects, no retries, and only configured proxies and cookies. Without a
    /// contact it connects to loopback addresses only.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(config: &FetchConfig) -> Result<HttpNetwork, SetupError> {
        let guard = Guard::new(&config.allow_addresses);
        // Site owners must be able to reach the operator. At this level no name, redirect or proxy
        // bypasses the check.
        let guard = if config.contact.is_none() { guard.only_loopback() } else { guard };
        let proxy = config.proxy.clone();
        let resolver = Resolver::new(guard.clone(), config);
        let resolver = match &proxy {
            Some(proxy) => resolver.exempting(proxy.host()),
            None => resolver,
        };
        let shared = Arc::new(config.clone());
        let public = PublicWay::new(shared.clone(), &guard, &resolver);
        let usual = Way::new(shared, guard, resolver)?;
        let access = config.access.as_slice().into();
        let memory = BodyMemory::new(config.body_memory, config.max_body);
        let sent = match config.keep_requests {
            true => Some(Arc::new(SentRequests::new(common_fields(config)?))),
            false => None,
        };
        let http1 = Http1Origins::default();
        Ok(HttpNetwork { usual, public, proxy, http1, access, memory, sent, look: None })
    }

    /// The same with a first look: without a contact it also makes these requests beyond loopback.
    ///
    /// # Errors
    /// As [`HttpNetwork::new`].
    pub fn with_first_look(
        config: &FetchConfig,
        look: Arc<dyn FirstLook>,
    ) -> Result<HttpNetwork, SetupError> {
        let mut network = HttpNetwork::new(config)?;
        if config.contact.is_none() {
            let guard = Guard::new(&config.allow_addresses);
            let resolver = network.usual.resolver.clone().guarded_by(guard.clone());
            network.look = Some((Way::new(Arc::new(config.clone()), guard, resolver)?, look));
        }
        Ok(network)
    }

    /// The way of a request to this host, which counts for the first look if it needs it.
    async fn way(&self, host: &str, is_public_only: bool) -> Result<&Way, NetworkError> {
        match &self.look {
            _ if is_public_only => self.public.way(),
            Some((way, look)) if !self.is_local(host).await && look.take(host) => Ok(way),
            _ => Ok(&self.usual),
        }
    }

    /// Does the host need no contact?
    async fn is_local(&self, host: &str) -> bool {
        match literal(host) {
            Some(address) => address.to_canonical().is_loopback(),
            None if self.is_proxied(host) && self.proxy.as_ref().is_some_and(Proxy::resolves_names) => false,
            None => self.usual.resolver.address(host).await.is_ok(),
        }
    }

    fn is_proxied(&self, host: &str) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| proxy.covers(host))
    }

    /// Posts to a service, by the rules of a page's request, but without the configured credentials of its
    /// host: pages name services, and must not act in our name. The caller sets the time limit.
    ///
    /// # Errors
    /// As of a page.
    pub async fn post(&self, request: &Request, post: Post) -> Result<Reply, NetworkError> {
        self.send(request, Some(post), &Meter::default()).await
    }

    /// `post`: what a POST sends; none for a GET.
    async fn send(
        &self,
        request: &Request,
        post: Option<Post>,
        received: &Meter,
    ) -> Result<Reply, NetworkError> {
        let is_message = post.as_ref().is_some_and(|post| post.is_message);
        let OpenedResponse { mut response, head, peer, sent } = self.open(request, post).await?;
        let status = response.status().as_u16();
        let usual = response.status().canonical_reason().map(str::as_bytes);
        let RawHead { reason, is_1_0, lines, end } = head.unwrap_or_default();
        let version = if is_1_0 { Version::HTTP_10 } else { response.version() };
        let reason = reason.filter(|reason| Some(&**reason) != usual);
        let headers = std::mem::take(response.headers_mut());
        // HTTP/1 checks this itself.
        if headers.len() > MAX_HEADERS {
            return Err(NetworkError::Malformed);
        }
        let is_unread = !request.reads(status, &headers) || is_message && response.status().is_success();
        let (body, cut) = match () {
            // The connection ends with it.
            () if is_unread => (Bytes::new(), None),
            () => {
                // Other bodies may be undecodable.
                let is_success = response.status().is_success();
                let codings = if is_success { Coding::from_headers(&headers)? } else { Vec::new() };
                let read = body::read(response, &codings, request, &self.memory, received);
                match is_success {
                    true => {
                        let read = read.await;
                        if matches!(read, Err(NetworkError::Unsound)) {
                            self.http1.add(Origin::from_url(&request.url));
                        }
                        let (body, cut) = read?;
                        (body, cut.or_else(|| end.cut(&headers)))
                    }
                    // Browsers go where Location says, and a page is missing, whatever comes behind the header.
                    false => match timeout(DECIDED_BODY, read).await {
                        Ok(Ok(read)) => read,
                        Ok(Err(_)) | Err(_) => (Bytes::new(), Some(Cut::Disconnect)),
                    },
                }
            }
        };
        Ok(Reply { status, version, reason, headers, lines, body, cut, is_unread, peer, sent })
    }

    /// Why no request may lead to this host, if so. A connector resolves no literals, so they are checked here, also
    /// before a proxy.
    fn refusal(&self, request: &Request, host: &str, way: &Way) -> Option<NetworkError> {
        let proxied = self.is_proxied(host);
        // The proxy's own name is exempt from the guard, so pages must not use it.
        let is_proxy = !proxied && self.proxy.as_ref().is_some_and(|proxy| proxy.host() == host);
        let unseen = proxied
            && literal(host).is_none()
            && self.proxy.as_ref().is_some_and(Proxy::resolves_names)
            && !way.guard.admits_unseen();
        // URLs of older versions may have a port that is refused today.
        let refused = literal(host).filter(|address| !way.guard.admits(*address));
        match refused {
            _ if is_proxy || is_refused_port(request.url.port()) => Some(NetworkError::Refused),
            // A guard that admits loopback addresses alone, for want of a contact, must see them.
            _ if unseen => Some(NetworkError::NoContact),
            refused => refused.map(|address| NetworkError::of_guard(&way.guard, address)),
        }
    }

    /// Sends a request, up to the header of the response.
    async fn open(&self, request: &Request, post: Option<Post>) -> Result<OpenedResponse, NetworkError> {
        let host = request.url.host();
        let way = self.way(&host, request.manner.is_public_only).await?;
        let proxied = self.is_proxied(&host);
        if let Some(refusal) = self.refusal(request, &host, way) {
            return Err(refusal);
        }
        let outgoing = self.outgoing(request, post);
        let kept = self.sent.as_ref().map(|sent| {
            (sent, outgoing.method().clone(), outgoing.url().clone(), outgoing.headers().clone())
        });
        let origin = Origin::from_url(&request.url);
        let is_http1 = self.http1.has(&origin);
        let (response, connected) = with_connect_flag(way.client(is_http1)?.send(outgoing)).await;
        let refusal = match &response {
            Ok((response, _)) if response.status() == StatusCode::MISDIRECTED_REQUEST => {
                Some(NetworkError::NotProcessed)
            }
            Ok(_) => None,
            Err(e) => requires_http1(&**e),
        };
        if let Some(refusal) = refusal.filter(|_| !is_http1) {
            self.http1.add(origin);
            return Err(refusal);
        }
        let (response, head) = match response {
            Ok(response) => response,
            Err(e) if was_not_processed(&*e, connected) => return Err(NetworkError::NotProcessed),
            Err(e) => {
                let error = match before_the_answer(&*e) {
                    // Without IPv6 on this machine, IPv6 addresses fail like this: that is not
                    // temporary.
                    NetworkError::Exhausted if way.is_v6(&host).await => NetworkError::Connect,
                    error => error,
                };
                let unconnected =
                    is_connect(&*e) && !matches!(error, NetworkError::Tls | NetworkError::Exhausted);
                let elsewhere = unconnected && !proxied && way.resolver.skip_address(&request.url.host());
                return Err(if elsewhere { NetworkError::TryNextAddress } else { error });
            }
        };
        // Behind a proxy the server's address is unknown.
        let peer = response.remote_addr().filter(|_| !proxied);
        if let Some(refused) = peer.map(|peer| peer.ip()).filter(|peer| !way.guard.admits(*peer)) {
            return Err(NetworkError::of_guard(&way.guard, refused));
        }
        let version = response.version();
        let sent = kept.map(|(sent, method, url, fields)| sent.text(&method, &url, &fields, version));
        Ok(OpenedResponse { response, head, peer, sent })
    }

    /// The request as it is sent, but for the fields of every request.
    fn outgoing(&self, request: &Request, post: Option<Post>) -> reqwest::Request {
        let method = match post {
            Some(Post { is_delete: true, .. }) => Method::DELETE,
            Some(_) => Method::POST,
            None if request.manner.is_preflight => Method::OPTIONS,
            None => Method::GET,
        };
        let hop = request.hop.as_ref();
        let mut url = hop.map_or_else(|| request.url.to_url(), |hop| hop.url.clone());
        // The parser leaves it, which the URL Standard escapes in a path. Known URLs keep it.
        if url.path().contains('^') {
            url.set_path(&url.path().replace('^', "%5E"));
        }
        let mut outgoing = reqwest::Request::new(method, url);
        let headers = outgoing.headers_mut();
        let mut add = |name: HeaderName, value: &Option<Box<str>>| {
            // Some servers send validators that cannot be sent back. Then the request is
            // unconditional.
            if let Some(value) = value.as_ref().and_then(|v| HeaderValue::from_str(v).ok()) {
                headers.insert(name, value);
            }
        };
        add(IF_NONE_MATCH, &request.validators.etag);
        add(IF_MODIFIED_SINCE, &request.validators.last_modified);
        headers.extend(request.manner.fields.clone());
        if post.is_some() {
            // The answer of a service is no page; every kind will do.
            headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        }
        if post.is_none() && !request.manner.is_anonymous {
            access::add(&self.access, &request.url, headers);
        }
        if let Some(cookies) = hop.and_then(|hop| hop.cookies.as_ref()) {
            access::add_cookies(cookies, headers);
        }
        if request.last {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(Post { headers, body, .. }) = post {
            outgoing.headers_mut().extend(headers);
            *outgoing.body_mut() = Some(body.into());
        }
        outgoing
    }
}

impl Network for HttpNetwork {
    fn get<'a>(&'a self, request: &'a Request, received: &'a Meter) -> ReplyFuture<'a> {
        Box::pin(self.send(request, None, received))
    }

    fn is_used_up(&self) -> bool {
        self.look.as_ref().is_some_and(|(_, look)| look.is_over())
    }

    fn address<'a>(&'a self, host: &'a str) -> AddressFuture<'a> {
        Box::pin(async move {
            let way = match &self.look {
                Some((way, look)) if look.admits(host) && !self.is_local(host).await => way,
                _ => &self.usual,
            };
            match literal(host) {
                _ if self.is_proxied(host) && self.proxy.as_ref().is_some_and(Proxy::resolves_names) => {
                    Err(NetworkError::Dns)
                }
                Some(address) if way.guard.admits(address) => Ok(address.to_canonical()),
                Some(address) => Err(NetworkError::of_guard(&way.guard, address)),
                None => way.resolver.address(host).await.map_err(|e| match e {
                    ResolveError::NoAddress => NetworkError::Dns,
                    ResolveError::Refused => NetworkError::Refused,
                    ResolveError::NoContact => NetworkError::NoContact,
                    ResolveError::Exhausted => NetworkError::Exhausted,
                }),
            }
        })
    }

    fn is_public<'a>(&'a self, host: &'a str) -> PublicFuture<'a> {
        Box::pin(async move {
            match literal(host) {
                Some(address) => self.public.guard.admits(address),
                None if self.is_proxied(host) && self.proxy.as_ref().is_some_and(Proxy::resolves_names) => {
                    true
                }
                None => self.public.resolver.lookup(host).await.is_ok(),
            }
        })
    }
}

fn user_agent(config: &FetchConfig) -> Result<HeaderValue, SetupError> {
    header("user_agent", config.user_agent_field())
}

/// The fields of every request that does not have its own.
fn common_fields(config: &FetchConfig) -> Result<HeaderMap, SetupError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED_PAGES));
    headers.insert(USER_AGENT, user_agent(config)?);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(body::ACCEPTED));
    if let Some(contact) = config.from_field() {
        headers.insert(FROM, header("contact", contact.to_owned())?);
    }
    Ok(headers)
}

fn header(key: &'static str, value: String) -> Result<HeaderValue, SetupError> {
    HeaderValue::from_str(&value).map_err(|_| SetupError::Header { key, value })
}

/// The error and its causes.
fn sources<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&e| match e.downcast_ref::<io::Error>() {
        // The `source()` of an `io::Error` skips the error that it wraps.
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => e.source(),
    })
}

/// The message of the last cause.
fn last_source(error: &reqwest::Error) -> String {
    sources(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// The meaning of an error before the response header.
fn before_the_answer(error: &(dyn Error + 'static)) -> NetworkError {
    for cause in sources(error) {
        match cause.downcast_ref::<ResolveError>() {
            Some(ResolveError::Refused) => return NetworkError::Refused,
            Some(ResolveError::NoContact) => return NetworkError::NoContact,
            Some(ResolveError::NoAddress) => return NetworkError::Dns,
            Some(ResolveError::Exhausted) => return NetworkError::Exhausted,
            None => {}
        }
        if cause.downcast_ref::<io::Error>().is_some_and(is_exhausted) {
            return NetworkError::Exhausted;
        }
        if cause.is::<rustls::Error>() {
            return NetworkError::Tls;
        }
        if cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return NetworkError::Malformed;
        }
    }
    if sources(error).any(is_timeout) {
        NetworkError::Timeout
    } else if is_connect(error) {
        NetworkError::Connect
    } else {
        NetworkError::Protocol
    }
}

fn is_timeout(cause: &(dyn Error + 'static)) -> bool {
    cause.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_timeout)
        || cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}

/// Is there no connection?
fn is_connect(error: &(dyn Error + 'static)) -> bool {
    sources(error).any(|cause| {
        cause.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect)
            || cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect)
    })
}

#[cfg(test)]
mod tests;
