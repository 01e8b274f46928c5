//! Orders of a crawl: which untried link comes next. A new one is a line in [`ALL`], and a rule in [`FocusRule`] if no rule
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
pub enum FocusRule {
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
pub struct FocusPolicy {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence for the reference.
    pub about: &'static str,
    /// Its rule.
    pub rule: FocusRule,
}

const fn scores(name: &'static str, about: &'static str, children: When, siblings: When) -> FocusPolicy {
    FocusPolicy { name, about, rule: FocusRule::Scores { children, siblings } }
}

/// All orders.
pub const ALL: &[FocusPolicy] = &[
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
    FocusPolicy { name: "breadth", about: "fewest links from a seed first", rule: FocusRule::Breadth },
    FocusPolicy { name: "random", about: "random order", rule: FocusRule::Random },
    FocusPolicy {
        name: "anchor",
        about: "half for a genre term in the anchor, half the parent's content similarity",
        rule: FocusRule::Anchor,
    },
    FocusPolicy {
        name: "learned",
        about: "expected relevance by link features, fitted on other sites, updated as the crawl goes on",
        rule: FocusRule::Learned,
    },
];

/// An order by its name.
pub fn named(name: &str) -> Option<&'static FocusPolicy> {
    ALL.iter().find(|policy| policy.name == name)
}

impl FocusPolicy {
    /// Whether it is one of the thesis' queuing policies.
    pub fn is_of_thesis(&self) -> bool {
        matches!(self.rule, FocusRule::Scores { .. })
    }
}
