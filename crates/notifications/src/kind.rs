//! The kinds of changes that a target can ask for.

use recrawl_repository::KeptVisit;
use recrawl_types::{Change, Known, Outcome};
use serde::{Deserialize, Serialize};

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The page was fetched for the first time.
    New,
    /// The page is there again, after its absence was confirmed.
    Back,
    /// The visit confirmed that the page is gone.
    Gone,
    /// The content differs from that of the last visit.
    Changed,
}

impl ChangeKind {
    /// All kinds. A page that is back may also have changed: the first kind that is asked for names the visit.
    pub const ALL: [ChangeKind; 4] =
        [ChangeKind::New, ChangeKind::Back, ChangeKind::Gone, ChangeKind::Changed];

    /// The name in configuration and messages.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::New => "new",
            ChangeKind::Back => "back",
            ChangeKind::Gone => "gone",
            ChangeKind::Changed => "changed",
        }
    }

    fn fits(self, visit: &KeptVisit) -> bool {
        let change = visit.outcome.change();
        match self {
            ChangeKind::New => visit.outcome == Outcome::Fetched(Change::First),
            ChangeKind::Back => change.is_some() && visit.confirmed >= Known::GONE_AFTER,
            ChangeKind::Gone => {
                matches!(visit.outcome, Outcome::NotFound(_)) && visit.confirmed == Known::GONE_AFTER
            }
            ChangeKind::Changed => change == Some(Change::Changed),
        }
    }

    /// The kind of a visit among those asked for, if any.
    pub fn of(visit: &KeptVisit, asked: &[ChangeKind]) -> Option<ChangeKind> {
        ChangeKind::ALL.into_iter().find(|kind| asked.contains(kind) && kind.fits(visit))
    }

    /// The kind of this name.
    ///
    /// # Errors
    /// That it is none.
    pub fn named(name: &str) -> Result<ChangeKind, String> {
        let found = ChangeKind::ALL.into_iter().find(|kind| kind.name() == name);
        let all = ChangeKind::ALL.map(ChangeKind::name).join(", ");
        found.ok_or_else(|| format!("{name:?} is no kind of change; write some of: {all}"))
    }
}
