//! Chunked bodies whose lines end with LF alone, or without the empty line at the end, and trailers that are no fields.
//! Browsers read them; hyper wants each CR LF, and sound fields (RFC 9112 §7.1).

use std::mem::take;

/// Maximum bytes of a line. hyper refuses longer ones.
const MAX_CHUNK_LINE: usize = 16 << 10;

/// Maximum bytes of all trailers.
const MAX_TRAILERS: usize = 64 << 10;

/// The lines of one body. It counts its bytes, because a line feed within a chunk is content.
#[derive(Debug, Default)]
pub struct ChunkLines {
    /// The line so far, which hyper has not been given yet.
    line: Vec<u8>,
    next: ChunkState,
    /// Bytes of trailers so far. They are in no count of a body.
    trailers: usize,
}

/// The bytes to come.
#[derive(Debug, Default, PartialEq, Eq)]
enum ChunkState {
    #[default]
    Size,
    /// The bytes of a chunk that are still to come.
    Content(u64),
    /// The line that ends a chunk.
    ChunkEnd,
    /// Trailers, which are passed over: hyper gets only the empty line at their end.
    Trailer,
    /// All that follows is for hyper as it is.
    Rest,
}

impl ChunkLines {
    /// Adds received bytes. Appends them to `out` as hyper reads them.
    pub fn add(&mut self, mut part: &[u8], out: &mut Vec<u8>) {
        while !part.is_empty() {
            let content = match &mut self.next {
                ChunkState::Rest => part.len(),
                ChunkState::Content(left) => {
                    let count = part.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= count as u64;
                    count
                }
                _ => 0,
            };
            out.extend_from_slice(&part[..content]);
            part = &part[content..];
            match &self.next {
                ChunkState::Content(0) => self.next = ChunkState::ChunkEnd,
                ChunkState::Content(_) | ChunkState::Rest => continue,
                _ => {}
            }
            let end = memchr::memchr(b'\n', part);
            let (line, rest) = part.split_at(end.map_or(part.len(), |end| end + 1));
            self.line.extend_from_slice(line);
            part = rest;
            let is_trailer = self.next == ChunkState::Trailer;
            self.trailers += if is_trailer { line.len() } else { 0 };
            if self.trailers > MAX_TRAILERS
                || end.is_none() && !is_trailer && self.line.len() > MAX_CHUNK_LINE
            {
                self.end(out);
            } else if end.is_some() {
                self.end_line(out);
            }
        }
    }

    /// Nothing of this body follows that hyper does not read by itself.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        // The content is whole, as its size told: some servers close the connection in place of the empty line.
        if self.next == ChunkState::Trailer {
            self.line = b"\r\n".into();
        }
        out.append(&mut self.line);
        self.next = ChunkState::Rest;
    }

    pub fn is_at_end(&self) -> bool {
        self.next == ChunkState::Rest
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        let line = take(&mut self.line);
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        self.next = match &self.next {
            // hyper judges what is no size.
            ChunkState::Size => match size(text) {
                Some(0) => ChunkState::Trailer,
                Some(size) => ChunkState::Content(size),
                None => ChunkState::Rest,
            },
            ChunkState::ChunkEnd if text.is_empty() => ChunkState::Size,
            ChunkState::Trailer if !text.is_empty() => return,
            _ => ChunkState::Rest,
        };
        out.extend_from_slice(text);
        out.extend_from_slice(b"\r\n");
    }
}

/// The size of a chunk, before its extensions.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| !byte.is_ascii_hexdigit()).next()?;
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes for hyper, if they come in parts of this length.
    fn read(bytes: &[u8], length: usize) -> String {
        let (mut lines, mut out) = (ChunkLines::default(), Vec::new());
        bytes.chunks(length).for_each(|part| lines.add(part, &mut out));
        lines.end(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_get_their_carriage_return_and_content_stays() {
        let cases = [
            ("5\nhe\nlo\n0\n\n", "5\r\nhe\nlo\r\n0\r\n\r\n"),
            (
                "A; x=\"y\"\n\n23\r\n67\n90\r\n0\nX: y\n\nHTTP/1.1 2\n",
                "A; x=\"y\"\r\n\n23\r\n67\n90\r\n0\r\n\r\nHTTP/1.1 2\n",
            ),
            ("5 ; x\r\nhe\nlo\n0\n\n", "5 ; x\r\nhe\nlo\r\n0\r\n\r\n"),
            // The end of the connection is the empty line.
            ("1\r\na\r\n0\r\n", "1\r\na\r\n0\r\n\r\n"),
            ("0\n\r", "0\r\n\r\n"),
            ("00;x\r\nX: y\r\n", "00;x\r\n\r\n"),
            ("0\r\nX: y", "0\r\n\r\n"),
            // Trailers are passed over, whatever they are.
            ("0\r\nX : y\r\n z\n\0\r\nü\r\n\r\nHTTP", "0\r\n\r\nHTTP"),
            ("1\r\na\r\n0", "1\r\na\r\n0"),
            ("3\r\na\r\n", "3\r\na\r\n"),
            // hyper judges what is no chunk, from there on as received.
            ("zz\nhe\n", "zz\r\nhe\n"),
            ("5\nhe\nlo!\n3\nabc\n", "5\r\nhe\nlo!\r\n3\nabc\n"),
            ("fffffffffffffffff\na\n", "fffffffffffffffff\r\na\n"),
            ("5\nhe", "5\r\nhe"),
            ("5", "5"),
        ];
        for (received, given) in cases {
            for length in 1..=received.len() {
                assert_eq!(read(received.as_bytes(), length), given, "in parts of {length}");
            }
        }
        let long = vec![b'1'; 2 * MAX_CHUNK_LINE];
        assert_eq!(read(&long, 100).len(), long.len());
        assert_eq!(read(&[b"0\n", &*long, b"\n\nHTTP"].concat(), 100), "0\r\n\r\nHTTP");
        // Trailers without end are cut off.
        for endless in [&b"1"[..], b"X: y\n"] {
            let (mut lines, mut out) = (ChunkLines::default(), Vec::new());
            lines.add(b"0\n", &mut out);
            lines.add(&endless.repeat(MAX_TRAILERS + 1), &mut out);
            assert!(lines.is_at_end() && out.starts_with(b"0\r\n\r\n"));
        }
    }
}
