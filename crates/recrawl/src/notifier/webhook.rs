//! Posts messages to a URL (standard-webhooks).

use recrawl_crawl::notify::Target;
use recrawl_fetcher::{
    FetchConfig, HeaderMap, HeaderName, HeaderValue, HttpNetwork, NetworkError, Post, Request,
};
use recrawl_notifications::delivery::MAX_IN_FLIGHT;
use recrawl_notifications::signature::{self, SigningKey};
use recrawl_types::{CanonicalUrl, Validators};

const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");
const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
/// Maximum bytes read of an answer; only its status counts.
const MAX_ANSWER: usize = 4 << 10;

/// A receiver with connections of its own.
pub struct Webhook {
    network: HttpNetwork,
    url: CanonicalUrl,
    keys: Vec<SigningKey>,
    headers: HeaderMap,
}

impl Webhook {
    /// # Errors
    /// When a header field or the client cannot be made.
    pub fn new(
        target: &Target,
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
            keep_requests: false,
            timeout: target.timeout,
            connections_per_host: MAX_IN_FLIGHT,
            ..fetch.clone()
        });
        let (url, keys) = (url.clone(), keys.to_vec());
        Ok(Webhook { network: network.map_err(|e| e.to_string())?, url, keys, headers })
    }

    /// Posts a message. `now`: seconds since 1970.
    ///
    /// # Errors
    /// The status, if it is no success, or why there is none.
    pub async fn post(&self, id: &str, now: u64, body: String) -> Result<(), String> {
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
        let post = Post { headers, body: body.into() };
        let validators = Validators::default();
        let request = Request {
            url: self.url.clone(),
            validators,
            max_body: MAX_ANSWER,
            last: false,
            is_anonymous: true,
            accept: None,
        };
        let answer = match self.network.post(&request, post.clone()).await {
            // It closed a kept connection, or has another address.
            Err(NetworkError::NotProcessed | NetworkError::TryNextAddress) => {
                self.network.post(&request, post).await
            }
            answer => answer,
        };
        match answer.map(|reply| reply.status) {
            Ok(200..=299) => Ok(()),
            Ok(status @ 300..=399) => {
                Err(format!("status {status}: redirects are not followed; configure its target"))
            }
            Ok(status) => Err(format!("status {status}")),
            Err(error) => Err(words(error).into()),
        }
    }
}

/// Why there is no answer.
pub fn words(error: NetworkError) -> &'static str {
    match error {
        NetworkError::Refused => {
            "its address is not on the public Internet: see notify.allow_addresses, and crawler.contact"
        }
        NetworkError::Dns => "its name does not resolve",
        NetworkError::Connect | NetworkError::TryNextAddress => "no connection",
        NetworkError::Tls => "the TLS handshake failed",
        NetworkError::Timeout => "no answer in time",
        NetworkError::Exhausted => "this machine has no file or port left",
        NetworkError::NotProcessed | NetworkError::Protocol | NetworkError::Encoding => {
            "the connection broke"
        }
    }
}
