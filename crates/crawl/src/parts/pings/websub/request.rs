//! Sends a request to a hub.

use recrawl_fetcher::{HttpNetwork, NetworkError, Post, Request, RequestOptions};
use recrawl_types::{CanonicalUrl, UrlRules, Validators};
use std::time::Duration;

/// Maximum bytes read of a hub's answer; only its status counts.
const MAX_HUB_ANSWER: usize = 16 << 10;
/// Interval of requests.
pub const EVERY: Duration = Duration::from_secs(1);

/// Why a hub did not accept a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HubError {
    /// A rule of the crawl forbids requests to its host.
    #[error("a rule of this crawl forbids requests to this host")]
    Forbidden,
    /// There is no answer.
    #[error("no answer ({0:?})")]
    Network(NetworkError),
    /// The answer is no success.
    #[error("status {0}")]
    Status(u16),
    /// It redirects too often, or to nowhere.
    #[error("it redirects to nowhere or too often")]
    Redirects,
}

/// Posts a form to a hub. Follows redirects that keep the method (RFC 9110 §15.4.8 and §15.4.9), each after
/// [`EVERY`]. `manner` says how each URL is asked; none for one that must not be.
///
/// # Errors
/// If the hub does not accept it.
pub async fn send(
    network: &HttpNetwork,
    hub: &CanonicalUrl,
    form: &str,
    manner: &dyn Fn(&CanonicalUrl) -> Option<RequestOptions>,
    timeout: Duration,
    max_redirects: u8,
) -> Result<(), HubError> {
    let mut url = hub.clone();
    for _ in 0..=max_redirects {
        let manner = manner(&url).ok_or(HubError::Forbidden)?;
        let validators = Validators::default();
        let request = Request {
            url: url.clone(),
            validators,
            max_body: MAX_HUB_ANSWER,
            types: None,
            last: true,
            hop: None,
            manner,
        };
        let answer = tokio::time::timeout(timeout, network.post(&request, Post::form(form.to_owned()))).await;
        let reply = answer.unwrap_or(Err(NetworkError::Timeout)).map_err(HubError::Network)?;
        match reply.status {
            200..=299 => return Ok(()),
            307 | 308 => {
                let location = reply.headers.get("location").and_then(|value| value.to_str().ok());
                let target = location.and_then(|to| UrlRules::keep_all().join(&url.to_url(), to).ok());
                url = target.ok_or(HubError::Redirects)?;
            }
            status => return Err(HubError::Status(status)),
        }
        tokio::time::sleep(EVERY).await;
    }
    Err(HubError::Redirects)
}

/// Encodes a form (WHATWG URL §5.2).
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
