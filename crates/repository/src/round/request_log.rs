//! The request log: each request of a round, robots.txt and redirects among them, written down when
//! its answer has ended.
//!
//! As the visit log, it survives the process at once, so that what a killed crawl asked is counted
//! too. The commit adds it up by origin and removes it.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{ReadError, WriteError};
use crate::file::format::{FileKind, round_file};
use crate::file::frames::FrameReader;
use crate::round::log_file::{LogError, LogFile};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Origin, RequestLog, Round, SentRequest};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

fn file(round: Round) -> String {
    round_file(round, "requests")
}

/// The log, open for appending.
pub struct RequestFile(Mutex<OpenLog>);

struct OpenLog {
    log: LogFile,
    payload: Vec<u8>,
}

impl RequestFile {
    /// Opens the round's log, or begins it. A torn tail, as a crash leaves it, is cut off.
    ///
    /// # Errors
    /// [`LogError`].
    pub fn open(storage: &dyn Storage, round: Round) -> Result<RequestFile, LogError> {
        let log = LogFile::open(storage, &file(round), FileKind::Requests, round)?;
        Ok(RequestFile(Mutex::new(OpenLog { log, payload: Vec::new() })))
    }

    /// Makes all requests durable.
    ///
    /// # Errors
    /// As of the visit log.
    pub fn sync(&self) -> Result<(), WriteError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).log.sync()
    }

    /// Walks a round's log from front to back. A round without a log has no requests.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(storage: &dyn Storage, round: Round) -> Result<RequestReader, ReadError> {
        match FrameReader::open(storage, &file(round), FileKind::Requests, round) {
            Ok(frames) => Ok(RequestReader(Some(frames))),
            Err(e) if e.is_absent() => Ok(RequestReader(None)),
            Err(e) => Err(e),
        }
    }
}

impl RequestLog for RequestFile {
    fn append(&self, request: &SentRequest) -> io::Result<()> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let OpenLog { log, payload } = &mut *open;
        payload.clear();
        put_request(payload, request);
        log.append(payload).map_err(io::Error::other)
    }
}

fn put_request(out: &mut Vec<u8>, request: &SentRequest) {
    let SentRequest { origin, at, gap, delay, status, bytes } = request;
    out.put_bytes(CanonicalUrl::home_of(origin).key());
    out.put_varint(*at);
    out.put_varint(gap.map_or(0, |gap| micros(gap).saturating_add(1)));
    out.put_varint(micros(*delay));
    out.put_varint((*status).into());
    out.put_varint(*bytes);
}

fn take_request(payload: &[u8]) -> Result<SentRequest, Malformed> {
    let mut take = Take(payload);
    let home = CanonicalUrl::from_key(take.bytes()?).map_err(|_| Malformed("a key is no URL"))?;
    let request = SentRequest {
        origin: Origin::from_url(&home),
        at: take.varint()?,
        gap: take.varint()?.checked_sub(1).map(Duration::from_micros),
        delay: Duration::from_micros(take.varint()?),
        status: take.narrow()?,
        bytes: take.varint()?,
    };
    take.end()?;
    Ok(request)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A log, read from front to back.
pub struct RequestReader(Option<FrameReader>);

impl RequestReader {
    /// The next request; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_request(&mut self) -> Result<Option<SentRequest>, ReadError> {
        let Some(frames) = &mut self.0 else { return Ok(None) };
        let offset = frames.offset();
        let Some(payload) = frames.next_frame()? else { return Ok(None) };
        let request = take_request(payload);
        request.map(Some).map_err(|Malformed(what)| frames.damaged(offset, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;
    use crate::testing::url;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    const ROUND: Round = Round(6);

    fn request() -> impl Strategy<Value = SentRequest> {
        let time = || any::<u32>().prop_map(|micros| Duration::from_micros(micros.into()));
        (url(), any::<[u64; 2]>(), option::of(time()), time(), any::<u16>()).prop_map(
            |(url, [at, bytes], gap, delay, status)| SentRequest {
                origin: Origin::from_url(&url),
                at,
                gap,
                delay,
                status,
                bytes,
            },
        )
    }

    fn read(storage: &dyn Storage) -> Vec<SentRequest> {
        let mut reader = RequestFile::read(storage, ROUND).unwrap();
        std::iter::from_fn(|| reader.next_request().unwrap()).collect()
    }

    proptest! {
        #[test]
        fn whatever_a_crash_leaves_what_stood_before_it_comes_back(
            before in vec(request(), 0..12), after in vec(request(), 0..4), cut in any::<prop::sample::Index>()
        ) {
            let storage = MemoryStorage::new();
            prop_assert_eq!(read(&storage), []);
            let log = RequestFile::open(&storage, ROUND).unwrap();
            let mut ends = vec![storage.image()[&file(ROUND)].len()];
            for request in &before {
                log.append(request).unwrap();
                ends.push(storage.image()[&file(ROUND)].len());
            }
            log.sync().unwrap();
            prop_assert_eq!(&read(&storage), &before);

            let mut image = storage.image();
            let bytes = image.get_mut(&file(ROUND)).unwrap();
            bytes.truncate(cut.index(bytes.len() + 1));
            let left = ends[1..].iter().filter(|end| **end <= bytes.len()).count();
            let torn = MemoryStorage::with_files(image);
            let log = RequestFile::open(&torn, ROUND).unwrap();
            after.iter().for_each(|request| log.append(request).unwrap());
            prop_assert_eq!(read(&torn), [&before[..left], &after[..]].concat());
        }
    }
}
