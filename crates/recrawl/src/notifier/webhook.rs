//! Posts messages to a URL (standard-webhooks).

use super::not_taken::{NotTaken, within};
use recrawl_crawl::parts::notify::NotifyTarget;
use recrawl_delivery::protocol::told;
use recrawl_fetcher::{
    FetchConfig, HeaderMap, HeaderName, HeaderValue, HttpNetwork, NetworkError, Post, Request, RequestOptions,
};
use recrawl_notifications::delivery::MAX_IN_FLIGHT;
use recrawl_notifications::signature::{self, SigningKey};
use recrawl_types::{CanonicalUrl, Validators};
use std::time::Duration;

const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");
const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");

/// Bytes of an answer that are read at most.
const MAX_ANSWER: usize = 4 << 10;

/// A receiver with connections of its own.
pub struct Webhook {
    network: HttpNetwork,
    url: CanonicalUrl,
    keys: Vec<SigningKey>,
    headers: HeaderMap,
    timeout: Duration,
}

impl Webhook {
    /// # Errors
    /// When a header field or the client cannot be made.
    pub fn new(
        target: &NotifyTarget,
        fetch: &FetchConfig,
        url: &CanonicalUrl,
        keys: &[SigningKey],
        authorization: Option<&str>,
        content_type: &str,
    ) -> Result<Webhook, String> {
        let field = |key: &str, text: &str| {
            HeaderValue::from_str(text).map_err(|_| format!("{key}: it cannot be sent in a header field"))
        };
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, field("content_type", content_type)?)]);
        if let Some(text) = authorization {
            let mut value = field("password or bearer", text)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let network = HttpNetwork::new(&FetchConfig {
            allow_addresses: target.allow_addresses.clone(),
            access: Vec::new(),
            // The address guard would not see behind it.
            proxy: None,
            keep_requests: false,
            timeout: target.timeout,
            connections_per_host: MAX_IN_FLIGHT,
            ..fetch.clone()
        });
        let (url, keys) = (url.clone(), keys.to_vec());
        let network = network.map_err(|e| e.to_string())?;
        Ok(Webhook { network, url, keys, headers, timeout: target.timeout })
    }

    /// Posts a message. `now`: seconds since 1970.
    ///
    /// # Errors
    /// The status, if it is no success, or why there is none.
    pub async fn post(&self, id: &str, now: u64, body: String) -> Result<(), NotTaken> {
        let mut headers = self.headers.clone();
        let mut add = |name: &'static str, text: &str| {
            let value = HeaderValue::from_str(text).expect("ids and signatures are ASCII");
            headers.insert(HeaderName::from_static(name), value);
        };
        add("webhook-id", id);
        add("webhook-timestamp", &now.to_string());
        if !self.keys.is_empty() {
            add("webhook-signature", &signature::signatures(&self.keys, id, now, body.as_bytes()));
        }
        let post = Post { headers, body: body.into(), is_delete: false, is_message: true };
        let validators = Validators::default();
        let url = self.url.clone();
        let (types, manner) = (None, RequestOptions::default());
        let request =
            Request { url, hop: None, validators, max_body: MAX_ANSWER, types, last: false, manner };
        let reply = within(self.timeout, async {
            let reply = match self.network.post(&request, post.clone()).await {
                // It closed a kept connection, or has another address.
                Err(NetworkError::NotProcessed | NetworkError::TryNextAddress) => {
                    self.network.post(&request, post).await
                }
                reply => reply,
            };
            reply.map_err(|error| NotTaken::Failed(words(error).into()))
        });
        let reply = reply.await?;
        let told = || told(reply.status, &reply.body);
        Err(match (reply.status, reply.retry_after(now * 1000)) {
            (200..=299, _) => return Ok(()),
            (status @ 300..=399, _) => {
                NotTaken::Failed(format!("status {status}: redirects are not followed; configure its target"))
            }
            (_, Some(time)) => NotTaken::Resting(told(), time),
            (status, None) if is_refusal(status) => NotTaken::Refused(told()),
            _ => NotTaken::Failed(told()),
        })
    }
}

/// Does this status judge the message, and not the sender or the hour?
fn is_refusal(status: u16) -> bool {
    matches!(status, 400 | 406 | 409 | 411..=417 | 422 | 431 | 500)
}

/// Why there is no answer.
pub fn words(error: NetworkError) -> &'static str {
    match error {
        NetworkError::Refused => "its address is not on the public Internet (notify.allow_addresses)",
        NetworkError::NoContact => "crawler.contact is not set",
        NetworkError::Dns => "its name does not resolve",
        NetworkError::Connect | NetworkError::TryNextAddress => {
            "cannot connect to it: is it running, and its port right?"
        }
        NetworkError::Tls => "the TLS handshake failed",
        NetworkError::Timeout => "no answer in time",
        NetworkError::Exhausted => "this machine has no file or port left",
        NetworkError::Malformed => "its answer is not HTTP",
        NetworkError::Unsound => "its answer is no sound HTTP/2",
        NetworkError::NotProcessed | NetworkError::Protocol | NetworkError::Encoding => {
            "the connection broke"
        }
    }
}
