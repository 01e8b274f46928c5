//! A minimal client that shares no code with the server.

use recrawl_mockweb::{Config, ProceduralConfig, ReplayConfig, Server, WebConfig};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A response, as far as it arrived.
#[derive(Debug, Default)]
pub struct Reply {
    /// 0 if no header arrived.
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    /// The error that ended reading, if any.
    pub error: Option<std::io::ErrorKind>,
}

impl Reply {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Host with port, and target.
pub fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").expect("an http URL");
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

pub fn connect(authority: &str) -> TcpStream {
    let stream = TcpStream::connect(authority).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream
}

/// One request on a connection of its own.
pub fn ask(method: &str, url: &str, fields: &[(&str, &str)], body: &str) -> Reply {
    let (authority, target) = split(url);
    ask_at(authority, method, authority, target, fields, body)
}

/// The same, connected to another address than that of the host's name.
pub fn ask_at(
    at: &str,
    method: &str,
    host: &str,
    target: &str,
    fields: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut stream = connect(at);
    let mut request = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in fields {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(request.as_bytes()).unwrap();
    read(&mut stream)
}

fn read(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let error = stream.read_to_end(&mut bytes).err().map(|e| e.kind());
    let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else {
        return Reply { error, ..Reply::default() };
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut reply = Reply { status, head, body: bytes[end + 4..].to_vec(), error };
    if reply.field("transfer-encoding") == Some("chunked") {
        reply.body = dechunk(&reply.body);
    }
    reply
}

fn dechunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        out.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
        if size == 0 {
            break;
        }
    }
    out
}

pub fn get(url: &str) -> Reply {
    ask("GET", url, &[], "")
}

/// The `href`s of a page, decoded and joined to the page's URL, without fragments.
pub fn links(url: &str, html: &str) -> Vec<String> {
    let (authority, target) = split(url);
    let folder = &target[..target.split('?').next().unwrap().rfind('/').unwrap()];
    html.split(" href=\"")
        .skip(1)
        .map(|rest| {
            let href = rest.split('"').next().unwrap().replace("&amp;", "&");
            let href = href.split('#').next().unwrap();
            if href.is_empty() {
                return url.to_string();
            }
            if href.starts_with("http") {
                href.to_string()
            } else if let Some(rest) = href.strip_prefix("//") {
                format!("http://{rest}")
            } else if href.starts_with('/') {
                format!("http://{authority}{href}")
            } else {
                let mut folders: Vec<&str> = folder.split('/').skip(1).collect();
                let mut rest = href;
                while let Some(up) = rest.strip_prefix("../") {
                    folders.pop();
                    rest = up;
                }
                folders.push(rest);
                format!("http://{authority}/{}", folders.join("/"))
            }
        })
        .collect()
}

/// A served procedural web.
pub fn procedural(pages: u32, hosts: u32, change: impl FnOnce(&mut Config)) -> Server {
    let web = ProceduralConfig { pages, hosts, seed: 7, ..ProceduralConfig::default() };
    let mut config = Config::new(WebConfig::Procedural(web));
    change(&mut config);
    Server::start(config).expect("the server starts")
}

/// The bundled recording, served.
pub fn bundled(change: impl FnOnce(&mut Config)) -> Server {
    let mut config = Config::new(WebConfig::Replay(ReplayConfig::default()));
    change(&mut config);
    Server::start(config).expect("the server starts")
}
