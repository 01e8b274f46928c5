//! Requests that a server did not process: on connections that it closes, and on streams that it
//! refuses.

use super::tls::{acceptor, trusting};
use super::*;
use std::sync::Arc;
use std::sync::Mutex;
use tokio::io::AsyncRead;

/// Behaviour of a server with a request.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Answer,
    /// Closes the connection without a response.
    Close,
    /// Resets the connection.
    Reset,
    /// Sends half of a body and closes.
    Break,
}

use Then::{Answer, Break, Close, Reset};

/// A server that does these for one request after the other. Returns the number of requests on each
/// connection.
async fn serve_in_turn(acts: &'static [Then]) -> (SocketAddr, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, counts) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
    let counted = counts.clone();
    tokio::spawn(async move {
        let mut acts = acts.iter();
        // One connection at a time: a client opens no second one.
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.lock().unwrap().push(0);
            while read_request(&mut stream).await {
                *counted.lock().unwrap().last_mut().unwrap() += 1;
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
                match acts.next().expect("no more requests") {
                    Answer => stream.write_all(&[&head[..], b"ok"].concat()).await.unwrap(),
                    Close => break,
                    Reset => {
                        stream.set_zero_linger().unwrap();
                        break;
                    }
                    Break => {
                        stream.write_all(&[&head[..], b"o"].concat()).await.unwrap();
                        break;
                    }
                }
            }
        }
    });
    (address, counts)
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return false,
        }
    }
    true
}

#[tokio::test]
async fn rfc_9112_section_9_5_a_request_into_a_connection_that_was_closed_meanwhile_is_told_apart() {
    const NOT_TAKEN: Option<NetworkError> = Some(NetworkError::NotProcessed);
    const BROKEN: Option<NetworkError> = Some(NetworkError::Protocol);
    type Case = (&'static [Then], &'static [Option<NetworkError>], &'static [usize]);
    const CASES: [Case; 6] = [
        (&[Answer, Close, Answer, Answer], &[None, NOT_TAKEN, None, None], &[2, 2]),
        (&[Answer, Reset, Answer], &[None, NOT_TAKEN, None], &[2, 1]),
        // A fresh connection was not idle, so the server closed it on purpose.
        (&[Answer, Close, Close], &[None, NOT_TAKEN, BROKEN], &[2, 1]),
        (&[Close], &[BROKEN], &[1]),
        (&[Reset], &[BROKEN], &[1]),
        // A response has begun.
        (&[Answer, Break], &[None, BROKEN], &[2]),
    ];
    for (acts, ends, requests) in CASES {
        let (address, counts) = serve_in_turn(acts).await;
        let network = HttpNetwork::new(&config()).unwrap();
        for (i, end) in ends.iter().enumerate() {
            let asked = request(&format!("http://{address}/{i}"));
            assert_eq!(network.get(&asked, &Meter::default()).await.err(), *end, "{i}");
        }
        assert_eq!(&counts.lock().unwrap()[..], requests);
    }
}

/// An HTTP/2 frame (RFC 9113 section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = &(payload.len() as u32).to_be_bytes()[1..];
    [length, &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
/// `:status: 200` in HPACK's static table.
const STATUS_200: u8 = 0x88;
const END_STREAM: u8 = 1;
const HEADERS_ALONE: u8 = 4;
const END_STREAM_AND_HEADERS: u8 = 5;

/// Reads frames until a request, and returns its stream.
async fn read_stream(stream: &mut (impl AsyncRead + Unpin)) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.ok()?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        stream.read_exact(&mut vec![0; length]).await.ok()?;
        if head[3] == HEADERS {
            return Some(u32::from_be_bytes(head[5..].try_into().unwrap()));
        }
    }
}

/// An HTTP/2 server that sends one frame per request: kind, flags and payload. Behind a header alone comes a body. After a GOAWAY it
/// closes the connection.
async fn serve_frames(frames: Vec<(u8, u8, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = acceptor(&["h2"]);
    tokio::spawn(async move {
        let mut frames = frames.into_iter();
        while let Ok((stream, _)) = listener.accept().await {
            // A client may want another protocol.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            stream.read_exact(&mut [0; b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
            stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
            while let Some(id) = read_stream(&mut stream).await {
                let (kind, flags, payload) = frames.next().expect("no more requests");
                let id = if kind == GOAWAY { 0 } else { id };
                stream.write_all(&frame(kind, flags, id, &payload)).await.unwrap();
                if flags == HEADERS_ALONE {
                    stream.write_all(&frame(DATA, END_STREAM, id, b"x")).await.unwrap();
                }
                if kind == GOAWAY {
                    break;
                }
            }
        }
    });
    address
}

async fn ask_in_turn(frames: Vec<(u8, u8, Vec<u8>)>, times: usize) -> Vec<Result<u16, NetworkError>> {
    let address = serve_frames(frames).await;
    let (network, meter) = (trusting(vec![super::tls::AUTHORITY.to_vec()]), Meter::default());
    let mut ends = Vec::new();
    for i in 0..times {
        let asked = request(&format!("https://h2.test:{}/{i}", address.port()));
        ends.push(network.get(&asked, &meter).await.map(|reply| reply.status));
    }
    ends
}

#[tokio::test]
async fn rfc_9113_section_8_7_what_was_not_processed_is_told_apart() {
    let answer = || (HEADERS, END_STREAM_AND_HEADERS, vec![STATUS_200]);
    let refused = || (RST_STREAM, 0, REFUSED_STREAM.to_vec());
    // No stream was processed; no error.
    let away = || (GOAWAY, 0, vec![0; 8]);
    let calm = || (RST_STREAM, 0, vec![0, 0, 0, 11]);
    let not_taken = Err(NetworkError::NotProcessed);
    for (frames, ends) in [
        (vec![answer(), refused(), answer()], vec![Ok(200), not_taken, Ok(200)]),
        (vec![refused(), answer()], vec![not_taken, Ok(200)]),
        (vec![answer(), away(), answer()], vec![Ok(200), not_taken, Ok(200)]),
        (vec![away(), answer()], vec![not_taken, Ok(200)]),
        // ENHANCE_YOUR_CALM: the server saw the request.
        (vec![calm()], vec![Err(NetworkError::Protocol)]),
    ] {
        let told = format!("{frames:?}");
        assert_eq!(ask_in_turn(frames, ends.len()).await, ends, "{told}");
    }
}

/// This server has no HTTP/1.1.
#[tokio::test]
async fn who_speaks_no_sound_http_2_or_demands_http_1_1_is_asked_over_it() {
    let with = |field: &[u8]| (HEADERS, END_STREAM_AND_HEADERS, [&[STATUS_200][..], field].concat());
    use NetworkError::{NotProcessed, Unsound};
    for (frame, end) in [
        (with(b"\0\x0aconnection\x05close"), Unsound),
        (with(b"\0\x01X\x01y"), Unsound),
        (with(b"\0\x0econtent-length\x01x"), Unsound),
        // Of another length than the body.
        ((HEADERS, HEADERS_ALONE, [&[STATUS_200][..], b"\0\x0econtent-length\x019"].concat()), Unsound),
        // PROTOCOL_ERROR and HTTP_1_1_REQUIRED
        ((RST_STREAM, 0, vec![0, 0, 0, 1]), Unsound),
        ((GOAWAY, 0, vec![0, 0, 0, 0, 0, 0, 0, 13]), NotProcessed),
    ] {
        let told = format!("{frame:?}");
        let ends = [Err(end), Err(NetworkError::Tls)];
        assert_eq!(ask_in_turn(vec![frame], 2).await, ends, "{told}");
        // Who posts must not post twice what a server may have taken.
        assert_eq!(end.reached_no_server(), end == NotProcessed, "{told}");
    }
}

#[tokio::test]
async fn header_fields_of_http_2_are_bounded_in_number() {
    let fields = |many: usize| [&[STATUS_200][..], &b"\0\x01x\x01y".repeat(many)].concat();
    for (many, end) in [
        (MAX_HEADERS, Ok(200)),
        (MAX_HEADERS + 1, Err(NetworkError::Malformed)),
        (MAX_HEADERS * 3 / 2, Err(NetworkError::Malformed)),
    ] {
        let frames = vec![(HEADERS, END_STREAM_AND_HEADERS, fields(many))];
        assert_eq!(ask_in_turn(frames, 1).await, [end], "{many}");
    }
}
