//! Names of the files of committed rounds that are kept for `storage.keep_visits` cycles.

use crate::file::format::{FileKind, number_in};
use recrawl_types::{Cycle, DatedRound};

/// What such a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredKind {
    /// The visits of the round.
    Visits,
    /// What each host was asked in it.
    Hosts,
}

impl StoredKind {
    pub const ALL: [StoredKind; 2] = [StoredKind::Visits, StoredKind::Hosts];

    fn prefix(self) -> &'static str {
        match self {
            StoredKind::Visits => "visits",
            StoredKind::Hosts => "hosts",
        }
    }

    /// As its file says in its header.
    pub fn file_kind(self) -> FileKind {
        match self {
            StoredKind::Visits => FileKind::StoredVisits,
            StoredKind::Hosts => FileKind::StoredHosts,
        }
    }

    /// The name of a round's file, which names the cycle where that has another number than the round.
    pub fn file(self, dated: DatedRound) -> String {
        let (DatedRound { round, cycle }, prefix) = (dated, self.prefix());
        match dated.is_only() {
            true => format!("{prefix}-{round:010}.kept"),
            false => format!("{prefix}-{round:010}.{cycle:010}.kept"),
        }
    }

    /// The round in a name that [`StoredKind::file`] made.
    pub fn round_in(self, name: &str) -> Option<DatedRound> {
        let round = number_in(name, self.prefix())?;
        let cycle = name.strip_suffix(".kept")?.split_once('.').map(|(_, cycle)| cycle.parse().ok());
        let cycle = cycle.map_or(Some(round.0), |cycle| cycle).map(Cycle)?;
        Some(DatedRound { round, cycle }).filter(|kept| self.file(*kept) == name)
    }
}

/// The round of a file of either kind.
pub(crate) fn round_in(name: &str) -> Option<DatedRound> {
    StoredKind::ALL.into_iter().find_map(|kept| kept.round_in(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::Round;

    const ROUND: DatedRound = DatedRound { round: Round(12), cycle: Cycle(12) };

    #[test]
    fn a_name_says_its_round_and_another_cycle() {
        let later = DatedRound { cycle: Cycle(3), ..ROUND };
        for (kept, name) in [
            ((StoredKind::Visits, ROUND), "visits-0000000012.kept"),
            ((StoredKind::Visits, later), "visits-0000000012.0000000003.kept"),
            ((StoredKind::Hosts, ROUND), "hosts-0000000012.kept"),
            ((StoredKind::Hosts, later), "hosts-0000000012.0000000003.kept"),
        ] {
            let (kind, dated) = kept;
            assert_eq!((kind.file(dated).as_str(), kind.round_in(name)), (name, Some(dated)));
            assert_eq!(round_in(name), Some(dated));
            assert!(StoredKind::ALL.into_iter().all(|other| other == kind || other.round_in(name).is_none()));
        }
        for name in [
            "visits-12.kept",
            "visits-0000000012.kept.part",
            "visits-0000000012.0000000012.kept",
            "visits-0000000012.3.kept",
            "hosts-0000000012.x.kept",
            "hosts.sled",
            "cycle-0000000012.visits",
        ] {
            assert_eq!(round_in(name), None, "{name}");
        }
    }
}
