//! A client for the mock web's control port: one request and one response per connection, loopback
//! only.
//!
//! HTTP/1.0, because its responses end with the connection and have no chunks. An HTTP library
//! would be this program's largest dependency, for four calls.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Timeout. The mock web responds from memory; a slower one hangs.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum bytes of a response. The log of a million visits is smaller.
const MAX_ANSWER: u64 = 1 << 30;

/// Why a request failed.
#[derive(Debug)]
pub enum HttpError {
    /// No connection, or it failed.
    Io(io::Error),
    /// The response is not HTTP, or truncated.
    Malformed(&'static str),
    /// A status other than 200, with the body.
    Status(u16, String),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpError::Io(e) => write!(f, "{e}"),
            HttpError::Malformed(what) => write!(f, "malformed response: {what}"),
            HttpError::Status(status, body) => write!(f, "status {status}: {}", body.trim()),
        }
    }
}

impl From<io::Error> for HttpError {
    fn from(e: io::Error) -> HttpError {
        HttpError::Io(e)
    }
}

/// Requests `path` and returns the body of a 200.
pub fn get(server: SocketAddr, path: &str) -> Result<String, HttpError> {
    ask(server, &format!("GET {path} HTTP/1.0\r\nHost: {server}\r\n\r\n"))
}

/// Sends a JSON document and returns the body of a 200.
pub fn post(server: SocketAddr, path: &str, json: &str) -> Result<String, HttpError> {
    let head = format!("POST {path} HTTP/1.0\r\nHost: {server}\r\nContent-Type: application/json\r\n");
    ask(server, &format!("{head}Content-Length: {}\r\n\r\n{json}", json.len()))
}

fn ask(server: SocketAddr, request: &str) -> Result<String, HttpError> {
    let mut stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER).read_to_string(&mut answer)?;
    body(&answer).map(str::to_owned)
}

/// The body of a complete response.
fn body(answer: &str) -> Result<&str, HttpError> {
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(HttpError::Malformed("incomplete header"))?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|l| l.split(' ').nth(1)).and_then(|s| s.parse::<u16>().ok());
    let status = status.ok_or(HttpError::Malformed("no status"))?;
    let lengths =
        lines.filter_map(|l| l.split_once(':')).filter(|(n, _)| n.eq_ignore_ascii_case("content-length"));
    let announced = lengths.last().and_then(|(_, value)| value.trim().parse::<usize>().ok());
    if announced.is_some_and(|n| n != body.len()) {
        return Err(HttpError::Malformed("the body length differs from Content-Length"));
    }
    if status == 200 { Ok(body) } else { Err(HttpError::Status(status, body.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn an_answer_is_taken_apart() {
        assert_eq!(body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").unwrap(), "hi");
        assert_eq!(body("HTTP/1.0 200 OK\r\n\r\n").unwrap(), "");
        for (answer, words) in [
            ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nhi", "differs from Content-Length"),
            ("HTTP/1.0 404 Not Found\r\n\r\nno such page\n", "status 404: no such page"),
            ("HTTP/1.0 200 OK\r\n", "incomplete header"),
            ("hello\r\n\r\n", "no status"),
        ] {
            let error = body(answer).expect_err(answer).to_string();
            assert!(error.contains(words), "{answer}: {error}");
        }
    }

    #[test]
    fn a_request_goes_over_the_wire() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = listener.local_addr().expect("it is bound");
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client comes");
            let mut request = [0; 512];
            let mut length = 0;
            while !request[..length].ends_with(b"{\"cycle\":7}") {
                length += stream.read(&mut request[length..]).expect("the request comes");
            }
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\ndone").expect("the answer goes");
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        assert_eq!(post(server, "/clock", "{\"cycle\":7}").expect("a 200"), "done");
        let request = served.join().expect("the server ends");
        assert!(request.starts_with("POST /clock HTTP/1.0\r\n"), "{request}");
        assert!(request.contains("Content-Length: 11\r\n"), "{request}");
    }
}
