//! What a page may learn of other origins.
//!
//! The browser checks answers by CORS, as for any page: the fields of servers reach it as they are, and none is added.
//! It makes these checks on answers that come from the network, though, and some not on ours. They are made here.

use crate::resources::{Ask, Resource, ResourceKind};

/// Types of scripts (MIME Sniffing Standard §4.6), without `text/` and `application/`.
const SCRIPT_TYPES: [&str; 12] = [
    "ecmascript",
    "javascript",
    "javascript1.0",
    "javascript1.1",
    "javascript1.2",
    "javascript1.3",
    "javascript1.4",
    "javascript1.5",
    "jscript",
    "livescript",
    "x-ecmascript",
    "x-javascript",
];

/// May a request of a page be made at all? What `no-cors` loads from another origin, no script can read: it brings no
/// text, and would only tell the page whether and when something answers.
pub fn may_ask(ask: &Ask, is_foreign: bool) -> bool {
    !is_foreign || ask.kind != ResourceKind::Data || ask.field("origin").is_some()
}

/// May the page have this answer?
pub fn may_have(ask: &Ask, is_foreign: bool, resource: &Resource) -> bool {
    match (ask.field("origin"), ask.kind) {
        // The browser asks for more, such as consent to credentials. This much does not depend on its version.
        (Some(origin), _) if is_foreign || origin == "null" => {
            let granted = resource.header("access-control-allow-origin").map(str::trim);
            granted == Some("*") || granted == Some(origin)
        }
        // Run as a script, data would tell whether it is there, and parts of what it says. A redirect carries nothing;
        // its target is asked for.
        (_, ResourceKind::Script) if is_foreign => {
            is_script(resource) || matches!(resource.status, 301..=308)
        }
        _ => !is_foreign,
    }
}

/// Does the server say that this is a script?
fn is_script(resource: &Resource) -> bool {
    let media = resource.header("content-type").and_then(|value| value.split(';').next()).unwrap_or_default();
    let media = media.trim().to_ascii_lowercase();
    let name = media.strip_prefix("text/").or_else(|| media.strip_prefix("application/"));
    name.is_some_and(|name| SCRIPT_TYPES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: ResourceKind, origin: Option<&str>) -> Ask {
        let fields = origin.map(|origin| ("origin", origin.to_owned())).into_iter().collect();
        Ask { url: "http://b.test/x".into(), kind, is_own: false, body_time: None, fields }
    }

    fn answer(status: u16, name: &str, value: &str) -> Resource {
        Resource { status, headers: vec![(name.to_owned(), value.to_owned())], body: "x".into() }
    }

    #[test]
    fn answers_to_cors_need_the_consent_of_their_server() {
        for kind in [ResourceKind::Data, ResourceKind::Script, ResourceKind::Preflight] {
            let ask = ask(kind, Some("http://a.test"));
            for (value, may) in [
                ("*", true),
                ("http://a.test", true),
                (" * ", true),
                ("null", false),
                ("http://a.test/", false),
                ("https://a.test", false),
                ("http://a.test, *", false),
                ("", false),
            ] {
                let answer = answer(200, "Access-Control-Allow-Origin", value);
                assert_eq!(may_have(&ask, true, &answer), may, "{kind:?} {value}");
            }
            assert!(!may_have(&ask, true, &answer(404, "content-type", "text/javascript")), "{kind:?}");
            assert!(!may_have(&ask, true, &answer(302, "location", "http://c.test/")), "{kind:?}");
        }
    }

    #[test]
    fn scripts_of_other_origins_must_say_that_they_are() {
        let script = ask(ResourceKind::Script, None);
        for (media, may) in [
            ("text/javascript", true),
            ("Application/JavaScript; charset=utf-8", true),
            ("application/x-javascript", true),
            ("application/json", false),
            ("text/plain", false),
            ("text/html", false),
            ("text/javascript+json", false),
            ("", false),
        ] {
            assert_eq!(may_have(&script, true, &answer(200, "content-type", media)), may, "{media}");
            assert!(may_have(&script, false, &answer(200, "content-type", media)), "{media}");
        }
        assert!(!may_have(&script, true, &answer(200, "x-other", "text/javascript")));
        assert!(may_have(&script, true, &answer(302, "location", "http://c.test/x.js")));
        // A frame without an origin is foreign to its own page.
        let framed = ask(ResourceKind::Data, Some("null"));
        assert!(!may_have(&framed, false, &answer(200, "content-type", "text/plain")));
    }

    #[test]
    fn what_no_script_could_read_is_not_asked_for() {
        assert!(!may_ask(&ask(ResourceKind::Data, None), true));
        assert!(may_ask(&ask(ResourceKind::Data, None), false));
        assert!(may_ask(&ask(ResourceKind::Data, Some("null")), true));
        assert!(may_ask(&ask(ResourceKind::Script, None), true));
    }
}
