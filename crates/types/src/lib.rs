//! The words that cross a border between recrawl's stages.
//!
//! Every other crate depends on this one and this one on none of them. It holds the canonical URL
//! (whose bytes *are* the one total order: site, then path), the page record (the counters n, X, t
//! and the running sums of the estimators), the visit with its outcome, the schedule, and the state
//! of a host. It knows no disk, no socket and no formula.
//!
//! Plain data only: behaviour lives in the stage that needs it. The one exception is what must mean
//! the same everywhere, such as how a URL becomes canonical and how a visit enters a page's history.

pub mod columns;
pub mod consent;
pub mod content_type;
pub mod cycle;
pub mod decay;
pub mod fields;
pub mod focus;
pub mod host;
pub mod importance;
pub mod improve;
pub mod keys;
pub mod lastmod;
pub mod media_types;
pub mod outcome;
pub mod page;
pub mod ping;
pub mod quantity;
pub mod reads;
pub mod request;
pub mod schedule;
pub mod site;
pub mod spill;
pub mod trust;
pub mod url;
pub mod visible;
pub mod visit;

pub use crate::columns::{NEXT_CHANGE_WEIGHTS, StateColumns};
pub use crate::consent::{Canonical, Consent};
pub use crate::content_type::ContentType;
pub use crate::cycle::{Cycle, DatedRound, Round};
pub use crate::focus::{Expectation, Verdict};
pub use crate::host::{HostState, HostTable, Origin};
pub use crate::importance::Importance;
pub use crate::improve::{Asked, AskedFor, LoopEventKind};
pub use crate::keys::{KeyRows, shared_beginning};
pub use crate::lastmod::{LastmodCounts, SignalQuality};
pub use crate::media_types::MediaTypes;
pub use crate::outcome::{Change, Failure, Outcome, OutcomeEffect, Skip, VisitRequest};
pub use crate::page::{
    ArchivePosition, ArchivedBody, Content, ContentKind, Fingerprint, History, Known, PageRecord, PageStatus,
    Validators, Visited,
};
pub use crate::ping::Ping;
pub use crate::quantity::{Size, Span};
pub use crate::reads::Reads;
pub use crate::request::{
    AnswerClass, HostRequests, Minute, RequestLog, RobotsInForce, SentRequest, ShortestGap,
};
pub use crate::schedule::{Expected, HostRun, ScheduleEntry, SchedulePlace, ScheduleSource, Share, Standing};
pub use crate::site::Site;
pub use crate::spill::Spill;
pub use crate::trust::{Belief, SignTally, ValidatorSign, ValidatorTrust};
pub use crate::url::{CanonicalUrl, HostError, HostPattern, Scheme, UrlError, UrlRules, WrittenHost};
pub use crate::visit::{ContentDifference, LeftOut, Link, LogRecord, Skipped, Visit};
