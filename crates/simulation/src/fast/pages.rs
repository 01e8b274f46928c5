//! The pages of each state, and the pages that a choice of states visits.

use super::choice::RowChoice;
use super::states::{Move, NOWHERE, States};
use super::ties::TieOrder;
use crate::{Since, Truth};

/// The pages of every row. They are contiguous, since all of them reached the row in one cycle. If
/// only a part of a tie class was taken, the pages that left stay listed in their old row until it
/// is read again.
#[derive(Clone, Debug, Default)]
pub(super) struct RowMembers {
    lists: Vec<u32>,
    spare: Vec<u32>,
    rows: Vec<PagesRow>,
    /// The row of each page.
    pub row_of: Vec<u32>,
    /// The pages visited in this cycle, by move, changed ones first.
    pub chosen: Vec<u32>,
    /// The pages drawn from a tie class, row by row, their number per row, and buffers to find them.
    drawn: Vec<u32>,
    drawn_of: Vec<u32>,
    /// A bit for each page; none is set between two draws.
    marks: Vec<u64>,
    ascending: Vec<u32>,
    ends: Vec<u32>,
    images: Vec<u64>,
    ordered: Vec<u64>,
    /// For each row its index in the tie class plus 1; 0 if it is not in it.
    place_in_class: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PagesRow {
    start: u32,
    /// Number of listed pages.
    len: u32,
    /// Number of these that are still here.
    live: u32,
    /// Cycle of their last visit.
    seen: u32,
}

impl RowMembers {
    /// All pages, in the rows of [`States::first_fetch`]. `sites` has the site of each page.
    pub fn first_fetch(states: &States, sites: &[u32]) -> RowMembers {
        let mut row_of_site = vec![0; sites.iter().max().map_or(0, |&site| site as usize + 1)];
        let rows = 0..states.counts.len() as u32;
        if rows.len() > 1 {
            rows.for_each(|row| row_of_site[states.site(row) as usize] = row);
        }
        RowMembers::in_rows(states, sites.iter().map(|&site| row_of_site[site as usize]).collect())
    }

    /// All pages, each in its row.
    pub fn in_rows(states: &States, row_of: Vec<u32>) -> RowMembers {
        let mut start = 0;
        let room = |(row, &live): (u32, &u32)| {
            start += live;
            PagesRow { start: start - live, len: 0, live, seen: states.last(row) }
        };
        let mut rows: Vec<PagesRow> = (0..).zip(&states.counts).map(room).collect();
        let mut lists = vec![0; row_of.len()];
        for (page, &row) in (0..).zip(&row_of) {
            let row = &mut rows[row as usize];
            lists[(row.start + row.len) as usize] = page;
            row.len += 1;
        }
        RowMembers { lists, rows, row_of, ..RowMembers::default() }
    }

    /// Copies another one into the own buffers.
    pub fn copy(&mut self, other: &RowMembers) {
        self.lists.clone_from(&other.lists);
        self.rows.clone_from(&other.rows);
        self.row_of.clone_from(&other.row_of);
    }

    /// The cycle of the page's last visit.
    #[inline]
    pub fn seen(&self, page: usize) -> u32 {
        self.rows[self.row_of[page] as usize].seen
    }

    /// Finds the `k` pages of a choice, and lists the moves without their destinations.
    pub fn choose(
        &mut self,
        truth: &Truth,
        order: &TieOrder<'_>,
        choice: &[u32],
        k: usize,
        moves: &mut Vec<Move>,
    ) {
        // Every entry is set below.
        self.chosen.resize(k, 0);
        moves.clear();
        let first_partly = choice.partition_point(|row| row & RowChoice::PARTLY == 0);
        let (whole, class) = choice.split_at(first_partly);
        let mut at = 0;
        for row in whole {
            let row = row & RowChoice::ROW;
            self.sweep(row);
            let PagesRow { start, len, seen, .. } = self.rows[row as usize];
            let pages = &self.lists[start as usize..][..len as usize];
            let chosen = &mut self.chosen[at..at + pages.len()];
            let changed = changed_first(pages, truth.since(seen, order.cycle), chosen);
            moves.push(Move { source: row, visited: len, changed, to: [NOWHERE; 2] });
            at += pages.len();
        }
        if class.is_empty() {
            assert_eq!(at, k, "the chosen rows have k pages");
            return;
        }
        self.draw(order, class, k - at);
        let mut drawn = self.drawn.as_slice();
        for (row, &drawn_here) in class.iter().zip(&self.drawn_of) {
            let row = row & RowChoice::ROW;
            let (pages, rest) = drawn.split_at(drawn_here as usize);
            drawn = rest;
            if pages.is_empty() {
                continue;
            }
            let since = truth.since(self.rows[row as usize].seen, order.cycle);
            let changed = changed_first(pages, since, &mut self.chosen[at..at + pages.len()]);
            moves.push(Move { source: row, visited: drawn_here, changed, to: [NOWHERE; 2] });
            at += pages.len();
        }
        assert_eq!(at, k, "the drawn pages fill k");
    }

    /// Draws the first `places` pages of a tie class into `drawn`, row by row, and sets `drawn_of`
    /// to their number per row.
    fn draw(&mut self, order: &TieOrder<'_>, class: &[u32], places: usize) {
        let class = class.iter().map(|row| row & RowChoice::ROW);
        let size: usize = class.clone().map(|row| self.rows[row as usize].live as usize).sum();
        self.place_in_class.clear();
        self.place_in_class.resize(self.rows.len(), 0);
        for (place, row) in (1..).zip(class.clone()) {
            self.place_in_class[row as usize] = place;
        }
        match order.walk(places, size) {
            Some(walk) => {
                self.marks.resize(self.row_of.len().div_ceil(64), 0);
                let mut left = places;
                for &page in walk {
                    if left == 0 {
                        break;
                    }
                    let is_here = self.place_in_class[self.row_of[page as usize] as usize] > 0;
                    self.marks[page as usize / 64] |= u64::from(is_here) << (page % 64);
                    left -= usize::from(is_here);
                }
                self.part_by_row(class.len(), places);
            }
            None => self.select(order, class, places),
        }
    }

    /// Lists the first `places` pages of a tie class by row, after reading the whole class.
    fn select(&mut self, order: &TieOrder<'_>, class: impl Iterator<Item = u32> + Clone, places: usize) {
        self.images.clear();
        for row in class.clone() {
            self.sweep(row);
            let PagesRow { start, len, .. } = self.rows[row as usize];
            let pages = &self.lists[start as usize..][..len as usize];
            self.images.extend(pages.iter().map(|&page| order.image(page)));
        }
        self.ordered.clone_from(&self.images);
        let last = *self.ordered.select_nth_unstable(places - 1).1;
        // Every page is written, and those that are not drawn are overwritten.
        self.drawn.resize(places + 1, 0);
        self.drawn_of.clear();
        let mut images = self.images.iter();
        let mut drawn = 0;
        for row in class {
            let PagesRow { start, len, .. } = self.rows[row as usize];
            let before = drawn;
            for (&page, &image) in self.lists[start as usize..][..len as usize].iter().zip(&mut images) {
                self.drawn[drawn] = page;
                drawn += usize::from(image <= last);
            }
            self.drawn_of.push((drawn - before) as u32);
        }
        self.drawn.truncate(places);
    }

    /// Lists the marked pages by row, ascending, and clears the marks.
    fn part_by_row(&mut self, rows: usize, count: usize) {
        self.ascending.clear();
        for (first, word) in (0..).step_by(64).zip(&mut self.marks) {
            let mut rest = std::mem::take(word);
            while rest != 0 {
                self.ascending.push(first + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        assert_eq!(self.ascending.len(), count, "a tie class has enough pages");
        self.drawn_of.clear();
        self.drawn_of.resize(rows, 0);
        if rows == 1 {
            self.drawn_of[0] = count as u32;
            std::mem::swap(&mut self.drawn, &mut self.ascending);
            return;
        }
        let place = |page: u32| self.place_in_class[self.row_of[page as usize] as usize] as usize - 1;
        self.ascending.iter().for_each(|&page| self.drawn_of[place(page)] += 1);
        self.ends.clear();
        self.ends.extend(self.drawn_of.iter().scan(0, |sum, &n| {
            *sum += n;
            Some(*sum - n)
        }));
        self.drawn.resize(count, 0);
        for &page in &self.ascending {
            let end = &mut self.ends[place(page)];
            self.drawn[*end as usize] = page;
            *end += 1;
        }
    }

    /// Removes the pages that left a row from its list.
    fn sweep(&mut self, row: u32) {
        let PagesRow { start, len, live, .. } = self.rows[row as usize];
        if len == live {
            return;
        }
        let list = &mut self.lists[start as usize..][..len as usize];
        let mut kept = 0;
        for i in 0..list.len() {
            let page = list[i];
            list[kept] = page;
            kept += usize::from(self.row_of[page as usize] == row);
        }
        assert_eq!(kept, live as usize, "a row lists its pages");
        self.rows[row as usize].len = live;
    }

    /// Moves the chosen pages to their destinations.
    pub fn settle(&mut self, cycle: u32, moves: &[Move], rows: usize) {
        self.make_room();
        self.rows.resize(rows.max(self.rows.len()), PagesRow::default());
        for m in moves {
            self.rows[m.source as usize].live -= m.visited;
            for (pages, _, to) in m.parts().into_iter().filter(|part| part.0 > 0) {
                let row = &mut self.rows[to as usize];
                if row.seen != cycle {
                    *row = PagesRow { seen: cycle, ..PagesRow::default() };
                }
                row.live += pages;
            }
        }
        let mut chosen = self.chosen.as_slice();
        for m in moves {
            for (pages, _, to) in m.parts().into_iter().filter(|part| part.0 > 0) {
                let (part, rest) = chosen.split_at(pages as usize);
                chosen = rest;
                part.iter().for_each(|&page| self.row_of[page as usize] = to);
                let row = &mut self.rows[to as usize];
                if row.len == 0 {
                    row.start = self.lists.len() as u32;
                    self.lists.resize(self.lists.len() + row.live as usize, 0);
                }
                self.lists[(row.start + row.len) as usize..][..part.len()].copy_from_slice(part);
                row.len += pages;
            }
        }
    }

    /// Lists grow by the pages visited in each cycle. When they are five times as long as the
    /// number of pages, outdated entries are dropped.
    fn make_room(&mut self) {
        if self.lists.len() + self.chosen.len() > 5 * self.row_of.len() {
            self.pack();
        }
    }

    fn pack(&mut self) {
        self.spare.clear();
        for (number, row) in (0..).zip(&mut self.rows) {
            let list = &self.lists[row.start as usize..][..row.len as usize];
            row.start = self.spare.len() as u32;
            if row.live > 0 {
                self.spare.extend(list.iter().filter(|&&page| self.row_of[page as usize] == number));
            }
            row.len = row.live;
        }
        std::mem::swap(&mut self.lists, &mut self.spare);
    }

    /// The same pages in the same rows, without spare capacity.
    pub fn packed(mut self) -> RowMembers {
        self.pack();
        let RowMembers { lists, rows, row_of, .. } = self;
        RowMembers { lists, rows, row_of, ..RowMembers::default() }
    }
}

/// Copies pages, changed ones first, and returns the number of changed ones.
fn changed_first(pages: &[u32], since: Since<'_>, out: &mut [u32]) -> u32 {
    match since {
        Since::Words { words, mask } => split(pages, out, |page| words[page] & mask != 0),
        Since::Versions { seen, now } => split(pages, out, |page| seen[page] != now[page]),
    }
}

/// Writes every page at both ends of the remaining space and advances one end, which avoids
/// mispredicted branches.
fn split(pages: &[u32], out: &mut [u32], changed: impl Fn(usize) -> bool) -> u32 {
    let (mut low, mut high) = (0, out.len());
    for &page in pages {
        out[low] = page;
        out[high - 1] = page;
        let changed = usize::from(changed(page as usize));
        low += changed;
        high -= 1 - changed;
    }
    low as u32
}
