//! A client with one persistent connection to the console.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Timeout of a response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of a response.
const MAX_ANSWER: u64 = 64 << 20;

/// A connection that is opened on demand.
pub struct LoadClient {
    server: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

/// Status and body.
pub struct HttpAnswer {
    /// HTTP status.
    pub status: u16,
    /// Body as text, lossy.
    pub body: String,
}

impl LoadClient {
    /// A client for a server that may not run yet.
    pub fn new(server: SocketAddr) -> LoadClient {
        LoadClient { server, stream: None }
    }

    /// Sends a request; with `body`, a POST of JSON.
    ///
    /// # Errors
    /// If the connection fails, or the response is not HTTP/1.1 with a length.
    pub fn ask(&mut self, path: &str, body: Option<&str>) -> io::Result<HttpAnswer> {
        let answer = self.exchange(path, body);
        if answer.is_err() {
            self.stream = None;
        }
        answer
    }

    fn exchange(&mut self, path: &str, body: Option<&str>) -> io::Result<HttpAnswer> {
        let request = match body {
            None => format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.server),
            Some(json) => format!(
                "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
                self.server,
                json.len()
            ),
        };
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(connect(self.server)?),
        };
        stream.get_mut().write_all(request.as_bytes())?;
        read(stream)
    }
}

/// Reads server-sent events until `goes_on` returns false; returns the number of bytes.
///
/// # Errors
/// As [`LoadClient::ask`].
pub fn listen(server: SocketAddr, goes_on: impl Fn() -> bool) -> io::Result<u64> {
    let mut stream = connect(server)?;
    stream.get_ref().set_read_timeout(Some(Duration::from_secs(1)))?;
    write!(stream.get_mut(), "GET /api/v1/events HTTP/1.1\r\nHost: {server}\r\n\r\n")?;
    let (mut part, mut bytes) = ([0; 16 << 10], 0);
    while goes_on() {
        match stream.read(&mut part) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => bytes += read as u64,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes)
}

fn connect(server: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(BufReader::new(stream))
}

fn read(stream: &mut impl BufRead) -> io::Result<HttpAnswer> {
    let malformed = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_owned());
    let (mut status, mut length) = (None, None);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if status.is_none() {
            status = Some(line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or(malformed("no status"))?);
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse::<u64>().map_err(|_| malformed("no length"))?);
        }
    }
    let length = length.filter(|length| *length <= MAX_ANSWER).ok_or(malformed("no length"))?;
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    let status = status.ok_or(malformed("no status"))?;
    Ok(HttpAnswer { status, body: String::from_utf8_lossy(&body).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_on_one_connection_are_told_apart() {
        let mut wire: &[u8] =
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n";
        let first = read(&mut wire).expect("an answer");
        assert_eq!((first.status, &*first.body), (200, "hi"));
        let second = read(&mut wire).expect("another");
        assert_eq!((second.status, &*second.body), (404, ""));
        assert_eq!(read(&mut wire).err().map(|e| e.kind()), Some(ErrorKind::UnexpectedEof));
        let mut endless: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
        assert!(read(&mut endless).is_err());
    }
}
