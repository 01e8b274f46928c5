//! Parses hosts as users write them.

use recrawl_types::{Origin, Scheme, UrlRules, WrittenHost};

/// `example.com`, `example.com:8080`, or an origin as printed in lists: `https://example.com:8443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHost {
    /// Canonical host name, without port.
    pub name: String,
    /// None means any scheme.
    scheme: Option<Scheme>,
    /// None means any port: the text has neither scheme nor port.
    port: Option<u16>,
}

impl NamedHost {
    /// Parses a host name, or takes the origin of a URL.
    ///
    /// # Errors
    /// When the text is not a host. The message shows how to write one.
    pub fn parse(text: &str) -> Result<NamedHost, String> {
        let named = match text.contains("://") {
            true => {
                UrlRules::keep_all().canonicalize(text).map_err(|e| format!("{text:?}: {e}")).map(|url| {
                    let (name, port) = (url.host().into_owned(), Some(url.port()));
                    NamedHost { name, scheme: Some(url.scheme()), port }
                })
            }
            false => WrittenHost::of_urls(text).map_err(|e| e.to_string()).map(|host| NamedHost {
                name: host.name().to_owned(),
                scheme: None,
                port: host.port(),
            }),
        };
        named.map_err(|e| format!("{e}; write example.com, example.com:8080 or https://example.com"))
    }

    /// Does this name match the origin?
    pub fn is(&self, origin: &Origin) -> bool {
        self.name == *origin.host
            && self.scheme.is_none_or(|scheme| scheme == origin.scheme)
            && self.port.is_none_or(|port| port == origin.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(url: &str) -> Origin {
        Origin::from_url(&UrlRules::keep_all().canonicalize(url).unwrap())
    }

    #[test]
    fn a_name_means_all_its_origins_and_an_origin_itself() {
        let origins = ["http://a.example", "https://a.example", "http://a.example:8080"].map(origin);
        for (text, meant) in [
            ("a.example", [true; 3]),
            ("A.Example", [true; 3]),
            ("a.example:8080", [false, false, true]),
            ("a.example:80", [true, false, false]),
            ("a.example:443", [false, true, false]),
            ("http://a.example", [true, false, false]),
            ("https://a.example/a?b", [false, true, false]),
            ("http://a.example:8080", [false, false, true]),
            ("b.example", [false; 3]),
        ] {
            let host = NamedHost::parse(text).unwrap();
            assert_eq!(origins.each_ref().map(|origin| host.is(origin)), meant, "{text}");
        }
        for origin in origins {
            assert!(NamedHost::parse(&origin.to_string()).unwrap().is(&origin), "as a list has it: {origin}");
        }
        assert!(NamedHost::parse("[::1]:81").unwrap().is(&origin("http://[::1]:81/")));
        for none in
            ["", "a b", "a.example/x", "ftp://a.example", "http://", "*", "*.a.example", "a.example:x"]
        {
            assert!(NamedHost::parse(none).unwrap_err().contains("write example.com"), "{none}");
        }
    }
}
