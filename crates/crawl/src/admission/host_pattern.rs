//! Patterns of hosts in the configuration and in opt-outs.

use recrawl_types::UrlRules;
use recrawl_types::host::is_within;
use std::fmt;

/// `*`, `example.com` or `*.example.com`.
#[derive(Clone, Debug, PartialEq)]
pub enum HostPattern {
    /// Every host.
    Any,
    /// This host.
    Exact(String),
    /// This host and its subdomains.
    WithSubdomains(String),
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPattern::Any => f.write_str("*"),
            HostPattern::Exact(name) => f.write_str(name),
            HostPattern::WithSubdomains(name) => write!(f, "*.{name}"),
        }
    }
}

impl HostPattern {
    /// Parses a pattern and makes its host canonical.
    ///
    /// # Errors
    /// That it is invalid, and how to write one.
    pub fn parse(text: &str) -> Result<HostPattern, String> {
        if text == "*" {
            return Ok(HostPattern::Any);
        }
        let (name, subdomains) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let url = UrlRules::keep_all()
            .canonicalize(&format!("http://{name}/"))
            .ok()
            .filter(|u| u.path_and_query() == "/" && u.port() == 80)
            .ok_or_else(|| format!("{text:?} is not a host; write example.com, *.example.com or *"))?;
        let host = url.host().into_owned();
        Ok(if subdomains { HostPattern::WithSubdomains(host) } else { HostPattern::Exact(host) })
    }

    /// Does the pattern match this canonical host?
    pub fn matches(&self, host: &str) -> bool {
        match self {
            HostPattern::Any => true,
            HostPattern::Exact(name) => host == name,
            HostPattern::WithSubdomains(name) => is_within(host, name),
        }
    }
}
