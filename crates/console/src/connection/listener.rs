//! Where connections come from: an address of the network, or a socket of this machine.

use super::{LocalUser, Peer};
use crate::local::{self, LocalSocket};
use rustix::process::geteuid;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Accepts connections.
pub trait Listener {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection, its address, and the user of a local one.
    async fn accept(&self) -> io::Result<(Self::Stream, Peer, Option<LocalUser>)>;

    /// Sends `answer` and closes, without waiting for the client to read.
    fn reject(stream: Self::Stream, answer: &[u8]);
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Peer, Option<LocalUser>)> {
        let (stream, from) = TcpListener::accept(self).await?;
        // Responses are written whole, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        Ok((stream, Peer(from.ip().to_canonical()), None))
    }

    fn reject(stream: TcpStream, answer: &[u8]) {
        // Best effort: the client may not read this.
        if let Ok(mut stream) = stream.into_std() {
            let _ = stream.write(answer);
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
}

/// The local socket, for processes of admitted users.
pub struct LocalListener {
    listener: UnixListener,
    /// Removes the file in the end.
    _socket: LocalSocket,
}

impl LocalListener {
    /// Must be called within a runtime.
    pub fn new(socket: LocalSocket) -> io::Result<LocalListener> {
        Ok(LocalListener { listener: UnixListener::from_std(socket.listener.try_clone()?)?, _socket: socket })
    }
}

/// The response to a process of another user.
const FORBIDDEN: &[u8] = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

impl Listener for LocalListener {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Peer, Option<LocalUser>)> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let uid = stream.peer_cred()?.uid();
            if local::is_admitted(uid, geteuid().as_raw()) {
                let user = LocalUser(local::user_name(uid));
                return Ok((stream, Peer(IpAddr::V4(Ipv4Addr::LOCALHOST)), Some(user)));
            }
            tracing::warn!(uid, "console: rejected a connection of another user to the control socket");
            Self::reject(stream, FORBIDDEN);
        }
    }

    fn reject(stream: UnixStream, answer: &[u8]) {
        if let Ok(mut stream) = stream.into_std() {
            let _ = stream.write(answer);
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
}
