//! A block of page state as columns: what scoring reads, and all that it reads.

use crate::{Cycle, History, KeyRows, Known, history_fields};

/// A field of [`History`], which lies in memory as a column or as an array of columns.
pub trait HistoryField: Copy {
    /// A vector with an entry a page, or an array of them.
    type Columns;
    /// Empties the columns and keeps their memory.
    fn clear(columns: &mut Self::Columns);
    /// Adds the value of one more page.
    fn push(self, columns: &mut Self::Columns);
    /// Replaces the value in row `i`.
    fn set(self, columns: &mut Self::Columns, i: usize);
    /// The value in row `i`.
    fn get(columns: &Self::Columns, i: usize) -> Self;
}

/// Number of weights of the model of the next change.
pub const NEXT_CHANGE_WEIGHTS: usize = 9;

/// Fields that are one number each.
macro_rules! numbers {
    ($($field:ty as $number:ty: $value:ident => $to:expr, $from:path;)*) => {$(
        impl HistoryField for $field {
            type Columns = Vec<$number>;

            fn clear(columns: &mut Vec<$number>) {
                columns.clear();
            }

            fn push(self, columns: &mut Vec<$number>) {
                let $value = self;
                columns.push($to);
            }

            fn set(self, columns: &mut Vec<$number>, i: usize) {
                let $value = self;
                columns[i] = $to;
            }

            fn get(columns: &Vec<$number>, i: usize) -> $field {
                $from(columns[i])
            }
        }
    )*};
}

numbers! {
    u16 as u16: value => value, u16::from;
    u32 as u32: value => value, u32::from;
    u64 as u64: value => value, u64::from;
    f32 as f32: value => value, f32::from;
    f64 as f64: value => value, f64::from;
    Cycle as u32: cycle => cycle.0, Cycle;
}

impl<F: HistoryField, const N: usize> HistoryField for [F; N] {
    type Columns = [F::Columns; N];

    fn clear(columns: &mut Self::Columns) {
        columns.iter_mut().for_each(F::clear);
    }

    fn push(self, columns: &mut Self::Columns) {
        self.into_iter().zip(columns).for_each(|(value, column)| value.push(column));
    }

    fn set(self, columns: &mut Self::Columns, i: usize) {
        self.into_iter().zip(columns).for_each(|(value, column)| value.set(column, i));
    }

    fn get(columns: &Self::Columns, i: usize) -> Self {
        std::array::from_fn(|n| F::get(&columns[n], i))
    }
}

macro_rules! state_columns {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal [$($reads:tt)*];)*) => {
        /// The state of consecutive pages, one entry a page in every column. Rows of pages that were
        /// never visited hold zeros in all columns of [`History`].
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct StateColumns {
            /// What every discovered URL has.
            pub known: Vec<Known>,
            /// Was the page ever visited?
            pub visited: Vec<bool>,
            $(#[doc = concat!("[`History::", stringify!($name), "`]")]
            pub $name: <$type as HistoryField>::Columns,)*
            /// The key of each page, if it was read; empty otherwise.
            pub keys: KeyRows,
            /// The rate of change of each page's site, in changes a cycle. Not part of a record. The
            /// caller fills it before scoring, if the formula reads it.
            pub site_rate: Vec<f64>,
            /// The rate of change of all pages together, in changes a cycle; 0 until it is filled with
            /// `site_rate`.
            pub global_rate: f64,
            /// The rate of change of each page's section without the page itself, in changes a cycle. Not part of a record.
            /// The caller fills it before scoring, if the formula reads it.
            pub section_rate: Vec<f64>,
            /// The rate of change of each page's siblings, in changes a cycle. Not part of a record. The caller
            /// fills it before scoring, if the formula reads it.
            pub sibling_rate: Vec<f64>,
            /// The number of each page's group of siblings in this block; [`ALONE`](StateColumns::ALONE) for a page without siblings. Filled
            /// with `sibling_rate`.
            pub siblings: Vec<u32>,
            /// The burst of each page: how many more changes its siblings showed since its last visit than were
            /// expected, as a factor; 1 for as many. Filled with `sibling_rate`.
            pub burst: Vec<f64>,
            /// The weights of the model of the next change: the same for all pages of a cycle.
            pub next_change: [f64; NEXT_CHANGE_WEIGHTS],
            /// Signals of a change of each page since its last visit, such as a moved date in a sitemap or a
            /// ping (saturating). Not part of a record. The caller fills it before scoring, if the formula
            /// reads it. Empty means none.
            pub signals: Vec<u8>,
            /// The precision of the signals of each page's host, 0 to 1:
            /// [`SignalQuality::precision`](crate::SignalQuality::precision). Filled with `signals`; empty
            /// means 0.
            pub signal_precision: Vec<f64>,
            /// Their recall, 0 to 1, likewise.
            pub signal_recall: Vec<f64>,
            /// The relevance of each page, 0 to 1. Not part of a record. The caller fills it if the crawl is focused; empty
            /// means 1.
            pub relevance: Vec<f64>,
            /// Log odds that a URL that was never fetched is relevant, by its links and what visits showed. Filled with
            /// `relevance`. −∞ excludes it from discovery but for what is explored; empty means that discovery does not
            /// go by it.
            pub expected: Vec<f32>,
            /// The importance of each page. Not part of a record. The caller fills it if some page has another than 1;
            /// empty means 1.
            pub importance: Vec<f64>,
            /// The percentile rank of each page by the links to it. The caller fills it before scoring, if the formula
            /// reads it. Empty means that nothing is known of links.
            pub in_links_rank: Vec<f64>,
        }

        impl StateColumns {
            /// Empties all columns and keeps their memory.
            pub fn clear(&mut self) {
                self.known.clear();
                self.visited.clear();
                $(<$type>::clear(&mut self.$name);)*
                self.keys.clear();
                self.site_rate.clear();
                self.global_rate = 0.0;
                self.section_rate.clear();
                self.sibling_rate.clear();
                self.siblings.clear();
                self.burst.clear();
                self.next_change = [0.0; NEXT_CHANGE_WEIGHTS];
                self.signals.clear();
                self.signal_precision.clear();
                self.signal_recall.clear();
                self.relevance.clear();
                self.expected.clear();
                self.importance.clear();
                self.in_links_rank.clear();
            }

            /// Adds one page.
            pub fn push(&mut self, known: Known, history: Option<&History>) {
                self.known.push(known);
                self.visited.push(history.is_some());
                let history = history.copied().unwrap_or_default();
                $(history.$name.push(&mut self.$name);)*
            }

            /// Replaces the history of the page in row `i`, which has one now if it had none.
            pub fn set_history(&mut self, i: usize, history: &History) {
                self.visited[i] = true;
                $(history.$name.set(&mut self.$name, i);)*
            }

            /// The history of the page in row `i`; none when it was never visited.
            pub fn history(&self, i: usize) -> Option<History> {
                self.visited[i].then(|| History { $($name: <$type>::get(&self.$name, i),)* })
            }
        }
    };
}

history_fields!(state_columns);

impl StateColumns {
    /// The group of a page that has no siblings.
    pub const ALONE: u32 = u32::MAX;

    /// Did the last visit of the page in row `i` meet a change? [`History::last_visit_changed`] of a row.
    pub fn last_visit_changed(&self, i: usize) -> bool {
        self.changes[i] > 0 && self.last_change[i] == self.last[i]
    }

    /// A block of the page in row `i` alone, without its key, with all that is filled in.
    pub fn page(&self, i: usize) -> StateColumns {
        fn part<T: Copy>(column: &[T], i: usize) -> Vec<T> {
            column.get(i).copied().into_iter().collect()
        }
        let mut page = StateColumns {
            site_rate: part(&self.site_rate, i),
            global_rate: self.global_rate,
            section_rate: part(&self.section_rate, i),
            sibling_rate: part(&self.sibling_rate, i),
            siblings: part(&self.siblings, i),
            burst: part(&self.burst, i),
            next_change: self.next_change,
            signals: part(&self.signals, i),
            signal_precision: part(&self.signal_precision, i),
            signal_recall: part(&self.signal_recall, i),
            relevance: part(&self.relevance, i),
            expected: part(&self.expected, i),
            importance: part(&self.importance, i),
            in_links_rank: part(&self.in_links_rank, i),
            ..StateColumns::default()
        };
        page.push(self.known[i], self.history(i).as_ref());
        page
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Is there no page?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_comes_back_from_its_columns() {
        let mut history = History::first_fetch(Cycle(3));
        history.record(Cycle(5), true);
        history.record(Cycle(9), false);
        let mut columns = StateColumns::default();
        columns.push(Known::default(), Some(&history));
        columns.push(Known { depth: 4, ..Known::default() }, None);
        assert_eq!(columns.len(), 2);
        assert_eq!(columns.history(0), Some(history));
        assert_eq!(columns.history(1), None);
        columns.set_history(1, &history);
        assert_eq!(columns.history(1), Some(history));
        columns.clear();
        assert!(columns.is_empty() && columns.geometric_cycles.is_empty());
    }
}
