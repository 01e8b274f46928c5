//! What is known of an address's patterns, and of a host's, in words and as JSON.

use crate::traps::{self, Evidence, OriginTraps, PROBED, Pattern, TrapRules};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Origin};
use serde_json::{Value, json};
use std::io;

/// How an address stands: the pattern that decides, or the one that most is known of.
pub struct Standing {
    pattern: Pattern,
    evidence: Evidence,
    is_cut: bool,
    is_probe: bool,
}

impl Standing {
    /// Of this address; none where nothing is known of its patterns.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn of(rules: &TrapRules, tables: &SledTables, url: &CanonicalUrl) -> io::Result<Option<Standing>> {
        let known = traps::known(tables, &Origin::of(url))?;
        let cut = rules.cut(&known, url);
        let is_cut = cut.is_some();
        let pattern = cut.or_else(|| Pattern::all_of(url).find(|pattern| known.evidence(pattern).is_some()));
        Ok(pattern.and_then(|pattern| {
            let evidence = known.evidence(&pattern)?.clone();
            Some(Standing { pattern, evidence, is_cut, is_probe: traps::is_probe(url) })
        }))
    }

    /// Why the address is not visited, as long as it never was; none where it is.
    pub fn refusal(&self) -> Option<String> {
        let words = words(&self.pattern, &self.evidence);
        (self.is_cut && !self.is_probe).then(|| format!("a trap: {words}"))
    }

    /// For people.
    pub fn words(&self) -> String {
        let words = words(&self.pattern, &self.evidence);
        match (self.is_cut, self.is_probe) {
            (false, _) if self.evidence.cut_since.is_some() => format!("{words}; here traps are left alone"),
            (false, _) => words,
            (true, false) => {
                format!("{words}; 1 in {PROBED} of its addresses is still visited, not this one")
            }
            (true, true) => {
                format!("{words}; 1 in {PROBED} of its addresses is still visited, also this one")
            }
        }
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let mut value = json(&self.pattern, &self.evidence);
        value["cut_off"] = self.is_cut.into();
        value["probe"] = self.is_probe.into();
        value
    }
}

fn words(pattern: &Pattern, evidence: &Evidence) -> String {
    let Evidence { first_visits, near_duplicates, cut_since, .. } = evidence;
    let since = cut_since.map_or("not cut off".into(), |cycle| format!("cut off since cycle {cycle}"));
    format!("{pattern} is {since}: {near_duplicates} of {first_visits} first visits met a near-duplicate")
}

fn json(pattern: &Pattern, evidence: &Evidence) -> Value {
    json!({
        "pattern": pattern.text, "since": evidence.cut_since, "first_visits": evidence.first_visits,
        "near_duplicates": evidence.near_duplicates,
    })
}

/// What is known of a host; nothing where traps are left alone.
///
/// # Errors
/// When the table cannot be read.
pub fn of_host(rules: &TrapRules, tables: &SledTables, origin: &Origin) -> io::Result<OriginTraps> {
    if rules.hold_for(&origin.host) { traps::known(tables, origin) } else { Ok(OriginTraps::default()) }
}

/// The lines that a host's status has on what is cut off.
pub fn lines(known: &OriginTraps) -> impl Iterator<Item = String> {
    known.cut_patterns().map(|(pattern, evidence)| words(pattern, evidence))
}

/// The same for machines.
pub fn list(known: &OriginTraps) -> Value {
    known.cut_patterns().map(|(pattern, evidence)| json(pattern, evidence)).collect()
}
