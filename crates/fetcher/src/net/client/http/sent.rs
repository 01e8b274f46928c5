//! The text of a request, for archives.

use reqwest::header::{CONNECTION, HOST, HeaderMap};
use reqwest::{Method, Url, Version};

/// Writes down requests.
#[derive(Clone, Debug)]
pub struct SentRequests {
    /// Fields of every request, in the order in which the client adds them.
    common: HeaderMap,
}

impl SentRequests {
    /// With the fields that the client adds to each request.
    pub fn new(common: HeaderMap) -> SentRequests {
        SentRequests { common }
    }

    /// Request line and fields, as the client sends them over HTTP/1.1 without a proxy. Leaves out secret
    /// fields: archives are passed on.
    pub fn text(&self, method: &Method, url: &Url, fields: &HeaderMap, version: Version) -> Box<[u8]> {
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut text = format!("{method} {}{query} HTTP/1.1\r\n", url.path()).into_bytes();
        let added = self.common.iter().filter(|(name, _)| !fields.contains_key(*name));
        for (name, value) in fields.iter().chain(added) {
            // HTTP/2 has no such field.
            let is_of_http1 = name == CONNECTION && version == Version::HTTP_2;
            if !value.is_sensitive() && !is_of_http1 {
                line(&mut text, name.as_str(), value.as_bytes());
            }
        }
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = format!("{}{port}", url.host_str().unwrap_or_default());
        line(&mut text, HOST.as_str(), host.as_bytes());
        text.extend_from_slice(b"\r\n");
        text.into()
    }
}

fn line(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        text.extend_from_slice(part);
    }
}
