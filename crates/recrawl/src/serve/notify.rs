//! Notifies systemd of start, stop and progress (sd_notify(3)).
//!
//! Each is one datagram to the socket in `NOTIFY_SOCKET`, if set. The protocol is small enough to
//! need no library.

use super::shared_state::SharedState;
use super::ticker::Ticker;
use std::env;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

/// Reports readiness. From now on the watchdog, if there is one, is fed as long as the crawl makes
/// progress.
///
/// # Errors
/// When no thread can be started.
pub fn ready(shared: Arc<SharedState>, stall: Duration) -> io::Result<Option<Ticker>> {
    tell("READY=1");
    watchdog(move || u128::from(shared.live.idle_ms()) < stall.as_millis())
}

/// Reports readiness of a process of a fleet, which may stand by for days, and feeds the watchdog from now on: whether a crawl
/// makes progress, its health says.
///
/// # Errors
/// When no thread can be started.
pub fn standing_by() -> io::Result<Option<Ticker>> {
    tell("READY=1");
    watchdog(|| true)
}

/// Feeds the watchdog while the directory is closed or being opened again.
///
/// # Errors
/// When no thread can be started.
pub fn while_aside() -> io::Result<Option<Ticker>> {
    tell("WATCHDOG=1");
    watchdog(|| true)
}

/// Feeds the watchdog, if there is one, as long as the crawl lives.
#[expect(clippy::disallowed_methods, reason = "set by systemd: the watchdog interval")]
fn watchdog(lives: impl Fn() -> bool + Send + 'static) -> io::Result<Option<Ticker>> {
    let micros = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse::<u64>().ok());
    let feed = move || {
        if lives() {
            tell("WATCHDOG=1");
        }
    };
    let ticker = |micros| Ticker::start("watchdog", Duration::from_micros(micros / 2), feed);
    micros.filter(|micros| *micros > 0).map(ticker).transpose()
}

/// Reports that the daemon stops.
pub fn stopping() {
    tell("STOPPING=1");
}

/// Sends a state. Failing to notify the service manager is no reason to stop.
#[expect(clippy::disallowed_methods, reason = "set by systemd: the notification socket")]
fn tell(state: &str) {
    let Some(path) = env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&path.to_string_lossy(), state) {
        tracing::warn!(%error, state, "cannot notify systemd");
    }
}

fn send(path: &str, state: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = path.strip_prefix('@') {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return socket.send_to_addr(state.as_bytes(), &address).map(drop);
    }
    socket.send_to(state.as_bytes(), path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_one_datagram() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.to_str().unwrap(), "READY=1").unwrap();
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"READY=1");
        assert!(send("/nowhere/at/all", "READY=1").is_err());
    }
}
