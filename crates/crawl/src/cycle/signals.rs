//! Signals of pages for formulas that read them: moved dates in sitemaps and feeds, and pings.
//!
//! A page has at most two signals since its last visit: its date moved, and it was pinged. What each kind is
//! worth on an origin follows from the comparisons of its pages ([`SignalQuality`]), so
//! [`min_trust`](crate::config::Hints::min_trust) does not apply. A page with both has the precision that makes
//! it as likely stale as both together.

use crate::failure::Failure;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{CanonicalUrl, LastmodCounts, Origin, SignalQuality, StateColumns};
use std::ops::Range;

/// The signals of all pages of a generation. Memory: 64 bytes per origin whose pages were compared, and 8 per
/// pinged page.
#[derive(Debug)]
pub struct PageSignals {
    /// In order, origins with comparisons, and the ordinals of their pages. Of all other origins nothing is known.
    origins: Vec<(Range<u64>, OriginSignals)>,
    /// Pinged pages, in order.
    pinged: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OriginSignals {
    dates: SignalQuality,
    pings: SignalQuality,
    /// Precision of a signal of an unknown kind: the mean, by number of signals.
    mean: f64,
    /// Recall of both kinds together.
    recall: f64,
}

impl PageSignals {
    /// Reads the counts of all origins, and the pings that wait.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn read(tables: &SledTables, generation: &Generation) -> Result<PageSignals, Failure> {
        let (mut origins, mut runs) = (Vec::new(), generation.origin_runs());
        while let Some(run) = runs.next_run()? {
            let origin = Origin::from_url(&run.home().map_err(Failure::work)?);
            let counts = [tables.lastmods(&origin)?, tables.ping_counts(&origin)?];
            if counts.iter().any(|counts| *counts != LastmodCounts::default()) {
                origins.push((run.first..run.first + run.pages, OriginSignals::from_counts(counts)));
            }
        }
        let mut pinged: Vec<CanonicalUrl> = tables.pings()?.into_iter().map(|(url, _)| url).collect();
        pinged.sort_unstable();
        let pinged = generation.ordinals(&pinged).map_err(Failure::work)?;
        Ok(PageSignals { origins, pinged })
    }

    /// Fills the columns of a block whose first page has the ordinal `first`. Announcements by dates must
    /// be there as they are stored, trusted or not.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) {
        let mut pinged = self.pinged[self.pinged.partition_point(|page| *page < first)..].iter().peekable();
        let after = self.origins.partition_point(|(pages, _)| pages.end <= first);
        let mut origins = self.origins[after..].iter().peekable();
        for (ordinal, known) in (first..).zip(&columns.known) {
            let is_pinged = pinged.next_if(|page| **page == ordinal).is_some();
            origins.next_if(|(pages, _)| pages.end <= ordinal);
            let of_page = origins.peek().filter(|(pages, _)| pages.contains(&ordinal));
            let origin = of_page.map_or_else(OriginSignals::default, |(_, signals)| *signals);
            columns.signals.push(u8::from(known.is_announced) + u8::from(is_pinged));
            columns.signal_precision.push(origin.precision(known.is_announced, is_pinged));
            columns.signal_recall.push(origin.recall);
        }
    }
}

impl OriginSignals {
    fn from_counts(counts: [LastmodCounts; 2]) -> OriginSignals {
        let [dates, pings] = counts.each_ref().map(SignalQuality::from_counts);
        let [date_signals, ping_signals] =
            counts.map(|counts| f64::from(counts.newer_changed) + f64::from(counts.newer_unchanged));
        let weighted = dates.precision * date_signals + pings.precision * ping_signals;
        OriginSignals {
            dates,
            pings,
            mean: weighted / (date_signals + ping_signals).max(1.0),
            recall: 1.0 - (1.0 - dates.recall) * (1.0 - pings.recall),
        }
    }

    fn precision(&self, is_dated: bool, is_pinged: bool) -> f64 {
        match (is_dated, is_pinged) {
            (false, false) => self.mean,
            (true, false) => self.dates.precision,
            (false, true) => self.pings.precision,
            // (1 − p)² = (1 − p of dates)(1 − p of pings)
            (true, true) => 1.0 - ((1.0 - self.dates.precision) * (1.0 - self.pings.precision)).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::Known;

    const TRUE: LastmodCounts =
        LastmodCounts { newer_changed: 300, newer_unchanged: 0, same_changed: 0, same_unchanged: 600 };
    const HALF: LastmodCounts =
        LastmodCounts { newer_changed: 150, newer_unchanged: 150, same_changed: 100, same_unchanged: 500 };

    fn filled(signals: &PageSignals, first: u64, announced: &[bool]) -> Vec<(u8, f64, f64)> {
        let mut columns = StateColumns::default();
        for is_announced in announced {
            columns.push(Known { is_announced: *is_announced, ..Known::default() }, None);
        }
        signals.fill(first, &mut columns);
        let StateColumns { signals, signal_precision, signal_recall, .. } = columns;
        signals.into_iter().zip(signal_precision).zip(signal_recall).map(|((m, p), r)| (m, p, r)).collect()
    }

    #[test]
    fn each_page_has_the_signals_of_its_own_and_the_quality_of_its_origin() {
        let none = LastmodCounts::default();
        let origins = vec![
            (0..2, OriginSignals::from_counts([TRUE, none])),
            (3..9, OriginSignals::from_counts([HALF, TRUE])),
        ];
        let [right, half] = [SignalQuality::from_counts(&TRUE), SignalQuality::from_counts(&HALF)];
        let signals = PageSignals { origins, pinged: vec![2, 4, 5] };
        let pages = filled(&signals, 1, &[true, false, false, true, false, true]);
        assert_eq!(pages.iter().map(|page| page.0).collect::<Vec<_>>(), [1, 1, 0, 2, 1, 1]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(pages[0].1, right.precision) && near(pages[0].2, right.recall), "{pages:?}");
        assert_eq!((pages[1].1, pages[1].2), (0.0, 0.0), "nothing is known of this origin");
        assert!(pages[2].1 > half.precision && pages[2].1 < right.precision, "the mean of both");
        let both = (1.0 - half.precision) * (1.0 - right.precision);
        assert!(near((1.0 - pages[3].1).powi(2), both), "{pages:?}");
        assert!(near(pages[4].1, right.precision) && near(pages[5].1, half.precision), "{pages:?}");
        assert!(pages[3].2 > right.recall.max(half.recall) && pages[3].2 < 1.0);
        // A block may begin anywhere.
        assert_eq!(filled(&signals, 4, &[true, false, true]), pages[3..]);
    }
}
