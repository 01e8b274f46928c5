//! All URLs that the keys files of a repository tell of, in order, each once: those of a block's earlier states too.

use crate::file::bytes::Malformed;
use crate::file::error::Damage;
use crate::file::format::{FileKind, number_in};
use crate::file::sound_frames::SoundFrames;
use crate::generation::front_coded::take_all_keys;
use crate::generation::index::FramedFile;
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, Round};
use std::collections::VecDeque;

/// The keys files, merged.
pub(super) struct KnownKeys(Vec<KeysFile>);

/// In each file the frames are in the order of blocks, so its keys ascend.
struct KeysFile {
    frames: SoundFrames,
    urls: VecDeque<CanonicalUrl>,
    last: Vec<u8>,
}

impl KnownKeys {
    /// Opens all of them, up to those of the generation `newest`.
    pub fn open(from: &dyn Storage, names: &[String], newest: Round, damage: &mut Vec<Damage>) -> KnownKeys {
        let numbers = names.iter().filter_map(|name| {
            number_in(name, "generation").filter(|number| *name == FramedFile::Keys.file(*number))
        });
        let files = numbers.filter(|number| *number <= newest).filter_map(|number| {
            let name = FramedFile::Keys.file(number);
            let frames = SoundFrames::open(from, &name, FileKind::Keys, number, damage)?;
            Some(KeysFile { frames, urls: VecDeque::new(), last: Vec::new() })
        });
        KnownKeys(files.collect())
    }

    /// The next URL, when it comes before `key`; none for `key` is the end of all.
    pub fn next_before(&mut self, key: Option<&[u8]>, damage: &mut Vec<Damage>) -> Option<CanonicalUrl> {
        self.0.iter_mut().for_each(|file| file.fill(damage));
        let least = self.0.iter().filter_map(|file| file.urls.front()).min()?.clone();
        if key.is_some_and(|key| least.key() >= key) {
            return None;
        }
        for file in self.0.iter_mut().filter(|file| file.urls.front() == Some(&least)) {
            file.urls.pop_front();
        }
        Some(least)
    }
}

impl KeysFile {
    fn fill(&mut self, damage: &mut Vec<Damage>) {
        while self.urls.is_empty() {
            let Some(payload) = self.frames.next_frame(damage) else { return };
            // What is not in order would come too late, and is none of ours.
            let urls = keys_in(payload).unwrap_or_default();
            let is_behind = urls.first().is_some_and(|url| url.key() > self.last.as_slice());
            if let (true, Some(last)) = (is_behind, urls.last()) {
                self.last = last.key().to_vec();
                self.urls = urls.into();
            }
        }
    }
}

/// The URLs of a block's keys, which ascend.
pub(super) fn keys_in(payload: &[u8]) -> Result<Vec<CanonicalUrl>, Malformed> {
    let keys = take_all_keys(payload)?;
    let url = |key| CanonicalUrl::from_key(key).map_err(|_| Malformed("a key is not a URL"));
    keys.iter().map(url).collect()
}
