//! The kinds of changes that a target can ask for.

use recrawl_repository::StoredVisit;
use recrawl_types::outcome::OutcomeEffect;
use recrawl_types::{Change, Known, Outcome};
use serde::{Deserialize, Serialize};

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The page was fetched for the first time.
    New,
    /// The page is there again, after it was gone, or after three tries or more without it.
    Back,
    /// The visit confirmed that the page is gone.
    Gone,
    /// The page is absent (404, 410) at the third try in a row without it.
    NotFound,
    /// The third try in a row without the page failed.
    Failed,
    /// The content differs from that of the last visit.
    Changed,
}

impl ChangeKind {
    /// All kinds. A page that is back may also have changed: the first kind that is asked for names the visit.
    pub const ALL: [ChangeKind; 6] = [
        ChangeKind::New,
        ChangeKind::Back,
        ChangeKind::Gone,
        ChangeKind::NotFound,
        ChangeKind::Failed,
        ChangeKind::Changed,
    ];

    /// The kinds of changes of a page that was known before.
    pub const OF_KNOWN: [ChangeKind; 5] =
        [ChangeKind::Back, ChangeKind::Gone, ChangeKind::NotFound, ChangeKind::Failed, ChangeKind::Changed];

    /// The name in configuration and messages.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::New => "new",
            ChangeKind::Back => "back",
            ChangeKind::Gone => "gone",
            ChangeKind::NotFound => "not_found",
            ChangeKind::Failed => "failed",
            ChangeKind::Changed => "changed",
        }
    }

    /// Did the visit not get the page?
    pub fn is_missing(self) -> bool {
        matches!(self, ChangeKind::Gone | ChangeKind::NotFound | ChangeKind::Failed)
    }

    fn fits(self, visit: &StoredVisit) -> bool {
        let change = visit.outcome.change();
        let is_absent = matches!(visit.outcome, Outcome::NotFound(_));
        match self {
            ChangeKind::New => visit.outcome == Outcome::Fetched(Change::First),
            ChangeKind::Back => {
                let was_missing = visit.missed >= Known::MISSING_AFTER;
                change.is_some() && (visit.confirmed >= Known::GONE_AFTER || was_missing)
            }
            ChangeKind::Gone => is_absent && visit.confirmed == Known::GONE_AFTER,
            ChangeKind::NotFound => is_absent && visit.missed == Known::MISSING_AFTER,
            ChangeKind::Failed => {
                visit.outcome.effect() == OutcomeEffect::Failure && visit.missed == Known::MISSING_AFTER
            }
            ChangeKind::Changed => change == Some(Change::Changed),
        }
    }

    /// The kind of a visit among those asked for, if any.
    pub fn from_visit(visit: &StoredVisit, asked: &[ChangeKind]) -> Option<ChangeKind> {
        ChangeKind::ALL.into_iter().find(|kind| asked.contains(kind) && kind.fits(visit))
    }

    /// The same for a target that is told of these only: it hears that a page is back if it heard that it was missing.
    pub fn told(visit: &StoredVisit, asked: &[ChangeKind]) -> Option<ChangeKind> {
        let hears_missing =
            asked.iter().any(|kind| matches!(kind, ChangeKind::NotFound | ChangeKind::Failed));
        let is_told = |kind: &ChangeKind| {
            let is_news = hears_missing || visit.confirmed >= Known::GONE_AFTER;
            asked.contains(kind) && (*kind != ChangeKind::Back || is_news)
        };
        ChangeKind::ALL.into_iter().find(|kind| is_told(kind) && kind.fits(visit))
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
