//! Listeners that nothing may connect to. They count connections.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;

/// A listener that takes connections and says nothing. A client that may ask it waits for ever.
#[derive(Debug)]
pub struct Trap {
    listener: TcpListener,
    /// Kept open, so that a client is not told that it has been seen.
    caught: Mutex<Vec<TcpStream>>,
}

impl Trap {
    /// Listens there; with port 0 on a free one.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(at: SocketAddr) -> io::Result<Trap> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Trap { listener, caught: Mutex::default() })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// How many have come so far. The system completes a connection before anyone takes it, so none is
    /// missed that ended before this question.
    ///
    /// # Errors
    /// What the system says, but for "nobody is there".
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
