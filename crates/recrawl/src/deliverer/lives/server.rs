//! Sends the changes of a life to a server, as the program does.

use super::web::{Web, page_of};
use recrawl_crawl::parts::deliver::{DeliverTarget, DocumentContent};
use recrawl_delivery::protocol::{
    AfterAnswer, CopyItem, HttpMethod, TargetProtocol, TargetRequest, TargetServer,
};
use recrawl_delivery::{BatchAnswers, CopyChange, Interrupted, ItemAnswer, SendChanges};
use recrawl_mockweb::target::{AskedRequest, SearchServer};
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_types::CanonicalUrl;
use std::collections::BTreeMap;

/// The texts that a server holds, by page.
pub fn held(store: &SearchServer) -> BTreeMap<u8, String> {
    let of = |found: &serde_json::Value| {
        (page_of(found["url"].as_str().unwrap()), found["text"].as_str().unwrap().to_owned())
    };
    store.documents.values().map(|(_, found)| of(found)).collect()
}

/// Sends to a server that things happen to, until the program is killed.
pub struct LifeSender<'l> {
    pub target: &'l DeliverTarget,
    pub store: &'l mut SearchServer,
    pub web: &'l Web,
    pub storage: &'l MemoryStorage,
    /// The file of the copy.
    pub file: &'l str,
    pub now: u64,
    pub requests: usize,
    /// The program is killed behind so many requests.
    pub kill: Option<usize>,
    /// The file as it was then.
    pub killed_with: Option<Vec<u8>>,
    /// Looks at the server behind each request.
    pub after_each: &'l dyn Fn(&SearchServer),
}

impl SendChanges for LifeSender<'_> {
    fn send(&mut self, version: u64, changes: &[CopyChange]) -> BatchAnswers {
        assert!(self.killed_with.is_none(), "a program that is killed sends nothing");
        let items: Vec<CopyItem> = changes.iter().map(|change| self.item(version, change)).collect();
        let digest = |item: &CopyItem| match item {
            CopyItem::Put(document) => document.digest(),
            CopyItem::Delete(_) => 0,
        };
        let digests = items.iter().map(digest).collect();
        let mut answers = Vec::new();
        let interrupted = self.send_items(version, &items, &mut answers).err();
        self.requests += 1;
        if self.kill == Some(self.requests) {
            self.killed_with = Some(bytes(self.storage, self.file));
            return BatchAnswers { interrupted: Some("killed".into()), ..BatchAnswers::default() };
        }
        let given_up = |why| Interrupted { given_up: Some(self.now), ..Interrupted::from(why) };
        BatchAnswers { answers, digests, interrupted: interrupted.map(given_up), ..BatchAnswers::default() }
    }

    fn digest(&mut self, page: &CanonicalUrl) -> Option<u64> {
        Some(self.web.document(0, page, self.is_markdown()).digest())
    }
}

impl LifeSender<'_> {
    fn is_markdown(&self) -> bool {
        matches!(self.target.content, DocumentContent::Markdown(_))
    }

    fn item(&self, version: u64, change: &CopyChange) -> CopyItem {
        match change {
            CopyChange::Put(url, _) => {
                CopyItem::Put(Box::new(self.web.document(version, url, self.is_markdown())))
            }
            CopyChange::Delete(url) => CopyItem::Delete(url.clone()),
        }
    }

    /// A request and its answer: status, and body.
    fn ask(&mut self, request: &TargetRequest) -> Option<(u16, String)> {
        let method = match request.method {
            HttpMethod::Get => "GET",
            HttpMethod::Post => "POST",
            HttpMethod::Delete => "DELETE",
        };
        let query = request.url.query().map_or(String::new(), |query| format!("?{query}"));
        let path = format!("{}{query}", request.url.path());
        let answer = self.store.answer(&AskedRequest { method, path: &path, body: &request.body });
        (self.after_each)(self.store);
        answer.map(|(status, _, body)| (status, body))
    }

    /// Sends items, in halves where the target asks for it.
    fn send_items(
        &mut self,
        version: u64,
        items: &[CopyItem],
        answers: &mut Vec<ItemAnswer>,
    ) -> Result<(), String> {
        let TargetProtocol::Server(server) = &self.target.place.protocol else { panic!("a server") };
        let server: &dyn TargetServer = &**server;
        let mut request = server.request(version, items);
        loop {
            let (status, body) = self.ask(&request).ok_or("the connection broke")?;
            match server.read(items, status, body.as_bytes()) {
                AfterAnswer::Answers(found) => {
                    assert_eq!(found.len(), items.len());
                    answers.extend(found.into_iter().map(|(answer, _)| answer));
                    return Ok(());
                }
                AfterAnswer::Divide => {
                    assert!(items.len() > 1, "one document is not divided");
                    let (first, second) = items.split_at(items.len() / 2);
                    self.send_items(version, first, answers)?;
                    return self.send_items(version, second, answers);
                }
                AfterAnswer::Interrupted(why) => return Err(why),
                AfterAnswer::Ask(next) => request = next,
                AfterAnswer::Make(index) => {
                    let made = self.ask(&index).filter(|(status, _)| *status == 201);
                    made.ok_or("no collection was made")?;
                }
            }
        }
    }
}

fn bytes(storage: &MemoryStorage, file: &str) -> Vec<u8> {
    let file = storage.open(file).expect("it is stored before anything is sent");
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}
