//! Frame of the compressed data of a gzip member (RFC 1952 §2.3). We read it ourselves to tell data that
//! break off from whole data without their checksum, which browsers show.

use flate2::Crc;
use std::io;

/// The first bytes of a member.
const MEMBER: [u8; 2] = [0x1f, 0x8b];
/// The flags of a head for the fields that follow it.
const CHECKSUM: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;

/// The bytes before the compressed data.
#[derive(Default)]
pub struct GzipHead {
    read: usize,
    flags: u8,
    part: GzipPart,
}

/// The part of the head that comes next.
#[derive(Default)]
enum GzipPart {
    #[default]
    Fixed,
    ExtraLength(Option<u8>),
    Extra(u16),
    Text,
    Checksum(u8),
    End,
}

impl GzipHead {
    /// Are there only bytes so far that anything could begin with?
    pub fn is_open(&self) -> bool {
        self.read < MEMBER.len()
    }

    /// Reads the next byte, and returns whether it was the last one.
    ///
    /// # Errors
    /// This is no gzip member.
    pub fn add(&mut self, byte: u8) -> io::Result<bool> {
        let at = self.read;
        self.read = at.saturating_add(1);
        match &mut self.part {
            GzipPart::Fixed => {
                let is_good = match at {
                    0 | 1 => byte == MEMBER[at],
                    // The only method: deflate.
                    2 => byte == 8,
                    _ => true,
                };
                if !is_good {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                match at {
                    3 => self.flags = byte,
                    9 => self.next(),
                    _ => {}
                }
            }
            GzipPart::ExtraLength(low @ None) => *low = Some(byte),
            GzipPart::ExtraLength(Some(low)) => match u16::from_le_bytes([*low, byte]) {
                0 => self.next(),
                length => self.part = GzipPart::Extra(length),
            },
            GzipPart::Extra(1) | GzipPart::Checksum(1) => self.next(),
            GzipPart::Extra(left) => *left -= 1,
            GzipPart::Checksum(left) => *left -= 1,
            GzipPart::Text if byte == 0 => self.next(),
            GzipPart::Text | GzipPart::End => {}
        }
        Ok(matches!(self.part, GzipPart::End))
    }

    /// The next part that the flags name. Each flag counts once.
    fn next(&mut self) {
        let named = [EXTRA, NAME, COMMENT, CHECKSUM].into_iter().find(|flag| self.flags & flag != 0);
        self.flags &= !named.unwrap_or_default();
        self.part = match named {
            Some(EXTRA) => GzipPart::ExtraLength(None),
            Some(NAME | COMMENT) => GzipPart::Text,
            Some(_) => GzipPart::Checksum(2),
            None => GzipPart::End,
        };
    }
}

/// The bytes behind the compressed data: checksum and length of what they decode to.
#[derive(Default)]
pub struct Trailer {
    bytes: [u8; 8],
    read: usize,
}

impl Trailer {
    /// Reads up to its end, and returns how many bytes are its own.
    pub fn add(&mut self, coded: &[u8]) -> usize {
        let amount = coded.len().min(self.bytes.len() - self.read);
        self.bytes[self.read..self.read + amount].copy_from_slice(&coded[..amount]);
        self.read += amount;
        amount
    }

    pub fn is_whole(&self) -> bool {
        self.read == self.bytes.len()
    }

    pub fn fits(&self, decoded: &Crc) -> bool {
        let expected = u64::from(decoded.sum()) | u64::from(decoded.amount()) << 32;
        self.is_whole() && self.bytes == expected.to_le_bytes()
    }
}
