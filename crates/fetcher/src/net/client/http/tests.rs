//! The real client and real sockets on loopback. The server writes raw bytes, so that it can send
//! responses that no HTTP library would.

use super::*;
use crate::RequestOptions;
use crate::net::client::Cut;
use crate::net::kept_types::KeptTypes;
use crate::net::limits::{FetchConfig, MAX_CODED_LEAD};
use recrawl_types::{CanonicalUrl, MediaTypes, UrlRules, Validators, WrittenHost};
use reqwest::header::LOCATION;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

mod characters;
mod fields;
mod pauses;
mod stale;
mod tls;

const LIMIT: usize = 100_000;

/// Behaviour of a server after it has read a request.
#[derive(Clone)]
enum Act {
    /// Sends this and closes.
    Say(Vec<u8>),
    /// Sends the first, then the second until the client disconnects.
    SayForEver(Vec<u8>, Vec<u8>),
    /// Sends this and resets the connection.
    SayAndReset(Vec<u8>),
    /// Sends this, and nothing more until the client disconnects.
    SayAndWait(Vec<u8>),
    /// Sends the request back as a body, and keeps the connection.
    Echo,
}

/// Starts a server and returns its address.
async fn serve(act: Act) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, act.clone()));
        }
    });
    address
}

async fn answer(mut stream: TcpStream, act: Act) -> std::io::Result<()> {
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).await? == 0 {
                return Ok(());
            }
            request.push(byte[0]);
        }
        match &act {
            Act::Say(bytes) => return stream.write_all(bytes).await,
            Act::SayForEver(bytes, more) => {
                stream.write_all(bytes).await?;
                loop {
                    stream.write_all(more).await?;
                }
            }
            Act::SayAndReset(bytes) => {
                stream.write_all(bytes).await?;
                stream.flush().await?;
                // Closing with a linger of zero sends RST instead of FIN.
                return stream.set_zero_linger();
            }
            Act::SayAndWait(bytes) => {
                stream.write_all(bytes).await?;
                return stream.read_to_end(&mut Vec::new()).await.map(drop);
            }
            Act::Echo => stream.write_all(&body(&request, &[])).await?,
        }
    }
}

/// A complete response with this body.
fn body(bytes: &[u8], headers: &[&str]) -> Vec<u8> {
    let headers: String = headers.iter().map(|h| format!("{h}\r\n")).collect();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", bytes.len());
    [head.as_bytes(), bytes].concat()
}

fn config() -> FetchConfig {
    FetchConfig { allow_addresses: vec!["127.0.0.0/8".parse().unwrap()], ..FetchConfig::default() }
}

fn request(url: &str) -> Request {
    let url: CanonicalUrl = UrlRules::default().canonicalize(url).unwrap();
    Request {
        url,
        hop: None,
        validators: Validators::default(),
        max_body: LIMIT,
        types: None,
        last: false,
        manner: RequestOptions::default(),
    }
}

async fn get(act: Act) -> Result<Reply, NetworkError> {
    let address = serve(act).await;
    HttpNetwork::new(&config()).unwrap().get(&request(&format!("http://{address}/")), &Meter::default()).await
}

/// The rest of such a body would come for ever.
#[tokio::test]
async fn a_body_of_another_media_type_is_not_read() {
    let types = MediaTypes::new(["text/html"]).unwrap();
    let types = Some(Arc::new(KeptTypes { types, since: recrawl_types::Cycle(1) }));
    for (content_type, is_unread) in [("application/pdf", true), ("text/html", false)] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n");
        let address = serve(Act::SayForEver(head.into(), vec![b'x'; 1000])).await;
        let (asked, received) =
            (Request { types: types.clone(), ..request(&format!("http://{address}/")) }, Meter::default());
        let reply = HttpNetwork::new(&config()).unwrap().get(&asked, &received).await.unwrap();
        assert_eq!((reply.status, reply.is_unread, reply.cut.is_none()), (200, is_unread, is_unread));
        assert_eq!((reply.body.len(), received.total() == 0), (if is_unread { 0 } else { LIMIT }, is_unread));
    }
}

async fn get_bytes(bytes: Vec<u8>) -> Result<Reply, NetworkError> {
    get(Act::Say(bytes)).await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn bodies_are_decompressed_by_their_encoding() {
    let zlib = {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"hello").unwrap();
        encoder.finish().unwrap()
    };
    for (encoding, bytes) in [
        ("identity", b"hello".to_vec()),
        ("gzip", gzip(b"hello")),
        ("deflate", zlib),
        ("br", b"\x0b\x02\x80hello\x03".to_vec()),
        ("zstd", b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello".to_vec()),
    ] {
        let reply = get_bytes(body(&bytes, &[&format!("Content-Encoding: {encoding}")])).await.unwrap();
        assert_eq!((&reply.body[..], reply.cut), (&b"hello"[..], None), "{encoding}");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.headers["content-encoding"], encoding, "as received");
        assert_eq!(reply.headers["content-length"], bytes.len().to_string().as_str(), "{encoding}");
    }
}

#[tokio::test]
async fn what_cannot_be_decompressed_is_an_encoding_failure() {
    for encoding in ["gzip", "br", "zstd", "deflate"] {
        let result =
            get_bytes(body(b"this is no gzip at all", &[&format!("Content-Encoding: {encoding}")])).await;
        assert_eq!(result.err(), Some(NetworkError::Encoding), "{encoding}");
    }
}

#[tokio::test]
async fn several_codings_are_undone_and_those_that_cannot_be_are_a_failure() {
    let coded = gzip(b"text");
    for (coding, body_of) in
        [("x-gzip", coded.clone()), ("gzip, gzip", gzip(&coded)), ("utf-8", b"text".to_vec())]
    {
        let reply = get_bytes(body(&body_of, &[&format!("content-encoding: {coding}")])).await;
        assert_eq!(reply.unwrap().body, "text", "{coding}");
    }
    for coding in ["Compress", "gzip, dcz", "gzip, gzip, gzip, gzip"] {
        let field = format!("content-encoding: {coding}");
        assert_eq!(get_bytes(body(&coded, &[&field])).await.unwrap_err(), NetworkError::Encoding, "{coding}");
    }
    // The body of an error is not read.
    let missing =
        b"HTTP/1.1 404 Not Found\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone".to_vec();
    assert_eq!(get_bytes(missing).await.map(|reply| reply.status), Ok(404));
}

#[tokio::test]
async fn a_connection_that_breaks_within_a_compressed_body_is_a_protocol_failure() {
    let whole = body(&gzip(&b"hello ".repeat(1000)), &["Content-Encoding: gzip"]);
    let result = get_bytes(whole[..whole.len() - 10].to_vec()).await;
    assert_eq!(result.err(), Some(NetworkError::Protocol));
}

/// As an event stream: what came is the body, and silence is none.
#[tokio::test]
async fn a_body_without_an_end_is_read_for_a_time() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    for (act, is_silent) in
        [(Act::SayAndWait([&head[..], b"data: 1"].concat()), false), (Act::SayAndWait(head), true)]
    {
        let address = serve(act).await;
        let asked = request(&format!("http://{address}/"));
        let body_time = Some(Duration::from_millis(200));
        let asked = Request { manner: RequestOptions { body_time, ..asked.manner }, ..asked };
        let network = HttpNetwork::new(&config()).unwrap();
        let reply = network.get(&asked, &Meter::default()).await.unwrap();
        let expected: &[u8] = if is_silent { b"" } else { b"data: 1" };
        assert_eq!((&reply.body[..], reply.cut), (expected, Some(Cut::Limit)));
    }
}

#[tokio::test]
async fn bodies_end_at_the_limit() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let endless = get(Act::SayForEver(head, vec![b'x'; 1000])).await.unwrap();
    assert_eq!((endless.body.len(), endless.cut), (LIMIT, Some(Cut::Limit)));

    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let endless = get(Act::SayForEver(chunked, b"5\r\nhello\r\n".to_vec())).await.unwrap();
    assert_eq!((endless.body.len(), endless.cut), (LIMIT, Some(Cut::Limit)));

    let bomb = body(&gzip(&vec![0; 50_000_000]), &["Content-Encoding: gzip"]);
    assert!(bomb.len() < 1_000_000);
    let reply = get_bytes(bomb).await.unwrap();
    assert_eq!((reply.body.len(), reply.cut), (LIMIT, Some(Cut::Limit)));

    let exact = get_bytes(body(&vec![b'x'; LIMIT], &[])).await.unwrap();
    assert_eq!((exact.body.len(), exact.cut), (LIMIT, None));
    let claimed = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n".to_vec();
    let reply = get(Act::SayForEver(claimed, vec![b'x'; 1000])).await.unwrap();
    assert_eq!((reply.body.len(), reply.cut), (LIMIT, Some(Cut::Limit)), "what is claimed is not reserved");
}

#[tokio::test]
async fn codings_that_take_for_ever_and_give_nothing_cost_a_bounded_number_of_bytes() {
    let gzip_head = &gzip(b"")[..10];
    let empty_block = b"\0\0\0\xff\xff".repeat(1000);
    let empty_member = gzip(b"").repeat(100);
    // Metadata blocks without content (RFC 7932 section 9.2), and skippable frames (RFC 8878
    // section 3.1.2).
    let (brotli, zstd) = (vec![6; 1000], b"\x50\x2a\x4d\x18\0\0\0\0".repeat(100));
    for (coding, head, more) in [
        ("gzip", gzip_head, &empty_block),
        ("gzip", b"", &empty_member),
        ("deflate", b"\x78\x9c", &empty_block),
        ("deflate", b"", &empty_block),
        ("br", b"\x0c", &brotli),
        ("zstd", b"", &zstd),
    ] {
        let headers = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n");
        let address = serve(Act::SayForEver([headers.as_bytes(), head].concat(), more.clone())).await;
        let (network, meter) = (HttpNetwork::new(&config()).unwrap(), Meter::default());
        let asked = request(&format!("http://{address}/"));
        let answer = network.get(&asked, &meter).await;
        assert_eq!(answer.err(), Some(NetworkError::Encoding), "{coding}");
        // The client reads up to about 400 kB at a time.
        assert!(meter.total() < MAX_CODED_LEAD as u64 + 500_000, "{coding}: {}", meter.total());
    }
}

#[tokio::test]
async fn what_is_not_sound_http_is_a_protocol_failure() {
    for bytes in [
        &b""[..],
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello!\n0\n\n",
    ] {
        let result = get_bytes(bytes.to_vec()).await;
        assert_eq!(result.err(), Some(NetworkError::Protocol), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[tokio::test]
async fn lines_of_chunks_may_end_with_a_line_feed_alone() {
    let content = "a\nb\r\n".repeat(5_000);
    let (length, lines) =
        (content.len(), "transfer-encoding: identity\r\nTransfer-Encoding: identity,\r\n Chunked\r\n\r\n");
    for chunked in [
        format!("{length:x}\n{content}\n0\n\n"),
        format!("1;x=y\na\n{:X}\n{}\r\n0\r\nX-Trailer: z\n\n", length - 1, &content[1..]),
        format!("{length:x}\r\n{content}\r\n0\r\n\r\n"),
        // Blanks and extensions, and no empty line before the connection ends.
        format!("000{length:x} \t;x=\"y\"; z\r\n{content}\r\n0 \r\n"),
        format!("{length:x}  \n{content}\n0;x\n"),
    ] {
        let reply = get_bytes(format!("HTTP/1.1 200 OK\r\n{lines}{chunked}").into_bytes()).await.unwrap();
        assert_eq!((&reply.body[..], reply.cut), (content.as_bytes(), None), "{:?}", &chunked[..9]);
        assert_eq!(reply.lines.as_deref(), Some(lines.as_bytes()), "the header as it came");
    }
    // A body that is not chunked is left alone.
    for lines in ["", "Content-Length: 9\r\n", "Transfer-Encoding: identity\r\n"] {
        let reply = get_bytes(format!("HTTP/1.1 200 OK\r\n{lines}\r\n5\nhello\n0").into_bytes()).await;
        assert_eq!(reply.map(|reply| reply.body).ok().as_deref(), Some(&b"5\nhello\n0"[..]), "{lines}");
    }
}

#[tokio::test]
async fn a_reset_at_any_stage_is_a_protocol_failure() {
    for bytes in
        [&b""[..], b"HTTP/1.1 200 OK\r\nConte", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"]
    {
        let result = get(Act::SayAndReset(bytes.to_vec())).await;
        assert_eq!(result.err(), Some(NetworkError::Protocol), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[tokio::test]
async fn headers_are_bounded_in_number_and_bytes() {
    let many: Vec<String> = (0..MAX_HEADERS + 1).map(|i| format!("X-{i}: y")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(get_bytes(body(b"x", &many)).await.err(), Some(NetworkError::Malformed));
    assert_eq!(get_bytes(body(b"x", &many[..MAX_HEADERS - 1])).await.unwrap().body, "x");
    let endless = Act::SayForEver(b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'y'; 1000]);
    assert_eq!(get(endless).await.err(), Some(NetworkError::Malformed));
}

#[tokio::test]
async fn a_content_length_that_is_too_small_ends_the_body() {
    let reply =
        get_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more".to_vec()).await.unwrap();
    assert_eq!(reply.body, "hello");
}

#[tokio::test]
async fn no_listener_is_a_connect_failure_and_plain_text_behind_https_one_of_tls() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let network = HttpNetwork::new(&config()).unwrap();
    let result = network.get(&request(&format!("http://{closed}/")), &Meter::default()).await;
    assert_eq!(result.err(), Some(NetworkError::Connect));
    // A ClientHello does not end with "\r\n\r\n", so this server sends first.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let result = network.get(&request(&format!("https://{plain}/")), &Meter::default()).await;
    assert_eq!(result.err(), Some(NetworkError::Tls));
}

#[tokio::test]
async fn redirects_are_answers() {
    let target = serve(Act::Echo).await;
    let head = format!("HTTP/1.1 302 Found\r\nLocation: http://{target}/\r\nContent-Length: 0\r\n\r\n");
    let reply = get_bytes(head.into_bytes()).await.unwrap();
    assert_eq!((reply.status, reply.body.len()), (302, 0));
}

/// The header tells all that is used of it.
#[tokio::test]
async fn only_a_page_needs_a_sound_body() {
    for status in [302, 403, 404, 410, 503] {
        let head = |more: &str| format!("HTTP/1.1 {status} X\r\nLocation: http://a.test/\r\n{more}");
        for more in [
            "Content-Length: 100\r\n\r\ncut",
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
            "Content-Length: 5\r\nContent-Encoding: gzip\r\n\r\nhello",
        ] {
            let reply = get_bytes(head(more).into_bytes()).await.unwrap();
            assert_eq!(
                (reply.status, &*reply.header(LOCATION).unwrap()),
                (status, "http://a.test/"),
                "{more}"
            );
        }
        let endless = head("Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        let slow = get(Act::SayForEver(endless, b"1\r\nx\r\n".to_vec())).await.unwrap();
        assert_eq!(slow.status, status);
    }
}

#[tokio::test]
async fn literals_and_names_are_refused_unless_their_block_is_allowed() {
    let address = serve(Act::Echo).await;
    let port = address.port();
    let mut config = FetchConfig::default();
    config.dns_overrides.insert("inner.test".into(), "127.0.0.1".parse().unwrap());
    let strict = HttpNetwork::new(&config).unwrap();
    for host in
        ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "inner.test", "localhost"]
    {
        let result = strict.get(&request(&format!("http://{host}:{port}/")), &Meter::default()).await;
        assert_eq!(result.err(), Some(NetworkError::Refused), "{host}");
    }
    config.allow_addresses = vec!["127.0.0.1/32".parse().unwrap()];
    let open = HttpNetwork::new(&config).unwrap();
    for host in ["127.0.0.1", "inner.test", "INNER.test."] {
        let reply = open.get(&request(&format!("http://{host}:{port}/")), &Meter::default()).await.unwrap();
        assert_eq!(reply.peer, Some(address), "{host}");
    }
    let beside = open.get(&request(&format!("http://127.0.0.2:{port}/")), &Meter::default()).await;
    assert_eq!(beside.err(), Some(NetworkError::Refused));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_neither_refused_nor_unconnected() {
    // A label longer than DNS allows; no resolver sends it.
    let name = "a".repeat(70);
    let result = HttpNetwork::new(&config())
        .unwrap()
        .get(&request(&format!("http://{name}.test/")), &Meter::default())
        .await;
    assert_eq!(result.err(), Some(NetworkError::Dns));
}

#[tokio::test]
async fn the_request_says_who_we_are_and_what_we_have() {
    let address = serve(Act::Echo).await;
    let mut asked = request(&format!("http://{address}/a?b=%C3%BC"));
    asked.validators = Validators::new(Some("W/\"v\""), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    asked.last = true;
    let mut config = config();
    config.user_agent = "recrawl/9".into();
    config.contact = Some("who@example.org".into());
    let echo = HttpNetwork::new(&config).unwrap().get(&asked, &Meter::default()).await.unwrap().body;
    let echo = String::from_utf8(echo.to_vec()).unwrap();
    assert!(echo.starts_with("GET /a?b=%C3%BC HTTP/1.1\r\n"), "{echo}");
    for line in [
        "user-agent: recrawl/9",
        "from: who@example.org",
        "if-none-match: W/\"v\"",
        "if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT",
        "connection: close",
    ] {
        assert!(echo.contains(&format!("\r\n{line}\r\n")), "{line} is missing in\n{echo}");
    }
    let encodings = echo.lines().find(|l| l.starts_with("accept-encoding")).unwrap();
    assert!(["gzip", "br", "deflate", "zstd"].iter().all(|e| encodings.contains(e)), "{encodings}");
    assert!(!echo.contains("cookie") && !echo.contains("referer"));

    config.contact = Some("https://example.org/bot".into());
    let echo = HttpNetwork::new(&config).unwrap().get(&asked, &Meter::default()).await.unwrap().body;
    let echo = String::from_utf8(echo.to_vec()).unwrap();
    assert!(echo.contains("\r\nuser-agent: recrawl/9 (+https://example.org/bot)\r\n"), "{echo}");
    config.contact = Some("bell\u{7}".into());
    let error = HttpNetwork::new(&config).unwrap_err().to_string();
    assert!(error.contains("user_agent") && error.contains("printable"), "{error}");
}

#[tokio::test]
async fn cookies_are_not_kept() {
    let mut answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok".to_vec();
    let first = serve(Act::Say(std::mem::take(&mut answer))).await;
    let echo = serve(Act::Echo).await;
    let network = HttpNetwork::new(&config()).unwrap();
    network.get(&request(&format!("http://{first}/")), &Meter::default()).await.unwrap();
    let body = network.get(&request(&format!("http://{echo}/")), &Meter::default()).await.unwrap().body;
    assert!(!String::from_utf8_lossy(&body).to_lowercase().contains("cookie:"));
}

#[tokio::test]
async fn where_nobody_listens_the_next_address_of_the_name_is_told() {
    let port = serve(Act::Echo).await.port();
    let network = HttpNetwork::new(&config()).unwrap();
    // Nothing listens at the first; the second is the server's.
    let [dead, alive] = ["127.0.0.77", "127.0.0.1"].map(|a| a.parse().unwrap());
    network.usual.resolver.keep("two.test", &[dead, alive], Duration::from_secs(60));
    let asked = request(&format!("http://two.test:{port}/page"));
    assert_eq!(network.address("two.test").await, Ok(dead));
    assert_eq!(network.get(&asked, &Meter::default()).await.unwrap_err(), NetworkError::TryNextAddress);
    assert_eq!(network.address("two.test").await, Ok(alive));
    let answer = network.get(&asked, &Meter::default()).await.unwrap();
    assert_eq!((answer.status, answer.peer.unwrap().ip()), (200, alive));
    // The last address fails with a normal error.
    network.usual.resolver.keep("one.test", &[dead], Duration::from_secs(60));
    let asked = request(&format!("http://one.test:{port}/page"));
    assert_eq!(network.get(&asked, &Meter::default()).await.unwrap_err(), NetworkError::Connect);
    assert_eq!(network.address("[::1]").await, Err(NetworkError::Refused));
    assert_eq!(network.address("127.0.0.5").await, Ok("127.0.0.5".parse().unwrap()));
}

/// Nor does it use a connection that another request keeps open.
#[tokio::test]
async fn what_is_for_public_addresses_only_opens_no_connection_elsewhere() {
    let server = serve(Act::Echo).await;
    let config = FetchConfig { contact: Some("me@example.org".into()), ..config() };
    let network = HttpNetwork::new(&config).unwrap();
    let keep = |name: &str, addresses: &[_]| {
        network.usual.resolver.keep(name, addresses, Duration::from_secs(60));
    };
    keep("name.test", &[server.ip()]);
    keep("both.test", &[server.ip(), "9.9.9.9".parse().unwrap()]);
    for host in ["127.0.0.1", "name.test"] {
        let usual = request(&format!("http://{host}:{}/", server.port()));
        let manner = RequestOptions { is_public_only: true, ..RequestOptions::default() };
        let public = Request { manner, ..usual.clone() };
        for _ in 0..2 {
            let refused = network.get(&public, &Meter::default()).await.unwrap_err();
            assert_eq!(refused, NetworkError::Refused, "{host}");
            assert_eq!(network.get(&usual, &Meter::default()).await.unwrap().status, 200, "{host}");
        }
    }
    for (host, is_public) in
        [("127.0.0.1", false), ("[::1]", false), ("name.test", false), ("both.test", true), ("9.9.9.9", true)]
    {
        assert_eq!(network.is_public(host).await, is_public, "{host}");
    }
}

#[tokio::test]
async fn preflights_and_fields_of_pages_are_sent() {
    let server = serve(Act::Echo).await;
    let network = HttpNetwork::new(&config()).unwrap();
    let named = |name, value| (HeaderName::from_static(name), HeaderValue::from_static(value));
    let fields =
        [named("accept", "*/*"), named("origin", "null"), named("access-control-request-method", "GET")];
    let manner = RequestOptions {
        is_preflight: true,
        fields: HeaderMap::from_iter(fields),
        ..RequestOptions::default()
    };
    let asked = Request { manner, ..request(&format!("http://{server}/x")) };
    let body = network.get(&asked, &Meter::default()).await.unwrap().body;
    let sent = String::from_utf8_lossy(&body).to_lowercase();
    assert!(sent.starts_with("options /x http/1.1\r\n"), "{sent}");
    for field in ["\r\naccept: */*\r\n", "\r\norigin: null\r\n", "\r\naccess-control-request-method: get\r\n"]
    {
        assert!(sent.contains(field), "{field} in {sent}");
    }
    assert_eq!(sent.matches("\r\naccept:").count(), 1, "{sent}");
}

#[tokio::test]
async fn without_a_contact_no_proxy_is_a_way_out_of_the_loopback() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Some(crate::Proxy::new(&format!("http://{closed}"), None, Vec::new()).unwrap());
    let stranger = FetchConfig { proxy, ..FetchConfig::default() };
    let known = FetchConfig { contact: Some("me@example.org".into()), ..stranger.clone() };
    let ask = async |config: &FetchConfig| {
        let asked = request("http://name.test/");
        HttpNetwork::new(config).unwrap().get(&asked, &Meter::default()).await.unwrap_err()
    };
    assert_eq!(ask(&stranger).await, NetworkError::NoContact);
    assert!(ask(&known).await.refusal().is_none());
}

#[tokio::test]
async fn a_kept_request_is_the_one_that_the_server_got_without_secrets() {
    let address = serve(Act::Echo).await;
    let mut access = crate::HostAccess::new(WrittenHost::parse(&address.to_string()).unwrap(), true);
    access.add("cookie", "a=geheim").unwrap();
    for (contact, last) in [("me@example.org", false), ("https://example.org/bot", true)] {
        let contact = Some(contact.to_owned());
        let plain = FetchConfig { contact, access: vec![access.clone()], ..config() };
        let keeping = FetchConfig { keep_requests: true, ..plain.clone() };
        let asked = request(&format!("http://{address}/a%20b?c=d&e"));
        let asked = Request { validators: Validators::new(Some("\"x\""), None), last, ..asked };
        let reply = HttpNetwork::new(&keeping).unwrap().get(&asked, &Meter::default()).await.unwrap();
        let got = String::from_utf8(reply.body.to_vec()).unwrap();
        assert!(got.contains("cookie: a=geheim\r\n") && got.contains("if-none-match: \"x\"\r\n"), "{got}");
        let kept = String::from_utf8(reply.sent.unwrap().into()).unwrap();
        assert_eq!(kept, got.replace("cookie: a=geheim\r\n", ""), "field by field, in the same order");
        let reply = HttpNetwork::new(&plain).unwrap().get(&asked, &Meter::default()).await.unwrap();
        assert_eq!(reply.sent, None, "only if asked for");
    }
}

#[tokio::test]
async fn status_line_and_fields_are_kept_as_far_as_the_client_tells_them() {
    let say = |text: &str| Act::Say(text.replace('\n', "\r\n").into_bytes());
    let answer = "HTTP/1.1 200 Very Fine\nX-B: 1\nx-A: 2\nX-b: 3\nContent-Length: 2\n\nok";
    let reply = get(say(answer)).await.unwrap();
    assert_eq!(
        (reply.version, reply.reason.as_deref()),
        (reqwest::Version::HTTP_11, Some(&b"Very Fine"[..]))
    );
    let fields: Vec<String> =
        reply.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    // Upper case is lost, and repeated fields stand together.
    assert_eq!(fields, ["x-b: 1", "x-b: 3", "x-a: 2", "content-length: 2"]);
    let reply = crate::Response::from(get(say("HTTP/1.0 200 OK\n\nok")).await.unwrap());
    assert_eq!((reply.version, reply.reason()), (reqwest::Version::HTTP_10, &b"OK"[..]));
    let reply = crate::Response::from(get(say("HTTP/1.1 299\nContent-Length: 2\n\nok")).await.unwrap());
    assert_eq!(reply.reason(), b"");
}

#[tokio::test]
async fn a_form_is_posted_by_the_rules_of_pages_but_without_credentials() {
    let address = serve(Act::Echo).await;
    let mut access = crate::HostAccess::new(WrittenHost::parse(&address.to_string()).unwrap(), true);
    access.add("cookie", "a=b").unwrap();
    let network = HttpNetwork::new(&FetchConfig { access: vec![access], ..config() }).unwrap();
    let request = request(&format!("http://{address}/hub"));
    let text = |reply: Reply| String::from_utf8(reply.body.to_vec()).unwrap().to_ascii_lowercase();
    let got = text(network.get(&request, &Meter::default()).await.unwrap());
    assert!(got.starts_with("get /hub ") && got.contains("cookie: a=b\r\n"), "{got}");
    let posted = text(network.post(&request, Post::form("a=1".into())).await.unwrap());
    assert!(posted.starts_with("post /hub ") && !posted.contains("cookie"), "{posted}");
    for field in
        ["content-type: application/x-www-form-urlencoded", "content-length: 3", "user-agent: recrawl"]
    {
        assert!(posted.contains(field), "{field}: {posted}");
    }
    let refused = network.post(&self::request("http://10.0.0.1/"), Post::form("a=1".into())).await;
    assert_eq!(refused.unwrap_err(), NetworkError::NoContact, "without a contact");
}

#[tokio::test]
async fn a_hop_of_a_chain_is_sent_as_its_server_wrote_it_and_its_cookies_stay_out_of_archives() {
    let address = serve(Act::Echo).await;
    let mut access = crate::HostAccess::new(WrittenHost::parse(&address.to_string()).unwrap(), true);
    access.add("cookie", "a=geheim").unwrap();
    let config = FetchConfig { access: vec![access], keep_requests: true, ..config() };
    let url = reqwest::Url::parse(&format!("http://{address}/%7Epage?sid=1")).unwrap();
    let hop = Some(crate::Hop { url, cookies: Some(HeaderValue::from_static("b=2")) });
    let asked = Request { hop, ..request(&format!("http://{address}/~page")) };
    let reply = HttpNetwork::new(&config).unwrap().get(&asked, &Meter::default()).await.unwrap();
    let got = String::from_utf8(reply.body.to_vec()).unwrap();
    assert!(got.starts_with("GET /%7Epage?sid=1 HTTP/1.1\r\n"), "{got}");
    assert!(got.contains("cookie: a=geheim; b=2\r\n"), "{got}");
    let kept = String::from_utf8(reply.sent.unwrap().into()).unwrap();
    assert_eq!(kept, got.replace("cookie: a=geheim; b=2\r\n", ""));
}

#[tokio::test]
async fn a_post_accepts_every_kind_of_answer() {
    let address = serve(Act::Echo).await;
    let network = HttpNetwork::new(&config()).unwrap();
    let request = request(&format!("http://{address}/"));
    let text = |reply: Reply| String::from_utf8(reply.body.to_vec()).unwrap();
    let got = text(network.get(&request, &Meter::default()).await.unwrap());
    assert!(
        got.contains("\r\naccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"),
        "{got}"
    );
    let posted = text(network.post(&request, Post::form("a=1".into())).await.unwrap());
    assert!(posted.contains("\r\naccept: */*\r\n") && posted.matches("accept:").count() == 1, "{posted}");
}
