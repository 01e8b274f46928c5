//! URLs as people type them.

use std::convert::Infallible;

/// A typed URL. Without a scheme, a name with a dot, `localhost`, or an address with a port gets https. Anything else is
/// left as it is, and refused by whoever reads the URL.
pub fn web_address(word: &str) -> Result<String, Infallible> {
    let word = word.trim();
    let authority = word.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let is_port = port.bytes().all(|digit| digit.is_ascii_digit());
    let is_host = host.contains('.') || host == "localhost" || host.starts_with('[');
    Ok(match !word.contains("://") && is_host && is_port && !host.contains(['@', ' ']) {
        true => format!("https://{word}"),
        false => word.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_site_and_a_word_is_none() {
        for (typed, read) in [
            ("example.com", "https://example.com"),
            (" example.com/a?b=c.d ", "https://example.com/a?b=c.d"),
            ("localhost:8000/x", "https://localhost:8000/x"),
            ("127.0.0.1:80", "https://127.0.0.1:80"),
            ("[::1]:80/", "https://[::1]:80/"),
            ("http://example.com", "http://example.com"),
            ("ftp://example.com", "ftp://example.com"),
            ("mailto:me@example.com", "mailto:me@example.com"),
            ("me@example.com", "me@example.com"),
            ("nonsense", "nonsense"),
            ("index/a.html", "index/a.html"),
            ("", ""),
        ] {
            assert_eq!(web_address(typed).unwrap(), read, "{typed}");
        }
    }
}
