//! What the crawl did lately, and figures of its process.

use super::LoopEventKind;
use serde::Serialize;
use utoipa::ToSchema;

/// The last hour or so, as points of equal distance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Recent {
    /// Milliseconds between two points.
    pub every_ms: u64,
    /// Points kept.
    pub points_max: u64,
    /// The points, oldest first.
    pub points: Vec<RecentPoint>,
}

/// What the crawl did in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RecentPoint {
    /// End of the interval.
    pub at: u64,
    /// Its length in milliseconds, by a monotonic clock.
    pub ms: u64,
    /// Requests for pages by answer.
    pub answers: Answers,
    /// Body bytes.
    pub bytes: u64,
    /// Median response time in milliseconds, estimated from a histogram; null without answers.
    pub median_ms: Option<f64>,
    /// The same for the slowest 5 %.
    pub p95_ms: Option<f64>,
}

/// Requests for pages by answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Answers {
    /// 2xx.
    pub success: u64,
    /// 3xx other than 304.
    pub redirect: u64,
    /// 304.
    pub not_modified: u64,
    /// 4xx.
    pub client_error: u64,
    /// 5xx.
    pub server_error: u64,
    /// No answer, or an invalid one.
    pub failed: u64,
}

impl Answers {
    /// Labels and counts, for metrics.
    pub fn by_status(&self) -> [(&'static str, u64); 6] {
        [
            ("2xx", self.success),
            ("3xx", self.redirect),
            ("304", self.not_modified),
            ("4xx", self.client_error),
            ("5xx", self.server_error),
            ("failed", self.failed),
        ]
    }
}

/// Figures that are read for metrics only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meters {
    /// Requests for pages since the process started.
    pub answers: Answers,
    /// Response times: upper bounds in seconds, and the answers within each bucket. Slower answers follow
    /// as one more count.
    pub times: (Vec<f64>, Vec<u64>),
    /// Sum of the response times, in seconds.
    pub total_time: f64,
    /// Processor time of the process, in seconds.
    pub cpu_seconds: f64,
    /// Open file descriptors; none if the system does not tell.
    pub open_files: Option<u64>,
    /// Their limit; none without one.
    pub max_files: Option<u64>,
    /// Events of the loop of `improve` by kind, since the process started; none without a loop.
    pub loop_events: Vec<(LoopEventKind, u64)>,
    /// Pages rendered since the process started; none if no rule asks for it.
    pub rendering: Option<Rendering>,
    /// Requisites of pages since the process started; none if no rule asks for any.
    pub requisites: Option<RequisiteMeters>,
}

/// Counts of requisites.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequisiteMeters {
    /// Requests.
    pub requested: u64,
    /// Bodies and redirects that were archived.
    pub archived: u64,
    /// Answers that were as before.
    pub same: u64,
    /// Refused by a rule, or by the answer.
    pub refused: u64,
    /// Answered with an error, or not at all.
    pub failed: u64,
    /// Beyond a limit, or of a host in back-off.
    pub left_out: u64,
    /// Bytes of bodies.
    pub bytes: u64,
}

/// Counts of pages that are rendered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendering {
    /// Pages rendered.
    pub rendered: u64,
    /// Pages given up.
    pub failed: u64,
    /// Time of the rendered pages, in seconds.
    pub seconds: f64,
    /// Requests of pages that were sent.
    pub sent: u64,
    /// Requests answered by what was kept.
    pub kept: u64,
    /// Requests refused.
    pub refused: u64,
    /// Browsers started.
    pub starts: u64,
}
