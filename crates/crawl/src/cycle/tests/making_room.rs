//! The archive is thinned between rounds: a power cut at any point of it leaves each page its last body, and the crawl
//! goes on.

use super::*;
use recrawl_archive::thin::MIN_AGE;
use recrawl_archive::{ArchiveReader, WarcFiles, answer::ArchivedAnswer};
use recrawl_types::Span;

/// Makes room as a hundred days later: all but the newest file is old by then.
fn make_room(machine: &CrashMachine, age: u64) -> Result<(), Failure> {
    let mut crawl = machine.crawl(&[])?;
    crawl.settings.config.storage.keep_versions = Span::millis(age);
    let now = (crawl.clock)();
    crawl.clock = Arc::new(move || now + 100 * 86_400_000);
    crawl.make_room();
    Ok(())
}

/// The number of versions that the pages' records lead to.
fn versions(storage: &Arc<FaultyStorage>, generation: &Generation) -> usize {
    let archive = ArchiveReader::open(storage.clone()).unwrap();
    let (mut records, mut versions) = (generation.records(), 0);
    while let Some((_, _, record)) = records.next_record().unwrap() {
        let mut next = record.visited.and_then(|visited| visited.content.archive);
        while let Some(at) = next {
            next = ArchivedAnswer::read(&archive, at, 1 << 20).unwrap().before();
            versions += 1;
        }
    }
    versions
}

/// Four rounds of a web whose pages always change.
fn begun() -> (Server, CrashMachine, Vec<CanonicalUrl>) {
    let procedural =
        ProceduralConfig { pages: 16, hosts: 2, seed: 7, page_bytes: 900, ..ProceduralConfig::default() };
    let mut config = recrawl_mockweb::Config::new(WebConfig::Procedural(procedural));
    (config.noise, config.validators) = (1.0, recrawl_mockweb::Validators::None);
    let server = Server::start(config).unwrap();
    let canonical = |url: &String| UrlRules::default().canonicalize(url).unwrap();
    let seeds: Vec<CanonicalUrl> = server.seeds().iter().map(canonical).collect();
    let start = CrashMachine::with(&FileImages::new(), None);
    for _ in 0..4 {
        run(&start, &seeds, "blocked.test", &mut ReportedStored::default()).unwrap();
        server.advance().unwrap();
    }
    let begun = start.after(Survivors::All);
    (server, begun, seeds)
}

fn warc(machine: &CrashMachine) -> Vec<String> {
    let names = WarcFiles::in_storage(&*machine.storage).unwrap();
    names.iter().map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn a_power_cut_at_any_point_leaves_each_page_its_last_body_and_the_next_round_its_chain() {
    let (_server, begun, seeds) = begun();
    let files = begun.storage.image();
    let all = versions(&begun.storage, &begun.crawl(&[]).unwrap().repository.current());
    let off = CrashMachine::with(&files, Some(&begun.tables()));
    make_room(&off, 0).unwrap();
    assert_eq!(warc(&off), warc(&begun), "what is off changes nothing");
    let done = CrashMachine::with(&files, Some(&begun.tables()));
    make_room(&done, MIN_AGE).unwrap();
    let left = versions(&done.storage, &done.crawl(&[]).unwrap().repository.current());
    assert!(
        left < all && warc(&done).iter().any(|name| recrawl_archive::is_thinned(name)),
        "{left} of {all}"
    );
    let mut cuts = 0;
    for point in 1.. {
        let machine = CrashMachine::with(&files, Some(&begun.tables()));
        machine.storage.set_fault(StorageFault::Stop(point));
        // It warns, and opening fails or not; the power is off all the same.
        let is_done = make_room(&machine, MIN_AGE).is_ok() && machine.storage.list().is_ok();
        if is_done {
            break;
        }
        for survivors in [Survivors::Synced, Survivors::Some(point * 1_031), Survivors::All] {
            let what = format!("cut at point {point}, {survivors:?}");
            let left = machine.after(survivors);
            let crawl = left.crawl(&seeds).unwrap_or_else(|e| panic!("{what}: {e}"));
            let generation = crawl.repository.current();
            each_body_is_there(&*left.storage, &generation, &what);
            assert_eq!(
                verify(&*left.storage, &generation, MayBeGone::default()).unwrap().damage,
                [],
                "{what}"
            );
            drop(crawl);
            make_room(&left, MIN_AGE).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(warc(&left).len(), warc(&done).len(), "{what}");
            cuts += 1;
        }
    }
    println!("{all} versions, {left} left, {cuts} power cuts");
    assert!(cuts > 100, "{cuts}");
    // A round after it finds the bodies of before, and continues their chains.
    let before = warc(&done);
    run(&done, &seeds, "blocked.test", &mut ReportedStored::default()).unwrap();
    let crawl = done.crawl(&[]).unwrap();
    let generation = crawl.repository.current();
    each_body_is_there(&*done.storage, &generation, "the next round");
    assert_eq!(verify(&*done.storage, &generation, MayBeGone::default()).unwrap().damage, []);
    assert!(
        versions(&done.storage, &generation) > left && warc(&done).starts_with(&before[..before.len() - 1])
    );
}

#[test]
fn a_damaged_row_of_a_requisite_does_not_stop_it() {
    let (_server, begun, _) = begun();
    let url = "http://a.test/x.css";
    let crawl = begun.crawl(&[]).unwrap();
    // Table 9 has a row for this URL that nobody wrote so.
    let row = [&[9, url.len() as u8], url.as_bytes(), &[1, 7], b"damaged"].concat();
    crawl.tables.put_rows(&mut &[&(row.len() as u32).to_le_bytes(), &*row].concat()[..]).unwrap();
    crawl.tables.flush().unwrap();
    drop(crawl);
    make_room(&begun, MIN_AGE).unwrap();
    assert!(warc(&begun).iter().any(|name| recrawl_archive::is_thinned(name)));
    let (crawl, url) = (begun.crawl(&[]).unwrap(), UrlRules::default().canonicalize(url).unwrap());
    assert!(crawl.tables.requisite(&url).is_err(), "the row stays as it was");
}
