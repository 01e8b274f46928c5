//! Orders of a crawl: which untried link comes next. A new one is a line in [`ALL`], and a rule in [`Rule`] if no rule
//! there gives it.

/// When a visit changes the scores of other pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Never.
    Never,
    /// After every visit.
    Always,
    /// If the page's score is at least the change threshold.
    AboveThreshold,
}

/// How untried pages are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A visited page's score goes to pages that it links to, and to others linked by its parents (Assis 2008,
    /// section 4.4).
    Scores {
        /// When children get the score.
        children: When,
        /// When siblings get it; those of seeds never do (Algorithm 2, step 11).
        siblings: When,
    },
    /// The fewest links from a seed first.
    Breadth,
    /// In a random order.
    Random,
    /// Half for a genre term in the anchor, half the parent's similarity to the content terms.
    Anchor,
    /// By the expected relevance of links.
    Learned,
}

/// An order of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence for the reference.
    pub about: &'static str,
    /// Its rule.
    pub rule: Rule,
}

const fn scores(name: &'static str, about: &'static str, children: When, siblings: When) -> Policy {
    Policy { name, about, rule: Rule::Scores { children, siblings } }
}

/// All orders.
pub const ALL: &[Policy] = &[
    scores("ps", "children get the score of a visited page", When::Always, When::Never),
    scores("fs-1", "siblings get the score of a visited page", When::Never, When::Always),
    scores(
        "fs-2",
        "siblings get the score, if it reaches the change threshold",
        When::Never,
        When::AboveThreshold,
    ),
    scores("pfs-1", "children and siblings get the score", When::Always, When::Always),
    scores(
        "pfs-2",
        "children and siblings get the score, if it reaches the change threshold",
        When::AboveThreshold,
        When::AboveThreshold,
    ),
    Policy { name: "breadth", about: "fewest links from a seed first", rule: Rule::Breadth },
    Policy { name: "random", about: "random order", rule: Rule::Random },
    Policy {
        name: "anchor",
        about: "half for a genre term in the anchor, half the parent's content similarity",
        rule: Rule::Anchor,
    },
    Policy {
        name: "learned",
        about: "expected relevance by link features, fitted on other sites, updated as the crawl goes on",
        rule: Rule::Learned,
    },
];

/// An order by its name.
pub fn named(name: &str) -> Option<&'static Policy> {
    ALL.iter().find(|policy| policy.name == name)
}

impl Policy {
    /// Whether it is one of the thesis' queuing policies.
    pub fn is_of_thesis(&self) -> bool {
        matches!(self.rule, Rule::Scores { .. })
    }
}
