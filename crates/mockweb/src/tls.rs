//! A server with a self-signed certificate.

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// For mock.test and 127.1.0.1, self-signed, valid from 2020 to 2120; made with `openssl req -x509
/// -subj /CN=mock.test` from the key below.
const CERTIFICATE: &[u8] = include_bytes!("../certificate/self-signed.der");
/// An Ed25519 key in PKCS #8 (RFC 8410 §7): this prefix and 32 bytes. It protects nothing.
const KEY_HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const KEY_BYTE: u8 = 7;
/// Timeout of a handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// A TLS server with a self-signed certificate, until dropped.
#[derive(Debug)]
pub struct SelfSigned {
    address: SocketAddr,
    seen: Arc<SeenHello>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SeenHello {
    is_over: AtomicBool,
    connections: AtomicUsize,
    trusting: AtomicUsize,
}

impl SelfSigned {
    /// Listens on an address; port 0 selects a free port.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(at: SocketAddr) -> io::Result<SelfSigned> {
        let listener = TcpListener::bind(at)?;
        let address = listener.local_addr()?;
        let seen = Arc::<SeenHello>::default();
        let (config, shared) = (Arc::new(config().map_err(io::Error::other)?), Arc::clone(&seen));
        let thread = std::thread::Builder::new().name("mockweb-tls".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::Acquire) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::AcqRel);
                let has_trusted = shake_hands(stream, &config).is_ok();
                shared.trusting.fetch_add(usize::from(has_trusted), Ordering::AcqRel);
            }
        })?;
        Ok(SelfSigned { address, seen, thread: Some(thread) })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of clients.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Acquire)
    }

    /// Number of clients that accepted the certificate.
    pub fn trusting(&self) -> usize {
        self.seen.trusting.load(Ordering::Acquire)
    }
}

impl Drop for SelfSigned {
    fn drop(&mut self) {
        self.seen.is_over.store(true, Ordering::Release);
        // Wakes the listener; if that fails, it has ended already.
        TcpStream::connect(self.address).ok();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn config() -> Result<ServerConfig, rustls::Error> {
    let key = [&KEY_HEAD[..], &[KEY_BYTE; 32]].concat();
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(CERTIFICATE)],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)),
        )
}

/// One handshake. A client that rejects the certificate aborts it.
fn shake_hands(mut stream: TcpStream, config: &Arc<ServerConfig>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        let (read, _) = tls.complete_io(&mut stream)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}
