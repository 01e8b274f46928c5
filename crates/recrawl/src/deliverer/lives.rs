//! Whole lives of a target, over each protocol: a random web with redirects, duplicates and pages that ask not to be indexed,
//! rules, blocks and takedowns that come and go. Requests get lost, come twice, late or in part, the target refuses documents
//! and breaks off, the program is killed. After the next delivery that ends well the target holds what it should, and at no
//! moment has it a page whose takedown it has confirmed.

mod server;
mod web;

use super::wanted;
use super::{Committed, TargetCopy};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::settings::Settings;
use recrawl_delivery::protocol::{TargetPlace, TargetProtocol};
use recrawl_delivery::{SyncError, doubt, name_of, note_takedown};
use recrawl_mockweb::target::{Api, RequestFault, SearchServer};
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{CopyReader, Held, Repository, copy_file};
use server::{LifeSender, held};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use tempfile::NamedTempFile;
use web::{BAD, PAGES, Web, page_of, url};

/// Time between two rounds, of requests that are late, and for which nothing is sent then; in milliseconds.
const ROUND: u64 = 7_000;
const LATE: u64 = 15_000;
const LATENESS: u64 = 20_000;

/// A crawl, its target, and what an operator wants.
struct Life {
    api: Api,
    lot: StdRng,
    web: Web,
    store: SearchServer,
    /// A file with the key of the target.
    key: NamedTempFile,
    batch: u32,
    storage: Arc<MemoryStorage>,
    /// The last round.
    repository: Repository,
    now: u64,
    arrives: Option<u64>,
    excluded: Option<u8>,
    blocked: BTreeSet<u8>,
    taken_down: BTreeSet<u8>,
    obeys_noindex: bool,
    is_markdown: bool,
    /// The first edition that the target may have of pages that were taken down, and whether it confirmed their deletes.
    floors: BTreeMap<u8, (u64, bool)>,
    /// Pages whose documents were given up.
    given_up: BTreeSet<u8>,
}

/// How much happened in all lives: a life in which nothing does would prove nothing.
#[derive(Debug, Default)]
struct Happened {
    kills: u32,
    takedowns: u32,
    confirmed: u32,
    skipped: u64,
    documents: usize,
}

impl Life {
    fn new(api: Api, seed: u64) -> Life {
        let mut lot = StdRng::seed_from_u64(seed);
        let storage = Arc::new(MemoryStorage::new());
        let mut web = Web::new(&mut lot);
        let repository = web.visit(|_| true, &mut lot);
        let mut store = SearchServer::new(api);
        store.refused = Some(BAD.into());
        let batch = lot.random_range(1..6);
        let mut key = NamedTempFile::new().unwrap();
        key.write_all(b"key").unwrap();
        Life {
            api,
            web,
            lot,
            store,
            key,
            batch,
            storage,
            repository,
            now: 5_000,
            arrives: None,
            excluded: None,
            blocked: BTreeSet::new(),
            taken_down: BTreeSet::new(),
            obeys_noindex: true,
            is_markdown: false,
            floors: BTreeMap::new(),
            given_up: BTreeSet::new(),
        }
    }

    fn settings(&self) -> Settings {
        let exclude = self.excluded.map_or(String::new(), |page| format!("exclude = [\"*/{page:03}\"]"));
        let content = if self.is_markdown { "markdown" } else { "text" };
        let text = format!(
            "[scope]\nhosts = [\"a.test\"]\n{exclude}\n[consent]\nnoindex = {}\n[[deliver]]\nname = \"search\"\nto = \"{}\"\nbearer = \"file:{}\"\n\
             batch = {}\ntimeout = \"{LATENESS} ms\"\ncanonical = \"fold\"\ncontent = \"{content}\"\n",
            self.obeys_noindex,
            self.address(),
            self.key.path().display(),
            self.batch,
        );
        let mut settings = Settings::check(toml::from_str(&text).unwrap()).unwrap();
        settings.scope.refuse_taken_down(self.taken_down.iter().map(|page| pattern(*page)).collect());
        settings
    }

    /// Acts on the pages of the last round.
    fn with<T>(&self, act: impl FnOnce(&Committed<'_>) -> T) -> T {
        let blocked: Vec<Pattern> = self.blocked.iter().map(|page| pattern(*page)).collect();
        act(&Committed {
            settings: &self.settings(),
            blocks: Blocks::from_patterns(blocked.iter()),
            generation: &self.repository.current(),
            storage: &*self.storage,
            now: self.now,
            outside: Cell::default(),
        })
    }

    /// May a page neither be requested nor delivered?
    fn is_out(&self, page: u8) -> bool {
        self.excluded == Some(page) || self.blocked.contains(&page) || self.taken_down.contains(&page)
    }

    /// Changes the web, and what its operator wants.
    fn change(&mut self, happened: &mut Happened) {
        for _ in 0..self.lot.random_range(0..5) {
            let page = self.lot.random_range(0..PAGES);
            self.web.change(page, &mut self.lot);
        }
        let page = self.lot.random_range(0..PAGES);
        match self.lot.random_range(0..12) {
            0 => self.excluded = Some(page),
            1 => self.excluded = None,
            2 => drop(self.blocked.insert(page)),
            3 => drop(self.blocked.remove(&page)),
            4 => self.obeys_noindex = !self.obeys_noindex,
            5 => self.is_markdown = !self.is_markdown,
            6 => drop(doubt(&*self.storage, &self.copy_name(), None).unwrap()),
            7 => self.skip(happened),
            8 | 9 => self.take_down(page, happened),
            10 => drop(self.taken_down.pop_first()),
            _ => {}
        }
    }

    /// Takes a page down, for good or for now; it is another one when it is fetched again.
    fn take_down(&mut self, page: u8, happened: &mut Happened) {
        let (pattern, gone) = (pattern(page).to_string(), url(page));
        note_takedown(&*self.storage, &pattern, &|url| *url == gone, &|_| false).unwrap();
        let floor = self.web.forget(page, &mut self.lot);
        self.floors.insert(page, (floor, false));
        if self.lot.random() {
            self.taken_down.insert(page);
        }
        happened.takedowns += 1;
    }

    fn skip(&mut self, happened: &mut Happened) {
        let only = self.lot.random::<bool>().then(|| url(self.lot.random_range(0..PAGES)));
        let skipped =
            self.with(|committed| committed.skip(&committed.settings.deliver[0], only.as_ref()).unwrap());
        happened.skipped += skipped.refused + skipped.waiting;
        self.given_up.extend(
            self.copied()
                .into_iter()
                .filter_map(|(page, held)| matches!(held, Held::Skipped { .. }).then_some(page)),
        );
    }

    fn address(&self) -> String {
        self.api.index_at("a.test")
    }

    fn copy_name(&self) -> String {
        name_of(&self.address())
    }

    /// The entries of the copy.
    fn copied(&self) -> BTreeMap<u8, Held> {
        let Some(mut copy) = CopyReader::open(&*self.storage, &self.copy_name()).unwrap() else {
            return BTreeMap::new();
        };
        std::iter::from_fn(|| copy.next_page().unwrap())
            .map(|(url, held)| (page_of(&url.to_string()), held))
            .collect()
    }

    /// Visits each page that may be visited, and commits.
    fn crawl(&mut self) {
        let out: BTreeSet<u8> = (0..PAGES).filter(|page| self.is_out(*page)).collect();
        self.repository = self.web.visit(|page| !out.contains(&page), &mut self.lot);
    }

    /// Delivers, and is killed behind so many requests. Says whether all was taken.
    fn deliver(&mut self, kill: Option<usize>, happened: &mut Happened) -> bool {
        let confirmed = self.confirmed();
        let mut store = std::mem::replace(&mut self.store, SearchServer::new(self.api));
        let (is_taken, killed_with) = self.with(|committed| {
            let target = &committed.settings.deliver[0];
            let file = copy_file(&self.copy_name());
            let mut sender = LifeSender {
                target,
                store: &mut store,
                web: &self.web,
                storage: &self.storage,
                file: &file,
                now: self.now,
                requests: 0,
                kill,
                killed_with: None,
                after_each: &|store| keeps_out(store, &confirmed),
            };
            let pages = || wanted::pages(committed, target, &|| false);
            let copy: TargetCopy<'_> = committed.copy(target);
            let ended = copy.sync(self.now, &pages, &mut sender);
            let is_interrupted = matches!(ended, Err(SyncError::Interrupted(_)));
            assert!(ended.is_ok() || is_interrupted, "{:?}", ended.err());
            (!is_interrupted, sender.killed_with)
        });
        self.store = store;
        if let Some(bytes) = killed_with {
            // What was not stored before is gone.
            self.storage.create(&copy_file(&self.copy_name())).unwrap().write(&bytes).unwrap();
            happened.kills += 1;
        }
        let copied = self.copied();
        for (page, (_, is_confirmed)) in &mut self.floors {
            if !*is_confirmed && copied.get(page) != Some(&Held::TakenDown) {
                *is_confirmed = true;
                happened.confirmed += 1;
            }
        }
        self.keeps_out();
        is_taken
    }

    /// The first edition that the target may have of pages whose takedown it confirmed.
    fn confirmed(&self) -> BTreeMap<u8, u64> {
        let confirmed = self.floors.iter().filter(|(_, (_, is_confirmed))| *is_confirmed);
        confirmed.map(|(page, (floor, _))| (*page, *floor)).collect()
    }

    fn keeps_out(&self) {
        keeps_out(&self.store, &self.confirmed());
    }

    fn passes(&mut self, time: u64) {
        if self.store.has_late() {
            self.arrives = self.arrives.or(Some(self.now + LATE));
        }
        self.now += time;
        if self.arrives.is_some_and(|arrives| arrives <= self.now) {
            self.store.arrive();
            self.arrives = None;
        }
        self.keeps_out();
    }

    /// The target holds what the states of the web say, but of documents that it refuses or an operator gave up.
    fn is_exact(&self, happened: &mut Happened) {
        let held = held(&self.store);
        let copied = self.copied();
        let text = |page: u8| {
            let text = self.web.text(page, self.is_markdown, self.obeys_noindex);
            text.filter(|_| !self.is_out(page))
        };
        let is_folded = |page: u8| {
            self.web.original(page).is_some_and(|of| text(of).is_some() && self.web.original(of).is_none())
        };
        for page in 0..PAGES {
            let expected = text(page).filter(|_| !is_folded(page));
            let is_left = match (&expected, copied.get(&page)) {
                (Some(text), Some(Held::Refused { .. })) => text.contains(BAD),
                (Some(_), Some(Held::Skipped { .. })) => self.given_up.contains(&page),
                _ => false,
            };
            if !is_left {
                assert_eq!(held.get(&page), expected.as_ref(), "page {page}: {:?}", copied.get(&page));
            }
        }
        happened.documents += held.len();
    }
}

fn pattern(page: u8) -> Pattern {
    Pattern::try_from(url(page).to_string()).unwrap()
}

/// Has the server nothing from before a takedown that it has confirmed?
fn keeps_out(store: &SearchServer, confirmed: &BTreeMap<u8, u64>) {
    for (page, text) in held(store) {
        let floor = confirmed.get(&page).copied().unwrap_or_default();
        assert!(web::edition(&text) >= floor, "page {page} was taken down below {floor}: {text}");
    }
}

fn faults(lot: &mut StdRng) -> Vec<RequestFault> {
    let answer = |status, body: &str| RequestFault::Answer(status, String::new(), body.into());
    match lot.random_range(0..16) {
        0 | 1 => vec![RequestFault::Part(lot.random_range(0..4))],
        2 => vec![RequestFault::Lost],
        3 | 4 => vec![RequestFault::Late],
        5 => vec![RequestFault::Twice],
        6 => vec![answer(503, "busy")],
        7 => vec![answer(200, "<html>hello</html>")],
        8 => vec![answer(200, "")],
        // The server is killed while it makes a request, and is away for some more.
        9 | 10 => {
            vec![RequestFault::Part(lot.random_range(0..4)), RequestFault::Part(0), RequestFault::Part(0)]
        }
        _ => vec![RequestFault::None],
    }
}

/// One life: five rounds in which things happen, and a last one that ends well.
fn live(api: Api, seed: u64, happened: &mut Happened) {
    let mut life = Life::new(api, seed);
    for _ in 0..5 {
        life.change(happened);
        life.crawl();
        for _ in 0..2 {
            life.store.faults.extend(faults(&mut life.lot));
            let kill = life.lot.random_ratio(1, 3).then(|| life.lot.random_range(1..6));
            life.deliver(kill, happened);
            life.passes(ROUND);
        }
    }
    life.store.faults.clear();
    life.store.arrive();
    life.keeps_out();
    // After a kill it rests once more.
    let is_taken = (0..2).any(|_| {
        life.now += LATENESS + LATE;
        life.deliver(None, happened)
    });
    assert!(is_taken, "it is never delivered");
    life.store.work(usize::MAX);
    life.keeps_out();
    life.is_exact(happened);
}

/// The kind of a server in its address; none of another target.
fn kind_of_server(to: &str) -> Option<String> {
    let place = TargetPlace::parse(to).unwrap();
    let kind = place.address.split_once('+').map(|(kind, _)| kind.to_owned());
    kind.filter(|_| matches!(place.protocol, TargetProtocol::Server(_)))
}

#[test]
fn each_kind_of_server_has_a_stand_in_that_lives() {
    let kinds: BTreeSet<String> = TargetPlace::examples().filter_map(kind_of_server).collect();
    let lived = Api::ALL.iter().map(|api| kind_of_server(&api.index_at("a.test")).unwrap()).collect();
    assert_eq!(kinds, lived, "a kind of server has a stand-in, and that a place in `Api::ALL`");
}

/// RECRAWL_LIVES sets how many lives of each protocol there are, RECRAWL_LIFE_SEED with which one to begin.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a longer or a repeated run of a test is asked for by its documented variables"
)]
fn each_kind_of_target_is_exact_and_keeps_nothing_that_was_taken_down() {
    let setting = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first = setting("RECRAWL_LIFE_SEED", 1);
    for api in Api::ALL {
        let (mut happened, lives) = (Happened::default(), setting("RECRAWL_LIVES", 40));
        for seed in first..first + lives {
            // Shown if the life fails.
            println!("{api:?}, RECRAWL_LIFE_SEED={seed}");
            live(api, seed, &mut happened);
        }
        println!("{api:?}: {lives} lives: {happened:?}");
        let Happened { kills, confirmed, skipped, documents, .. } = happened;
        assert!(lives < 40 || kills > 9 && confirmed > 9 && skipped > 9 && documents > 99, "{happened:?}");
    }
}
