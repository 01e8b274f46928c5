use super::*;
use recrawl_archive::{Archive, Compressor, Record, RecordHead};
use recrawl_crawl::config::Config;
use recrawl_repository::storage::MemoryStorage;
use recrawl_types::UrlRules;
use std::sync::Arc;

const START: u64 = 1_767_225_600_000;
const PAGE: &str = "http://a.test/";
const STYLE: &str = "http://a.test/x.css";

/// An archive of a page of some rounds and addresses, with the captures of its style sheet.
struct Archived {
    storage: Arc<MemoryStorage>,
    archive: Archive,
    tables: SledTables,
    settings: Settings,
    style: Option<ArchivePosition>,
}

impl Archived {
    fn new() -> Archived {
        let storage = Arc::new(MemoryStorage::new());
        let archive = Archive::create(storage.clone(), 1 << 20);
        let (tables, settings) =
            (SledTables::temporary().unwrap(), Settings::check(Config::default()).unwrap());
        Archived { storage, archive, tables, settings, style: None }
    }

    fn add(
        &mut self,
        url: &str,
        seconds: u64,
        round: Option<u32>,
        peer: &str,
        body: &str,
    ) -> ArchivePosition {
        let head = RecordHead {
            round,
            peer: peer.parse().ok(),
            ..RecordHead::new(url, START + seconds * 1000, 200)
        };
        let kind = if url == PAGE { &b"text/html"[..] } else { b"text/css" };
        let record = Record::Response {
            truncated: None,
            body: body.as_bytes(),
            before: self.style.filter(|_| url == STYLE),
        };
        let headers = [("Content-Type", kind)].into_iter();
        self.archive.append(&record.compress(&mut Compressor::new(), &head, headers)).unwrap()
    }

    fn style(&mut self, seconds: u64, round: Option<u32>, peer: &str) -> ArchivePosition {
        let at = self.add(STYLE, seconds, round, peer, &format!("p {{ width: {seconds}px }}"));
        let row = RequisiteRow { archive: at, ..RequisiteRow::default() };
        self.tables.keep_requisite(&UrlRules::keep_all().canonicalize(STYLE).unwrap(), &row).unwrap();
        self.style = Some(at);
        at
    }

    /// The captures of the style sheet that belong to pages of these times, rounds and addresses, found by one reader.
    fn found(&mut self, pages: &[(u64, Option<u32>, &str)]) -> Vec<Option<ArchivePosition>> {
        let body = "<link rel=stylesheet href=/x.css>";
        let pages: Vec<_> =
            pages.iter().map(|(seconds, round, peer)| self.add(PAGE, *seconds, *round, peer, body)).collect();
        let reader = ArchiveReader::open(self.storage.clone()).unwrap();
        let requisites = ArchivedRequisites::new(&self.tables, &reader, &self.settings);
        let url = UrlRules::keep_all().canonicalize(PAGE).unwrap();
        let style = |page: ArchivePosition| {
            let (answer, mut found) = (ArchivedAnswer::read(&reader, page, 1 << 20).unwrap(), None);
            requisites.of_version(&answer, &url, &mut |_, place, _| found = Some(place.at));
            found
        };
        pages.into_iter().map(style).collect()
    }
}

#[test]
fn a_version_has_the_last_capture_up_to_its_round_or_the_first() {
    let mut archived = Archived::new();
    let outside = "8.8.8.8";
    // All within an hour: the round tells them apart, and not the time.
    let [second, fourth, sixth] =
        [(10, 2), (20, 4), (30, 6)].map(|(seconds, round)| archived.style(seconds, Some(round), outside));
    let pages = [(1, Some(1)), (9, Some(2)), (12, Some(3)), (40, Some(5)), (50, Some(9)), (11, None)];
    let found = archived.found(&pages.map(|(seconds, round)| (seconds, round, outside)));
    assert_eq!(found, [second, second, second, fourth, sixth, sixth].map(Some));
}

#[test]
fn captures_without_a_round_belong_by_time() {
    let mut archived = Archived::new();
    let day = 86_400;
    let [first, second] = [0, day].map(|seconds| archived.style(seconds, None, "8.8.8.8"));
    let pages = [(0, None), (day / 2, None), (day - 60, None), (2 * day, Some(7))];
    let found = archived.found(&pages.map(|(seconds, round)| (seconds, round, "8.8.8.8")));
    assert_eq!(found, [first, first, second, second].map(Some));
}

#[test]
fn what_was_never_archived_counts_as_known_too() {
    let mut archived = Archived::new();
    let page = archived.add(PAGE, 1, Some(1), "8.8.8.8", "<img src=/1.png><img src=/2.png><img src=/1.png>");
    let reader = ArchiveReader::open(archived.storage.clone()).unwrap();
    let requisites = ArchivedRequisites::new(&archived.tables, &reader, &archived.settings);
    let answer = ArchivedAnswer::read(&reader, page, 1 << 20).unwrap();
    let url = UrlRules::keep_all().canonicalize(PAGE).unwrap();
    requisites.of_version(&answer, &url, &mut |url, _, _| panic!("{url}"));
    assert_eq!(requisites.known.get(), 2);
}

#[test]
fn a_page_from_outside_has_no_requisite_of_an_inside_address() {
    let mut archived = Archived::new();
    let inside = archived.style(1, Some(1), "10.0.0.1");
    let found = archived.found(&[(1, Some(1), "8.8.8.8"), (1, Some(1), "10.0.0.2"), (1, Some(1), "")]);
    assert_eq!(found, [None, Some(inside), None]);
}
