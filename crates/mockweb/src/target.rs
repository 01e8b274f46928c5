//! Search servers that take documents, written from the documentation of their APIs: OpenSearch, Meilisearch, Typesense
//! and Solr. They know the truth: what they hold, and what they were asked.

mod apis;

use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// The API of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `_bulk` with external versions.
    OpenSearch,
    /// Requests become tasks.
    Meilisearch,
    /// Lines, with an answer to each.
    Typesense,
    /// A request that has a wrong document fails, behind those before it.
    Solr,
}

impl Api {
    /// All of them.
    pub const ALL: [Api; 4] = [Api::OpenSearch, Api::Meilisearch, Api::Typesense, Api::Solr];

    /// The index of a server at this address, as `deliver.to` names it.
    pub fn index_at(self, server: &str) -> String {
        match self {
            Api::OpenSearch => format!("opensearch+http://{server}/docs"),
            Api::Meilisearch => format!("meilisearch+http://{server}/docs"),
            Api::Typesense => format!("typesense+http://{server}/docs"),
            Api::Solr => format!("solr+http://{server}/solr/docs"),
        }
    }
}

/// The end of a request that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// As if it were none.
    None,
    /// The first changes are made, then the connection breaks.
    Part(usize),
    /// All is made, and the answer gets lost.
    Lost,
    /// All is made twice, and answered once.
    Twice,
    /// Nothing is made now, and the connection breaks; all is made at [`SearchServer::arrive`].
    Late,
    /// Nothing is made, and this is the answer: status, header fields with line ends, body.
    Answer(u16, String, String),
}

/// A request, as received.
pub struct AskedRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// A server with one index, `docs`.
#[derive(Debug)]
pub struct SearchServer {
    /// Its API.
    pub api: Api,
    /// The documents by id, with external versions.
    pub documents: BTreeMap<String, (u64, Value)>,
    /// The next requests end so.
    pub faults: VecDeque<RequestFault>,
    /// A word that no document may have.
    pub refused: Option<String>,
    /// Requests that change something.
    pub changes: usize,
    /// All requests, by method and path.
    pub log: Vec<String>,
    /// Header field that each request must have.
    pub credentials: Option<String>,
    /// Does a list begin anew with each part?
    pub lists_anew: bool,
    /// Was the collection of Typesense made?
    has_index: bool,
    /// Times that a task is asked for before it ends.
    pub patience: usize,
    /// Method, path and body of requests that are late.
    late: Vec<(String, String, Vec<u8>)>,
    /// The versions of what was deleted.
    deleted: BTreeMap<String, u64>,
    tasks: Vec<apis::QueuedTask>,
}

impl SearchServer {
    /// A server without documents.
    pub fn new(api: Api) -> SearchServer {
        SearchServer {
            api,
            documents: BTreeMap::new(),
            faults: VecDeque::new(),
            refused: None,
            changes: 0,
            log: Vec::new(),
            credentials: None,
            lists_anew: false,
            has_index: false,
            patience: 1,
            late: Vec::new(),
            deleted: BTreeMap::new(),
            tasks: Vec::new(),
        }
    }

    /// The same on a port of loopback; with the address of its index, as `deliver.to` names it.
    pub fn serve(api: Api) -> (Arc<Mutex<SearchServer>>, String) {
        let server = Arc::new(Mutex::new(SearchServer::new(api)));
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let address = listener.local_addr().expect("it is bound");
        let to = api.index_at(&address.to_string());
        let served = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = served.clone();
                thread::spawn(move || connection(&served, stream));
            }
        });
        (server, to)
    }

    /// Answers a request; none if the connection breaks instead.
    pub fn answer(&mut self, asked: &AskedRequest<'_>) -> Option<(u16, String, String)> {
        self.log.push(format!("{} {}", asked.method, asked.path));
        // A fault is of a change; asking for one goes well.
        let is_change = matches!(asked.method, "POST" | "DELETE")
            && !asked.path.contains("_search")
            && !asked.path.contains("_refresh");
        let fault = if is_change {
            self.faults.pop_front().unwrap_or(RequestFault::None)
        } else {
            RequestFault::None
        };
        self.changes += usize::from(is_change);
        let most = match fault {
            RequestFault::Answer(status, fields, body) => return Some((status, fields, body)),
            RequestFault::Late => {
                self.late.push((asked.method.to_owned(), asked.path.to_owned(), asked.body.to_vec()));
                return None;
            }
            RequestFault::Part(most) => most,
            RequestFault::None | RequestFault::Lost | RequestFault::Twice => usize::MAX,
        };
        if fault == RequestFault::Twice {
            self.make(asked, most);
        }
        let (status, body) = self.make(asked, most);
        matches!(fault, RequestFault::None | RequestFault::Twice).then_some((status, String::new(), body))
    }

    fn make(&mut self, asked: &AskedRequest<'_>, most: usize) -> (u16, String) {
        match self.api {
            Api::OpenSearch => self.opensearch(asked, most),
            Api::Meilisearch => self.meilisearch(asked, most),
            Api::Typesense => self.typesense(asked, most),
            Api::Solr => self.solr(asked, most),
        }
    }

    /// Is a request late?
    pub fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Requests that are late are made.
    pub fn arrive(&mut self) {
        for (method, path, body) in std::mem::take(&mut self.late) {
            self.make(&AskedRequest { method: &method, path: &path, body: &body }, usize::MAX);
        }
    }

    /// A part of the documents, with the number of the next one.
    fn part(&self, from: usize) -> (Vec<(String, u64, Value)>, usize) {
        let from = if self.lists_anew { 0 } else { from };
        let all = self.documents.iter().skip(from).take(2);
        let part: Vec<_> =
            all.map(|(id, (version, found))| (id.clone(), *version, found["url"].clone())).collect();
        let next = from + part.len();
        (part, next)
    }

    fn is_refused(&self, document: &Value) -> bool {
        self.refused.as_ref().is_some_and(|word| document.to_string().contains(word))
    }

    /// Puts a document without external version.
    fn put(&mut self, document: &Value) {
        let id = document["id"].as_str().expect("a document has an id").to_owned();
        self.documents.insert(id, (document["version"].as_u64().unwrap_or_default(), document.clone()));
    }
}

fn lock(server: &Mutex<SearchServer>) -> MutexGuard<'_, SearchServer> {
    server.lock().expect("no panic under the lock")
}

/// Serves the requests of one connection.
fn connection(server: &Mutex<SearchServer>, stream: TcpStream) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap_or(0) > 2 {}
        let mut words = head.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return };
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let answer = {
            let mut server = lock(server);
            let is_wrong = server.credentials.as_ref().is_some_and(|field| !head.contains(field));
            match is_wrong {
                true => Some((401, String::new(), r#"{"message":"Forbidden"}"#.into())),
                false => server.answer(&AskedRequest { method, path, body: &body }),
            }
        };
        let Some((status, fields, body)) = answer else { return };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{fields}\r\n{body}"
        );
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
