//! Redirects.

use super::{Action, FaultKind, FaultRequest, html, number, page};

fn to(location: String) -> Action {
    Action::Answer { status: 302, fields: vec![("location", location)] }
}

/// A redirect.
pub const REDIRECT: FaultKind = FaultKind {
    name: "redirect",
    help: "302; value: Location, default the target without the prefix of the rule",
    parse: |value| {
        let value = value.map(str::to_string);
        Ok(Box::new(move |request: &FaultRequest| {
            to(value.clone().unwrap_or_else(|| {
                let rest = request.target.strip_prefix(request.prefix).unwrap_or("");
                format!("/{}", rest.trim_start_matches('/'))
            }))
        }))
    },
};

/// An endless redirect.
pub const LOOP: FaultKind = FaultKind {
    name: "loop",
    help: "redirects in a circle; value: URLs in the circle, 0 for an endless chain, default 2",
    parse: |value| {
        let length: u64 = number(value, 2)?;
        Ok(Box::new(move |request: &FaultRequest| {
            let (path, hop) = request.target.split_once("?hop=").unwrap_or((request.target, "0"));
            let next = hop.parse::<u64>().unwrap_or(0) + 1;
            let next = if length == 0 { next } else { next % length };
            to(format!("{path}?hop={next}"))
        }))
    },
};

/// A chain of redirects to a page.
pub const CHAIN: FaultKind = FaultKind {
    name: "chain",
    help: "several redirects, then a page; value: number of redirects, default 5",
    parse: |value| {
        let length: u64 = number(value, 5)?;
        Ok(Box::new(move |request: &FaultRequest| {
            let (path, hop) = request.target.split_once("?hop=").unwrap_or((request.target, "0"));
            let hop = hop.parse::<u64>().unwrap_or(0);
            if hop < length {
                return to(format!("{path}?hop={}", hop + 1));
            }
            html(page("Chain", "<p>Here the chain ends.</p>"))
        }))
    },
};

/// A redirect to a long URL.
pub const FAR: FaultKind = FaultKind {
    name: "far",
    help: "redirects to a long URL; value: bytes, default 1000000",
    parse: |value| {
        let length: usize = number(value, 1_000_000)?;
        Ok(Box::new(move |_| to(format!("/{}", "a".repeat(length)))))
    },
};

#[cfg(test)]
mod tests {
    use super::super::{Action, FaultRule};

    fn location(rule: &str, target: &str) -> String {
        match rule.parse::<FaultRule>().unwrap().strike(0, target, 0) {
            Some(Action::Answer { status: 302, fields }) => fields[0].1.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn redirects_lead_where_the_rule_says() {
        assert_eq!(location("/old=redirect:http://169.254.169.254/", "/old/x"), "http://169.254.169.254/");
        assert_eq!(location("/old=redirect", "/old/x?y=1"), "/x?y=1");
        assert_eq!(location("/=redirect", "/x"), "/x");
    }

    #[test]
    fn circles_have_the_length_asked_for_and_chains_none() {
        assert_eq!(location("/=loop:3", "/x"), "/x?hop=1");
        assert_eq!(location("/=loop:3", "/x?hop=2"), "/x?hop=0");
        assert_eq!(location("/=loop:1", "/x?hop=0"), "/x?hop=0");
        assert_eq!(location("/=loop:0", "/x?hop=99"), "/x?hop=100");
    }
    #[test]
    fn a_chain_arrives() {
        assert_eq!(location("/=chain:2", "/x"), "/x?hop=1");
        assert_eq!(location("/=chain:2", "/x?hop=1"), "/x?hop=2");
        let last = "/=chain:2".parse::<FaultRule>().unwrap().strike(0, "/x?hop=2", 0);
        assert!(matches!(last, Some(Action::Page { .. })), "{last:?}");
    }
}
