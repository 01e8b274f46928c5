use super::*;
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn the_answer_to_one_too_many_is_whole() {
    let text = std::str::from_utf8(TOO_MANY).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{} bytes", body.len());
    let problem: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["status"], 503);
}

/// A server that answers "here".
struct EchoServer {
    address: std::net::SocketAddr,
    stop: CancellationToken,
    /// Rejected connections.
    refused: Arc<AtomicU32>,
    task: tokio::task::JoinHandle<()>,
}

async fn server(connections: usize) -> EchoServer {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, refused) = (CancellationToken::new(), Arc::new(AtomicU32::new(0)));
    let router = Router::new().route("/", get(async || "here"));
    let count = refused.clone();
    let too_many = move || {
        count.fetch_add(1, SeqCst);
    };
    let task = tokio::spawn(accept(listener, router, connections, too_many, stop.clone()));
    EchoServer { address, stop, refused, task }
}

/// Sends one request and keeps the connection.
async fn ask(stream: &mut TcpStream) -> String {
    stream.write_all(REQUEST).await.unwrap();
    let mut answer = String::new();
    let mut some = [0; 1024];
    while !answer.ends_with("here") {
        let n = stream.read(&mut some).await.unwrap();
        assert!(n > 0, "closed after {answer:?}");
        answer += std::str::from_utf8(&some[..n]).unwrap();
    }
    answer
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    rest
}

#[tokio::test(start_paused = true)]
async fn a_header_that_does_not_come_is_not_waited_for() {
    let EchoServer { address, .. } = server(4).await;
    for begun in [&b""[..], b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"G"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let since = Instant::now();
        stream.write_all(begun).await.unwrap();
        assert_eq!(rest(&mut stream).await, "");
        assert_eq!(since.elapsed().as_secs(), HEADER_TIMEOUT.as_secs(), "{} bytes sent", begun.len());
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed() {
    let EchoServer { address, .. } = server(4).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let since = Instant::now();
    assert!(ask(&mut stream).await.starts_with("HTTP/1.1 200"));
    assert_eq!(rest(&mut stream).await, "");
    assert_eq!(since.elapsed().as_secs(), HEADER_TIMEOUT.as_secs());
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_and_a_free_one_is_taken() {
    let EchoServer { address, refused, .. } = server(2).await;
    let mut first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    ask(&mut first).await;
    ask(&mut second).await;
    let mut third = TcpStream::connect(address).await.unwrap();
    assert_eq!(rest(&mut third).await.as_bytes(), TOO_MANY);
    assert_eq!(refused.load(SeqCst), 1);
    // With `Connection: close` the connection ends after the last byte; its slot is free soon
    // after.
    second.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(rest(&mut second).await.ends_with("here"));
    let mut taken = false;
    for _ in 0..10_000 {
        let mut next = TcpStream::connect(address).await.unwrap();
        // A rejected connection may be reset while it still sends.
        let _ = next.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
        let mut answer = Vec::new();
        taken = next.read_to_end(&mut answer).await.is_ok() && answer.starts_with(b"HTTP/1.1 200");
        if taken {
            break;
        }
    }
    assert!(taken, "a place is free again");
    assert!(ask(&mut first).await.starts_with("HTTP/1.1 200"), "the others are not disturbed");
}

#[tokio::test]
async fn a_header_too_large_is_refused() {
    let EchoServer { address, .. } = server(4).await;
    let fields: String = (0..=MAX_HEADERS).map(|i| format!("x-{i}: y\r\n")).collect();
    for more in [fields, format!("x: {}\r\n", "y".repeat(MAX_HEADER_BYTES))] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{more}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}

#[tokio::test]
async fn the_end_closes_idle_connections_and_takes_no_more() {
    let EchoServer { address, stop, task, .. } = server(4).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    ask(&mut stream).await;
    stop.cancel();
    assert_eq!(rest(&mut stream).await, "");
    task.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
