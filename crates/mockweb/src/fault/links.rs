//! Pages with hazardous links: too many, too long, or to no page.

use super::{FaultKind, FaultRequest, html, number, page};
use crate::seed::mix_text;
use std::fmt::Write;

/// Addresses of no page, in every form that occurs on pages.
const NOWHERE: [&str; 30] = [
    "javascript:alert(1)",
    "JavaScript:void(0)",
    " java\tscript:alert(1)",
    "data:text/html,<p>here</p>",
    "data:text/html;base64,PHA+",
    "mailto:someone@mock.test",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "ftp://mock.test/",
    "tel:+123",
    "sms:+123",
    "blob:http://mock.test/1",
    "about:blank",
    "view-source:http://mock.test/",
    "ws://mock.test/",
    "urn:isbn:0",
    "chrome://settings",
    "intent://mock.test/#Intent;end",
    "http://",
    "http:///",
    "http://[::1",
    "http://a b/",
    "http://mock.test:99999/",
    "http://mock.test:0/",
    "http://%00/",
    "http://256.256.256.256/",
    "http://..",
    "https://user@:80/",
    "//",
    "\u{0}",
];

/// Many links.
pub const LINKS: FaultKind = FaultKind {
    name: "links",
    help: "a page of different links to nothing; value: number of links, default 100000",
    parse: |value| {
        let count: u32 = number(value, 100_000)?;
        Ok(Box::new(move |_| {
            let mut links = String::new();
            for link in 0..count {
                writeln!(links, "<a href=\"/linked/{link}\">{link}</a>").expect("memory takes every byte");
            }
            html(page("Links", &links))
        }))
    },
};

/// Long links.
pub const LONG_LINKS: FaultKind = FaultKind {
    name: "long-links",
    help: "a page of links with a long path, query, host, user or fragment; value: bytes, default 1000000",
    parse: |value| {
        let length: usize = number(value, 1_000_000)?;
        Ok(Box::new(move |_| {
            let long = "a".repeat(length);
            let links = [
                format!("/{long}"),
                format!("/?{long}"),
                format!("/{}", "a/".repeat(length / 2)),
                format!("/{}", "../".repeat(length / 3)),
                format!("/{}", "%61".repeat(length / 3)),
                format!("http://{long}/"),
                format!("http://{long}@mock.test/"),
                format!("{long}:"),
                format!("data:{long}"),
                format!("/#{long}"),
            ];
            let links: Vec<String> = links.iter().map(|l| format!("<a href=\"{l}\">far</a>")).collect();
            html(page("Long links", &links.join("\n")))
        }))
    },
};

/// Links to no page.
pub const SCHEMES: FaultKind = FaultKind {
    name: "schemes",
    help: "a page of javascript:, data:, mailto:, file: and similar links; no value",
    parse: |value| match value {
        Some(value) => Err(format!("unexpected value {value:?}; this kind takes none")),
        None => Ok(Box::new(|_| {
            let links = NOWHERE.map(|link| format!("<a href='{link}'>nowhere</a>"));
            html(page("Schemes", &links.join("\n")))
        })),
    },
};

/// A page at every URL.
pub const EVERYTHING: FaultKind = FaultKind {
    name: "everything",
    help: "200 with similar pages at every URL, and links to more; value: links, default 5",
    parse: |value| {
        let count: u64 = number(value, 5)?;
        Ok(Box::new(move |request: &FaultRequest| {
            let path = request.target.split('?').next().unwrap_or("").trim_end_matches('/');
            let mut links = String::new();
            for link in 0..count {
                let word = mix_text(link, path) % 1_000;
                writeln!(links, "<a href=\"{path}/w{word}-{link}\">More of it</a>")
                    .expect("memory takes every byte");
            }
            html(page("What you were looking for", &format!("<p>All is well.</p>\n{links}")))
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::super::{Action, FaultRule};

    fn body(rule: &str, target: &str) -> String {
        match rule.parse::<FaultRule>().unwrap().strike(0, target, 0) {
            Some(Action::Page { body, .. }) => String::from_utf8(body).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pages_have_the_links_asked_for() {
        assert_eq!(body("/=links:300", "/").matches("href=").count(), 300);
        assert_eq!(body("/=long-links:1000", "/").matches("href=").count(), 10);
        assert_eq!(body("/=everything:7", "/x").matches("href=\"/x/w").count(), 7);
        assert_eq!(body("/=everything", "/x/"), body("/=everything", "/x"), "a path has one page");
        assert_ne!(body("/=everything", "/y"), body("/=everything", "/x"));
    }
}
