//! A name server on loopback (RFC 1035, over UDP) whose answers may change from query to query.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

const A: u16 = 1;
const SOA: u16 = 6;
const AAAA: u16 = 28;
/// The name of the question, as a compression pointer.
const ITS_NAME: [u8; 2] = [0xc0, 12];

/// A name server, until dropped.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    shared: Arc<SharedNames>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SharedNames {
    is_over: AtomicBool,
    /// Number of address queries by name.
    asked: Mutex<BTreeMap<String, usize>>,
}

impl NameServer {
    /// Listens on an address; port 0 selects a free port. `answer` gives the addresses of a name,
    /// by the number of earlier queries; none for an unknown name. All answers, also negative ones,
    /// are valid for `ttl` seconds.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(
        at: SocketAddr,
        ttl: u32,
        answer: impl Fn(&str, usize) -> Vec<IpAddr> + Send + 'static,
    ) -> io::Result<NameServer> {
        let socket = UdpSocket::bind(at)?;
        let address = socket.local_addr()?;
        let shared = Arc::<SharedNames>::default();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("mockweb-dns".into()).spawn(move || {
            let mut message = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut message) {
                if theirs.is_over.load(Ordering::Acquire) {
                    return;
                }
                let Some((name, kind, end)) = question(&message[..length]) else { continue };
                let nth = {
                    let mut asked = theirs.asked.lock().unwrap_or_else(PoisonError::into_inner);
                    let count = asked.entry(name.clone()).or_default();
                    *count += usize::from(kind == A);
                    count.saturating_sub(1)
                };
                let reply = reply(&message[..end], kind, &answer(&name, nth), ttl);
                // A client that disconnected needs no answer.
                socket.send_to(&reply, from).ok();
            }
        })?;
        Ok(NameServer { address, shared, thread: Some(thread) })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of queries by name.
    pub fn asked(&self) -> BTreeMap<String, usize> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes the listener; if that fails, it has ended already.
        UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(&[0], self.address)).ok();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The name and type of the question, and its end.
fn question(message: &[u8]) -> Option<(String, u16, usize)> {
    let (mut at, mut labels) = (12, Vec::new());
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?);
    Some((labels.join("."), kind, at + 4))
}

/// The answer to a question: addresses of the requested type, else a negative answer (RFC 2308).
fn reply(question: &[u8], kind: u16, addresses: &[IpAddr], ttl: u32) -> Vec<u8> {
    let records: Vec<Vec<u8>> = addresses
        .iter()
        .filter_map(|address| match address {
            IpAddr::V4(v4) if kind == A => Some(v4.octets().to_vec()),
            IpAddr::V6(v6) if kind == AAAA => Some(v6.octets().to_vec()),
            _ => None,
        })
        .collect();
    let no_such_name = u8::from(addresses.is_empty()) * 3;
    let (answers, authorities) = (records.len() as u8, u8::from(records.is_empty()));
    let mut reply = question[..2].to_vec();
    reply.extend([0x81, 0x80 | no_such_name, 0, 1, 0, answers, 0, authorities, 0, 0]);
    reply.extend(&question[12..]);
    let mut put = |kind: u16, data: &[u8]| {
        reply.extend(ITS_NAME);
        reply.extend(kind.to_be_bytes());
        reply.extend([0, 1]);
        reply.extend(ttl.to_be_bytes());
        reply.extend((data.len() as u16).to_be_bytes());
        reply.extend(data);
    };
    records.iter().for_each(|data| put(kind, data));
    if records.is_empty() {
        // Root as primary server and mailbox, four numbers that no client here reads, and the
        // minimum TTL.
        put(SOA, &[&[0; 18][..], &ttl.to_be_bytes()].concat());
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_as_the_script_says() {
        let dns = NameServer::open("127.0.0.1:0".parse().unwrap(), 60, |name, nth| match (name, nth) {
            ("a.test", 0) => vec![[1, 2, 3, 4].into()],
            ("a.test", _) => vec![[5, 6, 7, 8].into()],
            _ => Vec::new(),
        })
        .unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let ask = |name: &[u8]| {
            let question = [&[7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], name, &[0, 0, 1, 0, 1]].concat();
            socket.send_to(&question, dns.address()).unwrap();
            let mut reply = [0; 500];
            let length = socket.recv(&mut reply).unwrap();
            reply[..length].to_vec()
        };
        assert!(ask(b"\x01A\x04test").ends_with(&[0, 0, 0, 60, 0, 4, 1, 2, 3, 4]));
        assert!(ask(b"\x01a\x04test").ends_with(&[0, 4, 5, 6, 7, 8]));
        let missing = ask(b"\x01b\x04test");
        assert_eq!((missing[3] & 15, missing[7], missing[9]), (3, 0, 1), "no such name, and an SOA");
        assert_eq!(dns.asked()["a.test"], 2);
    }
}
