//! The running daemon of a data directory, through its control socket.
//!
//! Commands ask the daemon, because it has the data directory for itself. They work on the directory only where no
//! daemon runs.

mod request;
mod route;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use recrawl_console::view::{Accepted, Change};
use recrawl_crawl::failure::Failure;
pub use request::DaemonResponse;
use request::RequestError;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The socket, in the data directory.
pub const SOCKET: &str = "control.sock";
/// Time limit of the first question, which a daemon answers from memory.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of any other answer; the daemon itself ends after [`recrawl_console::ANSWER_TIMEOUT`].
const TIMEOUT: Duration = recrawl_console::ANSWER_TIMEOUT.saturating_add(GREETING_TIMEOUT);

/// Why the socket of another user cannot be used.
const ANOTHER_USER: &str = "it runs as another user; run this command as that user, or as root";

/// A daemon that answers.
pub struct Daemon {
    socket: PathBuf,
    /// The document of `GET /api/v1/status`.
    pub status: Value,
}

impl Daemon {
    /// The daemon that runs in a data directory; none if none does.
    ///
    /// # Errors
    /// Why it cannot be used, on one line: another user's, another version, it does not answer, or the file is no
    /// socket.
    pub fn find(data_dir: &Path) -> Result<Option<Daemon>, String> {
        let socket = data_dir.join(SOCKET);
        let unusable = |why: &str| format!("daemon at {}: {why}", socket.display());
        let answer =
            request::send(&socket, "GET", "/api/v1/status", "application/json", None, GREETING_TIMEOUT);
        let answer = match answer {
            Ok(answer) => answer,
            Err(RequestError::Connect(e)) => match e.kind() {
                // A daemon that was killed leaves its socket.
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => return Ok(None),
                io::ErrorKind::PermissionDenied => return Err(unusable(ANOTHER_USER)),
                _ => return Err(unusable(&e.to_string())),
            },
            Err(trouble) => return Err(unusable(&trouble.to_string())),
        };
        if answer.status == 403 {
            return Err(unusable(ANOTHER_USER));
        }
        let status: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        match status["version"].as_str() {
            Some(env!("CARGO_PKG_VERSION")) => Ok(Some(Daemon { socket, status })),
            Some(other) => Err(unusable(&format!(
                "it is recrawl {other}, and this is {}; restart the daemon, or use its program",
                env!("CARGO_PKG_VERSION")
            ))),
            None => Err(unusable("it does not answer as recrawl does")),
        }
    }

    /// For commands that change something: the daemon to ask, or none if the command may use the directory.
    ///
    /// # Errors
    /// As [`Daemon::find`].
    pub fn in_charge(data_dir: &Path) -> Result<Option<Daemon>, Failure> {
        Daemon::find(data_dir).map_err(Failure::Work)
    }

    /// Refuses what a daemon that runs in this data directory does itself, or must not see.
    ///
    /// # Errors
    /// That one runs, and `what` to do.
    pub fn refuse_beside(data_dir: &Path, what: &str) -> Result<(), Failure> {
        match Daemon::beside(data_dir) {
            Some(_) => Err(Failure::Work(format!("a daemon runs in {}: {what}", data_dir.display()))),
            None => Ok(()),
        }
    }

    /// For commands that only read: a daemon that cannot be used is a warning, since committed state can be read
    /// beside it.
    pub fn beside(data_dir: &Path) -> Option<Daemon> {
        Daemon::find(data_dir).unwrap_or_else(|why| {
            tracing::warn!("{why}; this is the last committed state");
            None
        })
    }

    /// Makes a change, which the daemon logs.
    ///
    /// # Errors
    /// The problem that the daemon reports, or that it does not answer; then the change may be made or not.
    pub fn make(&self, change: &Change) -> Result<Accepted, Failure> {
        let (method, path, body) = route::route(change);
        let answer = self.ask(method, &path, "application/json", body.as_ref())?;
        serde_json::from_value(self.document(&answer)?).map_err(Failure::work)
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        accept: &str,
        body: Option<&Value>,
    ) -> Result<DaemonResponse, Failure> {
        let body = body.map(Value::to_string);
        request::send(&self.socket, method, path, accept, body, TIMEOUT).map_err(|trouble| {
            let maybe = match (method, &trouble) {
                ("GET", _) | (_, RequestError::Connect(_)) => "",
                _ => "; `recrawl status` shows whether the change is in force",
            };
            Failure::Work(format!("{}: {trouble}{maybe}", self.name()))
        })
    }
}

/// It answers reads of the API: the daemon of a data directory, or the owner of another partition of its fleet.
pub trait ReadsApi {
    /// Its answer to `GET` of a path and query.
    ///
    /// # Errors
    /// That it does not answer.
    fn get(&self, path: &str, accept: &str) -> Result<DaemonResponse, Failure>;

    /// Its name, in words.
    fn name(&self) -> String;

    /// The JSON document at a path of the API; none for 404.
    ///
    /// # Errors
    /// The problem that it reports, or that it does not answer.
    fn json(&self, path: &str) -> Result<Option<Value>, Failure> {
        let answer = self.get(path, "application/json")?;
        Ok(if answer.status == 404 { None } else { Some(self.document(&answer)?) })
    }

    /// The JSON document at a path of the API.
    ///
    /// # Errors
    /// As [`ReadsApi::json`]; 404 is a problem too.
    fn found(&self, path: &str) -> Result<Value, Failure> {
        self.document(&self.get(path, "application/json")?)
    }

    /// The text for people at a path of the API; none for 404.
    ///
    /// # Errors
    /// As [`ReadsApi::json`].
    fn text(&self, path: &str) -> Result<Option<String>, Failure> {
        let answer = self.get(path, "text/plain")?;
        if answer.status == 404 { Ok(None) } else { self.words(answer).map(Some) }
    }

    /// The text for people at a path of the API.
    ///
    /// # Errors
    /// As [`ReadsApi::found`].
    fn found_text(&self, path: &str) -> Result<String, Failure> {
        self.words(self.get(path, "text/plain")?)
    }

    /// The text of an answer.
    ///
    /// # Errors
    /// The problem that it is.
    fn words(&self, answer: DaemonResponse) -> Result<String, Failure> {
        match answer.status {
            200 => String::from_utf8(answer.body).map_err(Failure::work),
            _ => Err(self.problem(&answer)),
        }
    }

    /// The JSON document of an answer.
    ///
    /// # Errors
    /// The problem that it is.
    fn document(&self, answer: &DaemonResponse) -> Result<Value, Failure> {
        if !(200..300).contains(&answer.status) {
            return Err(self.problem(answer));
        }
        serde_json::from_slice(&answer.body).map_err(Failure::work)
    }

    /// A problem of the API (RFC 9457) on one line.
    fn problem(&self, answer: &DaemonResponse) -> Failure {
        let problem: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let Some(detail) = problem["detail"].as_str() else {
            return Failure::Work(format!("{}: answered with status {}", self.name(), answer.status));
        };
        let todo = problem["todo"].as_str().map(|todo| format!("; {todo}")).unwrap_or_default();
        match answer.status {
            422 => Failure::Usage(format!("{detail}{todo}")),
            _ => Failure::Work(format!("{detail}{todo}")),
        }
    }
}

impl ReadsApi for Daemon {
    fn get(&self, path: &str, accept: &str) -> Result<DaemonResponse, Failure> {
        self.ask("GET", path, accept, None)
    }

    fn name(&self) -> String {
        format!("daemon at {}", self.socket.display())
    }
}

/// The unreserved characters of RFC 3986 §2.3 stay as they are.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A segment of a path or a value of a query, percent-encoded.
pub fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::request::MAX_ANSWER_BYTES;
    use super::*;
    use std::cell::Cell;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::thread;

    #[test]
    fn a_segment_of_a_path_is_one_segment() {
        assert_eq!(encoded("https://a.example/ü?b=c&d"), "https%3A%2F%2Fa.example%2F%C3%BC%3Fb%3Dc%26d");
        assert_eq!(encoded("a-b.C_9~"), "a-b.C_9~");
    }

    /// A daemon that reads a request and answers with these bytes, each time; it then closes.
    fn pretend(answer: &'static str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut stream = stream;
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        folder
    }

    fn why(folder: &tempfile::TempDir) -> String {
        let why = Daemon::find(folder.path()).err().expect("it cannot be used");
        assert!(why.contains(SOCKET) && !why.contains('\n'), "{why}");
        why
    }

    #[test]
    fn what_is_no_daemon_of_this_version_is_named_on_one_line() {
        let other = "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"version\":\"0.0.1\"}";
        assert!(why(&pretend(other)).contains("it is recrawl 0.0.1, and this is"), "{other}");
        assert!(why(&pretend("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")).contains("as recrawl does"));
        assert!(
            why(&pretend("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")).contains("another user")
        );
        assert!(why(&pretend("nonsense\r\n\r\n")).contains("not the answer of a daemon"));
        assert!(why(&pretend("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")).contains("stopped"));
        assert!(why(&pretend("")).contains("stopped"));
    }

    #[test]
    fn a_folder_without_a_socket_and_one_with_a_dead_one_have_no_daemon() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Daemon::find(folder.path()), Ok(None)));
        drop(UnixListener::bind(folder.path().join(SOCKET)).unwrap());
        assert!(matches!(Daemon::find(folder.path()), Ok(None)));
        std::fs::remove_file(folder.path().join(SOCKET)).unwrap();
        std::fs::write(folder.path().join(SOCKET), "x").unwrap();
        assert!(why(&folder).contains("not a socket"));
    }

    /// It knows nothing, and counts how often it is asked.
    #[derive(Default)]
    struct Ignorant(Cell<u32>);

    impl ReadsApi for Ignorant {
        fn get(&self, _path: &str, _accept: &str) -> Result<DaemonResponse, Failure> {
            self.0.set(self.0.get() + 1);
            Ok(DaemonResponse { status: 404, body: br#"{"detail":"unknown page","todo":"add it"}"#.to_vec() })
        }

        fn name(&self) -> String {
            "test".into()
        }
    }

    #[test]
    fn one_answer_says_that_something_is_unknown_and_why() {
        let api = Ignorant::default();
        assert_eq!(api.found("/").unwrap_err().to_string(), "unknown page; add it");
        assert_eq!(api.found_text("/").unwrap_err().to_string(), "unknown page; add it");
        assert_eq!(api.0.get(), 2);
    }

    #[test]
    fn an_answer_has_a_limit() {
        let endless = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{";
        const { assert!(MAX_ANSWER_BYTES < 99_999_999_999) };
        assert!(why(&pretend(endless)).contains("too long"));
    }
}
