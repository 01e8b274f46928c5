//! Content codings: decoded, broken, nested, and decompression bombs.

use super::*;
use crate::net::limits::MAX_CODED_LEAD;
use async_compression::tokio::write as encode;
use proptest::prelude::*;
use reqwest::header::HeaderValue;
use std::cell::Cell;
use tokio::io::AsyncWriteExt;

const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

/// The bytes with one more coding.
async fn under(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    macro_rules! encoded {
        ($encoder:expr) => {{
            let mut encoder = $encoder;
            encoder.write_all(bytes).await.unwrap();
            encoder.shutdown().await.unwrap();
            encoder.into_inner()
        }};
    }
    let packed = Vec::new();
    match coding {
        Coding::Gzip => encoded!(encode::GzipEncoder::new(packed)),
        Coding::Deflate => encoded!(encode::ZlibEncoder::new(packed)),
        Coding::Brotli => {
            let fast = async_compression::Level::Fastest;
            encoded!(encode::BrotliEncoder::with_quality(packed, fast))
        }
        Coding::Zstd => encoded!(encode::ZstdEncoder::new(packed)),
    }
}

async fn decoded(bytes: &[u8], codings: &[Coding], limit: usize) -> io::Result<(Bytes, Option<Cut>)> {
    let reader = Box::new(io::Cursor::new(bytes.to_vec()));
    decode(reader, codings, limit, &BodyMemory::new(1 << 30, limit), &Meter::default()).await
}

fn named(fields: &[&'static str]) -> Result<Vec<Coding>, NetworkError> {
    let mut headers = HeaderMap::new();
    for field in fields {
        headers.append(CONTENT_ENCODING, HeaderValue::from_static(field));
    }
    Coding::from_headers(&headers)
}

#[test]
fn rfc_9110_section_8_4_codings_are_named_in_the_order_in_which_they_were_applied() {
    assert_eq!(named(&["gzip, br", "Zstd"]), Ok(vec![Coding::Gzip, Coding::Brotli, Coding::Zstd]));
    assert_eq!(named(&["X-GZip"]), Ok(vec![Coding::Gzip]), "section 8.4.1.3: equivalent to gzip");
    for none in ["identity", "utf-8", "none", "", ","] {
        assert_eq!(named(&[none]), Ok(Vec::new()), "{none}");
    }
    for beyond in ["compress", "x-compress", "gzip, dcb", "br,br,br,br"] {
        assert_eq!(named(&[beyond]), Err(NetworkError::Encoding), "{beyond}");
    }
}

#[test]
fn rfc_9112_section_7_codings_of_the_transfer_come_last_and_chunked_is_none_of_them() {
    let of = |content: &[&'static str], transfer: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for (name, lists) in [(CONTENT_ENCODING, content), (TRANSFER_ENCODING, transfer)] {
            for list in lists {
                headers.append(&name, HeaderValue::from_static(list));
            }
        }
        Coding::from_headers(&headers)
    };
    assert_eq!(of(&[], &["gzip, chunked"]), Ok(vec![Coding::Gzip]));
    assert_eq!(of(&["br"], &["X-GZIP", "Chunked"]), Ok(vec![Coding::Brotli, Coding::Gzip]));
    assert_eq!(of(&[], &["deflate"]), Ok(vec![Coding::Deflate]));
    for plain in [&["chunked"][..], &["chunked", "chunked"], &["identity"], &["identity, chunked,"], &[""]] {
        assert_eq!(of(&[], plain), Ok(Vec::new()), "{plain:?}");
    }
    for hidden in [&["chunked, gzip"][..], &["compress, chunked"], &["chunked", "identity"]] {
        assert_eq!(of(&[], hidden), Err(NetworkError::Encoding), "{hidden:?}");
    }
}

#[tokio::test]
async fn rfc_1952_section_2_2_a_gzip_body_may_have_several_members() {
    let members = [under(Coding::Gzip, b"first ").await, under(Coding::Gzip, b"second").await].concat();
    let body = decoded(&members, &[Coding::Gzip], 100).await.unwrap();
    assert_eq!(body, (Bytes::from_static(b"first second"), None));
}

#[tokio::test]
async fn deflate_is_undone_with_and_without_its_head() {
    let zlib = under(Coding::Deflate, b"hello").await;
    let bare = &zlib[2..zlib.len() - 4];
    for body in [&zlib[..], bare] {
        assert_eq!(decoded(body, &[Coding::Deflate], 100).await.unwrap().0, "hello");
    }
}

#[tokio::test]
async fn rfc_9659_a_zstd_window_is_bounded() {
    // Headers of frames with windows of 2^bits bytes (RFC 8878 section 3.1.1.1), and one byte as a
    // raw block.
    let frame = |bits: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0, (bits - 10) << 3][..], &[9, 0, 0, b'x']].concat();
    assert_eq!(decoded(&frame(23), &[Coding::Zstd], 100).await.unwrap().0, "x");
    for bits in [24, 27, 31] {
        let error = decoded(&frame(bits), &[Coding::Zstd], 100).await.unwrap_err();
        assert_eq!(what_broke(&error), NetworkError::Encoding, "2^{bits}");
    }
}

#[tokio::test]
async fn a_bomb_is_unpacked_up_to_the_limit_also_where_one_hides_in_another() {
    const LIMIT: usize = 10_000;
    for coding in ALL {
        let mut bomb = under(coding, &vec![b' '; 10_000_000]).await;
        assert!(bomb.len() < 20_000, "{coding:?}: {}", bomb.len());
        let mut codings = vec![coding];
        while codings.len() <= MAX_CODINGS {
            let (body, cut) = decoded(&bomb, &codings, LIMIT).await.unwrap();
            assert_eq!((body.len(), cut), (LIMIT, Some(Cut::Limit)), "{codings:?}");
            bomb = under(coding, &bomb).await;
            codings.push(coding);
        }
    }
}

/// This many empty gzip members, gzipped twice.
async fn empty_members(many: usize) -> Vec<u8> {
    let member = under(Coding::Gzip, b"").await;
    let once = under(Coding::Gzip, &member.repeat(many)).await;
    under(Coding::Gzip, &once).await
}

#[tokio::test]
async fn what_decodes_to_nothing_is_given_up_within_the_lead_of_each_coding() {
    let bomb = empty_members(200_000).await;
    assert!(bomb.len() < 10_000, "{}", bomb.len());
    for codings in [&[Coding::Gzip; 3][..], &[Coding::Gzip; 2]] {
        let error = decoded(&bomb, codings, 1_000).await.map(|(body, _)| body.len());
        let expected = if codings.len() == 3 { Err(NetworkError::Encoding) } else { Ok(1_000) };
        assert_eq!(error.map_err(|e| what_broke(&e)), expected, "{codings:?}");
    }
    // A few are harmless: servers send them when they flush before any output.
    let few =
        [empty_members(100).await, under(Coding::Gzip, &under(Coding::Gzip, b"x").await).await].concat();
    assert_eq!(decoded(&few, &[Coding::Gzip; 2], 10_000).await.unwrap().0.len(), 100 * 20 + 1);
}

#[tokio::test]
async fn other_tasks_have_their_turns_while_a_body_is_decoded() {
    let turns = Cell::new(0);
    // Half of the lead, so that all of it is decoded to nothing; and a very long body.
    let nothing = under(Coding::Gzip, b"").await.repeat(MAX_CODED_LEAD / 2 / 20);
    let long = under(Coding::Gzip, &vec![b' '; 10_000_000]).await;
    for (body, limit) in [(nothing, 1_000), (long, 10_000_000)] {
        turns.set(0);
        tokio::select! {
            biased;
            body = decoded(&body, &[Coding::Gzip], limit) => body.unwrap(),
            () = take_turns(&turns) => unreachable!("it never ends"),
        };
        assert!(turns.get() > 0, "no other task ran");
    }
}

async fn take_turns(turns: &Cell<usize>) {
    loop {
        turns.set(turns.get() + 1);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_follows_a_gzip_member_and_is_none_is_passed_over() {
    let member = under(Coding::Gzip, b"text").await;
    for behind in [&b"\0"[..], &[0; 1000], b"\r\n", b"\x1f", b"\x1f\x8c", b"<!-- cached -->"] {
        let body = [&member, behind].concat();
        assert_eq!(decoded(&body, &[Coding::Gzip], 100).await.unwrap(), (Bytes::from_static(b"text"), None));
        let twice = [under(Coding::Gzip, &body).await, behind.to_vec()].concat();
        assert_eq!(decoded(&twice, &[Coding::Gzip; 2], 100).await.unwrap().0, "text");
    }
    for (broken, text, cut) in [
        (&b"\x1f\x8b"[..], "text", Cut::Coding),
        (&member[..10], "text", Cut::Coding),
        (&member[..member.len() - 1], "texttext", Cut::Checksum),
    ] {
        let body = [&member, broken].concat();
        let read = decoded(&body, &[Coding::Gzip], 100).await.unwrap();
        assert_eq!(read, (Bytes::from(text), Some(cut)), "a member that is cut off");
    }
}

#[tokio::test]
async fn what_is_cut_off_counts_as_far_as_it_can_be_decoded() {
    // Words that do not compress well.
    let text: Vec<u8> = (0u32..5_000).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    for coding in ALL {
        let whole = under(coding, &text).await;
        for cut in [1, 2] {
            assert!(decoded(&whole[..cut], &[coding], 100_000).await.is_err(), "{coding:?} cut at {cut}");
        }
        let (body, cut) = decoded(&whole[..whole.len() * 9 / 10], &[coding], 100_000).await.unwrap();
        assert!(!body.is_empty() && text.starts_with(&body), "{coding:?}: {}", body.len());
        assert_eq!(cut, Some(Cut::Coding), "{coding:?}");
        // Below another coding, too.
        let twice = under(Coding::Gzip, &whole[..whole.len() * 9 / 10]).await;
        assert_eq!(
            decoded(&twice, &[coding, Coding::Gzip], 100_000).await.unwrap(),
            (body, cut),
            "{coding:?}"
        );
        assert!(decoded(b"\xffthis is nothing of the kind", &[coding], 100).await.is_err(), "{coding:?}");
        assert_eq!(decoded(b"", &[coding], 100).await.unwrap(), (Bytes::new(), None));
    }
}

#[tokio::test]
async fn a_gzip_body_without_its_checksum_or_with_a_wrong_one_is_read_to_its_end() {
    let whole = under(Coding::Gzip, b"words of a page").await;
    let end = whole.len() - 8;
    let wrong = |at: usize| {
        let mut wrong = whole.clone();
        wrong[at] ^= 1;
        wrong
    };
    let text = Bytes::from_static(b"words of a page");
    for body in [&whole[..end], &whole[..end + 3], &whole[..end + 7], &wrong(end), &wrong(end + 7)] {
        let read = decoded(body, &[Coding::Gzip], 100).await.unwrap();
        assert_eq!(read, (text.clone(), Some(Cut::Checksum)));
        // The limit of a body hides nothing.
        assert_eq!(decoded(body, &[Coding::Gzip], text.len()).await.unwrap().1, Some(Cut::Checksum));
        let twice = under(Coding::Deflate, body).await;
        let read = decoded(&twice, &[Coding::Gzip, Coding::Deflate], 100).await.unwrap();
        assert_eq!(read, (text.clone(), Some(Cut::Checksum)));
    }
    // Of an empty body, nothing is missing.
    let nothing = under(Coding::Gzip, b"").await;
    let read = decoded(&nothing[..nothing.len() - 8], &[Coding::Gzip], 100).await.unwrap();
    assert_eq!(read, (Bytes::new(), Some(Cut::Checksum)));
}

#[tokio::test]
async fn rfc_1952_section_2_3_a_member_may_have_a_name_a_comment_and_more() {
    let member = under(Coding::Gzip, b"text").await;
    let parts: [(u8, &[u8]); 5] = [
        (4, b"\x03\0abc"),
        (4 | 8 | 16 | 2 | 1, b"\0\0name\0comment\0\x12\x34"),
        (8, b"a.html\0"),
        (16 | 2, b"\0\x12\x34"),
        (0, b""),
    ];
    for (flags, more) in parts {
        let head = [&member[..3], &[flags], &member[4..10], more].concat();
        let body = [&head[..], &member[10..], &head[..], &member[10..]].concat();
        let read = decoded(&body, &[Coding::Gzip], 100).await.unwrap();
        assert_eq!(read, (Bytes::from_static(b"texttext"), None), "{flags}");
        assert!(decoded(&head, &[Coding::Gzip], 100).await.is_err(), "{flags}: a head alone");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_stack_of_codings_is_undone(
        text in proptest::collection::vec(any::<u8>(), 1..2_000),
        stack in proptest::collection::vec(0usize..ALL.len(), 0..=MAX_CODINGS),
        limit in 0usize..3_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (body, cut) = runtime.block_on(async {
            let (mut packed, mut codings) = (text.clone(), Vec::new());
            for coding in stack {
                packed = under(ALL[coding], &packed).await;
                codings.push(ALL[coding]);
            }
            decoded(&packed, &codings, limit).await
        }).unwrap();
        prop_assert_eq!(&body[..], &text[..text.len().min(limit)]);
        prop_assert_eq!(cut, (text.len() > limit).then_some(Cut::Limit));
    }

    #[test]
    fn garbage_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), coding in 0usize..4) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        if let Ok((body, _)) = runtime.block_on(decoded(&bytes, &[ALL[coding]], 1_000)) {
            prop_assert!(body.len() <= 1_000);
        }
    }
}
