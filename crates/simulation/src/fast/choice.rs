//! Chooses the states to visit from their scores.

use recrawl_formula::kernel::vectorised;
use recrawl_scheduler::candidate::score_key;

/// The rows that a cycle visits, in ascending order, or by score if ranks count. The last tie
/// class, of which only a part fits, comes last in both.
#[derive(Clone, Debug, Default)]
pub(super) struct RowChoice {
    /// Rows, with the flags [`RowChoice::STARTS`] and [`RowChoice::PARTLY`].
    pub rows: Vec<u32>,
    keys: Vec<u64>,
    items: Vec<(u64, u32)>,
    class: Vec<u32>,
}

impl RowChoice {
    /// Flag: first row of a tie class, if ranks count.
    pub const STARTS: u32 = 1 << 30;
    /// Flag: row of the tie class of which only a part fits.
    pub const PARTLY: u32 = 1 << 31;
    /// Mask of the row number.
    pub const ROW: u32 = RowChoice::STARTS - 1;

    /// Chooses `k` pages by the scores of rows; `counts` has the number of pages of each row.
    pub fn make(&mut self, scores: &[f64], counts: &[u32], k: u64, ranked: bool) {
        self.keys.clear();
        self.items.clear();
        for (&score, &pages) in scores.iter().zip(counts) {
            let key = score_key(score);
            self.keys.push(key);
            if pages > 0 {
                self.items.push((key, pages));
            }
        }
        let threshold = threshold(&mut self.items, k);

        let mut taken = 0;
        self.rows.clear();
        self.class.clear();
        for (row, (&key, &pages)) in (0..).zip(self.keys.iter().zip(counts)) {
            if key <= threshold && pages > 0 {
                taken += u64::from(pages);
                if key < threshold { &mut self.rows } else { &mut self.class }.push(row);
            }
        }
        if ranked {
            let keys = &self.keys;
            self.rows.sort_unstable_by_key(|&row| (keys[row as usize], row));
            let mut before = None;
            for row in &mut self.rows {
                let key = Some(keys[*row as usize]);
                *row |= if key == before { 0 } else { RowChoice::STARTS };
                before = key;
            }
        }
        let mark = if taken > k { RowChoice::PARTLY } else { 0 };
        let start = if ranked { RowChoice::STARTS } else { 0 };
        let marks = std::iter::once(mark | start).chain(std::iter::repeat(mark));
        self.rows.extend(self.class.iter().zip(marks).map(|(row, marks)| row | marks));
    }
}

/// Whether rows that were chosen by other scores, without ranks, are also chosen by these; much faster than a choice. Often
/// false if a class fits exactly.
pub(super) fn is_chosen(rows: &[u32], scores: &[f64], counts: &[u32]) -> bool {
    let score = |row: &u32| scores[(row & RowChoice::ROW) as usize];
    let Some(last) = rows.last().map(score) else { return false };
    let is_better = |score: f64| score > last || (last.is_nan() && !score.is_nan());
    let is_last = |score: f64| score == last || (last.is_nan() && score.is_nan());
    let (mut better, mut equal) = (0, 0);
    let sums = (&mut better, &mut equal);
    vectorised(
        #[inline(always)]
        move || {
            let (mut better, mut equal) = (0u64, 0u64);
            for (&score, &pages) in scores.iter().zip(counts) {
                better += u64::from(is_better(score) & (pages > 0));
                equal += u64::from(is_last(score) & (pages > 0));
            }
            (*sums.0, *sums.1) = (better, equal);
        },
    );
    let partly = rows.iter().filter(|row| *row & RowChoice::PARTLY > 0).count() as u64;
    better + equal == rows.len() as u64 && (partly == 0 || partly == equal) && {
        let (whole, class) = rows.split_at(better as usize);
        whole.iter().all(|row| is_better(score(row))) && class.iter().all(|row| is_last(score(row)))
    }
}

/// The key of the k-th page, or the last of all, if pages are ordered by the keys of their rows.
fn threshold(items: &mut [(u64, u32)], k: u64) -> u64 {
    let mut rest = items;
    let mut wanted = k;
    let pages = |items: &[(u64, u32)]| items.iter().map(|&(_, pages)| u64::from(pages)).sum::<u64>();
    while rest.len() > 1 {
        let middle = rest.len() / 2;
        rest.select_nth_unstable_by_key(middle, |item| item.0);
        let (low, high) = rest.split_at_mut(middle);
        let before = pages(low);
        if before >= wanted {
            rest = low;
        } else {
            wanted -= before;
            rest = high;
        }
    }
    rest[0].0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// And where only a part of a class fits, it is found to be theirs whenever it is.
        #[test]
        fn a_choice_is_also_that_of_other_scores_only_if_they_make_it(
            rows in prop::collection::vec((0u8..4, 0u8..4, 0u32..3), 1..12), same: bool, k in 1u64..12,
        ) {
            let counts: Vec<u32> = rows.iter().map(|row| row.2).collect();
            prop_assume!(counts.iter().sum::<u32>() > 0);
            let k = k.min(counts.iter().map(|&count| u64::from(count)).sum());
            let score = |level: u8| [f64::NAN, -1.0, 0.0, 1.0][usize::from(level)];
            let first: Vec<f64> = rows.iter().map(|row| score(row.0)).collect();
            let second: Vec<f64> = rows.iter().map(|row| score(if same { row.0 } else { row.1 })).collect();
            let [first, second_rows] = [&first, &second].map(|scores| {
                let mut choice = RowChoice::default();
                choice.make(scores, &counts, k, false);
                choice.rows
            });
            let is_chosen = is_chosen(&first, &second, &counts);
            let is_partly = first.iter().any(|row| row & RowChoice::PARTLY != 0);
            let [first, second] = [first, second_rows].map(|mut rows| { rows.sort_unstable(); rows });
            prop_assert!(!is_chosen || first == second, "{:?} {:?}", first, second);
            prop_assert!(is_chosen || first != second || !(is_partly || same));
        }

        #[test]
        fn a_choice_is_the_head_of_the_sorted_pages(
            rows in prop::collection::vec((prop::sample::select(vec![f64::NAN, -0.0, 0.0, 1.0, 2.0, -3.0, f64::INFINITY]), 0u32..5), 1..60),
            k in 1u64..150, ranked: bool,
        ) {
            let (scores, counts): (Vec<f64>, Vec<u32>) = rows.into_iter().unzip();
            let all: u64 = counts.iter().map(|&c| u64::from(c)).sum();
            prop_assume!(all > 0);
            let k = k.min(all);
            let mut sorted: Vec<u64> = scores.iter().zip(&counts)
                .flat_map(|(&s, &c)| std::iter::repeat_n(score_key(s), c as usize)).collect();
            sorted.sort_unstable();
            let threshold = sorted[k as usize - 1];
            let mut choice = RowChoice::default();
            choice.make(&scores, &counts, k, ranked);
            let chosen: Vec<u32> = choice.rows.iter().map(|r| r & RowChoice::ROW).collect();
            let mut expected: Vec<u32> = (0..scores.len() as u32)
                .filter(|&r| counts[r as usize] > 0 && score_key(scores[r as usize]) <= threshold).collect();
            expected.sort_by_key(|&r| {
                let key = score_key(scores[r as usize]);
                (if ranked { key } else { u64::from(key == threshold) }, r)
            });
            prop_assert_eq!(&chosen, &expected);
            let taken: u64 = chosen.iter().map(|&r| u64::from(counts[r as usize])).sum();
            for (i, row) in choice.rows.iter().enumerate() {
                let key = |r: u32| score_key(scores[(r & RowChoice::ROW) as usize]);
                prop_assert_eq!(row & RowChoice::PARTLY != 0, taken > k && key(*row) == threshold);
                let starts = ranked && (i == 0 || key(*row) != key(choice.rows[i - 1]));
                prop_assert_eq!(row & RowChoice::STARTS != 0, starts);
            }
        }
    }
}
