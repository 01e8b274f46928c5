//! Evidence about the trap patterns of a URL or a host, as text and as JSON.

use recrawl_crawl::parts::traps::{self, OriginTraps, PROBED, TrapEvidence, TrapPattern, TrapRules};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Origin};
use serde_json::{Value, json};
use std::io;

/// The trap pattern that applies to a URL: the one that cuts it off, else the first with evidence.
pub struct UrlTrap {
    pattern: TrapPattern,
    evidence: TrapEvidence,
    is_cut: bool,
    is_probe: bool,
}

impl UrlTrap {
    /// Looks up a URL; none if its patterns have no evidence.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn find(rules: &TrapRules, tables: &SledTables, url: &CanonicalUrl) -> io::Result<Option<UrlTrap>> {
        let known = traps::known(tables, &Origin::from_url(url))?;
        let cut = rules.cut(&known, url);
        let is_cut = cut.is_some();
        let pattern =
            cut.or_else(|| TrapPattern::all_of(url).find(|pattern| known.evidence(pattern).is_some()));
        Ok(pattern.and_then(|pattern| {
            let evidence = known.evidence(&pattern)?.clone();
            Some(UrlTrap { pattern, evidence, is_cut, is_probe: traps::is_probe(url) })
        }))
    }

    /// Why a URL that was never fetched is not visited; none if it may be.
    pub fn refusal(&self) -> Option<String> {
        let words = words(&self.pattern, &self.evidence);
        (self.is_cut && !self.is_probe).then(|| format!("trap pattern {words}"))
    }

    /// As printed text.
    pub fn words(&self) -> String {
        let words = words(&self.pattern, &self.evidence);
        match (self.is_cut, self.is_probe) {
            (false, _) if self.evidence.cut_since.is_some() => {
                format!("{words}; trap detection is off for this host")
            }
            (false, _) => words,
            (true, false) => {
                format!("{words}; 1 in {PROBED} of its URLs is still visited, not this one")
            }
            (true, true) => {
                format!("{words}; 1 in {PROBED} of its URLs is still visited, including this one")
            }
        }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let mut value = json(&self.pattern, &self.evidence);
        value["cut_off"] = self.is_cut.into();
        value["probe"] = self.is_probe.into();
        value
    }
}

fn words(pattern: &TrapPattern, evidence: &TrapEvidence) -> String {
    let TrapEvidence { first_visits, near_duplicates, cut_since, .. } = evidence;
    let since = cut_since.map_or("not cut off".into(), |cycle| format!("cut off since cycle {cycle}"));
    format!("{pattern} is {since}: {near_duplicates} of {first_visits} first visits found a near-duplicate")
}

fn json(pattern: &TrapPattern, evidence: &TrapEvidence) -> Value {
    json!({
        "pattern": pattern.text, "since": evidence.cut_since, "first_visits": evidence.first_visits,
        "near_duplicates": evidence.near_duplicates,
    })
}

/// Evidence about a host; empty if trap detection is off for it.
///
/// # Errors
/// When the table cannot be read.
pub fn of_host(rules: &TrapRules, tables: &SledTables, origin: &Origin) -> io::Result<OriginTraps> {
    if rules.hold_for(&origin.host) { traps::known(tables, origin) } else { Ok(OriginTraps::default()) }
}

/// The patterns that are cut off, as printed lines.
pub fn lines(known: &OriginTraps) -> impl Iterator<Item = String> {
    known.cut_patterns().map(|(pattern, evidence)| words(pattern, evidence))
}

/// The patterns that are cut off, as a JSON array.
pub fn list(known: &OriginTraps) -> Value {
    known.cut_patterns().map(|(pattern, evidence)| json(pattern, evidence)).collect()
}
