//! A batch equals a plain map, whatever the log, its cuts, runs and threads.

use super::*;
use crate::touch::{Touch, put_links};
use crate::touched::Touched;
use proptest::collection::vec;
use proptest::prelude::*;
use recrawl_repository::VisitLog;
use recrawl_repository::spill::{SpillReader, SpillWriter};
use recrawl_repository::storage::MemoryStorage;
use recrawl_types::Round;
use recrawl_types::schedule::MemorySchedule;
use recrawl_types::{Link, Outcome, PageRecord, ScheduleEntry, Share, Skip, Skipped, UrlRules};
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Touch>;

const CYCLE: Cycle = Cycle(7);
const ROUND: DatedRound = DatedRound { round: Round(7), cycle: CYCLE };

const ORIGINS: &[&str] =
    &["http://a.example", "https://a.example", "http://a.example:8080", "http://b.a.example", "http://[::1]"];

/// Paths that share chunks of eight bytes, end within or at the end of a chunk, and are prefixes of
/// each other; origins with common prefixes.
fn url() -> impl Strategy<Value = CanonicalUrl> {
    let paths = "[ab]{0,3}(section/){0,3}[ab]{0,2}(/page-00000000[0-9])?";
    (proptest::sample::select(ORIGINS), paths)
        .prop_map(|(origin, path)| UrlRules::keep_all().canonicalize(&format!("{origin}/{path}")).unwrap())
}

fn link() -> impl Strategy<Value = Link> {
    (url(), 0u16..5, 0u8..3, any::<(bool, bool)>(), 0u32..4).prop_map(
        |(url, depth, hops, (counted, listed), lastmod)| Link {
            url,
            depth,
            hops,
            counted,
            listed,
            lastmod,
            expectation: (lastmod > 1)
                .then(|| recrawl_types::Expectation::new(f64::from(depth), hops, lastmod)),
        },
    )
}

fn visit(url: CanonicalUrl, at: u64, links: Vec<Link>) -> LogRecord {
    LogRecord::Visit(Box::new(Visit { at, links, ..Visit::new(url, Outcome::RobotsDenied) }))
}

fn log() -> impl Strategy<Value = Vec<LogRecord>> {
    let record = prop_oneof![
        4 => (url(), 0u64..9, vec(link(), 0..8)).prop_map(|(url, at, links)| visit(url, at, links)),
        1 => vec(link(), 0..4).prop_map(LogRecord::Seeds),
    ];
    vec(record, 0..40)
}

fn model(log: &[LogRecord]) -> Model {
    let mut model = Model::new();
    let mut add = |link: &Link, seed| {
        let links = Links::from_link(&link.into(), seed, CYCLE);
        model.entry(link.url.key().to_vec()).or_default().add_links(links);
    };
    for record in log {
        match record {
            LogRecord::Seeds(links) => links.iter().for_each(|link| add(link, true)),
            LogRecord::Visit(visit) => visit.links.iter().for_each(|link| add(link, false)),
            LogRecord::Skipped(_) => unreachable!("none is made"),
        }
    }
    for record in log {
        if let LogRecord::Visit(visit) = record {
            let visit = Visit { links: Vec::new(), ..(**visit).clone() };
            model.entry(visit.url.key().to_vec()).or_default().add_visit(visit);
        }
    }
    model
}

fn batch(log: &[LogRecord], memory_bytes: usize, threads: usize) -> SortedBatch {
    let storage = Arc::new(MemoryStorage::default());
    let mut batch = Batch::new(storage, ROUND, BatchLimits { memory_bytes }).on_threads(threads);
    for record in log {
        batch.add(record.clone()).unwrap();
        assert!(batch.gathered.bytes() <= memory_bytes, "the rest is on disk");
    }
    batch.finish().unwrap()
}

/// All URLs in their order.
fn read(mut batch: SortedBatch) -> Vec<(Vec<u8>, Touch)> {
    let (mut out, mut touched) = (Vec::new(), Touched::default());
    while let Some(key) = batch.peek().map(<[u8]>::to_vec) {
        assert!(batch.next_into(&mut touched).unwrap());
        assert_eq!(touched.key(touched.len() - 1), key);
        if touched.len() == 3 {
            out.extend((0..3).map(|at| (touched.key(at).to_vec(), touched.take(at))));
            touched = Touched::default();
        }
    }
    assert!(!batch.next_into(&mut touched).unwrap());
    out.extend((0..touched.len()).map(|at| (touched.key(at).to_vec(), touched.touch(at).clone())));
    batch.remove().unwrap();
    out
}

proptest! {
    #[test]
    fn a_batch_equals_the_model_however_it_is_spilled(log in log(), memory in 0usize..20_000) {
        let expected: Vec<_> = model(&log).into_iter().collect();
        for memory_bytes in [0, memory, 1 << 30] {
            prop_assert_eq!(&read(batch(&log, memory_bytes, 3)), &expected);
        }
    }

    #[test]
    fn a_log_read_ahead_gives_the_same(log in log(), memory in 0usize..20_000) {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let (mut file, _) = VisitLog::open(&*storage, ROUND.round).unwrap();
        log.iter().for_each(|record| file.append(record).unwrap());
        let mut batch = Batch::new(storage.clone(), ROUND, BatchLimits { memory_bytes: memory });
        let mut observed = Vec::new();
        let observe = |visit: &Visit, links: usize| observed.push((visit.url.clone(), visit.at, links));
        batch.add_log(VisitLog::read(&*storage, ROUND.round).unwrap(), &MemorySchedule::default(), observe, |_| true).unwrap();
        prop_assert_eq!(read(batch.finish().unwrap()), model(&log).into_iter().collect::<Vec<_>>());
        let visits = log.iter().filter_map(|record| match record {
            LogRecord::Visit(visit) => Some((visit.url.clone(), visit.at, visit.links.len())),
            LogRecord::Seeds(_) | LogRecord::Skipped(_) => None,
        });
        prop_assert_eq!(observed, visits.collect::<Vec<_>>());
    }

    #[test]
    fn skipped_pages_in_one_record_are_as_many_visits(
        urls in proptest::collection::btree_set(url(), 1..30), others in log(), cuts in vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let entries = urls.iter().map(|url| ScheduleEntry::new(url.clone(), Share::Audit(0.5), PageRecord::default()));
        let schedule = MemorySchedule::new(entries.collect());
        let mut cuts: Vec<u64> = cuts.iter().map(|cut| cut.index(urls.len() + 1) as u64).collect();
        cuts.sort_unstable();
        let ranges = cuts.windows(2).map(|cut| cut[0]..cut[1]).filter(|pages| !pages.is_empty());
        let skipped: Vec<Skipped> = ranges.map(|pages| Skipped { pages, why: Skip::ByteBudget, at: 7 }).collect();
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let (mut file, _) = VisitLog::open(&*storage, ROUND.round).unwrap();
        let records = others.iter().cloned().chain(skipped.iter().cloned().map(LogRecord::Skipped));
        records.for_each(|record| file.append(&record).unwrap());
        let mut expected = others;
        for skipped in &skipped {
            for host in schedule.hosts() {
                let indexes = host.start..host.start + host.count;
                for (index, entry) in indexes.zip(schedule.read(host, host.start, host.count as usize).unwrap()) {
                    if skipped.pages.contains(&index) {
                        let visit = Visit::new(entry.url, Outcome::Skipped(Skip::ByteBudget));
                        let visit = Visit { index: Some(index), share: entry.share, at: 7, ..visit };
                        expected.push(LogRecord::Visit(Box::new(visit)));
                    }
                }
            }
        }
        let mut batch = Batch::new(storage.clone(), ROUND, BatchLimits { memory_bytes: 5000 });
        let mut observed = 0;
        let log = VisitLog::read(&*storage, ROUND.round).unwrap();
        batch.add_log(log, &schedule, |_, _| observed += 1, |_| true).unwrap();
        prop_assert_eq!(read(batch.finish().unwrap()), model(&expected).into_iter().collect::<Vec<_>>());
        prop_assert_eq!(observed, expected.iter().filter(|record| matches!(record, LogRecord::Visit(_))).count());
        let (_, recovered) = VisitLog::open(&*storage, ROUND.round).unwrap();
        let pages: u64 = skipped.iter().map(|skipped| skipped.pages.end - skipped.pages.start).sum();
        prop_assert_eq!(recovered.done.count(), pages);
        prop_assert!(skipped.iter().flat_map(|skipped| skipped.pages.clone()).all(|index| recovered.done.contains(index)));
    }

    #[test]
    fn an_origin_is_main_exactly_when_a_page_of_it_is_visited_or_a_seed(log in log(), memory in 0usize..9000) {
        let batch = batch(&log, memory, 1);
        let main: HashSet<&[u8]> = log.iter().flat_map(|record| match record {
            LogRecord::Visit(visit) => vec![visit.url.origin_key()],
            LogRecord::Seeds(links) => links.iter().map(|link| link.url.origin_key()).collect(),
            LogRecord::Skipped(_) => unreachable!("none is made"),
        }).collect();
        for key in model(&log).keys() {
            let origin = CanonicalUrl::origin_of(key);
            prop_assert_eq!(batch.is_main(origin), main.contains(origin));
        }
    }

    #[test]
    fn links_that_waited_are_combined_with_the_batch(
        log in log(),
        waiting in proptest::collection::btree_map(url(), (link(), 1u64..9, 1u32..7), 0..20),
        memory in 0usize..9000,
    ) {
        let storage = MemoryStorage::default();
        let mut writer = SpillWriter::create(&storage, Round(1), 0).unwrap();
        let mut expected = model(&log);
        for (url, (link, seen, since)) in &waiting {
            let links = Links { seen: *seen, ..Links::from_link(&link.into(), false, Cycle(*since)) };
            let mut record = Vec::new();
            put_links(&mut record, &[], url.key(), &links);
            writer.push(&record).unwrap();
            expected.entry(url.key().to_vec()).or_default().add_links(links);
        }
        writer.finish().unwrap();
        let waiting = SpillReader::open(&storage, Round(1), 0).unwrap();
        let batch = batch(&log, memory, 1).with_waiting(waiting).unwrap();
        prop_assert_eq!(read(batch), expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_visit_does_not_wait() {
    let storage = MemoryStorage::default();
    let mut writer = SpillWriter::create(&storage, Round(1), 0).unwrap();
    let mut record = Vec::new();
    let LogRecord::Visit(page) =
        visit(UrlRules::keep_all().canonicalize("http://a.example/").unwrap(), 1, vec![])
    else {
        unreachable!("a visit is made above")
    };
    crate::touch::put_one_visit(&mut record, &page);
    writer.push(&record).unwrap();
    writer.finish().unwrap();
    let waiting = SpillReader::open(&storage, Round(1), 0).unwrap();
    let refused = batch(&[], 1000, 1).with_waiting(waiting).unwrap_err();
    assert!(refused.to_string().contains("it holds a visit"), "{refused}");
}

#[test]
fn links_to_one_url_are_combined_also_where_a_block_of_paths_ends() {
    let url = |path: &str| UrlRules::keep_all().canonicalize(&format!("http://a.example/{path}")).unwrap();
    let paths = ["a", "b", "c"];
    let links = (0..2000).map(|i| Link::to(url(paths[i % 3]), i as u16)).collect();
    let log = [visit(url("b"), 1, links), visit(url("b"), 2, vec![])];
    let read = read(batch(&log, 1 << 30, 1));
    assert_eq!(read, model(&log).into_iter().collect::<Vec<_>>());
    assert_eq!((read.len(), read[1].1.visits.len()), (3, 2));
    assert_eq!(read[0].1.links.map(|links| links.seen), Some(667));
}

/// A schedule that is shorter than the log says is damage, and not the end.
#[test]
fn pages_outside_the_schedule_are_an_error() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let (mut file, _) = VisitLog::open(&*storage, ROUND.round).unwrap();
    let skipped = Skipped { pages: 0..3, why: Skip::Deadline, at: 7 };
    file.append(&LogRecord::Skipped(skipped)).unwrap();
    let mut batch = Batch::new(storage.clone(), ROUND, BatchLimits::default());
    let log = VisitLog::read(&*storage, ROUND.round).unwrap();
    let error = batch.add_log(log, &MemorySchedule::default(), |_, _| {}, |_| true).unwrap_err();
    assert_eq!(error.to_string(), "the schedule cannot be read: pages outside the schedule");
}
