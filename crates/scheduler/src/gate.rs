//! The gate through which a page can enter a schedule.

use recrawl_types::{Cycle, Known, PageStatus, StateColumns};

/// The gate of a page in a cycle: the share it competes for, or the reason why it is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Gone: never scheduled.
    Gone,
    /// A rule excludes it, until the rule allows it.
    Refused,
    /// Its last attempts failed, and its back-off is not over.
    BackOff,
    /// Visited in this cycle, in an earlier round.
    Visited,
    /// Never fetched: it competes for the discovery share.
    Discovery,
    /// Visited fewer times since its first fetch than the warm-up requires: due at once.
    Warmup,
    /// It competes by score, and may be drawn for the audit sample.
    Revisit,
}

impl Gate {
    /// The gate of a page. `visits` is its n; none before the first successful fetch.
    pub fn for_page(known: &Known, visits: Option<u32>, cycle: Cycle, warmup: u32) -> Gate {
        match visits {
            _ if known.status == PageStatus::Gone => Gate::Gone,
            _ if known.status == PageStatus::Refused => Gate::Refused,
            _ if !known.is_due(cycle) => Gate::BackOff,
            None => Gate::Discovery,
            Some(_) if known.last_attempt == cycle => Gate::Visited,
            Some(n) if n < warmup => Gate::Warmup,
            Some(_) => Gate::Revisit,
        }
    }

    /// The gate of the page in a row.
    pub fn of_row(columns: &StateColumns, row: usize, cycle: Cycle, warmup: u32) -> Gate {
        let visits = columns.visited[row].then_some(columns.visits[row]);
        Gate::for_page(&columns.known[row], visits, cycle, warmup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_page_out_comes_before_what_it_competes_for() {
        let now = Cycle(10);
        let live = Known { last_attempt: Cycle(9), ..Known::default() };
        let failing = Known { failures: 2, ..live };
        let gone = Known { status: PageStatus::Gone, ..failing };
        let refused = Known { status: PageStatus::Refused, ..live };
        let visited = Known { last_attempt: now, ..live };
        for (known, visits, gate) in [
            (live, None, Gate::Discovery),
            (live, Some(0), Gate::Warmup),
            (live, Some(1), Gate::Warmup),
            (live, Some(2), Gate::Revisit),
            (failing, None, Gate::BackOff),
            (failing, Some(0), Gate::BackOff),
            (failing, Some(9), Gate::BackOff),
            (gone, Some(9), Gate::Gone),
            (refused, None, Gate::Refused),
            (refused, Some(9), Gate::Refused),
            (visited, Some(0), Gate::Visited),
            (visited, Some(9), Gate::Visited),
        ] {
            assert_eq!(Gate::for_page(&known, visits, now, 2), gate, "{known:?} {visits:?}");
        }
        assert_eq!(Gate::for_page(&failing, Some(9), Cycle(11), 2), Gate::Revisit, "the back-off is over");
        assert_eq!(Gate::for_page(&live, Some(0), now, 0), Gate::Revisit, "no warm-up");
    }
}
