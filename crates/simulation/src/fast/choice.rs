//! Chooses the states to visit from their scores.

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
