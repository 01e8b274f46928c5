//! Every frame of a file that is sound, whatever lies between: behind damage the next one is looked for byte by byte.

use crate::file::bytes::Malformed;
use crate::file::error::{Damage, ReadError};
use crate::file::format::{
    FRAME_HEADER_BYTES, FileKind, HEADER_BYTES, MAX_FRAME_BYTES, check_frame, frame_length, open_frame,
};
use crate::file::frames::{FrameSource, Window};
use crate::storage::Storage;
use recrawl_types::Round;

/// How far a reader steps on where the disk gives nothing.
const UNREADABLE_STEP: u64 = 4096;

/// The sound frames of a file, from front to back.
pub(crate) struct SoundFrames {
    source: FrameSource,
    kind: FileKind,
    window: Window,
    scratch: Vec<u8>,
    at: u64,
    end: u64,
}

impl SoundFrames {
    /// Opens a file. A header that is not sound is noted and no more: what follows it says by itself what it is.
    pub fn open(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        number: Round,
        damage: &mut Vec<Damage>,
    ) -> Option<SoundFrames> {
        let source = open_anyhow(storage, name, kind, number, damage)?;
        let end = source.length();
        Some(SoundFrames::over(source, kind, end))
    }

    /// The frames up to byte `end`.
    pub fn over(source: FrameSource, kind: FileKind, end: u64) -> SoundFrames {
        let at = HEADER_BYTES as u64;
        SoundFrames { source, kind, window: Window::default(), scratch: Vec::new(), at, end }
    }

    /// Reads no further than byte `end`.
    pub fn up_to(self, end: u64) -> SoundFrames {
        SoundFrames { end: self.end.min(end), ..self }
    }

    /// The payload of the next sound frame; none at the end.
    pub fn next_frame(&mut self, damage: &mut Vec<Damage>) -> Option<&[u8]> {
        loop {
            let (at, length) = self.find(damage)?;
            self.at = at + length as u64;
            // Checked already; it may still not unpack, as when a writer failed.
            let whole = self
                .window
                .get(&self.source, at, length)
                .is_ok_and(|frame| open_frame(frame, self.kind, &mut self.scratch).is_ok());
            if whole {
                // Opened again, since a loop cannot give away what it borrows.
                let frame = self.window.get(&self.source, at, length).ok()?;
                return open_frame(frame, self.kind, &mut self.scratch).ok();
            }
            damage.push(self.source.damaged(at, "cannot decompress a frame").into_damage());
        }
    }

    /// Offset and length of the next sound frame; notes where damage before it begins.
    fn find(&mut self, damage: &mut Vec<Damage>) -> Option<(u64, usize)> {
        let mut told = false;
        while self.at + FRAME_HEADER_BYTES as u64 <= self.end {
            let why = match self.check(self.at) {
                Ok(Ok(length)) => return Some((self.at, length)),
                Ok(Err(Malformed(what))) => (self.source.damaged(self.at, what), 1),
                Err(error) => (error, UNREADABLE_STEP),
            };
            if !told {
                damage.push(why.0.into_damage());
                damage.last_mut().expect("just noted").offset = self.at;
                told = true;
            }
            self.at += why.1;
        }
        if !told && self.at < self.end {
            damage.push(self.source.damaged(self.at, "a frame is cut short").into_damage());
        }
        self.at = self.end;
        None
    }

    fn check(&mut self, at: u64) -> Result<Result<usize, Malformed>, ReadError> {
        let head: [u8; FRAME_HEADER_BYTES] = self
            .window
            .get(&self.source, at, FRAME_HEADER_BYTES)?
            .try_into()
            .expect("the window gave a header's length");
        let length = match frame_length(&head) {
            Ok(length)
                if length <= FRAME_HEADER_BYTES + MAX_FRAME_BYTES && at + length as u64 <= self.end =>
            {
                length
            }
            Ok(_) => return Ok(Err(Malformed("a frame is cut short"))),
            Err(malformed) => return Ok(Err(malformed)),
        };
        // Told before the checksum, which costs a read of all that the length claims.
        if head[8] > 1 || head[9] != self.kind as u8 || head[10..12] != [0, 0] {
            return Ok(Err(Malformed("a frame's header is not sound")));
        }
        let frame = self.window.get(&self.source, at, length)?;
        Ok(check_frame(frame, self.kind).map(|()| length))
    }
}

/// Opens a file, whether its header is sound or not: what is not is noted. None where it cannot be opened.
pub(crate) fn open_anyhow(
    storage: &dyn Storage,
    name: &str,
    kind: FileKind,
    number: Round,
    damage: &mut Vec<Damage>,
) -> Option<FrameSource> {
    match FrameSource::open(storage, name, kind, number) {
        Ok(source) => Some(source),
        Err(error) => {
            damage.push(error.into_damage());
            FrameSource::open_unchecked(storage, name).ok()
        }
    }
}
