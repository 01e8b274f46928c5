//! HTTP/2 by ALPN, configured CAs, and reused connections. The certificates are for h2.test, valid
//! for a hundred years and only used here. They were made with `openssl req -x509` and `openssl
//! x509 -req -CA`.

use super::*;
use crate::net::client::Meter;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

pub const AUTHORITY: &[u8] = include_bytes!("../certificates/authority.pem");
const SERVER: &[u8] = include_bytes!("../certificates/server.pem");
const KEY: &[u8] = include_bytes!("../certificates/server.key.pem");

/// TLS of a server with these protocols.
pub fn acceptor(protocols: &[&str]) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(SERVER).unwrap()],
            PrivateKeyDer::from_pem_slice(KEY).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// A server that returns the HTTP version of a request. It counts connections, with and without
/// TLS.
async fn serve(protocols: &[&str]) -> (SocketAddr, Arc<AtomicUsize>) {
    let is_http2 = protocols.contains(&"h2");
    let acceptor = acceptor(protocols);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust us disconnects during the handshake.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let tell = service_fn(|request: hyper::Request<hyper::body::Incoming>| async move {
                    Ok::<_, Infallible>(hyper::Response::new(format!("{:?}", request.version())))
                });
                let stream = TokioIo::new(stream);
                if is_http2 {
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    server.serve_connection(stream, tell).await.ok();
                } else {
                    hyper::server::conn::http1::Builder::new().serve_connection(stream, tell).await.ok();
                }
            });
        }
    });
    (address, count)
}

pub fn trusting(extra_ca: Vec<Vec<u8>>) -> HttpNetwork {
    let mut config = FetchConfig { extra_ca, keep_requests: true, ..config() };
    for name in ["h2.test", "other.test"] {
        config.dns_overrides.insert(name.into(), "127.0.0.1".parse().unwrap());
    }
    HttpNetwork::new(&config).unwrap()
}

async fn ask(network: &HttpNetwork, url: &str) -> Result<Reply, NetworkError> {
    network.get(&request(url), &Meter::default()).await
}

#[tokio::test]
async fn the_protocol_is_what_the_server_chooses_and_one_connection_serves_a_host() {
    for (protocols, version) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let (address, connections) = serve(protocols).await;
        let network = trusting(vec![AUTHORITY.to_vec()]);
        for i in 0..5 {
            let reply = ask(&network, &format!("https://h2.test:{}/{i}", address.port())).await.unwrap();
            assert_eq!((reply.status, &reply.body[..]), (200, version.as_bytes()), "{protocols:?}");
            assert_eq!(format!("{:?}", reply.version), version);
            let sent = String::from_utf8(reply.sent.unwrap().into()).unwrap();
            assert!(sent.starts_with(&format!("GET /{i} HTTP/1.1\r\naccept: ")), "{sent}");
            assert!(sent.ends_with(&format!("\r\nhost: h2.test:{}\r\n\r\n", address.port())), "{sent}");
        }
        assert_eq!(connections.load(Ordering::SeqCst), 1, "{protocols:?}");
    }
}

/// How a server refuses HTTP/2, after answers to other requests.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    Reset,
    Misdirected,
}

/// A server that speaks HTTP/2 and HTTP/1.1, and refuses requests for `/old` in the former. Returns the version of each
/// connection.
async fn serve_both(refusal: Refusal) -> (SocketAddr, Arc<Mutex<Vec<&'static str>>>) {
    let acceptor = acceptor(&["h2", "http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, versions) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
    let noted = versions.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = acceptor.accept(stream).await.unwrap();
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            noted.lock().unwrap().push(if is_http2 { "2" } else { "1.1" });
            if !is_http2 {
                tokio::spawn(answer_all(stream, 200));
                continue;
            }
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let status = |status: u16| hyper::Response::builder().status(status).body(()).unwrap();
                    match refusal {
                        _ if request.uri().path() != "/old" => drop(respond.send_response(status(200), true)),
                        Refusal::Reset => respond.send_reset(h2::Reason::HTTP_1_1_REQUIRED),
                        Refusal::Misdirected => drop(respond.send_response(status(421), true)),
                    }
                }
            });
        }
    });
    (address, versions)
}

#[tokio::test]
async fn rfc_9113_section_7_an_origin_that_demands_http_1_1_is_asked_over_it_from_then_on() {
    for refusal in [Refusal::Reset, Refusal::Misdirected] {
        let (address, versions) = serve_both(refusal).await;
        let network = trusting(vec![AUTHORITY.to_vec()]);
        let mut ends = Vec::new();
        for path in ["new", "old", "old", "new"] {
            let url = format!("https://h2.test:{}/{path}", address.port());
            let reply = ask(&network, &url).await;
            ends.push(reply.map(|reply| (reply.status, format!("{:?}", reply.version))));
        }
        let answered = |version: &str| Ok((200, version.to_owned()));
        let expected = [
            answered("HTTP/2.0"),
            Err(NetworkError::NotProcessed),
            answered("HTTP/1.1"),
            answered("HTTP/1.1"),
        ];
        assert_eq!(ends, expected, "{refusal:?}");
        assert_eq!(&versions.lock().unwrap()[..], ["2", "1.1"], "{refusal:?}");
    }
}

/// An answer over HTTP/1.1 is final.
#[tokio::test]
async fn a_misdirected_request_is_asked_once_more_on_a_new_connection() {
    let count = Arc::new(AtomicUsize::new(0));
    let address = serve_status(421, count.clone()).await;
    let network = trusting(Vec::new());
    let url = format!("http://{address}/");
    let first = ask(&network, &url).await.unwrap_err();
    let then = ask(&network, &url).await.unwrap();
    assert_eq!((first, then.status), (NetworkError::NotProcessed, 421));
    assert_eq!(count.load(Ordering::SeqCst), 2, "connections");
}

/// A server that answers with a status, and counts its connections.
async fn serve_status(status: u16, count: Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(answer_all(stream, status));
        }
    });
    address
}

/// Answers the requests of a connection over HTTP/1.1.
async fn answer_all(stream: impl AsyncRead + AsyncWrite + Unpin, status: u16) {
    let tell = service_fn(move |_: hyper::Request<hyper::body::Incoming>| async move {
        Ok::<_, Infallible>(hyper::Response::builder().status(status).body(String::new()).unwrap())
    });
    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), tell).await.ok();
}

#[tokio::test]
async fn a_server_is_trusted_by_its_authority_and_by_its_own_name_alone() {
    let (address, connections) = serve(&["h2"]).await;
    let url = |host: &str| format!("https://{host}:{}/", address.port());
    for (authorities, host) in [(vec![], "h2.test"), (vec![AUTHORITY.to_vec()], "other.test")] {
        let error = ask(&trusting(authorities), &url(host)).await.unwrap_err();
        assert_eq!(error, NetworkError::Tls, "{host}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    assert!(ask(&trusting(vec![AUTHORITY.to_vec()]), &url("h2.test")).await.is_ok());
    assert!(check_authorities(AUTHORITY).is_ok());
    for wrong in [&b"no certificate"[..], b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(check_authorities(wrong).is_err());
        let error = HttpNetwork::new(&FetchConfig { extra_ca: vec![wrong.to_vec()], ..config() }).err();
        assert!(
            error.is_some_and(|e| e.to_string().contains("extra_ca") || e.to_string().contains("client"))
        );
    }
}

#[tokio::test]
async fn a_connection_is_used_again_without_tls_too_and_closed_behind_the_last_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::<AtomicUsize>::default();
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(answer(stream, Act::Echo));
        }
    });
    let network = trusting(Vec::new());
    for last in [false, false, true, false] {
        let asked = Request { last, ..request(&format!("http://{address}/")) };
        network.get(&asked, &Meter::default()).await.unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 2, "three on one, and one after the last");
}

/// Many servers end TLS by closing the connection, and so does whoever cuts it: only a length tells them apart.
#[tokio::test]
async fn a_connection_that_ends_without_close_notify_ends_a_body_without_a_length() {
    let (acceptor, listener) = (acceptor(&[]), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let port = listener.local_addr().unwrap().port();
    let cases = [
        ("\r\nhello", Ok(("hello", Some(Cut::Disconnect)))),
        ("Transfer-Encoding: identity\r\n\r\nhello", Ok(("hello", Some(Cut::Disconnect)))),
        ("Content-Length: 5\r\n\r\nhello", Ok(("hello", None))),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", Ok(("hello", None))),
        ("Content-Length: 6\r\n\r\nhello", Err(NetworkError::Protocol)),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Err(NetworkError::Protocol)),
        ("Transfer-Encoding: chunked\r\n\r\n5\nhello\n", Err(NetworkError::Protocol)),
        ("X-Cut: ", Err(NetworkError::Protocol)),
    ];
    tokio::spawn(async move {
        for (lines, _) in cases {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            let _ = stream.read(&mut [0; 1000]).await.unwrap();
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{lines}").as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            // Dropped without a shutdown, it sends FIN alone.
        }
    });
    let network = trusting(vec![AUTHORITY.to_vec()]);
    for (lines, expected) in cases {
        let reply = ask(&network, &format!("https://h2.test:{port}/")).await;
        let read = reply.map(|reply| (String::from_utf8(reply.body.to_vec()).unwrap(), reply.cut));
        assert_eq!(read, expected.map(|(body, cut)| (body.to_owned(), cut)), "{lines:?}");
    }
}
