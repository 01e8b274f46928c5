//! IndexNow (<https://www.indexnow.org/documentation>): a host sends the URLs of changed pages with a key,
//! and has the key in a file.

use recrawl_types::{CanonicalUrl, Origin, UrlRules, WrittenHost};

/// Maximum number of URLs in one request, by the protocol.
pub const MAX_URLS: usize = 10_000;

/// A request as it was sent.
#[derive(Clone, Debug, Default)]
pub struct IndexNowRequest {
    /// The host, if it is named beside the URLs.
    pub host: Option<String>,
    /// The pages.
    pub urls: Vec<String>,
    /// The key.
    pub key: String,
    /// The URL of the key file, unless it is /KEY.txt.
    pub key_location: Option<String>,
}

/// A request whose parts fit together. Its key is not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The pages, all of the host of the key file.
    pub pages: Vec<CanonicalUrl>,
    /// The key.
    pub key: String,
    /// Its file.
    pub key_file: CanonicalUrl,
}

/// A fault of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The parameter or field.
    pub at: String,
    /// The fault.
    pub what: String,
    /// The remedy.
    pub todo: &'static str,
}

impl Wrong {
    fn new(at: impl Into<String>, what: impl Into<String>, todo: &'static str) -> Wrong {
        Wrong { at: at.into(), what: what.into(), todo }
    }
}

impl IndexNowRequest {
    /// Checks the request by the rules of the protocol: a key has 8 to 128 letters, digits and hyphens; all
    /// URLs are of one host, that of the key file, and below the folder of the key file.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(&self, rules: &UrlRules) -> Result<Notice, Wrong> {
        let IndexNowRequest { host, urls, key, key_location } = self;
        let is_sign = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !(8..=128).contains(&key.len()) || !key.chars().all(is_sign) {
            return Err(Wrong::new("key", "not a key", "send 8 to 128 letters, digits and hyphens"));
        }
        if urls.is_empty() || urls.len() > MAX_URLS {
            return Err(Wrong::new("urlList", format!("{} URLs", urls.len()), "send 1 to 10000 URLs"));
        }
        let mut pages = Vec::with_capacity(urls.len());
        for (at, text) in urls.iter().enumerate() {
            let url = rules.canonicalize(text.trim());
            let wrong = |e| Wrong::new(format!("urlList[{at}]"), format!("{e}"), "send URLs with their host");
            pages.push(url.map_err(wrong)?);
        }
        let home = &pages[0];
        // By the protocol, a key without a location is a file at the root of the host.
        let key_file = match key_location {
            Some(location) => rules.canonicalize(location.trim()).map_err(|e| e.to_string()),
            None => rules
                .canonicalize(&format!("{}/{key}.txt", Origin::from_url(home)))
                .map_err(|e| e.to_string()),
        };
        let key_file =
            key_file.map_err(|e| Wrong::new("keyLocation", e, "send the URL of a text file on the host"))?;
        if let Some(host) = host
            && !WrittenHost::of_urls(host).is_ok_and(|host| host.name() == home.host())
        {
            return Err(Wrong::new("host", "not the host of the URLs", "send one request per host"));
        }
        // A key speaks for the folder of its file and what is below: other folders of the host may be of
        // others.
        let path = key_file.path_and_query();
        let folder = &path[..=path.find('?').map_or(path, |query| &path[..query]).rfind('/').unwrap_or(0)];
        for (at, url) in pages.iter().enumerate() {
            if url.host() != key_file.host() {
                let what = "not on the host of the key file";
                return Err(Wrong::new(format!("urlList[{at}]"), what, "send one request per host"));
            }
            if !url.path_and_query().starts_with(folder) {
                let what = format!("not below {folder}, the folder of the key file");
                return Err(Wrong::new(
                    format!("urlList[{at}]"),
                    what,
                    "put the key file into a folder above",
                ));
            }
        }
        pages.sort_unstable();
        pages.dedup();
        Ok(Notice { pages, key: key.clone(), key_file })
    }
}
