//! Addresses that the crawler must not connect to, with a count of connections.

use std::io::{self, ErrorKind};
use std::net::{Ipv6Addr, SocketAddr, TcpListener};

/// Listeners on loopback addresses that the crawl must not reach: IPv4 and, if available, IPv6.
pub struct RefusedListeners {
    listeners: Vec<TcpListener>,
    port: u16,
}

impl RefusedListeners {
    /// Listens on all addresses with one port.
    pub fn open() -> io::Result<RefusedListeners> {
        let first = TcpListener::bind("127.0.0.66:0")?;
        let port = first.local_addr()?.port();
        let mut listeners = vec![first];
        match TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
            Ok(second) => listeners.push(second),
            Err(e) if e.kind() == ErrorKind::AddrNotAvailable => {}
            Err(e) => return Err(e),
        }
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        Ok(RefusedListeners { listeners, port })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The addresses.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.listeners.iter().map(TcpListener::local_addr).collect()
    }

    /// Connections since the last call. The system queues at most 128, which is enough to tell some
    /// from none.
    pub fn connections(&self) -> io::Result<u64> {
        let mut count = 0;
        for listener in &self.listeners {
            loop {
                match listener.accept() {
                    Ok(_) => count += 1,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn whoever_comes_is_counted() {
        let refused = RefusedListeners::open().expect("the loopback has these addresses");
        assert_eq!(refused.connections().expect("a count"), 0);
        let addresses = refused.addresses().expect("they are bound");
        let visits: Vec<TcpStream> =
            addresses.iter().map(|a| TcpStream::connect(a).expect("it listens")).collect();
        assert_eq!(refused.connections().expect("a count"), visits.len() as u64);
    }
}
