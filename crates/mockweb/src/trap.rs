//! Listeners that count connections; nothing may connect to them.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;

/// A listener that accepts connections and sends nothing. A client waits forever.
#[derive(Debug)]
pub struct Trap {
    listener: TcpListener,
    /// Kept open, so that a client does not notice.
    caught: Mutex<Vec<TcpStream>>,
}

impl Trap {
    /// Listens on an address; port 0 selects a free port.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(at: SocketAddr) -> io::Result<Trap> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Trap { listener, caught: Mutex::default() })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// The error of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Number of connections so far. The system completes a connection before the program accepts
    /// it, so connections that already ended are counted too.
    ///
    /// # Errors
    /// The error of the system, except "would block".
    pub fn connections(&self) -> io::Result<usize> {
        let mut caught = self.caught.lock().expect("no thread panics with the trap open");
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => caught.push(stream),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(caught.len()),
                Err(e) => return Err(e),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_is_counted() {
        let trap = Trap::open("127.0.0.66:0".parse().unwrap()).unwrap();
        assert_eq!(trap.connections().unwrap(), 0);
        let visitors = [(); 3].map(|()| TcpStream::connect(trap.address().unwrap()).unwrap());
        assert_eq!(trap.connections().unwrap(), 3);
        drop(visitors);
        assert_eq!(trap.connections().unwrap(), 3);
    }
}
