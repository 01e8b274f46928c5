//! Fault rules: which fault, below which path, on which host, how often.
//!
//! A fault returns an [`Action`] as data, and the server performs it. Each kind is one file in
//! `fault/` and one line in [`KINDS`]. A rule is `[HOST]PREFIX=KIND[@SHARE][:VALUE]`, for example
//! `/news=status:503`, `3/=timeout` (host 3 only), `/a=reset@0.1` (one request in ten). A rule with
//! a share spares robots.txt unless that is its prefix: one bad response there changes the rules of
//! the whole host, and the client would be judged by rules that it never received.

mod bomb;
mod broken;
mod charset;
mod costly;
mod directives;
mod endless;
mod hostile;
mod length;
mod links;
mod lost;
mod markup;
mod redirect;
mod relabel;
mod sitemap;
mod snare;
mod status;
mod trickle;

use crate::raw::RawResponse;
use crate::seed::{mix_text, unit};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What the server does instead of sending the correct response.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send this status, these fields and a short text.
    Answer {
        /// The status code.
        status: u16,
        /// Fields to send with it.
        fields: Vec<(&'static str, String)>,
    },
    /// Send 200 with a page made by the fault.
    Page {
        /// Fields to send with it, its type among them.
        fields: Vec<(&'static str, String)>,
        /// The page.
        body: Vec<u8>,
    },
    /// Send the correct response, unless the connection was idle for this long: then close it, as
    /// if it had been closed before the request arrived. Such a request is not judged.
    CloseIdle(Duration),
    /// Send the correct response with these fields instead of its own.
    Relabel(Vec<(&'static str, String)>),
    /// Send these bytes instead of a response.
    Raw(RawResponse),
    /// Send nothing for this long, then close.
    Silence(Duration),
    /// Reset the connection after this many bytes of the body; 0: before the head.
    Reset {
        /// Bytes of the body that are still sent.
        after: usize,
    },
    /// Close the connection after this many bytes of the body, despite a full `Content-Length`.
    Truncate {
        /// Bytes of the body that are sent; `None` for half of it.
        after: Option<usize>,
    },
    /// Send the correct response in small pieces.
    Trickle {
        /// Bytes of a piece.
        piece: usize,
        /// Time between two pieces.
        pause: Duration,
    },
}

/// A kind of fault.
pub struct FaultKind {
    /// What a rule calls it.
    pub name: &'static str,
    /// What it does, and what its value means.
    pub help: &'static str,
    /// Reads the value behind the colon.
    parse: fn(Option<&str>) -> Result<Fault, String>,
}

/// A fault ready to strike: from the request to the action.
type Fault = Box<dyn Fn(&FaultRequest) -> Action + Send + Sync>;

/// What a fault may look at.
#[derive(Clone, Copy, Debug)]
pub struct FaultRequest<'a> {
    /// Path and query.
    pub target: &'a str,
    /// The prefix of the rule, without host.
    pub prefix: &'a str,
}

/// All kinds.
pub const KINDS: [FaultKind; 38] = [
    status::STATUS,
    status::BUSY,
    lost::TIMEOUT,
    lost::RESET,
    lost::TRUNCATED,
    lost::IDLE,
    trickle::SLOW,
    redirect::REDIRECT,
    redirect::LOOP,
    redirect::CHAIN,
    redirect::FAR,
    endless::ENDLESS,
    endless::DRIP,
    length::LENGTH,
    broken::BROKEN,
    bomb::BOMB,
    bomb::HOLLOW,
    relabel::CODING,
    relabel::MEDIA,
    links::LINKS,
    links::LONG_LINKS,
    links::SCHEMES,
    links::EVERYTHING,
    markup::NESTED,
    markup::NUL,
    markup::NO_UTF_8,
    costly::COSTLY,
    hostile::HOSTILE,
    hostile::REACH,
    charset::CHARSET,
    sitemap::SITEMAP,
    snare::CALENDAR,
    snare::SESSION,
    snare::FACETED,
    snare::FARM,
    snare::SPIRAL,
    snare::FLOOD,
    directives::DIRECTIVES,
];

/// The path that a rule with a share spares.
const ROBOTS: &str = "/robots.txt";

/// A fault rule.
pub struct FaultRule {
    text: String,
    /// Counted from 0; `None` for every host.
    host: Option<u32>,
    prefix: String,
    /// Share of affected requests, 0 to 1.
    share: f64,
    name: &'static str,
    fault: Fault,
}

impl FaultRule {
    /// The kind's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The action for the request with this serial number; `None` if the rule does not apply.
    pub fn strike(&self, host: u32, target: &str, serial: u64) -> Option<Action> {
        let is_meant = self.host.is_none_or(|h| h == host) && target.starts_with(&self.prefix);
        let is_spared = self.share < 1.0 && target == ROBOTS && self.prefix != ROBOTS;
        // The rule is hashed too, so that the shares of two rules are independent.
        if !is_meant || is_spared || unit(mix_text(serial, &self.text)) >= self.share {
            return None;
        }
        Some((self.fault)(&FaultRequest { target, prefix: &self.prefix }))
    }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({})", self.text)
    }
}

impl Clone for FaultRule {
    fn clone(&self) -> FaultRule {
        self.text.parse().expect("a rule's own text is a rule")
    }
}

impl FromStr for FaultRule {
    type Err = String;

    fn from_str(text: &str) -> Result<FaultRule, String> {
        let wrong = |why: &str| format!("fault {text:?}: {why}; write [HOST]PREFIX=KIND[@SHARE][:VALUE]");
        let (place, what) = text.split_once('=').ok_or_else(|| wrong("missing ="))?;
        let slash = place.find('/').ok_or_else(|| wrong("the prefix must start with /"))?;
        let host = match &place[..slash] {
            "" => None,
            number => match number.parse::<u32>() {
                Ok(number) if number > 0 => Some(number - 1),
                _ => return Err(wrong("the host must be a number from 1 on")),
            },
        };
        let (kind, value) = what.split_once(':').map_or((what, None), |(kind, value)| (kind, Some(value)));
        let (name, share) = match kind.split_once('@') {
            None => (kind, 1.0),
            Some((name, share)) => match share.parse::<f64>() {
                Ok(share) if (0.0..=1.0).contains(&share) => (name, share),
                _ => return Err(wrong("the share must be a number from 0 to 1")),
            },
        };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            wrong(&format!("unknown kind {name:?}; use {}", KINDS.map(|kind| kind.name).join(", ")))
        })?;
        let fault = (kind.parse)(value).map_err(|why| wrong(&why))?;
        let prefix = place[slash..].to_string();
        Ok(FaultRule { text: text.to_string(), host, prefix, share, name: kind.name, fault })
    }
}

/// Reads the value as a number, or takes the default when there is none.
fn number<T: FromStr>(value: Option<&str>, default: T) -> Result<T, String> {
    value.map_or(Ok(default), |text| text.parse().map_err(|_| format!("{text:?} is not a valid number")))
}

/// A page of HTML around these, for faults that are about something else.
fn page(title: &str, inside: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>{title}</title></head>\n<body><main>\n{inside}\n\
         <p>Here ends what a fault was asked to say.</p>\n</main></body></html>\n"
    )
}

/// That page, or another one in UTF-8.
fn html(body: impl Into<Vec<u8>>) -> Action {
    Action::Page { fields: vec![("content-type", "text/html; charset=utf-8".into())], body: body.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(rule: &str, target: &str) -> Option<Action> {
        rule.parse::<FaultRule>().unwrap().strike(2, target, 1)
    }

    #[test]
    fn a_rule_strikes_its_host_and_prefix_only() {
        assert!(action("/a=reset", "/a/b").is_some());
        assert!(action("/a=reset", "/b").is_none());
        assert!(action("3/=reset", "/b").is_some());
        assert!(action("2/=reset", "/b").is_none());
        assert!(action("/=reset@0", "/b").is_none());
    }

    #[test]
    fn a_share_is_kept() {
        let rule: FaultRule = "/=reset@0.1".parse().unwrap();
        let struck = (0..10_000).filter(|&serial| rule.strike(0, "/", serial).is_some()).count();
        assert!((900..1_100).contains(&struck), "{struck}");
    }

    #[test]
    fn each_rule_has_a_share_of_its_own() {
        let rules = ["/=reset@0.1", "/=timeout@0.1"].map(|rule| rule.parse::<FaultRule>().unwrap());
        let both = (0..10_000).filter(|&serial| rules.iter().all(|r| r.strike(0, "/", serial).is_some()));
        let both = both.count();
        assert!((60..140).contains(&both), "{both}");
    }

    #[test]
    fn a_share_spares_robots_txt_unless_that_is_what_it_names() {
        let struck = |rule: &str, target: &str| {
            let rule: FaultRule = rule.parse().unwrap();
            (0..1_000).filter(|&serial| rule.strike(0, target, serial).is_some()).count()
        };
        for rule in ["/=reset@0.5", "/robots=reset@0.5"] {
            assert_eq!(struck(rule, "/robots.txt"), 0, "{rule}");
            assert!(struck(rule, "/robots.html") > 400, "{rule}");
        }
        assert!(struck("/robots.txt=reset@0.5", "/robots.txt") > 400);
        assert_eq!(struck("/=reset", "/robots.txt"), 1_000, "a host can be down as a whole");
    }

    #[test]
    fn every_kind_says_what_it_does_and_can_be_written_without_a_value_or_says_why_not() {
        let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
        for kind in &KINDS {
            assert!(!kind.help.is_empty(), "{}", kind.name);
            let rule = format!("/x={}", kind.name).parse::<FaultRule>();
            assert!(rule.is_ok_and(|rule| rule.strike(0, "/x/y", 0).is_some()), "{}", kind.name);
        }
    }

    #[test]
    fn a_wrong_rule_says_how_to_write_one() {
        for wrong in
            ["", "reset", "a=reset", "0/=reset", "/=drought", "/=reset@2", "/=status:abc", "/=status:99"]
        {
            let why = wrong.parse::<FaultRule>().unwrap_err();
            assert!(why.contains("[HOST]PREFIX=KIND"), "{why}");
        }
    }
}
