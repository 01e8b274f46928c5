//! Keys: a host proves with a file that a ping is its own.
//!
//! The crawl fetches the file as politely as any page of the host: after its robots.txt, with its delay.

use recrawl_fetcher::{FetchResult, FetchedPage};
use recrawl_types::{CanonicalUrl, Outcome, OutcomeEffect, Skip};
use std::collections::BTreeMap;

/// Maximum number of keys that are known or being checked.
pub const MAX_KEYS: usize = 10_000;
/// Maximum number of pages that wait for keys.
pub const MAX_PAGES_WITHOUT_KEY: usize = 100_000;
/// Maximum number of keys of one host that are checked in an hour.
pub const MAX_CHECKS_PER_HOUR: u32 = 6;
/// How long the result of a check holds, in milliseconds.
const HOLDS: u64 = 24 * 3_600_000;
/// Rounds that try to fetch a key file before it counts as missing.
const MAX_KEY_TRIES: u8 = 3;

/// The keys, by file and key.
#[derive(Default)]
pub(super) struct IndexNowKeys {
    keys: BTreeMap<(CanonicalUrl, String), KeyCheck>,
    /// Pages that wait for keys.
    pages: usize,
}

enum KeyCheck {
    Unknown { pages: Vec<CanonicalUrl>, tries: u8, is_asked: bool },
    Known { is_right: bool, until: u64 },
}

/// State of a key, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyState {
    Valid,
    Wrong,
    Unknown,
}

impl IndexNowKeys {
    /// State of this key; none if it was never asked for, or too long ago.
    pub fn get(&self, file: &CanonicalUrl, key: &str, now: u64) -> Option<KeyState> {
        match self.keys.get(&(file.clone(), key.to_owned()))? {
            KeyCheck::Unknown { .. } => Some(KeyState::Unknown),
            KeyCheck::Known { until, .. } if *until <= now => None,
            KeyCheck::Known { is_right, .. } => {
                Some(if *is_right { KeyState::Valid } else { KeyState::Wrong })
            }
        }
    }

    /// Lets pages wait for a key; false if too many wait.
    pub fn wait(&mut self, file: CanonicalUrl, key: String, pages: Vec<CanonicalUrl>, now: u64) -> bool {
        if self.keys.len() >= MAX_KEYS {
            self.keys.retain(|_, state| !matches!(state, KeyCheck::Known { until, .. } if *until <= now));
        }
        let at = (file, key);
        let is_new = !self.keys.contains_key(&at);
        if self.pages + pages.len() > MAX_PAGES_WITHOUT_KEY || is_new && self.keys.len() >= MAX_KEYS {
            return false;
        }
        self.pages += pages.len();
        let unknown = || KeyCheck::Unknown { pages: Vec::new(), tries: 0, is_asked: false };
        let state = self.keys.entry(at).or_insert_with(unknown);
        if let KeyCheck::Known { .. } = state {
            *state = unknown();
        }
        if let KeyCheck::Unknown { pages: waiting, .. } = state {
            waiting.extend(pages);
        }
        true
    }

    /// Is there a key whose file no round has asked for?
    pub fn has_unchecked(&self) -> bool {
        self.keys.values().any(|state| matches!(state, KeyCheck::Unknown { is_asked: false, .. }))
    }

    /// The files to fetch. A file that was asked for in an earlier round and did not come is asked for
    /// again, at most [`MAX_KEY_TRIES`] times.
    pub fn take_unchecked(&mut self) -> Vec<CanonicalUrl> {
        let IndexNowKeys { keys, pages: waiting } = self;
        keys.retain(|_, state| match state {
            KeyCheck::Unknown { pages, tries, .. } if *tries >= MAX_KEY_TRIES => {
                *waiting -= pages.len();
                false
            }
            _ => true,
        });
        let mut files = Vec::new();
        for ((file, _), state) in keys {
            if let KeyCheck::Unknown { tries, is_asked, .. } = state {
                *tries += 1;
                *is_asked = true;
                files.push(file.clone());
            }
        }
        files.dedup();
        files
    }

    /// Ends a round: files that did not come may be asked for again.
    pub fn end_round(&mut self) {
        for state in self.keys.values_mut() {
            if let KeyCheck::Unknown { is_asked, .. } = state {
                *is_asked = false;
            }
        }
    }

    /// Is this the file of a key that is being checked?
    pub fn is_file(&self, url: &CanonicalUrl) -> bool {
        self.of_file(url).any(|(_, state)| matches!(state, KeyCheck::Unknown { .. }))
    }

    /// Number of keys that are being checked.
    pub fn checking(&self) -> usize {
        self.keys.values().filter(|state| matches!(state, KeyCheck::Unknown { .. })).count()
    }

    /// Compares the keys with their file. Returns the pages whose key is right, and the number of those
    /// whose key is wrong. A host that is not available now is asked again.
    pub fn answer(&mut self, page: &FetchedPage) -> (Vec<CanonicalUrl>, u64) {
        let (mut proven, mut forged) = (Vec::new(), 0);
        let text = match &page.result {
            FetchResult::Page(response) if !response.is_cut() => &response.body[..],
            FetchResult::Nothing(outcome) if is_passing(*outcome) => return (proven, forged),
            _ => &[],
        };
        let file = &page.entry.url;
        let keys: Vec<_> = self.of_file(file).map(|((file, key), _)| (file.clone(), key.clone())).collect();
        for at in keys {
            let is_right = text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == at.1.as_bytes());
            let known = KeyCheck::Known { is_right, until: page.at.saturating_add(HOLDS) };
            let Some(state @ KeyCheck::Unknown { .. }) = self.keys.get_mut(&at) else { continue };
            if let KeyCheck::Unknown { pages, .. } = std::mem::replace(state, known) {
                self.pages -= pages.len();
                match is_right {
                    true => proven.extend(pages),
                    false => forged += pages.len() as u64,
                }
            }
        }
        (proven, forged)
    }

    fn of_file(&self, file: &CanonicalUrl) -> impl Iterator<Item = (&(CanonicalUrl, String), &KeyCheck)> {
        let first = (file.clone(), String::new());
        self.keys.range(first..).take_while(move |((of, _), _)| of == file)
    }
}

/// Was the file not asked for or not read, or may it be there at the next try?
fn is_passing(outcome: Outcome) -> bool {
    outcome.effect() == OutcomeEffect::Nothing
        || matches!(outcome, Outcome::Failed(_) | Outcome::Skipped(Skip::MediaType))
}
