//! Whole lives of a target, over each protocol: requests get lost or are made in part, servers refuse, programs are killed,
//! and after the next delivery that ends well the target holds what it should.

use super::{AfterAnswer, CopyItem, HttpMethod, TargetPlace, TargetProtocol, TargetRequest, TargetServer};
use crate::document::{PageDocument, id, name_of};
use crate::sync::{BatchAnswers, CopyChange, Interrupted, ItemAnswer, TargetCopy};
use proptest::prelude::*;
use recrawl_mockweb::target::{Api, AskedRequest, RequestFault, SearchServer};
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{DocumentState, copy_file};
use recrawl_types::{CanonicalUrl, UrlRules};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Time between two lives, of requests that are late, and for which nothing is sent then; in milliseconds.
const LIFE: u64 = 7_000;
const LATE: u64 = 15_000;
const LATENESS: Duration = Duration::from_secs(20);

/// Pages with their states.
type PageStates = BTreeMap<u8, u64>;

fn url(page: u8) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.test/{page:03}")).unwrap()
}

fn document(version: u64, url: &CanonicalUrl, state: u64) -> PageDocument {
    PageDocument {
        id: id(url),
        version,
        url: url.to_string(),
        host: "a.test".into(),
        title: None,
        language: None,
        content_type: None,
        status: 200,
        fetched_at: 5,
        changes: 0,
        text: Some(format!("state {state}")),
        fields: [("state".to_owned(), json!(state.to_string()))].into(),
    }
}

fn of_api(api: Api) -> Arc<dyn TargetServer> {
    let to = match api {
        Api::OpenSearch => "opensearch+http://a.test/docs",
        Api::Meilisearch => "meilisearch+http://a.test/docs",
        Api::Typesense => "typesense+http://a.test/docs",
        Api::Solr => "solr+http://a.test/solr/docs",
    };
    match TargetPlace::parse(to).unwrap().protocol {
        TargetProtocol::Server(server) => server,
        _ => panic!("a server"),
    }
}

/// A request and its answer: status, and body.
fn ask(store: &mut SearchServer, request: &TargetRequest) -> Option<(u16, String)> {
    let method = match request.method {
        HttpMethod::Get => "GET",
        HttpMethod::Post => "POST",
        HttpMethod::Delete => "DELETE",
    };
    let path = format!(
        "{}{}",
        request.url.path(),
        request.url.query().map_or(String::new(), |query| format!("?{query}"))
    );
    let (status, _, body) = store.answer(&AskedRequest { method, path: &path, body: &request.body })?;
    Some((status, body))
}

/// Sends items as the program does, in halves where the target asks for it.
fn send(
    server: &dyn TargetServer,
    store: &mut SearchServer,
    version: u64,
    items: &[CopyItem],
    answers: &mut Vec<ItemAnswer>,
) -> Result<(), String> {
    let mut request = server.request(version, items);
    loop {
        let (status, body) = ask(store, &request).ok_or("the connection broke")?;
        match server.read(items, status, body.as_bytes()) {
            AfterAnswer::Answers(found) => {
                assert_eq!(found.len(), items.len());
                answers.extend(found.into_iter().map(|(answer, _)| answer));
                return Ok(());
            }
            AfterAnswer::Divide => {
                assert!(items.len() > 1, "one document is not divided");
                let (first, second) = items.split_at(items.len() / 2);
                send(server, store, version, first, answers)?;
                return send(server, store, version, second, answers);
            }
            AfterAnswer::Interrupted(why) => return Err(why),
            AfterAnswer::Ask(next) => request = next,
            AfterAnswer::Make(index) => {
                ask(store, &index).filter(|(status, _)| *status == 201).ok_or("no collection was made")?;
            }
        }
    }
}

fn fault() -> impl Strategy<Value = RequestFault> {
    let answer = |status, body: &str| RequestFault::Answer(status, String::new(), body.into());
    prop_oneof![
        4 => Just(RequestFault::None),
        1 => (0usize..4).prop_map(RequestFault::Part),
        1 => Just(RequestFault::Lost),
        2 => Just(RequestFault::Late),
        1 => Just(answer(503, "busy")),
        1 => Just(answer(200, "<html>hello</html>")),
        1 => Just(answer(200, "")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The state 3 is one that the target refuses. Of a page that it refused, it may have an earlier state.
    #[test]
    fn each_kind_of_target_is_exact(
        webs in proptest::collection::vec(proptest::collection::btree_map(0u8..10, 0u64..4, 0..10), 1..6),
        faults in proptest::collection::vec(fault(), 0..12), kills in proptest::collection::vec(0usize..9, 5),
        batch in 1usize..6,
    ) {
        for api in [Api::OpenSearch, Api::Meilisearch, Api::Typesense, Api::Solr] {
            let (server, mut store) = (of_api(api), SearchServer::new(api));
            store.refused = Some("state 3".into());
            store.faults = VecDeque::from(faults.clone());
            let (storage, target) = (MemoryStorage::new(), "x");
            let lateness = if server.has_versions() { Duration::ZERO } else { LATENESS };
            let live = |web: &PageStates, kill: Option<usize>, store: &mut SearchServer, now: u64| {
                let (mut requests, mut killed_with) = (0, None);
                let mut send_changes = |version, changes: &[CopyChange]| {
                    let items: Vec<CopyItem> = changes.iter().map(|change| match change {
                        CopyChange::Put(url, state) => CopyItem::Put(Box::new(document(version, url, state.page))),
                        CopyChange::Delete(url) => CopyItem::Delete(url.clone()),
                    }).collect();
                    let mut answers = Vec::new();
                    let interrupted = send(&*server, store, version, &items, &mut answers).err();
                    requests += 1;
                    if kill == Some(requests) {
                        // What was not stored before is gone.
                        killed_with = Some(bytes(&storage));
                        return BatchAnswers { answers: Vec::new(), digests: Vec::new(), interrupted: Some("killed".into()) };
                    }
                    let given_up = |why| Interrupted { given_up: Some(now), ..Interrupted::from(why) };
                    BatchAnswers { answers, digests: Vec::new(), interrupted: interrupted.map(given_up) }
                };
                let pages = || web.iter().map(|(page, state)| Ok::<_, Infallible>((url(*page), DocumentState { page: *state, capture: 0 }))).collect::<Vec<_>>().into_iter();
                let ended = TargetCopy { storage: &storage, target, batch, lateness }.sync(now, &pages, &mut send_changes);
                if let Some(killed_with) = killed_with {
                    storage.create(&copy_file(&name_of(target))).unwrap().write(&killed_with).unwrap();
                    return false;
                }
                ended.is_ok()
            };
            let (mut now, mut arrives) = (5_000, None);
            for (web, kill) in webs.iter().zip(&kills) {
                live(web, Some(*kill), &mut store, now);
                if store.has_late() {
                    arrives = arrives.or(Some(now + LATE));
                }
                now += LIFE;
                if arrives.is_some_and(|arrives| arrives <= now) {
                    store.arrive();
                    arrives = None;
                }
            }
            store.faults.clear();
            store.arrive();
            let last = webs.last().unwrap();
            // After a kill it rests once more.
            let is_exact = [1, 2].into_iter().any(|rest| live(last, None, &mut store, now + rest * 30_000));
            prop_assert!(is_exact, "{api:?}");
            store.work(usize::MAX);
            let held: BTreeMap<&str, &str> = store.documents.values()
                .map(|(_, found)| (found["url"].as_str().unwrap(), found["text"].as_str().unwrap())).collect();
            let urls: BTreeMap<String, u64> = last.iter().map(|(page, state)| (url(*page).to_string(), *state)).collect();
            for (page, state) in urls.iter().filter(|(_, state)| **state != 3) {
                let expected = format!("state {state}");
                prop_assert_eq!(held.get(page.as_str()).copied(), Some(expected.as_str()), "{:?}", api);
            }
            for page in held.keys() {
                prop_assert!(urls.contains_key(*page), "{api:?} still has {page}");
            }
        }
    }
}

fn bytes(storage: &MemoryStorage) -> Vec<u8> {
    let file = storage.open(&copy_file(&name_of("x"))).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}
