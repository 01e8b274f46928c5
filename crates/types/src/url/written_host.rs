//! Hosts as people write them: in the configuration, on the command line, in requests and in files of
//! operators.

use super::{MAX_HOST_BYTES, is_refused_port, normalize};
use crate::host::literal;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A host, perhaps with a port. All spellings of a host are equal: Unicode or Punycode, any case, with or
/// without a final dot, IPv6 with or without brackets.
///
/// ```
/// use recrawl_types::WrittenHost;
///
/// let host = WrittenHost::parse("Bücher.Example.:8080")?;
/// assert_eq!((host.name(), host.port()), ("xn--bcher-kva.example", Some(8080)));
/// assert_eq!(WrittenHost::parse("::1")?, WrittenHost::parse("[::1]")?);
/// assert!(WrittenHost::without_port("example.com:8080").is_err());
/// # Ok::<(), recrawl_types::HostError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenHost {
    name: String,
    port: Option<u16>,
}

/// A text that can be no host, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a host: {problem}")]
pub struct HostError {
    text: String,
    problem: HostProblem,
}

/// Why a text can be no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostProblem {
    /// There is nothing but white space.
    #[error("it is blank")]
    Blank,
    /// Two dots in a row, or one at the start.
    #[error("it has an empty label (a dot at its start, or two in a row)")]
    EmptyLabel,
    /// Longer than DNS allows.
    #[error("it has {0} bytes; the limit is {MAX_HOST_BYTES}")]
    TooLong(usize),
    /// A character of another part of a URL, or of none.
    #[error("it contains {0:?}")]
    Character(char),
    /// Neither a name by IDNA nor an address.
    #[error("it is neither a name nor an address")]
    Unknown,
    /// What follows the last colon is no port.
    #[error("what follows its colon is no port from 1 to 65535")]
    NoPort,
    /// See [`is_refused_port`].
    #[error("port {0} is blocked: it belongs to another protocol than HTTP")]
    BlockedPort(u16),
    /// A port where a host means all its ports.
    #[error("it has a port, and only the host is expected")]
    Port,
}

impl HostProblem {
    fn in_text(self, text: &str) -> HostError {
        HostError { text: text.to_owned(), problem: self }
    }
}

impl WrittenHost {
    /// Reads a host with or without a port. Any port is taken.
    ///
    /// # Errors
    /// Why no host can have this name, or no port this number.
    pub fn parse(text: &str) -> Result<WrittenHost, HostError> {
        // URLs may have `*` in a host; people mean a pattern by it.
        let is_odd = |c: &char| "/\\?#@*".contains(*c) || c.is_whitespace() || c.is_control();
        let parsed = || {
            if let Some(odd) = text.chars().find(is_odd).filter(|_| !text.trim().is_empty()) {
                return Err(HostProblem::Character(odd));
            }
            if let Ok(address) = text.parse::<Ipv6Addr>() {
                return Ok(WrittenHost { name: canonical(&format!("[{address}]"))?, port: None });
            }
            // The colons within brackets belong to the address.
            match text.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
                None => Ok(WrittenHost { name: canonical(text)?, port: None }),
                Some((host, port)) => {
                    let name = canonical(host)?;
                    let is_number = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
                    let number = port.parse().ok().filter(|number| is_number && *number > 0);
                    Ok(WrittenHost { name, port: Some(number.ok_or(HostProblem::NoPort)?) })
                }
            }
        };
        parsed().map_err(|problem: HostProblem| problem.in_text(text))
    }

    /// Reads a host of URLs, with or without a port.
    ///
    /// # Errors
    /// As [`WrittenHost::parse`], and for a [blocked port](is_refused_port).
    pub fn of_urls(text: &str) -> Result<WrittenHost, HostError> {
        let host = WrittenHost::parse(text)?;
        match host.port {
            Some(port) if is_refused_port(port) => Err(HostProblem::BlockedPort(port).in_text(text)),
            _ => Ok(host),
        }
    }

    /// Reads a host without a port: its canonical name.
    ///
    /// # Errors
    /// As [`WrittenHost::parse`], and for any port.
    pub fn without_port(text: &str) -> Result<String, HostError> {
        let host = WrittenHost::parse(text)?;
        if host.port.is_some() { Err(HostProblem::Port.in_text(text)) } else { Ok(host.name) }
    }

    /// The name as in canonical URLs, without the port.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port, if one is written.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        literal(&self.name)
    }
}

/// As in URLs; the port only if it was written.
impl fmt::Display for WrittenHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The host as in canonical URLs.
fn canonical(text: &str) -> Result<String, HostProblem> {
    if text.trim().is_empty() {
        return Err(HostProblem::Blank);
    }
    if normalize::has_endless_label(text) {
        return Err(HostProblem::TooLong(text.len()));
    }
    let host = url::Host::parse(text).map_err(|_| HostProblem::Unknown)?.to_string();
    settled(&host).map(str::to_owned)
}

/// The host of a parsed URL without its final dot, if DNS could have it.
pub(super) fn settled(host: &str) -> Result<&str, HostProblem> {
    let host = host.strip_suffix('.').unwrap_or(host);
    if !host.starts_with('[') && host.split('.').any(str::is_empty) {
        return Err(HostProblem::EmptyLabel);
    }
    if host.len() > MAX_HOST_BYTES { Err(HostProblem::TooLong(host.len())) } else { Ok(host) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_host_is_the_same() {
        for (name, spellings) in [
            ("example.com", &["example.com", "EXAMPLE.com", "example.com.", "ex%61mple.com"][..]),
            (
                "xn--bcher-kva.example",
                &["bücher.example", "BÜCHER.example.", "bu\u{308}cher.example", "XN--Bcher-KVA.example"],
            ),
            ("xn--fiqs8s", &["中国", "中国。", "xn--fiqs8s."]),
            ("localhost", &["localhost", "LocalHost."]),
            ("a_b.example", &["a_b.example", "A_B.example"]),
            ("127.0.0.1", &["127.0.0.1", "127.0.0.1.", "0x7f.1", "127.1"]),
            ("[::1]", &["::1", "[::1]", "0:0::1", "[0:0:0:0:0:0:0:1]"]),
            ("[2001:db8::a]", &["2001:DB8::A", "[2001:0db8::000a]"]),
            ("[::ffff:7f00:1]", &["::ffff:127.0.0.1", "[::FFFF:7f00:1]"]),
        ] {
            for spelling in spellings {
                assert_eq!(WrittenHost::without_port(spelling).as_deref(), Ok(name), "{spelling}");
                let url = format!("http://{name}/");
                let url = crate::UrlRules::keep_all().canonicalize(&url).unwrap();
                assert_eq!(url.host(), name, "as in canonical URLs");
                if spelling.starts_with('[') || !spelling.contains(':') {
                    let host = WrittenHost::of_urls(&format!("{spelling}:8080")).unwrap();
                    assert_eq!((host.name(), host.port()), (name, Some(8080)), "{spelling}");
                    assert_eq!(host.to_string(), format!("{name}:8080"));
                }
            }
        }
    }

    #[test]
    fn what_no_host_can_be_is_refused_with_the_reason() {
        use HostProblem::*;
        let long = format!("{}example", "abcdefg.".repeat(32));
        let endless = format!("xn--{}", "a".repeat(800));
        for (text, problem) in [
            ("", Blank),
            (" ", Blank),
            (":80", Blank),
            (".", EmptyLabel),
            (".example", EmptyLabel),
            ("a..example", EmptyLabel),
            ("a.example..", EmptyLabel),
            (&long, TooLong(263)),
            (&endless, TooLong(804)),
            ("a/b", Character('/')),
            ("http://a.example", Character('/')),
            ("10.0.0.0/8", Character('/')),
            ("a?b", Character('?')),
            ("a#b", Character('#')),
            ("me@a.example", Character('@')),
            ("a b", Character(' ')),
            (" a", Character(' ')),
            ("a.example\n", Character('\n')),
            ("*.a.example", Character('*')),
            ("a%2fb", Unknown),
            ("1.2.3.256", Unknown),
            ("[::1", Unknown),
            ("[x]", Unknown),
            ("::1:8080:x", Unknown),
            ("fe80::1%eth0", Unknown),
            ("xn--a", Unknown),
            ("a.example:", NoPort),
            ("a.example:x", NoPort),
            ("a.example:+80", NoPort),
            ("a.example:0", NoPort),
            ("a.example:65536", NoPort),
            ("a.example:25", BlockedPort(25)),
        ] {
            let error = WrittenHost::of_urls(text).unwrap_err();
            assert_eq!(error.problem, problem, "{text}");
            assert!(error.to_string().contains("is not a host"), "{error}");
        }
        assert_eq!(WrittenHost::parse("9.9.9.9:53").unwrap().port(), Some(53), "no URL");
        assert_eq!(WrittenHost::without_port("a.example:80").unwrap_err().problem, Port);
    }
}
