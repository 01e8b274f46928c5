//! The table of outcomes: how a visit can end, a row each.
//!
//! A failed fetch is an outcome, not an error, and a page that was not requested is never *gone*. A row
//! has the code on disk, the name in JSON and exports, whether the page was requested, the effect on its
//! record, and the text for people. docs/outcomes.md prints the tables; the verifier applies the effects.
//! A code never changes its meaning: append rows.

use std::fmt;

/// What was requested for a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitRequest {
    /// The page.
    Page,
    /// robots.txt alone.
    RobotsTxt,
    /// Nothing.
    Nothing,
}

/// What an outcome does to the page's record; docs/outcomes.md says it in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeEffect {
    /// Updates n, X, the last visit and the content.
    Visit,
    /// One more failure, which may confirm that the page is gone.
    Absence,
    /// One more failure.
    Failure,
    /// A rule keeps the page out until the rules let it in again.
    Refusal,
    /// None: the page is due as before.
    Nothing,
}

/// What an outcome says beside its variant: a status or a reason.
pub trait Detail: Copy {
    /// The number on disk.
    fn code(self) -> u64;
    /// The detail with this number, if there is one.
    fn of_code(code: u64) -> Option<Self>;
    /// Every value; those with a status with this one.
    fn all(status: u16) -> Vec<Self>;
    /// The name in JSON and exports, if it has one.
    fn name(self) -> Option<&'static str>;
    /// The HTTP status, if it is one.
    fn status(self) -> Option<u16>;
}

impl Detail for u16 {
    fn code(self) -> u64 {
        self.into()
    }

    fn of_code(code: u64) -> Option<u16> {
        code.try_into().ok()
    }

    fn all(status: u16) -> Vec<u16> {
        vec![status]
    }

    fn name(self) -> Option<&'static str> {
        None
    }

    fn status(self) -> Option<u16> {
        Some(self)
    }
}

/// None has the number 0; the others follow.
impl<D: Detail> Detail for Option<D> {
    fn code(self) -> u64 {
        self.map_or(0, |detail| detail.code() + 1)
    }

    fn of_code(code: u64) -> Option<Option<D>> {
        code.checked_sub(1).map_or(Some(None), |code| D::of_code(code).map(Some))
    }

    fn all(status: u16) -> Vec<Option<D>> {
        std::iter::once(None).chain(D::all(status).into_iter().map(Some)).collect()
    }

    fn name(self) -> Option<&'static str> {
        self.and_then(D::name)
    }

    fn status(self) -> Option<u16> {
        self.and_then(D::status)
    }
}

/// Reasons: code, name, text. One behind dots has a status, whose number is added to its code.
macro_rules! reasons {
    ($(#[$about:meta])* $enum:ident {
        $($variant:ident = $code:literal, $name:literal, $text:literal;)*
        $($(#[$open_about:meta])* .. $open:ident($status:ident) = $first:literal, $open_name:literal, $open_text:expr;)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $enum {
            $(#[doc = $text] $variant,)*
            $($(#[$open_about])* $open(u16),)?
        }

        impl Detail for $enum {
            fn code(self) -> u64 {
                match self {
                    $($enum::$variant => $code,)*
                    $($enum::$open($status) => $first + u64::from($status),)?
                }
            }

            fn of_code(code: u64) -> Option<$enum> {
                match code {
                    $($code => return Some($enum::$variant),)*
                    _ => {}
                }
                $(if let Some(status) = code.checked_sub($first) {
                    return u16::try_from(status).ok().map($enum::$open);
                })?
                None
            }

            fn all(_status: u16) -> Vec<$enum> {
                vec![$($enum::$variant,)* $($enum::$open(_status),)?]
            }

            fn name(self) -> Option<&'static str> {
                Some(match self {
                    $($enum::$variant => $name,)*
                    $($enum::$open(_) => $open_name,)?
                })
            }

            fn status(self) -> Option<u16> {
                match self {
                    $($enum::$open($status) => Some($status),)?
                    #[allow(unreachable_patterns)] // where no reason has a status
                    _ => None,
                }
            }
        }

        /// A clause without a full stop.
        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $($enum::$variant => f.write_str($text),)*
                    $($enum::$open($status) => write!(f, "{} {}", $open_text, $status),)?
                }
            }
        }
    };
}

/// Only a proxy answers with 407 (RFC 9110 §15.5.8).
const ASKS_WHO: &str =
    "the proxy takes no request without a right proxy.user and proxy.password: HTTP status";

reasons! {
    /// How a page compares with its last visit.
    Change {
        First = 0, "first", "the first successful fetch: nothing to compare with, n and X stay 0";
        Unchanged = 1, "unchanged", "the same as at the last visit";
        Changed = 2, "changed", "different from the last visit";
        Undecided = 3, "undecided", "the record was not available: the verifier compares";
    }
}

reasons! {
    /// Why a request failed.
    Failure {
        Dns = 0, "dns", "the host name did not resolve";
        Connect = 1, "connect", "cannot connect to the host or the proxy";
        Tls = 2, "tls", "the TLS handshake failed";
        Timeout = 3, "timeout", "no response within fetch.timeout";
        Protocol = 4, "protocol", "connection broken, or response invalid or truncated";
        Encoding = 5, "encoding", "cannot decode the body";
        Redirect = 6, "redirect", "invalid redirect, or too many redirects";
        // In the place of the status 0, which no response has.
        Render = 7, "render", "fetched, but it could not be rendered or converted";
        /// A status that is none of 2xx, 304, a redirect, 404 or 410.
        .. Status(status) = 7, "status", if status == 407 { ASKS_WHO } else { "HTTP status" };
    }
}

reasons! {
    /// Why a scheduled page was not requested, or its body not read; [`Skip::effect`] says what comes of it.
    Skip {
        Deadline = 0, "deadline", "the cycle's deadline passed";
        HostBackOff = 1, "host_back_off", "the host is in back-off";
        OutOfScope = 2, "out_of_scope", "the scope no longer admits it";
        CrawlDelay = 3, "crawl_delay", "Crawl-delay in robots.txt exceeds politeness.max_crawl_delay";
        OptedOut = 4, "opted_out", "the host's owner opted out";
        ByteBudget = 5, "byte_budget", "the byte budget of the host or of the cycle is spent";
        Trap = 6, "trap", "never fetched, and its URL pattern is a trap";
        Blocked = 7, "blocked", "an operator blocked it";
        MediaType = 8, "media_type", "its media type is not in scope.types";
    }
}

reasons! {
    /// Why the address guard refuses a host, and what to do.
    AddressRefusal {
        Special = 0, "special", "the host has a private, loopback or other special address (list your own networks in fetch.allow_addresses)";
        NoContact = 1, "no_contact", "the crawl has no crawler.contact, and its first look does not cover the host";
    }
}

impl Skip {
    /// A page that waits for time or bytes is due as before. One that a rule forbids is refused, or it
    /// would be skipped again in every cycle and take up the budget.
    pub const fn effect(self) -> OutcomeEffect {
        match self {
            Skip::Deadline | Skip::HostBackOff | Skip::ByteBudget => OutcomeEffect::Nothing,
            Skip::OutOfScope
            | Skip::CrawlDelay
            | Skip::OptedOut
            | Skip::Trap
            | Skip::Blocked
            | Skip::MediaType => OutcomeEffect::Refusal,
        }
    }

    /// Only the answer tells the media type.
    const fn request(self) -> VisitRequest {
        if let Skip::MediaType = self { VisitRequest::Page } else { VisitRequest::Nothing }
    }
}

/// Outcomes: tag, name, what was requested, effect, text.
macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident $(($detail:ident: $type:ty))? =
       $tag:literal, $name:literal, $request:expr, $effect:expr, $text:expr;)*) => {
        /// How a visit ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Outcome {
            $($(#[$doc])* $variant $(($type))?,)*
        }

        #[allow(unused_variables)] // not every column of a row reads the detail
        impl Outcome {
            fn in_table(self) -> (u8, u64) {
                match self {
                    $(Outcome::$variant $(($detail))? => {
                        let code = 0;
                        $(let code = $detail.code();)?
                        ($tag, code)
                    })*
                }
            }

            fn of_table(tag: u8, detail: u64) -> Option<Outcome> {
                Some(match tag {
                    $($tag => Outcome::$variant $((<$type>::of_code(detail)?))?,)*
                    _ => return None,
                })
            }

            /// Every outcome; those with a status with this one.
            pub fn all(status: u16) -> Vec<Outcome> {
                let mut all = Vec::new();
                $($(for $detail in <$type>::all(status))? {
                    all.push(Outcome::$variant $(($detail))?);
                })*
                all
            }

            /// The name in JSON and exports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Outcome::$variant $(($detail))? => $name,)*
                }
            }

            /// The name of its detail: the comparison or the reason.
            pub fn detail(self) -> Option<&'static str> {
                match self {
                    $(Outcome::$variant $(($detail))? => {
                        let name: Option<&'static str> = None;
                        $(let name = $detail.name();)?
                        name
                    })*
                }
            }

            /// The HTTP status, if it determined the outcome.
            pub fn status(self) -> Option<u16> {
                match self {
                    $(Outcome::$variant $(($detail))? => {
                        let status: Option<u16> = None;
                        $(let status = $detail.status();)?
                        status
                    })*
                }
            }

            /// What was requested.
            pub fn request(self) -> VisitRequest {
                use VisitRequest::{Nothing, Page, RobotsTxt};
                match self {
                    $(Outcome::$variant $(($detail))? => $request,)*
                }
            }

            /// What it does to the page's record.
            pub fn effect(self) -> OutcomeEffect {
                match self {
                    $(Outcome::$variant $(($detail))? => $effect,)*
                }
            }
        }

        /// A clause for people, without a full stop.
        #[allow(unused_variables)]
        impl fmt::Display for Outcome {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Outcome::$variant $(($detail))? => write!(f, "{}", $text),)*
                }
            }
        }
    };
}

outcomes! {
    /// 2xx with a body.
    Fetched(change: Change) = 0, "fetched", Page, OutcomeEffect::Visit, "fetched";
    /// 304: counts as a visit that found no change.
    NotModified = 1, "not_modified", Page, OutcomeEffect::Visit, "not modified";
    /// 3xx with a usable target: a visit; changed exactly when the target differs from the last one.
    Redirected(change: Change) = 2, "redirected", Page, OutcomeEffect::Visit, "redirect";
    /// 404 or 410.
    NotFound(status: u16) = 3, "not_found", Page, OutcomeEffect::Absence, Failure::Status(status);
    /// Requested without success. On disk, a failure with a status has the tag 4.
    Failed(failure: Failure) = 5, "failed", Page, OutcomeEffect::Failure, failure;
    /// robots.txt forbids the page.
    RobotsDenied = 6, "robots_denied", Nothing, OutcomeEffect::Refusal, "forbidden by robots.txt";
    /// robots.txt could not be fetched, so everything on the host is forbidden for now (RFC 9309
    /// §2.3.1.4). The reason is none in records of a version that did not keep it.
    RobotsUnreachable(why: Option<Failure>) = 7, "robots_unreachable", RobotsTxt, OutcomeEffect::Failure,
        no_answer(why);
    /// The address guard refuses the host. The reason is none in records of a version that did not keep it.
    RefusedAddress(why: Option<AddressRefusal>) = 8, "refused_address", Nothing, OutcomeEffect::Failure,
        refused(why);
    /// Not requested or not read, for a reason other than robots.txt or the address.
    Skipped(skip: Skip) = 9, "skipped", skip.request(), skip.effect(),
        format_args!("not {}: {skip}", if skip.request() == VisitRequest::Page { "read" } else { "requested" });
}

/// The tag on disk of a failure with a status.
const STATUS_TAG: u8 = 4;

impl Outcome {
    /// Tag and detail on disk.
    pub fn code(self) -> (u8, u64) {
        match self {
            Outcome::Failed(Failure::Status(status)) => (STATUS_TAG, status.into()),
            _ => self.in_table(),
        }
    }

    /// The outcome with this tag and detail, if there is one.
    pub fn of_code(tag: u8, detail: u64) -> Option<Outcome> {
        let outcome = match tag {
            STATUS_TAG => Outcome::Failed(Failure::Status(detail.try_into().ok()?)),
            _ => Outcome::of_table(tag, detail)?,
        };
        (outcome.code() == (tag, detail)).then_some(outcome)
    }

    /// Is this a visit: does it update n, X and the last visit?
    pub fn is_visit(self) -> bool {
        self.effect() == OutcomeEffect::Visit
    }

    /// The result of the comparison, if the outcome is a visit.
    pub fn change(self) -> Option<Change> {
        match self {
            Outcome::Fetched(c) | Outcome::Redirected(c) => Some(c),
            Outcome::NotModified => Some(Change::Unchanged),
            _ => None,
        }
    }

    /// Has the page changed since the visit before? None if that cannot be told.
    pub fn has_changed(self) -> Option<bool> {
        match self.change()? {
            Change::Changed => Some(true),
            Change::Unchanged => Some(false),
            Change::First | Change::Undecided => None,
        }
    }

    /// The name of the reason of a failure (of the page or its robots.txt) or a skip.
    pub fn why(self) -> Option<&'static str> {
        if self.is_visit() { None } else { self.detail() }
    }

    /// Was no body read for a reason other than robots.txt or the address?
    pub fn is_skip(self) -> bool {
        matches!(self, Outcome::Skipped(_))
    }
}

/// Why the address guard refused a host.
fn refused(why: Option<AddressRefusal>) -> String {
    why.map_or("its address was refused".into(), |why| why.to_string())
}

/// A page that was not requested without its robots.txt: the cause first.
fn no_answer(why: Option<Failure>) -> String {
    why.map_or("robots.txt could not be fetched".into(), |failure| {
        format!("{failure}, when asked for robots.txt first")
    })
}

/// `could not be fetched (REASON)`: the predicate of a sentence whose subject is robots.txt. States
/// written by an older version have no reason.
pub fn no_robots(why: Option<Failure>) -> String {
    why.map_or("could not be fetched".into(), |failure| format!("could not be fetched ({failure})"))
}
