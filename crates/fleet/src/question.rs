//! Questions to the owner of a partition, whoever that is by then, and its answers. They change nothing.
//!
//! A question is an object with a name that nobody else has; behind it the *bell* is overwritten, so that an owner whom
//! nobody asks makes one read and no list. The asker removes both, and the owner what is left. All ages are by its own
//! clock, from when it first saw something: clocks of others may be set otherwise.

use crate::exchange::ExchangePatience;
use crate::key;
use recrawl_vault::{Store, StoreError, VaultError, create_or_find};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of an answer's object.
pub const MAX_ANSWER: usize = 8 << 20;
/// Bytes of a question's.
const MAX_QUESTION: u64 = 64 << 10;
/// Questions that an owner answers at one look. The others wait for the next.
const MAX_ANSWERED: usize = 8;
/// Questions that it remembers, more than it can answer before they are removed. It learns of others when it forgets some.
const MAX_SEEN: usize = 4_096;
/// Objects that it removes at one look.
const MOST_REMOVED: usize = 32;
/// Milliseconds after which nobody waits for an answer any more.
const LATE: u64 = 60_000;
/// Milliseconds after which what is left is removed.
const KEPT: u64 = 180_000;
/// Interval at which an owner without questions reads its bell, in milliseconds.
const IDLE: u64 = 5_000;
/// And of one who was asked a moment ago: a person who reads asks on.
const BUSY: u64 = 500;
/// How long that moment is, in milliseconds.
const BUSY_FOR: u64 = 60_000;

/// An answer's object.
#[derive(Serialize, Deserialize)]
struct AnswerObject<A> {
    /// None: it would be too long.
    answer: Option<A>,
}

/// The end of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum QuestionEnd<A> {
    /// The owner has answered.
    Answered(A),
    /// Its answer is longer than [`MAX_ANSWER`].
    TooLong,
    /// Nobody has answered in time.
    Unanswered,
}

/// Asks the owner of a partition, and waits for its answer. `nonce` is a name that no other question has.
///
/// # Errors
/// When the store does not answer, or the answer is damaged.
pub fn ask<A: DeserializeOwned>(
    store: &dyn Store,
    partition: u32,
    nonce: &str,
    question: &impl Serialize,
    patience: &dyn ExchangePatience,
) -> Result<QuestionEnd<A>, VaultError> {
    let (question_at, answer_at) = (key::question(partition, nonce), key::answer(partition, nonce));
    create_or_find(store, &question_at, &json(question))?;
    let answer = || {
        store.replace(&key::bell(partition), nonce.as_bytes())?;
        for times in 0.. {
            match store.read(&answer_at, MAX_ANSWER as u64) {
                Err(StoreError::Absent(_)) if patience.wait(times) => {}
                Err(StoreError::Absent(_)) => break,
                read => return read_answer(store, &answer_at, &read?),
            }
        }
        Ok(QuestionEnd::Unanswered)
    };
    let answer = answer();
    // The owner removes what stays.
    let _ = store.remove(&question_at).and_then(|()| store.remove(&answer_at));
    answer
}

fn json(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).expect("texts and numbers are JSON")
}

fn read_answer<A: DeserializeOwned>(
    store: &dyn Store,
    key: &str,
    object: &[u8],
) -> Result<QuestionEnd<A>, VaultError> {
    match serde_json::from_slice(object) {
        Ok(AnswerObject { answer: Some(answer) }) => Ok(QuestionEnd::Answered(answer)),
        Ok(AnswerObject { answer: None }) => Ok(QuestionEnd::TooLong),
        Err(e) => {
            Err(VaultError::Damaged { object: store.locate(key), offset: 0, what: format!("no answer: {e}") })
        }
    }
}

/// The questions to a partition, as its owner reads them. Times are of a clock that is never set, in milliseconds.
#[derive(Debug)]
pub struct QuestionBox {
    store: Arc<dyn Store>,
    partition: u32,
    /// The last word of the bell. Without one, nobody has ever asked.
    bell: Option<Vec<u8>>,
    has_more: bool,
    last_asked: Option<u64>,
    /// By name: questions that are there, or whose answers may be.
    seen: BTreeMap<String, SeenQuestion>,
}

#[derive(Debug)]
struct SeenQuestion {
    since: u64,
    /// Was it given to be answered, is it answered, or can it not be read?
    is_done: bool,
}

impl QuestionBox {
    /// Those to this partition.
    pub fn new(store: Arc<dyn Store>, partition: u32) -> QuestionBox {
        let seen = BTreeMap::new();
        QuestionBox { store, partition, bell: None, has_more: false, last_asked: None, seen }
    }

    /// How long to wait for the next look.
    pub fn wait(&self, now: u64) -> u64 {
        let is_busy = self.last_asked.is_some_and(|asked| now.saturating_sub(asked) < BUSY_FOR);
        if is_busy { BUSY } else { IDLE }
    }

    /// Some questions that nobody has answered, with their names; each is given once. One that is late, or that cannot be
    /// read, is left out.
    ///
    /// # Errors
    /// When the store does not answer: those that were not given are given later.
    pub fn look<Q: DeserializeOwned>(&mut self, now: u64) -> Result<Vec<(String, Q)>, VaultError> {
        let bell = match self.store.read(&key::bell(self.partition), MAX_QUESTION) {
            Err(StoreError::Absent(_)) => None,
            read => Some(read?),
        };
        let mut given = Vec::new();
        if self.has_more || bell != self.bell {
            self.has_more = true;
            let new = self.list(now)?;
            let (first, later) = new.split_at(new.len().min(MAX_ANSWERED));
            for nonce in first {
                given.extend(self.read(nonce)?.map(|question| (nonce.clone(), question)));
            }
            // Behind the last error.
            for nonce in first {
                self.seen.entry(nonce.clone()).and_modify(|seen| seen.is_done = true);
            }
            let has_more = !later.is_empty() || self.seen.len() >= MAX_SEEN;
            (self.bell, self.has_more, self.last_asked) = (bell, has_more, Some(now));
        }
        // The rest is removed later.
        let _ = self.sweep(now);
        Ok(given)
    }

    /// The names of questions to be answered, the first ones first.
    fn list(&mut self, now: u64) -> Result<Vec<String>, VaultError> {
        let folder = key::questions(self.partition);
        let mut waiting = Vec::new();
        for listed in self.store.list(&folder)? {
            let name = &listed.key[folder.len()..];
            let nonce = name.strip_suffix(key::ANSWER).unwrap_or(name);
            if self.seen.len() >= MAX_SEEN && !self.seen.contains_key(nonce) {
                continue;
            }
            let seen =
                self.seen.entry(nonce.to_owned()).or_insert(SeenQuestion { since: now, is_done: false });
            seen.is_done |= nonce != name;
            waiting.extend((nonce == name).then(|| nonce.to_owned()));
        }
        let is_new = |nonce: &String| {
            let seen = &self.seen[nonce];
            !seen.is_done && now.saturating_sub(seen.since) < LATE
        };
        waiting.retain(is_new);
        waiting.sort_by_key(|nonce| self.seen[nonce].since);
        Ok(waiting)
    }

    fn read<Q: DeserializeOwned>(&self, nonce: &str) -> Result<Option<Q>, VaultError> {
        match self.store.read(&key::question(self.partition, nonce), MAX_QUESTION) {
            Err(StoreError::Absent(_) | StoreError::TooLong { .. }) => Ok(None),
            read => Ok(serde_json::from_slice(&read?).ok()),
        }
    }

    /// Answers a question; none: the answer is too long. If another owner has answered, its answer stays.
    ///
    /// # Errors
    /// When the store does not take it.
    pub fn answer(&self, nonce: &str, answer: Option<&impl Serialize>) -> Result<(), VaultError> {
        let object = json(&AnswerObject { answer });
        let object =
            if object.len() <= MAX_ANSWER { object } else { json(&AnswerObject::<()> { answer: None }) };
        match self.store.create(&key::answer(self.partition, nonce), &object) {
            Err(StoreError::Exists(_)) => Ok(()),
            created => Ok(created?),
        }
    }

    /// Removes what nobody waits for, also of those who ask no more.
    fn sweep(&mut self, now: u64) -> Result<(), VaultError> {
        let is_old = |seen: &SeenQuestion| now.saturating_sub(seen.since) >= KEPT;
        let old = self.seen.iter().filter(|(_, seen)| is_old(seen)).map(|(nonce, _)| nonce.clone());
        for nonce in old.take(MOST_REMOVED).collect::<Vec<_>>() {
            self.store.remove(&key::question(self.partition, &nonce))?;
            self.store.remove(&key::answer(self.partition, &nonce))?;
            self.seen.remove(&nonce);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
