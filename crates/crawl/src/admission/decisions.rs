//! Decisions of operators that must never be lost: pauses, blocks and takedowns.
//!
//! They are stored in a file of their own ([`recrawl_repository::decisions`]), since the tables may
//! be lost and learned anew. Up to format version 4 they were stored in the tables, from where they
//! are taken over once.

use crate::admission::pattern::Pattern;
use crate::failure::Failure;
use crate::stored::kept;
use recrawl_repository::storage::Storage;
use recrawl_repository::{SledTables, decisions};
use recrawl_types::HostPattern;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Author and time of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The name of the operator.
    pub who: String,
    /// In milliseconds since 1970.
    pub at: u64,
}

/// Decisions by host or pattern.
pub type Marks<K = String> = BTreeMap<K, Mark>;

/// Names of the settings that held them in the tables.
const CONTROL: &str = "control";
const TAKEN_DOWN: &str = "taken_down";

/// All decisions. Every field has a default, so that an older file can be read; unknown fields are
/// refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, from = "StoredDecisions")]
pub struct Decisions {
    /// Set if the whole crawl is paused.
    pub paused: Option<Mark>,
    /// Paused hosts, by canonical name.
    pub paused_hosts: Marks,
    /// Blocked patterns.
    #[serde(rename = "blocked")]
    pub blocks: Marks<Pattern>,
    /// Patterns of takedowns.
    pub taken_down: Vec<Pattern>,
}

/// The same as stored.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StoredDecisions {
    paused: Option<Mark>,
    paused_hosts: Marks,
    blocked: Marks<Pattern>,
    /// Blocks of an older version: a host with its subdomains, or a URL prefix.
    blocks: Marks,
    taken_down: Vec<Pattern>,
}

impl From<StoredDecisions> for Decisions {
    fn from(stored: StoredDecisions) -> Decisions {
        let StoredDecisions { paused, paused_hosts, blocked: mut blocks, blocks: older, taken_down } = stored;
        for (pattern, mark) in older {
            let of_domain = || HostPattern::parse(&format!("*.{pattern}")).map(Pattern::Host).ok();
            match if pattern.contains("://") { Pattern::prefix(&pattern).ok() } else { of_domain() } {
                Some(pattern) => _ = blocks.entry(pattern).or_insert(mark),
                None => {
                    tracing::warn!("an older version stored the block of {pattern:?}, which matches nothing")
                }
            }
        }
        Decisions { paused, paused_hosts, blocks, taken_down }
    }
}

impl Decisions {
    /// Reads the decisions from these files; none if an older version stored them in the tables.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn read(storage: &dyn Storage) -> Result<Option<Decisions>, Failure> {
        let Some(text) = decisions::read(storage).map_err(Failure::work)? else { return Ok(None) };
        let wrong = |e| {
            let file = storage.locate(decisions::DECISIONS);
            Failure::Work(format!("{file} is damaged: {e}; restore it from a backup or a snapshot"))
        };
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }

    /// Reads the decisions of a crawl whose lock this process holds. Decisions that an older
    /// version stored in the tables are copied into the file. They stay in the tables until a
    /// commit (`is_committed`) makes the older version refuse the repository.
    ///
    /// # Errors
    /// When file or tables cannot be read or written.
    pub fn open(
        storage: &dyn Storage,
        tables: &SledTables,
        is_committed: bool,
    ) -> Result<Decisions, Failure> {
        let kept = Decisions::read(storage)?;
        if is_committed && kept.is_some() {
            Decisions::forget_older(tables)?;
        }
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let older = Decisions::of_older(tables)?;
        older.write(storage)?;
        Ok(older)
    }

    /// These decisions and those of another crawl: what one of both stops is stopped.
    #[must_use]
    pub fn and(mut self, mut other: Decisions) -> Decisions {
        self.paused = self.paused.or(other.paused);
        other.paused_hosts.append(&mut self.paused_hosts);
        other.blocks.append(&mut self.blocks);
        let is_new = |pattern: &Pattern| !self.taken_down.contains(pattern);
        let new: Vec<Pattern> = other.taken_down.into_iter().filter(is_new).collect();
        self.taken_down.extend(new);
        Decisions { paused_hosts: other.paused_hosts, blocks: other.blocks, ..self }
    }

    /// The decisions that an older version stored in the tables.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn of_older(tables: &SledTables) -> Result<Decisions, Failure> {
        let decided: Decisions = kept(tables, CONTROL)?.unwrap_or_default();
        Ok(Decisions { taken_down: kept(tables, TAKEN_DOWN)?.unwrap_or_default(), ..decided })
    }

    /// Removes from the tables the decisions that an older version stored there.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn forget_older(tables: &SledTables) -> Result<(), Failure> {
        let mut is_changed = false;
        for name in [CONTROL, TAKEN_DOWN] {
            is_changed |= tables.remove_setting(name)?;
        }
        if is_changed { tables.flush().map_err(Failure::from) } else { Ok(()) }
    }

    /// Writes the file durably; call this before a decision takes effect.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, storage: &dyn Storage) -> Result<(), Failure> {
        decisions::write(storage, &self.to_json()).map_err(Failure::work)
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names and numbers are JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::UrlRules;

    const CONTROL_OF_OLD: &[u8] =
        br#"{"paused":null,"paused_hosts":{"p.test":{"who":"anna","at":7}},"blocks":{"b.test":{"who":"anna","at":8}}}"#;

    fn older_tables() -> SledTables {
        let tables = SledTables::temporary().unwrap();
        tables.set_setting(CONTROL, CONTROL_OF_OLD).unwrap();
        tables.set_setting(TAKEN_DOWN, br#"["host d.test"]"#).unwrap();
        tables
    }

    #[test]
    fn what_the_tables_had_is_taken_over_once_and_leaves_them_with_the_next_commit() {
        let (storage, tables) = (MemoryStorage::new(), older_tables());
        let taken = Decisions::open(&storage, &tables, false).unwrap();
        assert_eq!(taken.taken_down, [Pattern::host("d.test").unwrap()]);
        assert!(taken.blocks.contains_key(&Pattern::host("*.b.test").unwrap()));
        assert!(taken.paused_hosts.contains_key("p.test"));
        assert!(tables.setting(CONTROL).unwrap().is_some(), "the older program may still run");
        Decisions::default().write(&storage).unwrap();
        assert_eq!(Decisions::open(&storage, &tables, false).unwrap(), Decisions::default(), "once");
        assert_eq!(Decisions::open(&storage, &tables, true).unwrap(), Decisions::default());
        assert_eq!((tables.setting(CONTROL).unwrap(), tables.setting(TAKEN_DOWN).unwrap()), (None, None));
    }

    /// An older block of `/p/2` covered `/p/20`, and one of a host its subdomains. Its takedowns said what they were.
    #[test]
    fn blocks_and_takedowns_of_an_older_version_keep_their_meaning() {
        let storage = MemoryStorage::new();
        let mark = r#"{"who":"anna","at":7}"#;
        let older = format!(
            r#"{{"blocks":{{"b.test":{mark},"http://c.test/p/2":{mark}}},
                "taken_down":["host d.test","host *.e.test","prefix http://f.test/p/2","page http://f.test/q"]}}"#
        );
        decisions::write(&storage, &older).unwrap();
        let taken = Decisions::read(&storage).unwrap().unwrap();
        let texts = |patterns: &[&Pattern]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&taken.blocks.keys().collect::<Vec<_>>()), ["*.b.test", "http://c.test/p/2*"]);
        let down = ["d.test", "*.e.test", "http://f.test/p/2*", "http://f.test/q"];
        assert_eq!(texts(&taken.taken_down.iter().collect::<Vec<_>>()), down);
        let page = UrlRules::default().canonicalize("http://c.test/p/20").unwrap();
        assert!(taken.blocks.keys().any(|pattern| pattern.matches(&page)));
        // Written again, they are read as they were written.
        taken.write(&storage).unwrap();
        assert_eq!(Decisions::read(&storage).unwrap(), Some(taken));
        let text = decisions::read(&storage).unwrap().unwrap();
        assert!(!text.contains("\"blocks\""), "an older version refuses it: {text}");
    }

    #[test]
    fn decisions_of_two_crawls_are_all_in_force() {
        let mark = |at| Mark { who: "anna".into(), at };
        let down = |hosts: &[&str]| hosts.iter().map(|host| Pattern::host(host).unwrap()).collect();
        let first = Decisions { taken_down: down(&["a.test", "b.test"]), ..Decisions::default() };
        let second = Decisions {
            paused: Some(mark(1)),
            paused_hosts: [("p.test".to_owned(), mark(2))].into(),
            blocks: [(Pattern::host("c.test").unwrap(), mark(3))].into(),
            taken_down: down(&["b.test", "d.test"]),
        };
        let both = Decisions { taken_down: down(&["a.test", "b.test", "d.test"]), ..second.clone() };
        assert_eq!(first.clone().and(second.clone()), both);
        assert_eq!(
            Decisions { taken_down: down(&["b.test", "d.test", "a.test"]), ..both },
            second.and(first)
        );
    }

    #[test]
    fn what_is_not_known_is_refused_and_what_is_missing_has_a_default() {
        let storage = MemoryStorage::new();
        decisions::write(&storage, "{}").unwrap();
        assert_eq!(Decisions::read(&storage).unwrap(), Some(Decisions::default()));
        decisions::write(&storage, r#"{"bloks":{}}"#).unwrap();
        let error = Decisions::read(&storage).unwrap_err().to_string();
        assert!(error.contains("decisions.json") && error.contains("bloks"), "{error}");
    }
}
