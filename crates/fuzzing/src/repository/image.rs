//! A repository's files put together from parts of an input: headers, lengths and checksums as docs/internals/formats.md
//! has them, contents as the input says.

use recrawl_repository::decisions::{DECISIONS, NOTHING};
use recrawl_types::{Cycle, Round};
use std::collections::BTreeMap;

/// The generation, and the cycle, that all files are of.
pub const ROUND: Round = Round(1);
/// Its cycle.
pub const CYCLE: Cycle = Cycle(7);

/// The name of a generation's file.
pub fn generation(part: &str) -> String {
    format!("generation-0000000001.{part}")
}

/// The name of one of a cycle's own files.
pub fn cycle(part: &str) -> String {
    format!("cycle-0000000001.{part}")
}

/// How the frames of a file are written.
#[derive(Clone, Copy, Default)]
pub struct How {
    /// What is taken off the newest format version.
    pub older: u32,
    /// Are the payloads said to be compressed? Their first two bytes then say how long they are unpacked.
    pub packed: bool,
}

impl How {
    /// As a byte of the input says.
    pub fn from_byte(byte: u8) -> How {
        How { older: u32::from(byte % recrawl_repository::FORMAT_VERSION as u8), packed: byte & 0x80 != 0 }
    }

    pub fn is_packed(self) -> bool {
        self.packed
    }
}

/// Takes an input apart; what is not there is empty.
pub struct InputParts<'a>(&'a [u8]);

impl<'a> InputParts<'a> {
    pub fn new(data: &'a [u8]) -> InputParts<'a> {
        InputParts(data)
    }

    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// Two bytes, the lower one first.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// As many bytes as the next two say, or as there are.
    pub fn part(&mut self) -> &'a [u8] {
        let length = usize::from(self.short());
        let (part, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        part
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// A number of variable length (LEB128).
pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Files by name.
#[derive(Default)]
pub struct Image {
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Image {
    /// A file of frames; gives where each lies, and its length.
    pub fn frames(&mut self, name: &str, kind: u8, how: How, payloads: &[&[u8]]) -> Vec<(u64, u64)> {
        let mut file = header(kind, how);
        let mut places = Vec::new();
        for payload in payloads {
            let frame = frame(kind, how, payload);
            places.push((file.len() as u64, frame.len() as u64));
            file.extend(frame);
        }
        self.files.insert(name.to_owned(), file);
        places
    }

    /// Appends bytes to a file.
    pub fn tail(&mut self, name: &str, bytes: &[u8]) {
        self.files.get_mut(name).expect("a file that was made").extend_from_slice(bytes);
    }

    /// The manifest with these numbers of pages, visited, gone and origins; no reports, nothing untried, waiting or
    /// decided.
    pub fn manifest(&mut self, counts: [u64; 4]) {
        self.files.insert(DECISIONS.to_owned(), NOTHING.as_bytes().to_vec());
        self.frames("reports", 8, How::default(), &[]);
        let reports = self.files["reports"].len() as u64;
        let numbers = counts.into_iter().chain([0, reports, 0, 0]);
        let mut payload: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        // The cycle, which has another number than the round, or an older version would say the same.
        payload.extend(CYCLE.0.to_le_bytes());
        payload.push(1); // of a crawl that is focused
        self.frames("MANIFEST", 1, How::default(), &[&payload]);
    }
}

fn header(kind: u8, how: How) -> Vec<u8> {
    let mut bytes = b"recrawl\0".to_vec();
    // The file of all reports is of no cycle.
    let number = if kind == 8 { Round(0) } else { ROUND };
    for word in [recrawl_repository::FORMAT_VERSION - how.older, u32::from(kind), number.0] {
        bytes.extend(word.to_le_bytes());
    }
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

fn frame(kind: u8, how: How, payload: &[u8]) -> Vec<u8> {
    let (stored, length) = match payload {
        [low, high, stored @ ..] if how.packed => (stored, u32::from(u16::from_le_bytes([*low, *high]))),
        _ => (payload, payload.len() as u32),
    };
    let mut head = (stored.len() as u32).to_le_bytes().to_vec();
    head.extend(length.to_le_bytes());
    head.extend([u8::from(how.packed), kind, 0, 0]);
    let checksum = crc32fast::hash(&[&head, stored].concat());
    head.extend(checksum.to_le_bytes());
    head.extend_from_slice(stored);
    head
}
