//! What is written comes back; what was never written is refused and harms nothing.

use super::*;
use crate::file::format::FORMAT_VERSION;
use crate::generation::block::{put_block_history, put_block_known, take_block_known};
use crate::testing::{entry, link, put_back, record, visit};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use recrawl_types::{Cycle, Share, StateColumns};

fn log_record() -> impl Strategy<Value = LogRecord> {
    prop_oneof![
        visit().prop_map(|v| LogRecord::Visit(Box::new(v))),
        vec(link(), 0..10).prop_map(LogRecord::Seeds),
        (0..u64::MAX >> 1, 1..u64::MAX >> 1, any::<u64>(), any::<bool>()).prop_map(
            |(start, count, at, is_late)| {
                let why = if is_late { Skip::Deadline } else { Skip::ByteBudget };
                LogRecord::Skipped(Skipped { pages: start..start + count, why, at })
            }
        ),
    ]
}

fn bytes_of(record: &LogRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_log_record(&mut bytes, record);
    bytes
}

/// What is taken with its links apart, put together again.
fn taken_apart(bytes: &[u8]) -> Result<LogRecord, Malformed> {
    let mut links = PackedLinks::default();
    let mut record = take_log_record_apart(bytes, &mut links)?;
    put_back(&mut record, links.get(0..links.len()));
    Ok(record)
}

/// A record taken from some bytes cannot have come from nothing: at most a URL for every five bytes.
fn is_bounded(record: &LogRecord, bytes: &[u8]) -> bool {
    let links = match record {
        LogRecord::Visit(visit) => &visit.links,
        LogRecord::Seeds(links) => links,
        LogRecord::Skipped(_) => &Vec::new(),
    };
    links.capacity() <= bytes.len() / 5
}

proptest! {
    #[test]
    fn log_records_come_back(record in log_record()) {
        prop_assert_eq!(take_log_record(&bytes_of(&record)), Ok(record));
    }

    #[test]
    fn visits_and_links_come_back(visit in visit(), link in link()) {
        let mut bytes = Vec::new();
        put_visit(&mut bytes, &visit);
        prop_assert_eq!(take_visit(&bytes), Ok(visit));
        bytes.clear();
        put_link(&mut bytes, &link);
        prop_assert_eq!(take_link(&bytes), Ok(link));
    }

    #[test]
    fn entries_come_back_one_behind_the_other(entries in vec(entry(), 0..8)) {
        let mut bytes = Vec::new();
        let mut near: &[u8] = &[];
        for entry in &entries {
            put_entry(&mut bytes, near, entry);
            near = entry.url.key();
        }
        let mut take = Take(&bytes);
        let mut key = Vec::new();
        for entry in &entries {
            prop_assert_eq!(&take_entry(&mut take, &mut key, FORMAT_VERSION).unwrap(), entry);
        }
        prop_assert_eq!(take.end(), Ok(()));
    }

    #[test]
    fn page_records_come_back(record in record()) {
        let mut bytes = Vec::new();
        put_record(&mut bytes, &record);
        let mut take = Take(&bytes);
        prop_assert_eq!(take_record(&mut take, FORMAT_VERSION), Ok(record));
        prop_assert_eq!(take.end(), Ok(()));
    }

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in vec(any::<u8>(), 0..200), tag in 0u8..2) {
        let mut tagged = vec![tag];
        tagged.extend_from_slice(&bytes);
        prop_assert_eq!(taken_apart(&tagged), take_log_record(&tagged));
        if let Ok(record) = take_log_record(&tagged) {
            prop_assert!(is_bounded(&record, &tagged));
        }
        if let Ok(link) = take_link(&bytes) {
            prop_assert!(link.url.key().len() <= bytes.len());
        }
        let (mut take, mut key) = (Take(&bytes), Vec::new());
        while take_entry(&mut take, &mut key, FORMAT_VERSION).is_ok() {}
        prop_assert!(take.0.len() <= bytes.len() && key.len() <= bytes.len());
    }

    #[test]
    fn mutated_records_are_taken_or_refused(
        record in log_record(), changes in vec((any::<Index>(), any::<u8>()), 1..5), cut in any::<Index>()
    ) {
        let mut bytes = bytes_of(&record);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        prop_assert_eq!(taken_apart(&bytes), take_log_record(&bytes));
        if let Ok(record) = take_log_record(&bytes) {
            prop_assert!(is_bounded(&record, &bytes));
        }
        let whole = bytes_of(&record);
        let cut = &whole[..cut.index(whole.len())];
        prop_assert!(take_log_record(cut).is_err(), "a part of a record passes for one");
    }
}

/// The order of the table in `recrawl_types::fields` is the order on disk: what comes back from its own
/// bytes may still not come back from those of last year.
#[test]
fn the_bytes_of_a_record_stay_what_they_are() {
    let (known, history) = counting();
    let mut bytes = Vec::new();
    put_known(&mut bytes, &known);
    assert_eq!(bytes, [6, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    bytes.clear();
    put_history(&mut bytes, &history);
    let mut expected = vec![1, 2, 3, 4, 5, 6, 7];
    expected.extend([8.0f64, 9.0].into_iter().flat_map(f64::to_le_bytes));
    expected.extend([10, 11]);
    expected.extend([12.0f32, 13.0, 14.0].into_iter().flat_map(f32::to_le_bytes));
    expected.extend(15..=21);
    assert_eq!(bytes, expected);
}

/// Contents without a rule, without an archived body and without noise have the bytes that they had before these were kept.
#[test]
fn a_rule_the_time_of_a_body_and_noise_cost_bytes_only_where_there_are_any() {
    let content = Content { validators: Validators::new(Some("e"), None), ..Content::default() };
    let bytes_of = |content: &Content| {
        let mut bytes = Vec::new();
        put_extras(&mut bytes, content);
        let extras = take_extras(&mut Take(&bytes)).unwrap();
        assert_eq!((extras.rule, extras.within_noise), (content.rule, content.within_noise));
        bytes
    };
    assert_eq!(bytes_of(&content), [1, 1, b'e']);
    assert_eq!(bytes_of(&Content { rule: 0x0102_0304, ..content.clone() }), [0x41, 1, b'e', 4, 3, 2, 1]);
    // So does the time of the archived body: six bytes, in this century.
    let dated = bytes_of(&Content { archived_at: 1_700_000_000_123, ..content.clone() });
    assert_eq!((dated[0], dated[3], dated.len()), (0x81, 1, 4 + 6));
    assert_eq!(bytes_of(&Content { within_noise: 5, ..content }), [0x81, 1, b'e', 2, 5]);
}

/// In a block of one page, a column is the byte 0 and the value.
#[test]
fn the_columns_of_a_block_stay_what_they_are() {
    let (known, history) = counting();
    let values = |bytes: &[u8]| -> Vec<u64> {
        bytes.chunks_exact(9).map(|c| u64::from_le_bytes(c[1..].try_into().unwrap())).collect()
    };
    let mut bytes = Vec::new();
    put_block_known(&mut bytes, &[true], &[known]);
    assert_eq!((bytes[0], bytes.pop()), (1, Some(1)), "visited, announced");
    assert_eq!(values(&bytes[1..]), (0..=10).collect::<Vec<_>>());
    bytes.clear();
    put_block_history(&mut bytes, &[&history]);
    let mut expected: Vec<u64> = (1..=7).collect();
    expected.extend([8.0f64, 9.0].map(f64::to_bits));
    expected.extend([10, 11]);
    expected.extend([12.0f32, 13.0, 14.0].map(|sum| u64::from(sum.to_bits())));
    expected.extend(15..=21);
    assert_eq!((values(&bytes), bytes.len()), (expected, 21 * 9));
}

/// A crawl that is not focused stores no byte of a focus; one page that has something of it brings the columns, of which those
/// pages that have it take seven bytes and five.
#[test]
fn the_columns_of_a_focused_crawl_are_absent_without_one() {
    let plain = |n: u32| Known { depth: 3, discovered: Cycle(n), lastmod: n % 2, ..Known::default() };
    let bytes_of = |known: &[Known]| {
        let mut bytes = Vec::new();
        put_block_known(&mut bytes, &vec![false; known.len()], known);
        let mut columns = StateColumns::default();
        take_block_known(&bytes, FORMAT_VERSION, known.len(), &mut columns).unwrap();
        assert_eq!(columns.known, known);
        bytes.len()
    };
    let mut known: Vec<Known> = (0..1000).map(plain).collect();
    let without = bytes_of(&known);
    let dated = 9 + 1000 + 125;
    let undated: Vec<Known> = known.iter().map(|known| Known { lastmod: 0, ..*known }).collect();
    assert_eq!(bytes_of(&undated) + dated, without, "the dates, and nothing else");
    for (n, known) in (0u32..).zip(&mut known) {
        known.expectation =
            Some(Expectation::new(f64::from(n % 31) - 15.0, n as u8, n.wrapping_mul(0x9e37_79b9)));
    }
    let columns = 7 * 9;
    assert_eq!(bytes_of(&known), without + columns + 7 * 1000);
    for (n, known) in (0u32..100).zip(&mut known) {
        let part = |of: u32| f64::from(n % of) / f64::from(of);
        known.verdict = Some(Verdict::new(part(97), part(7), part(11), part(13)));
    }
    assert_eq!(bytes_of(&known), without + columns + 7 * 1000 + 2 * 1000 + 3 * 100);
    let mut entry = Vec::new();
    put_known(&mut entry, &undated[0]);
    let short = entry.len();
    put_known(&mut entry, &known[0]);
    assert_eq!(entry.len() - 2 * short, 7 + 5);
}

/// Fields that hold their numbers in the order on disk.
fn counting() -> (Known, History) {
    let known = Known {
        status: PageStatus::Live,
        depth: 1,
        hops: 2,
        in_links: 3,
        discovered: Cycle(4),
        last_attempt: Cycle(5),
        failures: 6,
        not_found: 7,
        not_found_cycle: Cycle(8),
        not_found_at: 9,
        lastmod: 10,
        is_announced: true,
        expectation: None,
        verdict: None,
    };
    let history = History {
        visits: 1,
        changes: 2,
        first: Cycle(3),
        last: Cycle(4),
        last_change: Cycle(5),
        ramp_visits: 6,
        ramp_cycles: 7,
        geometric_visits: 8.0,
        geometric_cycles: 9.0,
        changed_cycles: 10,
        streak: 11,
        decayed: [12.0, 13.0, 14.0],
        weekdays: [15, 16, 17, 18, 19, 20, 21],
    };
    (known, history)
}

#[test]
fn shares_of_older_logs_mean_what_they_meant() {
    for (tag, share) in [
        (0, Share::Score),
        (1, Share::Discovery),
        (2, Share::Warmup),
        (4, Share::Followed),
        (5, Share::Announced),
    ] {
        assert_eq!(take_reason(&mut Take(&[tag])), Ok((share, None)));
        let mut written = Vec::new();
        put_reason(&mut written, share, None);
        assert_eq!(written, [tag], "and without a standing they still are");
    }
    for unknown in [10, 0x10, 0x20, 0x40, 0x90] {
        assert!(take_reason(&mut Take(&[unknown, 0, 0, 0, 0, 0, 0, 0])).is_err(), "{unknown:#x}");
    }
}

#[test]
fn a_count_of_links_that_are_not_there_reserves_nothing() {
    let mut bytes = vec![SEEDS];
    bytes.put_varint(u64::MAX >> 8);
    assert!(take_log_record(&bytes).is_err());
    let mut key = b"abc".to_vec();
    assert!(take_key(&mut Take(&[4, 0]), &mut key).is_err(), "shares four bytes of three");
    assert_eq!(key, b"abc");
}
