//! A proxy on loopback: HTTP (absolute URLs and CONNECT) and SOCKS5, with its own table of names.
//! It records every request.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Timeout for a client or a server.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum bytes of a request header.
const MAX_HEAD: usize = 16 << 10;

/// A requested connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyRequest {
    /// `http`, `connect` or `socks5`.
    pub how: &'static str,
    /// Host and port, as the client named them.
    pub target: String,
    /// The credentials: the value of `Proxy-Authorization`, or `user:password`.
    pub credentials: Option<String>,
}

/// A proxy, until dropped.
#[derive(Debug)]
pub struct TestProxy {
    address: SocketAddr,
    shared: Arc<SharedProxy>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedProxy {
    is_over: AtomicBool,
    names: BTreeMap<String, Ipv4Addr>,
    asked: Mutex<Vec<ProxyRequest>>,
}

impl TestProxy {
    /// Listens on an address; port 0 selects a free port. The proxy connects only to these names
    /// and to addresses.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(at: SocketAddr, names: BTreeMap<String, Ipv4Addr>) -> io::Result<TestProxy> {
        let listener = TcpListener::bind(at)?;
        let address = listener.local_addr()?;
        let shared =
            Arc::new(SharedProxy { is_over: AtomicBool::new(false), names, asked: Mutex::default() });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("mockweb-proxy".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if theirs.is_over.load(Ordering::Acquire) {
                    return;
                }
                let shared = Arc::clone(&theirs);
                // The client notices a failure.
                std::thread::spawn(move || serve(stream, &shared).ok());
            }
        })?;
        Ok(TestProxy { address, shared, thread: Some(thread) })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requested connections, in order.
    pub fn asked(&self) -> Vec<ProxyRequest> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TestProxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes the listener; if that fails, it has ended already.
        TcpStream::connect(self.address).ok();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl SharedProxy {
    /// Records a request and connects.
    fn connect(&self, asked: ProxyRequest) -> io::Result<TcpStream> {
        let target = asked.target.clone();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        let (host, port) = target.rsplit_once(':').ok_or(io::ErrorKind::InvalidInput)?;
        let port: u16 = port.parse().map_err(io::Error::other)?;
        let address = match self.names.get(host) {
            Some(address) => IpAddr::V4(*address),
            None => host.trim_matches(['[', ']']).parse().map_err(io::Error::other)?,
        };
        let stream = TcpStream::connect((address, port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }
}

fn serve(mut client: TcpStream, shared: &SharedProxy) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let mut first = [0];
    client.read_exact(&mut first)?;
    if first[0] == 5 { socks5(client, shared) } else { http(client, first[0], shared) }
}

/// RFC 9110 §7.6.2 and §9.3.6.
fn http(mut client: TcpStream, first: u8, shared: &SharedProxy) -> io::Result<()> {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
        if head.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    let head = String::from_utf8(head).map_err(io::Error::other)?;
    let (line, fields) = head.split_once("\r\n").ok_or(io::ErrorKind::InvalidData)?;
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let is_ours = |field: &&str| field.to_ascii_lowercase().starts_with("proxy-");
    let credentials = fields.split("\r\n").find(is_ours).and_then(|field| field.split_once(": "));
    let credentials = credentials.map(|(_, value)| value.to_owned());
    if method == "CONNECT" {
        let server = shared.connect(ProxyRequest { how: "connect", target: target.into(), credentials })?;
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        return join(client, server);
    }
    let rest = target.strip_prefix("http://").ok_or(io::ErrorKind::InvalidData)?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let authority = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let mut server = shared.connect(ProxyRequest { how: "http", target: authority, credentials })?;
    let kept: Vec<&str> = fields.split("\r\n").filter(|field| !field.is_empty() && !is_ours(field)).collect();
    write!(server, "{method} /{path} HTTP/1.1\r\n{}\r\nconnection: close\r\n\r\n", kept.join("\r\n"))?;
    io::copy(&mut server, &mut client).map(drop)
}

/// RFC 1928, with the passwords of RFC 1929.
fn socks5(mut client: TcpStream, shared: &SharedProxy) -> io::Result<()> {
    let methods = counted(&mut client)?;
    let mut credentials = None;
    if methods.contains(&2) {
        client.write_all(&[5, 2])?;
        client.read_exact(&mut [0])?;
        let (user, password) = (counted(&mut client)?, counted(&mut client)?);
        credentials =
            Some(format!("{}:{}", String::from_utf8_lossy(&user), String::from_utf8_lossy(&password)));
        client.write_all(&[1, 0])?;
    } else {
        client.write_all(&[5, 0])?;
    }
    let mut request = [0; 4];
    client.read_exact(&mut request)?;
    let host = match request[3] {
        1 => {
            let mut address = [0; 4];
            client.read_exact(&mut address)?;
            Ipv4Addr::from(address).to_string()
        }
        3 => String::from_utf8(counted(&mut client)?).map_err(io::Error::other)?,
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    let mut port = [0; 2];
    client.read_exact(&mut port)?;
    let target = format!("{host}:{}", u16::from_be_bytes(port));
    let server = shared.connect(ProxyRequest { how: "socks5", target, credentials })?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    join(client, server)
}

/// Reads a length byte and that many bytes.
fn counted(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut count = [0];
    stream.read_exact(&mut count)?;
    let mut bytes = vec![0; count[0].into()];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Forwards bytes in both directions until one side is done.
fn join(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let onwards = std::thread::spawn(move || {
        io::copy(&mut from_client, &mut to_server).ok();
        to_server.shutdown(Shutdown::Write).ok();
    });
    let (mut from_server, mut to_client) = (server, client);
    io::copy(&mut from_server, &mut to_client).ok();
    to_client.shutdown(Shutdown::Both).ok();
    onwards.join().ok();
    Ok(())
}
