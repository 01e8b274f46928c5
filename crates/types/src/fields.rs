//! The table of a page record's fields, a row each.
//!
//! The structs, the columns of scoring, [`Reads`](crate::Reads) and the bytes on disk derive from it.
//! The order of the rows is their order on disk. A row names the field, its type (which decides its
//! encoding) and the first format version that has it. Its value in files of older versions is zero.
//! Append a row, raise the format version, and say in `History::record` what a visit does to it.

/// The fields of [`Known`](crate::Known) whose encoding follows from their type.
#[macro_export]
macro_rules! known_fields {
    ($make:ident) => {
        $make! {
            /// The fewest links from a seed to here; a seed has 0.
            depth: u16, since 1;
            /// How many redirects in a row led here by the shortest way; 0 for what a page links to.
            hops: u8, since 1;
            /// How many pages linked here when they were fetched for the first time (saturating).
            in_links: u32, since 1;
            /// The cycle that discovered the URL.
            discovered: $crate::Cycle, since 1;
            /// The last cycle in which a fetch was attempted, whatever came of it; 0 for none.
            last_attempt: $crate::Cycle, since 1;
            /// Attempts since the last one that counted as a visit (saturating); of a page that was never fetched,
            /// cycles with one. Sets the back-off: [`Known::is_due`].
            failures: u8, since 1;
            /// Confirmations that the page does not exist (404 or 410), spaced as
            /// [`Known::GONE_AFTER`] says.
            not_found: u8, since 1;
            /// The cycle of the last such confirmation that counted; 0 for none.
            not_found_cycle: $crate::Cycle, since 1;
            /// When that was, in seconds since 1970; 0 for none.
            not_found_at: u32, since 1;
        }
    };
}

/// The fields of [`History`](crate::History). In brackets: the [`Reads`](crate::Reads) of a score that
/// reads the field, and the fields that [`History::record`](crate::History::record) needs beside it.
#[macro_export]
macro_rules! history_fields {
    ($make:ident) => {
        $make! {
            /// n: visits that could be compared with one before.
            visits: u32, since 1 [VISITS: Reads = Reads(1), needs LAST];
            /// X: how many of them met a change.
            changes: u32, since 1 [CHANGES: Reads = Reads(1 << 1), needs LAST];
            /// The cycle of the first successful fetch.
            first: $crate::Cycle, since 1 [FIRST: Reads = Reads(1 << 2), needs LAST];
            /// The cycle of the last visit; t is the current cycle minus this.
            last: $crate::Cycle, since 1 [LAST: Reads = Reads(0), needs LAST];
            /// The cycle of the last visit that met a change; 0 for none.
            last_change: $crate::Cycle, since 1 [LAST_CHANGE: Reads = Reads(1 << 3), needs LAST];
            /// Σ i·I_i over visits i = 1…n: the sum of AAD by visits.
            ramp_visits: u64, since 1 [RAMP_VISITS: Reads = Reads(1 << 4), needs VISITS];
            /// Σ h over the cycles h of seen changes, counted so that the first fetch is cycle 1: the
            /// sum of AAD by cycles (the program of the GP4C authors numbers its cycles from 1).
            ramp_cycles: u64, since 1 [RAMP_CYCLES: Reads = Reads(1 << 5), needs FIRST];
            /// GAD by visits: s ← s/2 + I at every visit, so that the rate is s / (2 − 2^(1−n)). This
            /// order of operations is the definition; the literal sum leaves exact `f64` at 53 visits.
            geometric_visits: f64, since 1 [GEOMETRIC_VISITS: Reads = Reads(1 << 6), needs LAST];
            /// GAD by cycles: Σ 2^(h − [`last_change`](Self::last_change)) over the cycles h of seen
            /// changes, that is s ← s·2^−(gap between changes) + 1 at every seen change.
            geometric_cycles: f64, since 1
                [GEOMETRIC_CYCLES: Reads = Reads(1 << 7), needs LAST_CHANGE];
            /// S1: cycles between a visit and the one before, summed over the visits that met a
            /// change. The sum over all visits, T, is `last` − `first`, and S0 = T − S1 (Cho &
            /// Garcia-Molina 2003, irregular visits).
            changed_cycles: u32, since 2 [CHANGED_CYCLES: Reads = Reads(1 << 8), needs LAST];
            /// How many comparisons in a row, up to the last, had its result (saturating); 0 before
            /// the first.
            streak: u32, since 2
                [STREAK: Reads = Reads(1 << 9), needs VISITS CHANGES LAST_CHANGE];
            /// Seen changes, each weighing 2^−(age/h) as of [`last_change`](Self::last_change), one
            /// sum for each half-life h of [`decay::HALF_LIVES`](crate::decay::HALF_LIVES). Rounded to
            /// `f32` at every change, here and in a simulation alike.
            decayed: [f32; $crate::decay::HALF_LIVES.len()], since 2
                [DECAYED: [Reads; 3] = [Reads(1 << 10), Reads(1 << 11), Reads(1 << 12)], needs LAST_CHANGE];
            /// Seen changes by the remainder of their cycle by seven: with a cycle a day, by weekday
            /// (saturating).
            weekdays: [u16; 7], since 2 [WEEKDAYS: Reads = Reads(1 << 13), needs LAST];
        }
    };
}
