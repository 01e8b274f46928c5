//! The gates that keep a page from being requested, in the order in which they apply.
//!
//! One list for all who ask: a cycle takes the first gate that is closed; `explain`, `status` and `takedown`
//! name all of them. Pauses, back-offs, budgets and the deadline are not among them: a page that they keep
//! out stays due.

use crate::admission::blocks::Blocks;
use crate::admission::pattern::Pattern;
use crate::admission::scope::{Scope, ScopeRefusal};
use recrawl_fetcher::robots::RobotsRules;
use recrawl_fetcher::{FetchConfig, LeftAlone, stored_rules};
use recrawl_types::{CanonicalUrl, HostState, Outcome, Skip};
use std::fmt;

/// A gate that keeps a page out.
#[derive(Clone, Debug, PartialEq)]
pub enum ClosedGate {
    /// The scope.
    Scope(ScopeRefusal),
    /// An operator's block, with its pattern.
    Block(Pattern),
    /// The URL was never fetched, and its pattern is cut off as a trap.
    Trap,
    /// A rule of robots.txt, as a line of the file.
    Robots(String),
    /// The whole host is skipped.
    Host(LeftAlone),
}

impl ClosedGate {
    /// Is it a decision of the origin, not of the crawl's operator?
    pub fn is_of_origin(&self) -> bool {
        matches!(self, ClosedGate::Robots(_) | ClosedGate::Host(_))
    }

    /// The outcome of a page that is kept out.
    pub fn outcome(&self) -> Outcome {
        Outcome::Skipped(match self {
            ClosedGate::Scope(ScopeRefusal::OptedOut(_)) => Skip::OptedOut,
            ClosedGate::Scope(_) => Skip::OutOfScope,
            ClosedGate::Block(_) => Skip::Blocked,
            ClosedGate::Trap => Skip::Trap,
            ClosedGate::Robots(_) => return Outcome::RobotsDenied,
            ClosedGate::Host(why) => return why.outcome(),
        })
    }
}

/// A clause for people, without a full stop.
impl fmt::Display for ClosedGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClosedGate::Scope(refusal) => refusal.fmt(f),
            ClosedGate::Block(pattern) => write!(f, "the block of {pattern}"),
            ClosedGate::Trap => f.write_str("its URL pattern is cut off as a trap"),
            ClosedGate::Robots(line) => write!(f, "robots.txt: {line}"),
            ClosedGate::Host(why) => why.fmt(f),
        }
    }
}

/// The gates of one origin. The default has none.
#[derive(Clone, Debug, Default)]
pub struct OriginGates {
    rules: Option<RobotsRules>,
    left_alone: Option<LeftAlone>,
}

impl OriginGates {
    /// By the robots.txt that is stored, whatever its age.
    pub fn from_state(state: &HostState, config: &FetchConfig) -> OriginGates {
        let rules = stored_rules(state, config);
        let left_alone = LeftAlone::by_robots(state, rules.as_ref(), config);
        OriginGates { rules, left_alone }
    }
}

/// Inputs of the gates.
pub struct Gates<'g> {
    /// None if the sites of the seeds are unknown.
    pub scope: Option<&'g Scope>,
    /// The operators' blocks.
    pub blocks: &'g Blocks,
    /// Is the pattern of this URL cut off as a trap?
    pub is_trap: &'g dyn Fn(&CanonicalUrl) -> bool,
    /// The gates of the page's origin.
    pub origin: &'g OriginGates,
}

/// Closed for this URL? The flag says that the page was visited before.
type GateCheck = fn(&Gates<'_>, &CanonicalUrl, bool) -> Option<ClosedGate>;

/// All gates, in the order in which they apply.
const GATES: &[GateCheck] = &[
    |gates, url, _| gates.scope?.refuse(url).map(ClosedGate::Scope),
    |gates, url, _| gates.blocks.cover(url).map(ClosedGate::Block),
    |gates, url, is_visited| (!is_visited && (gates.is_trap)(url)).then_some(ClosedGate::Trap),
    |gates, url, _| gates.origin.rules.as_ref()?.forbids(url.path_and_query()).map(ClosedGate::Robots),
    |gates, _, _| gates.origin.left_alone.map(ClosedGate::Host),
];

impl Gates<'_> {
    /// The gates that are closed for a page, in order.
    pub fn closed_to(&self, url: &CanonicalUrl, is_visited: bool) -> impl Iterator<Item = ClosedGate> {
        GATES.iter().filter_map(move |gate| gate(self, url, is_visited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use recrawl_types::outcome::OutcomeEffect;
    use recrawl_types::{Failure, UrlRules, VisitRequest};
    use std::time::Duration;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::default().canonicalize(text).unwrap()
    }

    /// One of each variant. The `match` fails to compile when a variant is added to `LeftAlone`.
    fn all() -> Vec<ClosedGate> {
        let hosts = [
            LeftAlone::BackOff { until: 1 },
            LeftAlone::CrawlDelay { asked: Duration::from_secs(99), kept: Duration::from_secs(30) },
            LeftAlone::NoRobots { why: Some(Failure::Timeout), since: 1, again: 2 },
        ];
        match hosts[0] {
            LeftAlone::BackOff { .. } | LeftAlone::CrawlDelay { .. } | LeftAlone::NoRobots { .. } => {}
        }
        let others = [
            ClosedGate::Scope(ScopeRefusal::Host),
            ClosedGate::Scope(ScopeRefusal::OptedOut("line 1".into())),
            ClosedGate::Block(Pattern::host("a.test").unwrap()),
            ClosedGate::Trap,
            ClosedGate::Robots("Disallow: /".into()),
        ];
        others.into_iter().chain(hosts.map(ClosedGate::Host)).collect()
    }

    #[test]
    fn each_reason_to_refuse_a_page_is_a_gate_and_each_gate_has_its_outcome() {
        let outcomes: Vec<Outcome> = all().iter().map(ClosedGate::outcome).collect();
        let is_of_gate = |outcome: &Outcome| {
            outcome.effect() == OutcomeEffect::Refusal && outcome.request() != VisitRequest::Page
        };
        for outcome in Outcome::all(500).into_iter().filter(is_of_gate) {
            assert!(outcomes.contains(&outcome), "{outcome:?} is the outcome of no gate");
        }
        let texts: std::collections::BTreeSet<String> = all().iter().map(ClosedGate::to_string).collect();
        assert_eq!((outcomes.len(), texts.len()), (all().len(), all().len()));
    }

    #[test]
    fn every_closed_gate_is_named_in_order() {
        let scope = config::Scope { hosts: vec!["b.test".into()], ..config::Scope::default() };
        let scope = Scope::new(&scope, &UrlRules::default()).unwrap();
        let blocks = Blocks::from_patterns([Pattern::host("a.test").unwrap()].iter());
        let rules = Some(RobotsRules::parse(b"User-agent: *\nDisallow: /private", "recrawl"));
        let unreachable = LeftAlone::NoRobots { why: None, since: 1, again: 2 };
        let origin = OriginGates { rules, left_alone: Some(unreachable) };
        let gates = Gates { scope: Some(&scope), blocks: &blocks, is_trap: &|_| true, origin: &origin };
        let closed =
            |text: &str, is_visited| -> Vec<ClosedGate> { gates.closed_to(&url(text), is_visited).collect() };
        assert_eq!(
            closed("http://a.test/private/x", false),
            [
                ClosedGate::Scope(ScopeRefusal::Host),
                ClosedGate::Block(Pattern::host("a.test").unwrap()),
                ClosedGate::Trap,
                ClosedGate::Robots("Disallow: /private".into()),
                ClosedGate::Host(unreachable),
            ]
        );
        let open = Gates { is_trap: &|_| true, origin: &OriginGates::default(), ..gates };
        assert_eq!(open.closed_to(&url("http://b.test/"), false).collect::<Vec<_>>(), [ClosedGate::Trap]);
        assert_eq!(open.closed_to(&url("http://b.test/"), true).next(), None, "it was visited before");
    }
}
