//! Header fields that are no sound HTTP: read as tolerantly as browsers do, but never where a body might be framed in
//! two ways.

use super::*;

/// The result of a response with these lines after its status line, and a body.
async fn with_lines(lines: &str, body: &str) -> Result<Reply, NetworkError> {
    get_bytes(format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n{body}").into_bytes()).await
}

fn fields(reply: &Reply) -> Vec<String> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    reply.headers.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect()
}

#[tokio::test]
async fn a_line_that_is_no_field_costs_nothing_but_itself() {
    for (line, kept) in [
        ("Access-Control-Allow-Credentials : true", Some("access-control-allow-credentials: true")),
        ("X-Tab\t: true", Some("x-tab: true")),
        ("X-Empty:", Some("x-empty: ")),
        ("X-Latin: caf\u{e9}", Some("x-latin: caf\u{e9}")),
        ("X-Folded: a\r\n b", Some("x-folded: a b")),
        ("X-LF: a\nX-B: b", Some("x-lf: a")),
        ("X Powered By: something", None),
        ("X(Y): 1", None),
        ("X\u{e9}: 1", None),
        ("X\u{1}: 1", None),
        ("X-Cache HIT", None),
        (": nameless", None),
        ("X-Bell: \u{7}", None),
        (" folded: behind nothing", None),
        ("<html>", None),
    ] {
        let lines = format!("{line}\r\nContent-Length: 2\r\nX-Last: here");
        let reply = with_lines(&lines, "ok").await.unwrap_or_else(|e| panic!("{line:?}: {e:?}"));
        assert_eq!((&reply.body[..], reply.cut), (&b"ok"[..], None), "{line:?}");
        assert_eq!(reply.lines.as_deref(), Some(format!("{lines}\r\n\r\n").as_bytes()));
        let fields = fields(&reply);
        assert!(fields.contains(&"x-last: here".into()), "{line:?}: {fields:?}");
        match kept {
            Some(kept) => assert!(fields.contains(&kept.into()), "{line:?}: {fields:?}"),
            None => assert_eq!(fields, ["content-length: 2", "x-last: here"], "{line:?}"),
        }
    }
    let first = with_lines(" X: in front\r\nContent-Length: 2", "ok").await.unwrap();
    assert_eq!(fields(&first), ["content-length: 2"]);
}

#[tokio::test]
async fn rfc_9112_section_6_3_a_body_with_two_possible_ends_is_refused() {
    for lines in ["Content-Length: 1\r\nContent-Length: 2", "Content-Length: 1, 2", "X-Nul: a\0b", "X\0: 1"] {
        assert_eq!(with_lines(lines, "ok").await.err(), Some(NetworkError::Malformed), "{lines:?}");
    }
    for lines in [
        "Content-Length: 2\r\nContent-Length: 2",
        "Content-Length: 2, 2",
        "Content-Length : 2",
        "Content-Length:2",
        "CONTENT-LENGTH: 2 ",
        "Content-Length:\r\n 2",
        // No field, so it frames nothing.
        "Content Length: 1\r\nContent-Length: 2",
    ] {
        assert_eq!(with_lines(lines, "ok and more").await.unwrap().body, "ok", "{lines:?}");
    }
    // A value that is no length is ignored, as in browsers: the body ends with the connection.
    for lines in [
        "Content-Length: +2",
        "Content-Length: 0x2",
        "Content-Length: 2 2",
        "Content-Length: -2",
        "Content-Length: many",
        "Content-Length: \r\nX: y",
        "Content-Length: 2\r\n 3",
        "Content-Length: 99999999999999999999999",
        "X-Bare: a\rContent-Length: 2",
    ] {
        let reply = with_lines(lines, "ok and more").await.unwrap_or_else(|e| panic!("{lines:?}: {e:?}"));
        assert_eq!((&reply.body[..], reply.cut), (&b"ok and more"[..], None), "{lines:?}");
        assert_eq!(reply.lines.as_deref(), Some(format!("{lines}\r\n\r\n").as_bytes()), "as received");
        let length = reply.headers.get("content-length");
        assert_eq!(length, None, "{lines:?}");
    }
    let bare = with_lines("X-Bare: a\rb", "ok").await.unwrap();
    assert_eq!(fields(&bare), ["x-bare: a b"]);
    // §6.1: the transfer coding wins, also with a space that a server would refuse.
    let chunked = "2\r\nok\r\n0\r\n\r\n";
    for lines in [
        "Transfer-Encoding: chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: CHUNKED",
        "Transfer-Encoding:\r\n chunked",
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ] {
        assert_eq!(with_lines(lines, chunked).await.unwrap().body, "ok", "{lines:?}");
    }
}

#[tokio::test]
async fn a_coding_of_the_transfer_is_undone() {
    let packed = gzip(b"words of a page");
    let chunk = [format!("{:x}\r\n", packed.len()).as_bytes(), &packed, b"\r\n0\r\n\r\n"].concat();
    for (lines, bytes) in [
        ("Transfer-Encoding: gzip, chunked", &chunk),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", &chunk),
        ("Transfer-Encoding: gzip", &packed),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n");
        let reply = get_bytes([head.as_bytes(), bytes].concat()).await.unwrap();
        assert_eq!((&reply.body[..], reply.cut), (&b"words of a page"[..], None), "{lines}");
    }
    let hidden = with_lines("Transfer-Encoding: chunked, gzip", "2\r\nok\r\n0\r\n\r\n").await;
    assert_eq!(hidden.err(), Some(NetworkError::Encoding));
}

#[tokio::test]
async fn a_status_line_is_read_without_reason_and_behind_empty_lines() {
    for (line, version) in [
        ("HTTP/1.1 200", reqwest::Version::HTTP_11),
        ("HTTP/1.1 200 ", reqwest::Version::HTTP_11),
        ("HTTP/1.0 200 OK", reqwest::Version::HTTP_10),
        ("\r\n\r\nHTTP/1.1 200 OK", reqwest::Version::HTTP_11),
        ("HTTP/1.1 200 caf\u{e9}", reqwest::Version::HTTP_11),
        // Browsers read these, and curl most of them.
        ("http/1.1 200 OK", reqwest::Version::HTTP_11),
        ("Http/1.0 200 OK", reqwest::Version::HTTP_10),
        ("HTTP/1.2 200 OK", reqwest::Version::HTTP_11),
        ("HTTP/2.0 200 OK", reqwest::Version::HTTP_11),
        ("HTTP/2 200", reqwest::Version::HTTP_11),
        ("HTTP/1.1  200  OK", reqwest::Version::HTTP_11),
        ("HTTP/1.1\t200 OK", reqwest::Version::HTTP_11),
        ("HTTP/1.1 200OK", reqwest::Version::HTTP_11),
        ("HTTP/1 200 OK", reqwest::Version::HTTP_10),
        ("HTTP 200 OK", reqwest::Version::HTTP_10),
        ("HTTP/1.1 100 Continue\r\n\r\nhttp/1.1 200 OK", reqwest::Version::HTTP_11),
    ] {
        let reply = get_bytes(format!("{line}\r\nContent-Length: 2\r\n\r\nok").into_bytes()).await.unwrap();
        assert_eq!((&reply.body[..], reply.version), (&b"ok"[..], version), "{line:?}");
    }
    // Chunked by a server of HTTP/1.0, whose connection ends there: curl and browsers read it.
    let chunked = "HTTP/1.0 200 Fine\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let reply = get_bytes(chunked.into()).await.unwrap();
    assert_eq!((&reply.body[..], reply.version), (&b"ok"[..], reqwest::Version::HTTP_10));
    assert_eq!(reply.lines.as_deref(), Some(&b"X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n"[..]));
    let only_lf = get_bytes(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok".to_vec()).await.unwrap();
    assert_eq!(only_lf.body, "ok");
    for line in [
        "ICY 200 OK",
        "HTTP/9.9 200 OK",
        "HTTP/0.9 200 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 20 OK",
        "xyHTTP/1.1 200 OK",
        "HTTP/1.1 200 a\0b",
        "HTTP/1.1 200 a\rb",
        "http/1.1 200 a\u{1}",
    ] {
        let result = get_bytes(format!("{line}\r\nContent-Length: 2\r\n\r\nok").into_bytes()).await;
        assert_eq!(result.err(), Some(NetworkError::Malformed), "{line:?}");
    }
    for no_http in ["garbage\r\n\r\n", "SSH-2.0-OpenSSH_9.9\r\n", "HTTP/1.1 OK\r\n\r\n", "<html>\r\n\r\n"] {
        let result = get_bytes(no_http.as_bytes().to_vec()).await;
        assert_eq!(result.err(), Some(NetworkError::Malformed), "{no_http:?}");
    }
}

#[tokio::test]
async fn a_reason_phrase_is_kept_byte_for_byte() {
    let phrases: [&[u8]; 8] = [
        "Artículo encontrado".as_bytes(),
        b"Trouv\xe9",
        "Найдено".as_bytes(),
        b"Fine By Me",
        b"",
        b"\xff",
        b"two  spaces\tand a tab ",
        b"OK\xa0",
    ];
    let body = b"\r\nContent-Length: 2\r\n\r\nok";
    for before in [&b""[..], b"\r\n\n", b"HTTP/1.1 103 \xe9arly\r\nX: y\r\n\r\n"] {
        for phrase in phrases {
            let reply = get_bytes([before, b"HTTP/1.1 200 ", phrase, body].concat()).await.unwrap();
            assert_eq!((reply.reason.as_deref(), &reply.body[..]), (Some(phrase), &b"ok"[..]));
        }
    }
}

#[tokio::test]
async fn each_response_on_a_connection_has_its_own_reason_phrase() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let phrases: [&[u8]; 4] = [b"\xe9 one", b"OK", b"\xe9 three", b"four"];
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for phrase in phrases {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            // In pieces, with a body that looks like a header.
            let head = [b"HTTP/1.1 200 ", phrase, b"\r\nContent-Length: 24\r\n\r\n"].concat();
            for piece in head.chunks(7) {
                stream.write_all(piece).await.unwrap();
                stream.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
            stream.write_all(b"HTTP/1.1 200 \xe8\xe8\xe8\r\n\r\nbody").await.unwrap();
        }
    });
    let network = HttpNetwork::new(&config()).unwrap();
    for phrase in phrases {
        let request = request(&format!("http://{address}/"));
        let reply = crate::Response::from(network.get(&request, &Meter::default()).await.unwrap());
        assert_eq!((reply.reason(), reply.body.len()), (phrase, 24));
    }
}

#[tokio::test]
async fn a_whole_gzip_body_counts_also_where_the_header_announces_more() {
    // Some servers tell the length of the decoded body.
    let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5000\r\n\r\n";
    let whole = gzip(&b"hello ".repeat(500));
    let reply = get_bytes([&head[..], &whole].concat()).await.unwrap();
    assert_eq!((reply.body.len(), reply.cut), (3000, Some(Cut::Disconnect)));
    let broken = get_bytes([&head[..], &whole[..whole.len() - 1]].concat()).await;
    assert_eq!(broken.err(), Some(NetworkError::Protocol));
}
