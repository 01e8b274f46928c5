//! Endless webs: scripts whose every page links to more pages of the same script.
//!
//! Their pages are nearly equal, and their texts differ from those of the procedural web: a
//! calendar without events, a shop without goods. Each URL has one page, so that a repeated request
//! gets the same response.

use super::{Fault, FaultKind, FaultRequest, html, number, page};
use crate::seed::{mix, mix_text};
use std::fmt::Write;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const FACETS: [&str; 8] = ["color", "size", "brand", "price", "order", "view", "stock", "rating"];
/// The common text of all pages of a trap, so that a date or a name hardly changes a fingerprint.
const BOILERPLATE: &str = "<p>Welcome to this part of our pages, which is made by a script whenever somebody asks for it. \
    There is nothing to be seen here at the moment, neither today nor on any other day that we know of, but you are \
    welcome to come back later, when there may be more. Should you have come by a link that promised something else, \
    then please tell whoever made it, since we keep no list of them and would not know where to begin. The keeper of \
    these pages can be found in the main building on weekdays between nine and five, by the stairs on the left, and \
    answers letters in the order in which they arrive. Visitors with bicycles use the gate behind the orchard. Dogs \
    wait outside, horses by arrangement, and the kettle is on from eight. Whatever is left behind is kept until \
    the end of the season and then given to the school, which has thanked us for umbrellas, gloves, a globe, two \
    violins and a very patient tortoise. The terms of use have not changed since they were first written, and they \
    say that everything here may be read, printed and shown to friends as long as nothing is added to it.</p>";

/// A page of a trap: links with their texts, and the one sentence that is its own.
fn snare(title: &str, links: &[(String, String)]) -> super::Action {
    let mut inside = format!("<h1>{title}</h1>\n{BOILERPLATE}\n");
    for (href, words) in links {
        writeln!(inside, "<a href=\"{}\">{words}</a>", href.replace('&', "&amp;"))
            .expect("memory takes every byte");
    }
    html(page("Pages without end", &inside))
}

fn none(value: Option<&str>, fault: fn(&FaultRequest) -> super::Action) -> Result<Fault, String> {
    match value {
        Some(value) => Err(format!("unexpected value {value:?}; this kind takes none")),
        None => Ok(Box::new(fault)),
    }
}

/// The target after the prefix, without the slash between.
fn rest<'a>(request: &FaultRequest<'a>) -> &'a str {
    request.target.strip_prefix(request.prefix).unwrap_or("").trim_start_matches('/')
}

/// A path below the prefix, with a slash between.
fn below(request: &FaultRequest, rest: &str) -> String {
    format!("{}/{rest}", request.prefix.trim_end_matches('/'))
}

/// Endless months.
pub const CALENDAR: FaultKind = FaultKind {
    name: "calendar",
    help: "a month of an empty calendar, with links to the next and the previous one; no value",
    parse: |value| {
        none(value, |request| {
            let (year, month) = rest(request).split_once('/').unwrap_or(("2026", "1"));
            let at: i64 =
                12 * year.parse::<i64>().unwrap_or(2026).clamp(0, 99_999) + month.parse().unwrap_or(1) - 1;
            let link = |at: i64, words: &str| {
                (below(request, &format!("{}/{}", at / 12, at % 12 + 1)), words.to_string())
            };
            let title = format!("{} {}", MONTHS[at.rem_euclid(12) as usize], at / 12);
            snare(
                &title,
                &[
                    link(at + 1, "Next month"),
                    link((at - 1).max(0), "Month before"),
                    link(at + 12, "Next year"),
                ],
            )
        })
    },
};

/// A new session in every link.
pub const SESSION: FaultKind = FaultKind {
    name: "session",
    help: "a page whose links have new session IDs; value: path or query (where the ID is), default path",
    parse: |value| {
        let in_query = match value {
            None | Some("path") => false,
            Some("query") => true,
            Some(value) => return Err(format!("unknown value {value:?}; use path or query")),
        };
        Ok(Box::new(move |request| {
            let links: Vec<(String, String)> = (1..=3)
                .map(|item| {
                    let session =
                        format!("{:016x}{:08x}", mix_text(item, request.target), mix(&[item]) as u32);
                    let rest =
                        if in_query { format!("item?visit={session}") } else { format!("{session}/item") };
                    (below(request, &rest), "Go on".to_string())
                })
                .collect();
            snare("Your visit", &links)
        }))
    },
};

/// Facets in all combinations.
pub const FACETED: FaultKind = FaultKind {
    name: "facets",
    help: "an empty list with a link for each further filter; no value",
    parse: |value| {
        none(value, |request| {
            let query = request.target.split_once('?').map_or("", |(_, query)| query);
            let links: Vec<(String, String)> = FACETS
                .iter()
                .filter(|facet| !query.split('&').any(|p| p.split('=').next() == Some(**facet)))
                .flat_map(|facet| (1..=3).map(move |value| format!("{facet}={value}")))
                .map(|added| {
                    let mut all: Vec<&str> =
                        query.split('&').filter(|p| !p.is_empty()).chain([&*added]).collect();
                    all.sort_unstable();
                    (below(request, &format!("list?{}", all.join("&"))), "Narrow".to_string())
                })
                .collect();
            snare("Nothing fits your choice", &links)
        })
    },
};

/// A page at every URL, with links to more.
pub const FARM: FaultKind = FaultKind {
    name: "farm",
    help: "200 with the same text at every URL, and links to new URLs made of words; value: links, default 6",
    parse: |value| {
        let count: u64 = number(value, 6)?;
        Ok(Box::new(move |request| {
            let word = |bits: u64| -> String {
                (0..8).map(|at| char::from(b'a' + (bits >> (5 * at) & 31) as u8 % 26)).collect()
            };
            let links: Vec<(String, String)> = (0..count)
                .map(|link| (below(request, &word(mix_text(link, request.target))), "Found".to_string()))
                .collect();
            snare("You have found what you were looking for", &links)
        }))
    },
};

/// Relative links that never end.
pub const SPIRAL: FaultKind = FaultKind {
    name: "spiral",
    help: "a page whose relative links lead one segment deeper, to the same page; no value",
    parse: |value| {
        none(value, |_| {
            snare("A corridor", &["left/", "right/"].map(|step| (step.to_string(), "On and on".to_string())))
        })
    },
};

/// Endless links, many on each page.
pub const FLOOD: FaultKind = FaultKind {
    name: "flood",
    help: "a page of links to more such pages, all new; value: links, default 100",
    parse: |value| {
        let count: u64 = number(value, 100)?;
        Ok(Box::new(move |request| {
            let link = |at| format!("bl/{}", mix_text(at, request.target) % 1_000_000_000);
            let links: Vec<(String, String)> =
                (0..count).map(|at| (below(request, &link(at)), "More".to_string())).collect();
            snare("More of the same", &links)
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::super::{Action, FaultRule};
    use std::collections::BTreeSet;

    fn links(rule: &str, target: &str) -> Vec<String> {
        let body = match rule.parse::<FaultRule>().unwrap().strike(0, target, 0) {
            Some(Action::Page { body, .. }) => String::from_utf8(body).unwrap(),
            other => panic!("{other:?}"),
        };
        let hrefs = body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        hrefs.map(|href| href.replace("&amp;", "&")).collect()
    }

    #[test]
    fn every_trap_leads_deeper_into_itself_for_as_long_as_one_follows() {
        for (rule, entry) in [
            ("/cal=calendar", "/cal"),
            ("/s=session", "/s/"),
            ("/q=session:query", "/q/"),
            ("/f=farm", "/f"),
            ("/0=flood", "/0/bl/1"),
        ] {
            let (mut at, mut seen) = (entry.to_string(), BTreeSet::new());
            for _ in 0..200 {
                assert!(seen.insert(at.clone()), "{rule} comes back to {at}");
                let prefix = rule.split('=').next().unwrap();
                at = links(rule, &at).remove(0);
                assert!(at.starts_with(&format!("{prefix}/")), "{at}");
                assert_eq!(links(rule, &at), links(rule, &at), "an address has one page");
            }
        }
        assert_eq!(links("/x=spiral", "/x/"), ["left/", "right/"]);
    }

    #[test]
    fn facets_are_added_until_there_are_none_left() {
        let mut at = "/shop/list".to_string();
        for step in 0..8 {
            let links = links("/shop=facets", &at);
            assert_eq!(links.len(), 3 * (8 - step));
            at = links[0].clone();
        }
        assert_eq!(at.matches('=').count(), 8);
        assert!(links("/shop=facets", &at).is_empty());
    }
}
