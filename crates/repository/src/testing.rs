//! Random values, and simple generations, for this crate's tests.

use crate::generation::codec::LinkRef;
use crate::{CommitError, Generation, Repository, StoredVisit};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use recrawl_types::{
    ArchivePosition, ArchivedBody, Canonical, CanonicalUrl, Change, Consent, Content, ContentDifference,
    ContentKind, Cycle, Expectation, Expected, Fingerprint, History, Known, LeftOut, Link, LogRecord,
    Outcome, PageRecord, PageStatus, Round, ScheduleEntry, Share, Standing, UrlRules, ValidatorSign,
    Validators, Verdict, Visit, Visited, history_fields, known_fields,
};

/// The canonical form of a URL.
pub fn canonical(text: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(text).expect("tests spell URLs well")
}

/// Commits the next generation, of as many pages as its number, each with a visit where visits are kept.
pub fn commit(repository: &mut Repository) -> Result<(), CommitError> {
    commit_in(repository, repository.current().cycle().next())
}

/// The same, as a round of this cycle.
pub fn commit_in(repository: &mut Repository, cycle: Cycle) -> Result<(), CommitError> {
    let number = repository.current().number().next();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, cycle)?;
    for i in 0..number.0 {
        let url = canonical(&format!("http://a.example/{i:04}"));
        writer.push(url.key(), &PageRecord::discovered(cycle, 0))?;
        let outcome = Outcome::Fetched(Change::First);
        writer.keep_visit(&StoredVisit {
            url,
            at: 7,
            share: Share::Score,
            outcome,
            confirmed: 0,
            missed: 0,
            learned: None,
        })?;
    }
    repository.commit(writer, format!("report {number}").as_bytes())
}

/// URLs of a few origins, so that keys share beginnings and runs of one origin are common.
pub fn url() -> impl Strategy<Value = CanonicalUrl> {
    let host = "(www\\.)?(a|b|example)\\.(org|co\\.uk)(:8080)?|127\\.0\\.0\\.[1-3]|\\[::1\\]";
    ("https?", host, "(/[a-z0-9]{0,5}){0,3}(\\?q=[a-z]{0,3})?")
        .prop_map(|(scheme, host, path)| canonical(&format!("{scheme}://{host}{path}")))
}

/// Any value of a record's field.
trait AnyField: Clone + std::fmt::Debug + Sized {
    fn any_value() -> BoxedStrategy<Self>;
}

macro_rules! any_fields {
    ($($field:ty: $any:expr;)*) => {$(
        impl AnyField for $field {
            fn any_value() -> BoxedStrategy<$field> {
                $any.boxed()
            }
        }
    )*};
}

any_fields! {
    u8: any::<u8>();
    u16: any::<u16>();
    u32: any::<u32>();
    u64: any::<u64>();
    f32: 0.0..1e9f32;
    f64: 0.0..1e9f64;
    Cycle: any::<u32>().prop_map(Cycle);
    Round: any::<u32>().prop_map(Round);
}

impl<F: AnyField + 'static, const N: usize> AnyField for [F; N] {
    fn any_value() -> BoxedStrategy<[F; N]> {
        vec(F::any_value(), N).prop_map(|cells| cells.try_into().expect("N cells")).boxed()
    }
}

macro_rules! known {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal;)*) => {
        fn known() -> impl Strategy<Value = Known> {
            let status = prop_oneof![
                Just(PageStatus::Live),
                Just(PageStatus::Gone),
                Just(PageStatus::Refused),
                Just(PageStatus::AddressRefused),
            ];
            let dated = (lastmod(), any::<bool>()).prop_map(|(at, moved)| (at, moved && at > 0));
            let focus = (expectation(), verdict());
            let known = (status, dated, focus).prop_map(|(status, (lastmod, is_announced), focus)| {
                let (expectation, verdict) = focus;
                Known { status, lastmod, is_announced, expectation, verdict, ..Known::default() }
            });
            $(let known = (known, <$type>::any_value()).prop_map(|(mut known, value)| {
                known.$name = value;
                known
            });)*
            known
        }
    };
}

known_fields!(known);

macro_rules! history {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal [$($reads:tt)*];)*) => {
        fn history() -> impl Strategy<Value = History> {
            let history = Just(History::default());
            $(let history = (history, <$type>::any_value()).prop_map(|(mut history, value)| {
                history.$name = value;
                history
            });)*
            history
        }
    };
}

history_fields!(history);

fn consent() -> impl Strategy<Value = Consent> {
    let canonical = prop_oneof![
        Just(Canonical::Unclaimed),
        Just(Canonical::Itself),
        Just(Canonical::Contradictory),
        url().prop_map(Canonical::Other),
    ];
    (any::<[bool; 3]>(), option::of(any::<u64>()), canonical).prop_map(
        |([noindex, nofollow, noarchive], unavailable_after, canonical)| Consent {
            noindex,
            nofollow,
            noarchive,
            unavailable_after,
            canonical,
        },
    )
}

pub fn content() -> impl Strategy<Value = Content> {
    let kind = prop_oneof![
        Just(ContentKind::Text),
        Just(ContentKind::Opaque),
        Just(ContentKind::Redirect),
        Just(ContentKind::Hints)
    ];
    let text = |most| option::of(proptest::string::string_regex(&format!("[ -~é]{{1,{most}}}")).unwrap());
    let archive = option::of((1u32.., any::<u64>()));
    (kind, any::<(u64, u128, u64, u32)>(), text(100), text(29), archive, consent()).prop_map(
        |(kind, f, etag, modified, at, consent)| Content {
            kind,
            fingerprint: Fingerprint { simhash: f.0, digest: f.1 },
            rule: f.3 % 3,
            within_noise: if f.3 % 5 == 0 { f.2 as u8 } else { 0 },
            payload: f.2,
            validators: Validators { etag: etag.map(Into::into), last_modified: modified.map(Into::into) },
            archive: at.map(|(file, offset)| ArchivePosition { file, offset }),
            archived_at: at.map_or(0, |(_, offset)| offset % 3 * 1_700_000_000_999),
            archived: match at.map_or(0, |(_, offset)| offset % 5) {
                1 => ArchivedBody::Earlier,
                2 => ArchivedBody::Withheld,
                _ => ArchivedBody::Last,
            },
            consent,
            merged_links: (0..f.3 % 4).map(|part| f.2 as u32 ^ part).collect(),
        },
    )
}

/// Any record.
pub fn record() -> impl Strategy<Value = PageRecord> {
    let visited =
        option::of((history(), content()).prop_map(|(history, content)| Visited { history, content }));
    (known(), visited).prop_map(|(known, visited)| PageRecord { known, visited })
}

fn share() -> impl Strategy<Value = Share> {
    prop_oneof![
        Just(Share::Score),
        Just(Share::Discovery),
        Just(Share::Warmup),
        (0.0..=1.0f64).prop_map(Share::Audit),
        Just(Share::Followed),
        Just(Share::Announced),
        Just(Share::Asked),
        Just(Share::Panel),
        (0.0..=1.0f64).prop_map(Share::Contested),
        Just(Share::Promised),
        (0.0..=1.0f64).prop_map(Share::Explored),
    ]
}

fn standing() -> impl Strategy<Value = Option<Standing>> {
    let some = (any::<(u32, u16, bool, bool)>(), -1e9f32..1e9).prop_map(
        |((age, expected, is_above_cutoff, is_only_in_force), score)| Standing {
            age,
            score,
            expected: Expected(expected),
            is_above_cutoff,
            is_only_in_force,
        },
    );
    option::of(some)
}

/// Mostly none, as on the Web.
fn lastmod() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0u32), 1 => any::<u32>()]
}

/// What links let expect; none in most cases, as in a crawl that is not focused.
fn expectation() -> impl Strategy<Value = Option<Expectation>> {
    let some = (-20.0..20.0f64, any::<(u8, u32)>()).prop_map(|(l, (t, g))| Some(Expectation::new(l, t, g)));
    prop_oneof![3 => Just(None), 1 => some]
}

/// How relevant a page is; likewise.
fn verdict() -> impl Strategy<Value = Option<Verdict>> {
    let some = (0.0..=1.0f64, any::<[u8; 2]>()).prop_map(|(relevance, [g, c])| {
        Some(Verdict::new(relevance, f64::from(g) / 255.0, f64::from(c) / 255.0, relevance))
    });
    prop_oneof![3 => Just(None), 1 => some]
}

/// Any link.
pub fn link() -> impl Strategy<Value = Link> {
    (url(), any::<(u16, u8, bool, bool)>(), lastmod(), expectation()).prop_map(
        |(url, n, lastmod, expectation)| Link {
            url,
            depth: n.0,
            hops: n.1,
            counted: n.2,
            listed: n.3,
            lastmod,
            expectation,
        },
    )
}

/// Any visit.
pub fn visit() -> impl Strategy<Value = Visit> {
    let difference = option::of((any::<bool>(), 0..=64u8, any::<u32>())).prop_map(|d| {
        d.map(|(same_digest, distance, cycles)| ContentDifference { same_digest, distance, cycles })
    });
    let outcome = any::<u16>().prop_flat_map(|status| proptest::sample::select(Outcome::all(status)));
    let place = (option::of(0..u64::MAX), share(), standing(), any::<(u64, u32)>());
    let signs = [ValidatorSign::Confirmed, ValidatorSign::Shown, ValidatorSign::Vain, ValidatorSign::Hidden];
    let sign = option::of(proptest::sample::select(signs.to_vec()));
    let few = || prop_oneof![3 => Just(0), 1 => any::<u32>()];
    let left_out = (few(), few(), few()).prop_map(|(filtered, trapped, repeated)| LeftOut {
        filtered,
        trapped,
        repeated,
    });
    let found =
        (option::of(content()), difference, vec(link(), 0..8), any::<u64>(), sign, left_out, verdict());
    (url(), place, outcome, found).prop_map(|(url, (index, share, standing, (at, took)), outcome, found)| {
        let (content, difference, links, bytes, sign, left_out, verdict) = found;
        let took = if standing.is_some() { took } else { 0 };
        Visit {
            url,
            index,
            share,
            standing,
            at,
            took,
            outcome,
            content,
            difference,
            links,
            bytes,
            sign,
            left_out,
            verdict,
        }
    })
}

/// Any entry of a schedule.
pub fn entry() -> impl Strategy<Value = ScheduleEntry> {
    (url(), share(), record(), standing()).prop_map(|(url, share, record, standing)| ScheduleEntry {
        url,
        share,
        record,
        standing,
    })
}

/// Puts links that were taken apart from a record back into it.
pub fn put_back<'a>(record: &mut LogRecord, apart: impl Iterator<Item = LinkRef<'a>>) {
    let links = match record {
        LogRecord::Visit(visit) => &mut visit.links,
        LogRecord::Seeds(links) => links,
        LogRecord::Skipped(_) => return assert_eq!(apart.count(), 0, "what was skipped has no links"),
    };
    links.extend(apart.map(|LinkRef { key, depth, hops, counted, listed, lastmod, expectation }| {
        let url = CanonicalUrl::from_key(key).expect("a link leads to a URL");
        Link { url, depth, hops, counted, listed, lastmod, expectation }
    }));
}
