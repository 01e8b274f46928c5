//! The configured proxy. Proxies in environment variables are ignored.

use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use recrawl_types::{HostPattern, WrittenHost};
use reqwest::Url;
use reqwest::header::HeaderValue;
use std::fmt;

/// A proxy: its URL, credentials, and the hosts that are requested without it.
#[derive(Clone, PartialEq)]
pub struct Proxy {
    url: Url,
    except: Vec<HostPattern>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self}, except {:?})", self.except)
    }
}

/// Without the credentials.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.url.scheme(), self.host())?;
        self.url.port().map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl Proxy {
    /// Makes a proxy from an `http`, `https`, `socks5` or `socks5h` URL. `except` are hosts that
    /// are requested without it.
    ///
    /// # Errors
    /// A message without secrets.
    pub fn new(
        url: &str,
        credentials: Option<(&str, &str)>,
        except: Vec<HostPattern>,
    ) -> Result<Proxy, String> {
        let mut url = Url::parse(url).map_err(|e| format!("invalid URL: {e}"))?;
        if !matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h") {
            return Err("use http://, https://, socks5:// or socks5h:// with host and port".into());
        }
        if url.host_str().is_none_or(str::is_empty) || !matches!(url.path(), "" | "/") {
            return Err("give only host and port, without a path".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("give user and password in their own keys, so that they are not printed".into());
        }
        let host = WrittenHost::without_port(url.host_str().unwrap_or_default());
        // Only web URLs have a canonical host once they are parsed, and that with a final dot.
        url.set_host(Some(&host.map_err(|e| e.to_string())?)).map_err(|e| e.to_string())?;
        if let Some((user, password)) = credentials {
            let set = url.set_username(user).and_then(|()| url.set_password(Some(password)));
            set.map_err(|()| "this proxy URL cannot carry user and password".to_owned())?;
        }
        Ok(Proxy { url, except })
    }

    /// Does a request to this canonical host use the proxy?
    pub fn covers(&self, host: &str) -> bool {
        !self.except.iter().any(|pattern| pattern.matches(host))
    }

    /// Does the proxy look up names? Then the address guard does not see the addresses.
    pub fn resolves_names(&self) -> bool {
        self.url.scheme() != "socks5"
    }

    /// Host of the proxy.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The credentials for requests that name an `http` URL to the proxy. Tunnels have theirs from [`Proxy::rule`].
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        if !matches!(self.url.scheme(), "http" | "https") {
            return None;
        }
        let any = Uri::from_static("http://any.invalid/");
        Matcher::builder().all(self.url.as_str()).build().intercept(&any)?.basic_auth().cloned()
    }

    /// The rule for the HTTP client.
    pub(crate) fn rule(&self) -> reqwest::Proxy {
        let this = self.clone();
        reqwest::Proxy::custom(move |url| {
            // A URL's host is canonical, with the brackets of IPv6.
            this.covers(url.host_str()?).then(|| this.url.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| HostPattern::parse(text).unwrap()).collect()
    }

    #[test]
    fn the_host_of_a_proxy_is_canonical_in_every_scheme() {
        for scheme in ["http", "https", "socks5", "socks5h"] {
            for (written, host) in [
                ("Proxy.Test.", "proxy.test"),
                ("bücher.test", "xn--bcher-kva.test"),
                ("[0:0::1]", "[::1]"),
                ("127.0.0.1", "127.0.0.1"),
            ] {
                let proxy = Proxy::new(&format!("{scheme}://{written}:3128"), None, Vec::new()).unwrap();
                assert_eq!(proxy.host(), host, "{scheme} {written}");
                assert_eq!(proxy.to_string(), format!("{scheme}://{host}:3128"));
            }
            for wrong in ["a..test", ".", "*.test"] {
                let error = Proxy::new(&format!("{scheme}://{wrong}:3128"), None, Vec::new()).unwrap_err();
                assert!(error.contains("is not a host"), "{scheme} {wrong}: {error}");
            }
        }
    }

    #[test]
    fn what_is_no_proxy_is_refused_and_secrets_are_not_shown() {
        for wrong in ["", "proxy:3128", "ftp://proxy:21", "http://", "http://p:1/path", "http://u:geheim@p:1"]
        {
            let error = Proxy::new(wrong, None, Vec::new()).unwrap_err();
            assert!(!error.contains("geheim"), "{error}");
        }
        let proxy =
            Proxy::new("socks5://p.test:1080", Some(("me", "geheim/@:")), patterns(&["a.test"])).unwrap();
        assert_eq!(proxy.to_string(), "socks5://p.test:1080");
        assert_eq!(format!("{proxy:?}"), "Proxy(socks5://p.test:1080, except [Exact(\"a.test\")])");
    }

    #[test]
    fn exceptions_are_hosts_or_domains() {
        let proxy = Proxy::new("http://p.test:3128", None, patterns(&["a.test", "*.b.test", "::1"])).unwrap();
        for direct in ["a.test", "b.test", "x.y.b.test", "[::1]"] {
            assert!(!proxy.covers(direct), "{direct}");
        }
        for covered in ["x.a.test", "cb.test", "test", "127.0.0.1"] {
            assert!(proxy.covers(covered), "{covered}");
        }
        assert!(proxy.resolves_names());
        assert!(!Proxy::new("socks5://p.test:1080", None, Vec::new()).unwrap().resolves_names());
    }
}
