//! Patterns of hosts as people write them.

use super::written_host::{HostError, WrittenHost};
use crate::host::is_within;
use std::fmt;

/// `*`, `example.com` or `*.example.com`. A host has any [spelling](WrittenHost).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Reads a pattern.
    ///
    /// # Errors
    /// Why it matches no host.
    pub fn parse(text: &str) -> Result<HostPattern, HostError> {
        match text.strip_prefix("*.") {
            _ if text == "*" => Ok(HostPattern::Any),
            Some(name) => WrittenHost::without_port(name).map(HostPattern::WithSubdomains),
            None => WrittenHost::without_port(text).map(HostPattern::Exact),
        }
    }

    /// Reads the patterns of a key of the configuration.
    ///
    /// # Errors
    /// The key, the first text that is no pattern, and how to write one.
    pub fn all(key: &str, texts: &[String]) -> Result<Vec<HostPattern>, String> {
        let parse = |text: &String| {
            HostPattern::parse(text).map_err(|e| format!("{key}: {e}; write example.com, *.example.com or *"))
        };
        texts.iter().map(parse).collect()
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
