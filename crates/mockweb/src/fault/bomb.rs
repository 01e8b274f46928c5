//! Decompression bombs: compressed bodies that unpack to more than a machine can hold.
//!
//! Each bomb is a start and a block that is repeated as long as the client reads.

use super::{Action, FaultKind};
use crate::raw::RawResponse;
use flate2::write::GzEncoder;
use flate2::{Compress, Compression, FlushCompress};
use std::io::Write;
use std::sync::OnceLock;

/// Text that a block of gzip unpacks to, in bytes.
const BLOCK: usize = 1 << 20;

/// A bomb.
pub const BOMB: FaultKind = FaultKind {
    name: "bomb",
    help: "a body that unpacks without end; value: gzip or deflate (a thousand to one), zstd (thirty thousand to \
           one), wide or window (zstd with a window of 128 MiB or 2 GiB), default gzip",
    parse: |value| {
        let value = value.unwrap_or("gzip");
        let (coding, first, again) = match value {
            "gzip" => ("gzip", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], deflated()),
            "deflate" => ("deflate", vec![0x78, 0x9c], deflated()),
            "zstd" => ("zstd", zstd_head(22), zstd_block()),
            "wide" => ("zstd", zstd_head(27), zstd_block()),
            "window" => ("zstd", zstd_head(31), zstd_block()),
            other => return Err(format!("unknown bomb {other:?}")),
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: {coding}\r\n\r\n");
        let raw = RawResponse::endless([head.into_bytes(), first].concat(), again);
        Ok(Box::new(move |_| Action::Raw(raw.clone())))
    },
};

/// Much data that unpacks to nothing.
pub const HOLLOW: FaultKind = FaultKind {
    name: "hollow",
    help: "a body that unpacks to nothing, slowly; value: members (a few kB: empty gzip members, packed twice \
           more), blocks (endless empty deflate blocks) or frames (endless empty zstd frames), default members",
    parse: |value| {
        let (coding, body) = match value.unwrap_or("members") {
            "members" => {
                let body = hollow().clone();
                let fields = vec![
                    ("content-type", "text/html".into()),
                    ("content-encoding", "gzip, gzip, gzip".into()),
                ];
                return Ok(Box::new(move |_| Action::Page { fields: fields.clone(), body: body.clone() }));
            }
            "blocks" => ("deflate", (vec![0x78, 0x9c], EMPTY_BLOCK.repeat(8_192))),
            "frames" => ("zstd", (Vec::new(), EMPTY_FRAME.repeat(4_096))),
            other => return Err(format!("unknown body {other:?}")),
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: {coding}\r\n\r\n");
        let raw = RawResponse::endless([head.into_bytes(), body.0].concat(), body.1);
        Ok(Box::new(move |_| Action::Raw(raw.clone())))
    },
};

/// A stored deflate block without data, not the last one (RFC 1951 §3.2.4).
const EMPTY_BLOCK: [u8; 5] = [0, 0, 0, 0xff, 0xff];
/// A zstd frame with one empty last block (RFC 8878 §3.1.1): single segment, content size 0.
const EMPTY_FRAME: [u8; 9] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];
/// An empty gzip member (RFC 1952 §2.3): header, an empty last block, checksum and size 0.
const EMPTY_MEMBER: [u8; 20] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Number of empty members in [`hollow`]: 60 MB.
const MEMBERS: usize = 3 << 20;

/// Empty gzip members, packed twice. Cached, since it takes half a second.
fn hollow() -> &'static Vec<u8> {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        let some = EMPTY_MEMBER.repeat(4_096);
        for _ in 0..MEMBERS / 4_096 {
            packed.write_all(&some).expect("memory takes every byte");
        }
        let once = packed.finish().expect("memory takes every byte");
        let mut twice = GzEncoder::new(Vec::new(), Compression::best());
        twice.write_all(&once).and_then(|()| twice.finish()).expect("memory takes every byte")
    })
}

/// A deflate block that is independent of earlier data and byte-aligned at its end.
fn deflated() -> Vec<u8> {
    let mut packed = Vec::with_capacity(BLOCK);
    let mut deflate = Compress::new(Compression::best(), false);
    let text = vec![b' '; BLOCK];
    deflate.compress_vec(&text, &mut packed, FlushCompress::Full).expect("there is room for all of it");
    packed
}

/// The header of a frame with a window of 2^`bits` bytes (RFC 8878 §3.1.1.1).
fn zstd_head(bits: u8) -> Vec<u8> {
    vec![0x28, 0xb5, 0x2f, 0xfd, 0, (bits - 10) << 3]
}

/// A block that repeats one byte to 128 KiB (RFC 8878 §3.1.1.2): type 1, not the last.
fn zstd_block() -> Vec<u8> {
    const SIZE: u32 = 128 << 10;
    let head = (SIZE << 3) | (1 << 1);
    let [a, b, c, _] = head.to_le_bytes();
    [a, b, c, b' '].repeat(64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn blocks_unpack_to_what_they_promise() {
        let mut text = vec![0; 3 * BLOCK];
        let bomb = [vec![0x78, 0x9c], deflated().repeat(3)].concat();
        flate2::read::ZlibDecoder::new(&bomb[..]).read_exact(&mut text).unwrap();
        assert!(text.iter().all(|&b| b == b' '));
        assert!(bomb.len() < text.len() / 900, "{}", bomb.len());
        let hollow = hollow();
        assert!(hollow.len() < 8 << 10, "{}", hollow.len());
        let (mut once, mut twice) = (Vec::new(), vec![0; 2 * EMPTY_MEMBER.len()]);
        flate2::read::GzDecoder::new(&hollow[..]).read_to_end(&mut once).unwrap();
        flate2::read::GzDecoder::new(&once[..]).read_exact(&mut twice).unwrap();
        assert_eq!(twice, EMPTY_MEMBER.repeat(2));
        let unpacked = |reader: &mut dyn Read| reader.read_to_end(&mut Vec::new());
        assert_eq!(unpacked(&mut flate2::read::MultiGzDecoder::new(&twice[..])).unwrap(), 0);
        assert_eq!(
            unpacked(&mut zstd::stream::read::Decoder::new(&EMPTY_FRAME.repeat(3)[..]).unwrap()).unwrap(),
            0
        );
        let blocks = [&[0x78, 0x9c][..], &EMPTY_BLOCK.repeat(9)[..]].concat();
        let ended = unpacked(&mut flate2::read::ZlibDecoder::new(&blocks[..]));
        assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof, "it never ends");
        let bomb = [zstd_head(22), zstd_block()].concat();
        let mut text = vec![0; 64 * (128 << 10)];
        zstd::stream::read::Decoder::new(&bomb[..]).unwrap().read_exact(&mut text).unwrap();
        assert!(text.iter().all(|&b| b == b' '));
    }
}
