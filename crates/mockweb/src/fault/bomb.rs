//! Little data that becomes much: compressed bodies that unpack to more than a machine holds.
//!
//! All of them are a beginning and a block that is repeated for as long as the client reads, so that a bomb
//! has no size.

use super::{Action, Kind};
use crate::raw::Raw;
use flate2::{Compress, Compression, FlushCompress};

/// Text that a block of gzip unpacks to, in bytes.
const BLOCK: usize = 1 << 20;

/// A bomb.
pub const BOMB: Kind = Kind {
    name: "bomb",
    help: "sends a body that unpacks to any size; value: gzip or deflate (a thousand to one), zstd (thirty \
           thousand to one), wide or window (zstd that asks for a window of 128 MiB or 2 GiB), gzip",
    parse: |value| {
        let value = value.unwrap_or("gzip");
        let (coding, first, again) = match value {
            "gzip" => ("gzip", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], deflated()),
            "deflate" => ("deflate", vec![0x78, 0x9c], deflated()),
            "zstd" => ("zstd", zstd_head(22), zstd_block()),
            "wide" => ("zstd", zstd_head(27), zstd_block()),
            "window" => ("zstd", zstd_head(31), zstd_block()),
            other => return Err(format!("{other:?} is no bomb")),
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: {coding}\r\n\r\n");
        let raw = Raw::endless([head.into_bytes(), first].concat(), again);
        Ok(Box::new(move |_| Action::Raw(raw.clone())))
    },
};

/// A block of deflate that depends on nothing before it and ends on a byte.
fn deflated() -> Vec<u8> {
    let mut packed = Vec::with_capacity(BLOCK);
    let mut deflate = Compress::new(Compression::best(), false);
    let text = vec![b' '; BLOCK];
    deflate.compress_vec(&text, &mut packed, FlushCompress::Full).expect("there is room for all of it");
    packed
}

/// The head of a frame whose window has 2^`bits` bytes (RFC 8878 §3.1.1.1).
fn zstd_head(bits: u8) -> Vec<u8> {
    vec![0x28, 0xb5, 0x2f, 0xfd, 0, (bits - 10) << 3]
}

/// 128 KiB of one byte, as a block that repeats it (RFC 8878 §3.1.1.2): type 1, not the last.
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
        let bomb = [zstd_head(22), zstd_block()].concat();
        let mut text = vec![0; 64 * (128 << 10)];
        zstd::stream::read::Decoder::new(&bomb[..]).unwrap().read_exact(&mut text).unwrap();
        assert!(text.iter().all(|&b| b == b' '));
    }
}
