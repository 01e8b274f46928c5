//! Whatever byte is damaged: no more is lost than what lay in that block.

use super::*;
use crate::file::format::HEADER_BYTES;
use crate::generation::page_block::Changed;
use crate::storage::MemoryStorage;
use crate::testing::canonical;
use crate::{Repository, StoredVisit};
use recrawl_types::{Change, Content, History, Outcome, PageStatus, Share, Visited};

type Pages = BTreeMap<CanonicalUrl, PageRecord>;
type Image = BTreeMap<String, Vec<u8>>;

const BLOCK: usize = 4;
const PAGES: u32 = 24;

fn page(i: u32) -> (CanonicalUrl, PageRecord) {
    let url = canonical(&format!("https://host{}.example/page/{i:03}", i / 10));
    let mut record = PageRecord::discovered(Cycle(1), (i % 5) as u16);
    record.known.status = if i.is_multiple_of(7) { PageStatus::Gone } else { PageStatus::Live };
    if i.is_multiple_of(2) {
        let content = Content { payload: u64::from(i) * 77, ..Content::default() };
        record.visited = Some(Visited { history: History::first_fetch(Cycle(1)), content });
    }
    (url, record)
}

fn visit(i: u32) -> StoredVisit {
    let outcome = Outcome::Fetched(Change::Unchanged);
    StoredVisit {
        url: page(i).0,
        at: 1_790_000_000,
        share: Share::Score,
        outcome,
        confirmed: 0,
        missed: 0,
        learned: None,
    }
}

/// Two generations of a repository of six blocks, of which the second rewrote one and carries the others; reports, kept
/// visits and links that wait.
fn repository() -> (Image, Pages) {
    let storage = Arc::new(MemoryStorage::new());
    let mut repository = Repository::open(storage.clone()).unwrap().keeping_visits(5);
    let mut pages: Pages = (0..PAGES).map(page).collect();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, repository.current().cycle().next()).unwrap();
    let mut block = PageBlock::default();
    for (url, record) in &pages {
        writer.add_to_origin(url.origin_key(), 1, u64::from(record.visited.is_some())).unwrap();
        block.push(url.key(), record.clone());
    }
    writer.append(block.pack(Changed::ALL, BLOCK)).unwrap();
    writer.keep_visit(&visit(3)).unwrap();
    repository.commit(writer, b"{\"cycle\": 1}").unwrap();

    let base = repository.current();
    let mut writer = repository.begin(&base, repository.current().cycle().next()).unwrap();
    assert_eq!(base.blocks(), PAGES as usize / BLOCK);
    for at in 0..base.blocks() {
        if at == 2 {
            let (new, record) =
                (canonical("https://host0.example/page/009a"), PageRecord::discovered(Cycle(2), 1));
            writer.add_to_origin(new.origin_key(), 1, 0).unwrap();
            let mut changed = PageBlock::default();
            for (_, record) in pages.iter_mut().skip(at * BLOCK).take(BLOCK) {
                record.known.in_links = 9;
            }
            pages.insert(new, record);
            for (url, record) in pages.iter().skip(at * BLOCK).take(BLOCK + 1) {
                changed.push(url.key(), record.clone());
            }
            writer.replace(at, changed.pack(Changed::ALL, BLOCK)).unwrap();
        } else {
            writer.carry(at).unwrap();
        }
    }
    writer.wait(b"a link").unwrap();
    writer.wait(b"another").unwrap();
    writer.keep_visit(&visit(4)).unwrap();
    writer.keep_visit(&visit(5)).unwrap();
    repository.commit(writer, b"{\"cycle\": 2}").unwrap();
    assert_eq!(repository.verify(), []);
    (storage.image(), pages)
}

/// Salvages, and reads what is there then.
fn salvaged(image: &Image) -> (Salvaged, Pages, Repository) {
    let from = MemoryStorage::with_files(image.clone());
    let to: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let found = salvage(&from, &to, &|| None, &|_, _| {}).unwrap();
    assert_eq!(from.image(), *image, "the damaged one is only read");
    if !found.has_decisions {
        // What was decided is not made up: a person has to say it.
        assert!(matches!(Repository::open(to.clone()), Err(OpenError::Undecided(_))));
        decisions::write(&*to, decisions::NOTHING).unwrap();
    }
    let repository = Repository::open(to).unwrap().keeping_visits(5);
    assert_eq!(repository.verify(), []);
    let generation = repository.current();
    let mut pages = Pages::new();
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record().unwrap() {
        pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
    }
    assert_eq!((pages.len() as u64, generation.number()), (found.whole + found.urls_only, Round(2)));
    (found, pages, repository)
}

/// Pages that are as they were.
fn same(saved: &Pages, pages: &Pages) -> usize {
    pages.iter().filter(|(url, record)| saved.get(*url) == Some(record)).count()
}

#[test]
fn an_undamaged_repository_comes_out_whole_and_is_crawled_on() {
    let (image, pages) = repository();
    let (found, saved, mut repository) = salvaged(&image);
    assert_eq!(saved, pages);
    assert_eq!((found.whole, found.urls_only, found.lost), (pages.len() as u64, 0, 0));
    assert_eq!((found.reports, found.visits, found.waiting, found.by_manifest), (2, 3, 2, true));
    assert_eq!((found.damage, found.lost_ranges), (vec![], vec![]));
    let (mut before, mut runs) = (0, repository.current().origin_runs());
    while let Some(run) = runs.next_run().unwrap() {
        before += run.visited;
    }
    assert_eq!(before, repository.current().visited());
    let mut waiting = repository.current().waiting().unwrap();
    assert_eq!(waiting.next_record().unwrap(), Some(&b"a link"[..]));
    let base = repository.current();
    let mut writer = repository.begin(&base, repository.current().cycle().next()).unwrap();
    (0..base.blocks()).for_each(|at| writer.carry(at).unwrap());
    repository.commit(writer, b"{\"cycle\": 3}").unwrap();
    assert_eq!((repository.current().number(), repository.verify()), (Round(3), vec![]));
}

#[test]
fn whatever_byte_is_damaged_no_more_is_lost_than_its_block() {
    let (image, pages) = repository();
    let all = pages.len();
    for (name, bytes) in &image {
        for at in 0..bytes.len() {
            let mut flipped = image.clone();
            flipped.get_mut(name).unwrap()[at] ^= 1 << (at * 5 % 8);
            let (found, saved, _) = salvaged(&flipped);
            let what = format!("byte {at} of {name}");
            let is_told = found.damage.iter().any(|d| d.file.ends_with(name.as_str()));
            // What a later generation wrote anew is garbage, and need not be told.
            assert!(is_told || (saved == pages && name.contains("0001")), "{what} is told");
            let is_of = |part: &str| name.ends_with(part);
            // One block has five pages.
            let (least_known, least_whole) = match () {
                () if is_of(".keys") => (all - 5, all - 5),
                () if is_of(".known") || is_of(".history") || is_of(".content") => (all, all - 5),
                () => (all, all),
            };
            assert!(saved.len() >= least_known, "{what}: {} of {all} known", saved.len());
            assert!(saved.keys().all(|url| pages.contains_key(url)), "{what}: nothing is made up");
            let whole = same(&saved, &pages);
            assert!(whole >= least_whole && whole as u64 >= found.whole, "{what}: {whole} of {all} whole");
            assert_eq!(found.lost, (all - saved.len()) as u64, "{what}");
            assert_eq!(found.lost_ranges.iter().map(|r| r.pages).sum::<u64>(), found.lost, "{what}");
            let in_range = |url: &CanonicalUrl| {
                let holds = |r: &LostRange| {
                    url.key() >= r.from.as_slice() && r.to.as_deref().is_none_or(|to| url.key() < to)
                };
                found.lost_ranges.iter().any(holds)
            };
            assert!(pages.keys().all(|url| saved.contains_key(url) || in_range(url)), "{what} is located");
            let reports = if name == REPORTS { 1 } else { 2 };
            assert!(found.reports >= reports && found.visits >= if is_of(".kept") { 1 } else { 3 }, "{what}");
        }
    }
}

#[test]
fn files_that_are_gone_or_cut_cost_what_was_in_them() {
    let (image, pages) = repository();
    let all = pages.len() as u64;
    for (name, bytes) in &image {
        for cut in [None, Some(0), Some(bytes.len() / 2), Some(bytes.len() - 1)] {
            let mut damaged = image.clone();
            match cut {
                None => drop(damaged.remove(name)),
                Some(length) => damaged.get_mut(name).unwrap().truncate(length),
            }
            let (found, saved, _) = salvaged(&damaged);
            let what = format!("{name} cut to {cut:?}");
            assert_eq!(found.lost, all - saved.len() as u64, "{what}");
            assert!(name.ends_with(".keys") || found.lost == 0, "{what}");
            assert!(same(&saved, &pages) as u64 >= found.whole, "{what}");
            assert!(!found.damage.is_empty() || name.ends_with(".kept"), "{what}");
        }
    }
}

/// The index stands twice in its file. A frame that is damaged in both places lists 1,024 blocks: those of the others
/// keep their state.
#[test]
fn a_frame_of_the_index_costs_the_state_of_its_blocks_when_its_copy_is_damaged_too() {
    let storage = Arc::new(MemoryStorage::new());
    let mut repository = Repository::open(storage.clone()).unwrap();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, repository.current().cycle().next()).unwrap();
    let mut block = PageBlock::default();
    let record = PageRecord { known: Known { in_links: 5, ..Known::default() }, visited: None };
    for i in 0..2_500 {
        let url = canonical(&format!("https://a.example/{i:04}"));
        writer.add_to_origin(url.origin_key(), 1, 0).unwrap();
        block.push(url.key(), record.clone());
    }
    writer.append(block.pack(Changed::ALL, 1)).unwrap();
    repository.commit(writer, b"{}").unwrap();
    assert_eq!(repository.current().blocks(), 2_500);
    let mut image = storage.image();
    let half = (image["generation-0000000001.index"].len() - HEADER_BYTES) / 2;
    let second_frame = HEADER_BYTES + half / 2;
    for (damaged, expected) in
        [(second_frame, (2_500, 0, 0)), (second_frame + half, (2_500 - 1_024, 1_024, 0))]
    {
        image.get_mut("generation-0000000001.index").unwrap()[damaged] ^= 1;
        let from = MemoryStorage::with_files(image.clone());
        let to: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let found = salvage(&from, &to, &|| None, &|_, _| {}).unwrap();
        assert_eq!((found.whole, found.urls_only, found.lost), expected);
        let saved = Repository::open(to).unwrap();
        assert_eq!((saved.verify(), saved.current().pages()), (vec![], 2_500));
    }
}

#[test]
fn without_manifest_the_newest_whole_generation_is_taken() {
    let (mut image, pages) = repository();
    image.remove("MANIFEST");
    let (found, saved, _) = salvaged(&image);
    assert_eq!((found.by_manifest, found.whole, saved == pages), (false, pages.len() as u64, true));
    // What a merge that was cut short left behind names files that are not there.
    let mut begun = image["generation-0000000002.index"].clone();
    begun[16] = 3;
    let crc = crc32fast::hash(&begun[..20]);
    begun[20..24].copy_from_slice(&crc.to_le_bytes());
    image.insert("generation-0000000003.index".into(), begun);
    let (found, saved, _) = salvaged(&image);
    assert_eq!((found.generation, saved == pages), (Round(2), true));
}

#[test]
fn what_cannot_be_salvaged_is_refused() {
    let (image, _) = repository();
    let from = MemoryStorage::with_files(image.clone());
    let occupied: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(image));
    assert!(matches!(salvage(&from, &occupied, &|| None, &|_, _| {}), Err(SalvageError::Occupied(_))));
    let to: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let nothing = salvage(&MemoryStorage::new(), &to, &|| None, &|_, _| {});
    assert!(matches!(nothing, Err(SalvageError::Nothing(_))));
    assert_eq!(to.list().unwrap(), [] as [String; 0]);
}
