//! Robots directives: `<meta name="robots">`, `<meta name="AGENT">` with our product token, and
//! `X-Robots-Tag`. Source: Google, "Robots meta tag, data-nosnippet, and X-Robots-Tag
//! specifications".
//!
//! Directives for all crawlers and directives for ours have separate ranks; markup and header have
//! the same rank. For each of three aspects (index, follow, archive) our own directives decide if
//! there are any, else those for all. Within a rank the most restrictive decides. `nofollow` for
//! all with `noindex` for us means both; `noindex` for all with `all` for us means neither.

use crate::date;
use recrawl_types::Consent;

/// The directives of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RankDirectives {
    index: Option<bool>,
    follow: Option<bool>,
    archive: Option<bool>,
    unavailable_after: Option<u64>,
}

impl RankDirectives {
    fn word(&mut self, word: &str) {
        let all = ["index", "follow", "archive"];
        match word.to_ascii_lowercase().as_str() {
            "all" => all.iter().for_each(|word| self.word(word)),
            "none" => ["noindex", "nofollow"].iter().for_each(|word| self.word(word)),
            "index" => merge(&mut self.index, true),
            "noindex" => merge(&mut self.index, false),
            "follow" => merge(&mut self.follow, true),
            "nofollow" => merge(&mut self.follow, false),
            "archive" => merge(&mut self.archive, true),
            // Bing's synonym.
            "noarchive" | "nocache" => merge(&mut self.archive, false),
            // Snippets, previews, translations: nothing that a crawler does.
            _ => {}
        }
    }

    fn expires(&mut self, at: u64) {
        self.unavailable_after = Some(self.unavailable_after.map_or(at, |before| before.min(at)));
    }
}

/// A permission holds only if nothing of the same rank revokes it.
fn merge(aspect: &mut Option<bool>, allowed: bool) {
    *aspect = Some(aspect.unwrap_or(true) && allowed);
}

/// Collects the directives of one page.
#[derive(Clone, Debug)]
pub(crate) struct Directives<'a> {
    /// Our product token.
    agent: &'a str,
    everybody: RankDirectives,
    us: RankDirectives,
}

impl<'a> Directives<'a> {
    pub(crate) fn new(agent: &'a str) -> Directives<'a> {
        Directives { agent, everybody: RankDirectives::default(), us: RankDirectives::default() }
    }

    /// A `<meta>` with this name and content.
    pub(crate) fn meta(&mut self, name: &str, content: &str) {
        if let Some(rank) = self.rank(name.trim()) {
            read(content, |item| match item {
                // A `<meta>` names no agents, so an unknown word with a colon is ignored.
                DirectiveItemKind::Named(_) => {}
                DirectiveItemKind::Word(word) => rank.word(word),
                DirectiveItemKind::UnavailableAfter(at) => rank.expires(at),
            });
        }
    }

    /// Adds the value of one `X-Robots-Tag` field. An agent's name applies to the end of the field
    /// or to the next name.
    pub(crate) fn header(&mut self, value: &str) {
        let mut agent = "*".to_owned();
        read(value, |item| {
            if let DirectiveItemKind::Named(name) = item {
                agent = name.to_owned();
                return;
            }
            let Some(rank) = self.rank(&agent) else { return };
            match item {
                DirectiveItemKind::Word(word) => rank.word(word),
                DirectiveItemKind::UnavailableAfter(at) => rank.expires(at),
                DirectiveItemKind::Named(_) => unreachable!("handled just before"),
            }
        });
    }

    /// The rank of directives for this agent; `None` if they are for another.
    fn rank(&mut self, agent: &str) -> Option<&mut RankDirectives> {
        let name = agent.split('/').next().unwrap_or("");
        match name {
            _ if name == "*" || name.eq_ignore_ascii_case("robots") => Some(&mut self.everybody),
            _ if name.eq_ignore_ascii_case(self.agent) => Some(&mut self.us),
            _ => None,
        }
    }

    /// The directives that apply to us.
    pub(crate) fn decide(&self) -> Consent {
        let (us, everybody) = (self.us, self.everybody);
        let forbids = |ours: Option<bool>, general: Option<bool>| ours.or(general) == Some(false);
        Consent {
            noindex: forbids(us.index, everybody.index),
            nofollow: forbids(us.follow, everybody.follow),
            noarchive: forbids(us.archive, everybody.archive),
            unavailable_after: us.unavailable_after.or(everybody.unavailable_after),
            ..Consent::default()
        }
    }
}

/// An item of a list of directives.
enum DirectiveItemKind<'t> {
    /// `noindex`
    Word(&'t str),
    /// `otherbot:`, to which the rest of the list applies.
    Named(&'t str),
    /// `unavailable_after: DATE`, in seconds since 1970.
    UnavailableAfter(u64),
}

/// Directives with a value of their own, besides the date.
const WITH_VALUE: [&str; 3] = ["max-snippet", "max-image-preview", "max-video-preview"];

/// Parses a list. Commas separate items; so do white space, semicolons and the commas of other scripts, since pages use
/// them.
fn read<'t>(list: &'t str, mut take: impl FnMut(DirectiveItemKind<'t>)) {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '，' | '、' | '；' | '،');
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches(|c: char| is_separator(c) || c == ':');
        if rest.is_empty() {
            return;
        }
        let end = rest.find(|c: char| is_separator(c) || c == ':').unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let Some(value) = behind.trim_start().strip_prefix(':') else {
            take(DirectiveItemKind::Word(word));
            rest = behind;
            continue;
        };
        rest = value;
        if word.eq_ignore_ascii_case("unavailable_after") {
            // A date may have a comma after its weekday. One that cannot be parsed is ignored.
            let commas = value.match_indices(',').map(|(at, _)| at).chain([value.len()]);
            let dates = commas.take(2).map(|end| (&value[..end], &value[end..]));
            let mut read = dates.filter_map(|(date, behind)| Some((date::seconds(date)?, behind)));
            if let Some((at, behind)) = read.next() {
                take(DirectiveItemKind::UnavailableAfter(at.into()));
                rest = behind;
            } else {
                rest = value.split_once(',').map_or("", |(_, behind)| behind);
            }
        } else if WITH_VALUE.iter().any(|known| word.eq_ignore_ascii_case(known)) {
            let value = value.trim_start();
            rest = &value[value.find(is_separator).unwrap_or(value.len())..];
        } else {
            take(DirectiveItemKind::Named(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// For metas and headers: `i`, `f`, `a` for each forbidden aspect, then the date.
    fn decided(metas: &[(&str, &str)], headers: &[&str]) -> String {
        let mut directives = Directives::new("recrawl");
        metas.iter().for_each(|(name, content)| directives.meta(name, content));
        headers.iter().for_each(|value| directives.header(value));
        let consent = directives.decide();
        let flags = [(consent.noindex, "i"), (consent.nofollow, "f"), (consent.noarchive, "a")];
        let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect();
        let date = consent.unavailable_after.map_or(String::new(), |at| format!(" {at}"));
        flags + &date
    }

    #[test]
    fn every_spelling_of_a_meta_element() {
        for (name, content, expected) in [
            ("robots", "noindex", "i"),
            ("ROBOTS", " NoIndex , NOFOLLOW ", "if"),
            ("robots", "none", "if"),
            ("robots", "none, noarchive", "ifa"),
            ("robots", "nocache", "a"),
            ("robots", "noindex nofollow;noarchive", "ifa"),
            ("robots", "all", ""),
            ("robots", "index, follow", ""),
            ("robots", "", ""),
            ("robots", "noimageindex, nosnippet, noodp, noai, noindexing", ""),
            ("robots", "max-snippet:-1, max-image-preview: large, nofollow", "f"),
            ("robots", "nofollow, max-snippet : 50 , noindex", "if"),
            ("robots", "max-image-preview:none", ""),
            ("recrawl", "noindex", "i"),
            ("Recrawl", "nofollow", "f"),
            ("recrawler", "noindex", ""),
            ("otherbot", "noindex", ""),
            ("description", "noindex", ""),
            ("", "noindex", ""),
            ("robots", "noindex, unavailable_after: 2020-09-21", "i 1600646400"),
            ("robots", "unavailable_after: Sat, 25 Jun 2010 15:00:00 GMT, nofollow", "f 1277478000"),
            ("robots", "unavailable_after: whenever, noindex", "i"),
            ("robots", "unavailable_after:", ""),
            ("robots", "::,;noindex", "i"),
            ("robots", "noindex，nofollow、noarchive", "ifa"),
        ] {
            assert_eq!(decided(&[(name, content)], &[]), expected, "{name}: {content}");
        }
    }

    #[test]
    fn headers_with_and_without_agents() {
        for (headers, expected) in [
            (&["noindex"][..], "i"),
            (&["noindex, nofollow", "noarchive"], "ifa"),
            (&["recrawl: noindex"], "i"),
            (&["RECRAWL/1.0: noindex"], "i"),
            (&["*: noindex"], "i"),
            (&["googlebot: noindex"], ""),
            (&["googlebot: nofollow", "otherbot: noindex, nofollow"], ""),
            (&["googlebot: noindex, recrawl: nofollow, noarchive"], "fa"),
            (&["noarchive, googlebot: noindex"], "a"),
            (&["googlebot: noindex", "nofollow"], "f"),
            (&["unavailable_after: 25 Jun 2010 15:00:00 PST"], " 1277506800"),
            (&["recrawl: unavailable_after: 2010-06-25T15:00:00Z, nofollow"], "f 1277478000"),
            (&["otherbot: unavailable_after: 2010-06-25, noindex"], ""),
            (&["unavailable_after: 2020-01-02", "unavailable_after: 2020-01-01"], " 1577836800"),
            (&["max-snippet: 20, noindex"], "i"),
            (&["\u{fffd}, noindex"], "i"),
            (&[""], ""),
        ] {
            assert_eq!(decided(&[], headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn our_own_directives_go_first_aspect_by_aspect_and_the_strictest_of_a_rank_wins() {
        for (metas, headers, expected) in [
            // Google's own example: the sum of both.
            (&[("robots", "nofollow"), ("recrawl", "noindex")][..], &[][..], "if"),
            (&[("robots", "noindex, nofollow"), ("recrawl", "index")], &[], "f"),
            (&[("robots", "none, noarchive"), ("recrawl", "all")], &[], ""),
            (&[("robots", "noindex")], &["recrawl: all"], ""),
            (&[("recrawl", "all")], &["noindex"], ""),
            (&[("recrawl", "index")], &["recrawl: noindex"], "i"),
            (&[("robots", "index, follow")], &["noindex"], "i"),
            (&[("robots", "noindex"), ("robots", "index")], &[], "i"),
            (
                &[("robots", "unavailable_after: 2020-01-01")],
                &["recrawl: unavailable_after: 2021-01-01"],
                " 1609459200",
            ),
        ] {
            assert_eq!(decided(metas, headers), expected, "{metas:?} {headers:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_a_plain_noindex_in_front_is_never_lost(
            text in "[a-z:,; _\u{e9}-]{0,40}|(noindex|all|x:|unavailable_after:|, |2020-01-01|[ :,]){0,12}"
        ) {
            let mut directives = Directives::new("recrawl");
            directives.header(&text);
            directives.header(&format!("noindex,{text}"));
            prop_assert!(directives.everybody.index == Some(false));
        }
    }
}
