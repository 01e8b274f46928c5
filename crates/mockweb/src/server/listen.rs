//! Opens the listeners and accepts connections.

use super::connection::{self, ServerSide};
use super::{Core, StartError};
use crate::sites;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;

/// Maximum pending connections per listener.
const BACKLOG: u32 = 1_024;
/// Maximum open connections over all hosts; more wait in the backlog.
const MAX_CONNECTIONS: usize = 10_000;
/// Number of attempts to find a free port.
const ATTEMPTS: u32 = 100;

/// Open listeners.
pub struct Opened {
    pub port: u16,
    pub control_port: u16,
    hosts: Vec<TcpListener>,
    control: TcpListener,
}

/// Opens a listener on each address, all on one port, and the control port.
pub fn open(addresses: u32, port: u16, control_port: u16) -> Result<Opened, StartError> {
    let control = listen(SocketAddrV4::new(Ipv4Addr::LOCALHOST, control_port))?;
    let hosts = if port == 0 { open_anywhere(addresses)? } else { open_all(addresses, port)? };
    let port_of = |listener: &TcpListener| listener.local_addr().map_or(0, |address| address.port());
    Ok(Opened { port: port_of(&hosts[0]), control_port: port_of(&control), hosts, control })
}

fn open_anywhere(addresses: u32) -> Result<Vec<TcpListener>, StartError> {
    for _ in 0..ATTEMPTS {
        let first = listen(SocketAddrV4::new(sites::address(0), 0))?;
        let port = first.local_addr().map_err(StartError::Threads)?.port();
        // The first listener keeps the port while the others try it.
        let others = (1..addresses).map(|n| listen(SocketAddrV4::new(sites::address(n), port)));
        match std::iter::once(Ok(first)).chain(others).collect() {
            Err(StartError::Listen { cause, .. }) if cause.kind() == std::io::ErrorKind::AddrInUse => {}
            other => return other,
        }
    }
    Err(StartError::NoFreePort)
}

fn open_all(addresses: u32, port: u16) -> Result<Vec<TcpListener>, StartError> {
    (0..addresses).map(|n| listen(SocketAddrV4::new(sites::address(n), port))).collect()
}

fn listen(at: SocketAddrV4) -> Result<TcpListener, StartError> {
    let open = || {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(at.into())?;
        socket.listen(BACKLOG)
    };
    open().map_err(|cause| StartError::Listen { at, cause })
}

/// Accepts connections on every listener until the runtime ends.
pub fn serve(opened: Opened, core: &Arc<Core>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    for (address, listener) in opened.hosts.into_iter().enumerate() {
        tokio::spawn(take(listener, ServerSide::Web { address }, Arc::clone(core), Arc::clone(&room)));
    }
    tokio::spawn(take(opened.control, ServerSide::Control, Arc::clone(core), room));
}

async fn take(listener: TcpListener, side: ServerSide, core: Arc<Core>, room: Arc<Semaphore>) {
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let core = Arc::clone(&core);
                tokio::spawn(async move {
                    connection::serve(stream, side, core).await;
                    drop(place);
                });
            }
            // Out of descriptors, or the client has disconnected: an immediate retry helps neither.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
