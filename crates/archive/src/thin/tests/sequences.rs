//! The archive grows and is thinned in turn. Whatever the order: the last version of each month can be read, and what is
//! left refers to nothing that is gone.

use super::*;
use std::cell::Cell;

/// The versions of a URL as a page, or as a requisite.
#[derive(Default)]
struct Chain {
    versions: Vec<Version>,
    /// Was the last answer without text, and the first such? It is a version, but no change of the page.
    is_blank: bool,
}

/// A crawl that goes on.
struct World {
    storage: Arc<MemoryStorage>,
    state: u64,
    /// The newest file.
    number: u32,
    /// By URL, and whether it is a page.
    chains: BTreeMap<(String, bool), Chain>,
    /// The last file that was thinned.
    after: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let (storage, chains) = (Arc::new(MemoryStorage::new()), BTreeMap::new());
        World { storage, state: seed, number: 0, chains, after: 0 }
    }

    fn dice(&mut self, end: u64) -> u64 {
        dice(&mut self.state, end)
    }

    fn begin_file(&mut self, at: u64, is_recovered: bool) {
        self.number += 1;
        begin_file(&*self.storage, self.number, at, is_recovered);
    }

    fn add(&self, url: &str, at: u64, record: &Record<'_>) -> ArchivePosition {
        let head = RecordHead::new(url, at, 200);
        let member = record.compress(&mut Compressor::new(), &head, std::iter::empty());
        append(&*self.storage, self.number, &member)
    }

    /// A visit that finds this body.
    fn found(&mut self, url: &str, is_page: bool, at: u64, body: &str) {
        let before = self.chains.get(&(url.to_owned(), is_page)).and_then(|chain| chain.versions.last());
        let before = before.map(|version| version.at);
        let position =
            self.add(url, at, &Record::Response { truncated: None, body: body.as_bytes(), before });
        // A crash loses the visit, and leaves its body.
        if self.dice(30) == 0 {
            self.begin_file(at, true);
            return;
        }
        let chain = self.chains.entry((url.to_owned(), is_page)).or_default();
        chain.is_blank = body.is_empty();
        chain.versions.push(Version { at: position, time: at, body: body.into(), revisits: Vec::new() });
    }

    fn visit(&mut self, url: &str, is_page: bool, at: u64) {
        let (dice, manner) = (self.dice(8), self.dice(3));
        let chain = self.chains.get(&(url.to_owned(), is_page));
        let last = chain.and_then(|chain| Some((chain.versions.last()?, chain.is_blank)));
        let body = match last {
            Some((_, false)) if is_page && dice == 0 => String::new(),
            Some((last, false)) if dice > 2 => {
                let of = EarlierCapture { at: if manner == 0 { 0 } else { last.time } };
                let record = match manner {
                    1 => Record::NotModified { of: Some(of) },
                    _ => Record::Same { body: last.body.as_bytes(), of },
                };
                self.add(url, at, &record);
                return;
            }
            _ => format!("{url} {is_page} at {at}"),
        };
        self.found(url, is_page, at, &body);
    }

    /// Thins what is due, or stops after some files.
    fn thin(&mut self, now: u64, files: u64) -> u64 {
        let left = Cell::new(files);
        let go_on = || {
            left.set(left.get().checked_sub(1).ok_or(io::ErrorKind::Interrupted)?);
            Ok(())
        };
        let named = |files: &BTreeSet<u32>| {
            let last = self.chains.values().filter_map(|chain| Some(chain.versions.last()?.at));
            Ok(last.filter(|at| files.contains(&at.file)).collect())
        };
        let thinning = Thinning { storage: &*self.storage, named: &named, go_on: &go_on };
        let mut versions = 0;
        while let Ok(Some(batch)) = thinning.next(self.after, begin_of_month(now - MIN_AGE)) {
            let Ok(dropped) = thinning.drop_from(&batch, now, false) else { break };
            versions += dropped.versions;
            self.after = batch.end();
        }
        versions
    }

    fn check(&self, what: &str) {
        let archive = ArchiveReader::open(self.storage.clone()).unwrap();
        let body = |at| ArchivedAnswer::read(&archive, at, 1 << 20).map(|answer| answer.body);
        for ((url, _), Chain { versions, is_blank }) in &self.chains {
            for (at, version) in versions.iter().enumerate() {
                let is_last = versions.get(at + 1).is_none_or(|next| month(next.time) != month(version.time));
                let is_behind_blank = *is_blank && at + 2 == versions.len();
                if is_last || is_behind_blank {
                    let date = crate::timestamp(version.time);
                    let found = body(version.at).unwrap_or_else(|e| panic!("{what}: {url} of {date}: {e}"));
                    assert_eq!(found, version.body.as_bytes(), "{what}: {url} of {date}");
                }
            }
        }
        each_reference_leads_to_a_body(&archive, what);
    }
}

/// Each revisit has the version that it names, and each version the body before it, if that was not dropped.
pub(super) fn each_reference_leads_to_a_body(archive: &ArchiveReader, what: &str) {
    let (mut bodies, mut referred) = (BTreeSet::new(), BTreeSet::new());
    for (_, name) in archive.files.iter() {
        let mut records = archive.records(name).unwrap();
        while let Some(found) = records.next_record().unwrap() {
            let field = |name: &str| found.field(name).unwrap_or_default().to_owned();
            match found.kind() {
                Some("response") => drop(bodies.insert(field("WARC-Record-ID"))),
                Some("revisit") => drop(referred.insert(field("WARC-Refers-To"))),
                _ => continue,
            }
            let before = found.field(BODY_BEFORE).and_then(body_before);
            if let Some(before) = before.and_then(|before| archive.present(before).unwrap()) {
                let answer = ArchivedAnswer::read(archive, before, 1).unwrap();
                assert_eq!(answer.field("WARC-Target-URI"), found.field("WARC-Target-URI"), "{what}");
            }
        }
    }
    referred.remove("");
    assert_eq!(referred.difference(&bodies).next(), None, "{what}: a revisit without its body");
}

#[test]
fn whatever_is_thinned_in_turn_what_is_left_refers_to_what_is_there() {
    let mut versions = 0;
    for seed in 0..12 {
        let mut world = World::new(seed);
        for day in 0..150 {
            let at = START + day * DAY;
            if day == 0 || world.dice(4) == 0 {
                world.begin_file(at, false);
            }
            for page in 0..4 {
                world.visit(&url(page), true, at + page * 1000);
            }
            // Two of the pages are requisites, too.
            for requisite in 2..6 {
                world.visit(&url(requisite), false, at + 60_000 + requisite * 1000);
            }
            if day > 40 && world.dice(12) == 0 {
                let files = if world.dice(3) == 0 { world.dice(40) } else { u64::MAX };
                versions += world.thin(at + DAY, files);
                world.check(&format!("seed {seed}, day {day}"));
            }
        }
    }
    assert!(versions > 2000, "{versions}");
}

/// The page's record names the blank answer, which is in a file that is not due.
#[test]
fn a_body_behind_a_first_answer_without_text_stays_in_a_file_before() {
    let day = |month: u64, day: u64| START + (month - 1) * 30 * DAY + day * DAY;
    let mut world = World::new(1);
    let (page, other) = (url(0), url(1));
    world.begin_file(day(1, 20), false);
    world.found(&page, true, day(1, 20), "old");
    world.found(&page, true, day(1, 25), "text");
    world.begin_file(day(1, 27), false);
    world.found(&page, true, day(1, 28), "");
    world.found(&other, true, day(2, 5), "other");
    world.begin_file(day(2, 10), false);
    world.found(&other, true, day(2, 10), "newer");
    // The second file has records of February: it is not due.
    assert_eq!(world.thin(day(2, 5) + MIN_AGE, 9), 1, "the first version alone");
    world.check("behind a blank answer");
}
