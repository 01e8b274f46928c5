//! The pages of each state, and the pages that a choice of states visits.

use super::choice::Choice;
use super::states::{Move, NOWHERE, States};
use super::ties::Order;
use crate::{Since, Truth};

/// The pages of every row. A row's pages lie together, since all of them came to it in one cycle. Where a
/// tie class was taken in part, those that left are still listed at their old row until it is read again.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    lists: Vec<u32>,
    spare: Vec<u32>,
    rows: Vec<Row>,
    /// The row of each page.
    pub row_of: Vec<u32>,
    /// The pages visited in this cycle, move by move, those that had changed first.
    pub chosen: Vec<u32>,
    /// The pages drawn from a tie class, how many of each of its rows, and what it takes to find them.
    drawn: Vec<u32>,
    drawn_of: Vec<u32>,
    parted: Vec<u32>,
    ends: Vec<u32>,
    images: Vec<u64>,
    /// For each row its place in the tie class, counted from 1; 0 where it is not in it.
    place_in_class: Vec<u32>,
}

/// The pages of one row.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    start: u32,
    /// How many are listed,
    len: u32,
    /// and how many of these are still here.
    live: u32,
    /// The cycle of their last visit.
    seen: u32,
}

impl Pages {
    /// All pages, in the rows of [`States::first_fetch`]. `sites` has the site of each page.
    pub fn first_fetch(states: &States, sites: &[u32]) -> Pages {
        let mut row_of_site = vec![0; sites.iter().max().map_or(0, |&site| site as usize + 1)];
        let rows = 0..states.counts.len() as u32;
        if rows.len() > 1 {
            rows.for_each(|row| row_of_site[states.site(row) as usize] = row);
        }
        let mut start = 0;
        let room = |&live: &u32| {
            start += live;
            Row { start: start - live, len: 0, live, seen: 0 }
        };
        let mut rows: Vec<Row> = states.counts.iter().map(room).collect();
        let row_of: Vec<u32> = sites.iter().map(|&site| row_of_site[site as usize]).collect();
        let mut lists = vec![0; sites.len()];
        for (page, &row) in (0..).zip(&row_of) {
            let row = &mut rows[row as usize];
            lists[(row.start + row.len) as usize] = page;
            row.len += 1;
        }
        Pages { lists, rows, row_of, ..Pages::default() }
    }

    /// Takes the place of another, and keeps its own memory.
    pub fn copy(&mut self, other: &Pages) {
        self.lists.clone_from(&other.lists);
        self.rows.clone_from(&other.rows);
        self.row_of.clone_from(&other.row_of);
    }

    /// The cycle in which the page was seen last.
    #[inline]
    pub fn seen(&self, page: usize) -> u32 {
        self.rows[self.row_of[page] as usize].seen
    }

    /// Finds the `k` pages that a choice takes, and lists the moves, whose ends are not known yet.
    pub fn choose(
        &mut self,
        truth: &Truth,
        order: &Order<'_>,
        choice: &[u32],
        k: usize,
        moves: &mut Vec<Move>,
    ) {
        self.chosen.clear();
        self.chosen.resize(k, 0);
        moves.clear();
        let first_partly = choice.partition_point(|row| row & Choice::PARTLY == 0);
        let (whole, class) = choice.split_at(first_partly);
        let mut at = 0;
        for row in whole {
            let row = row & Choice::ROW;
            self.sweep(row);
            let Row { start, len, seen, .. } = self.rows[row as usize];
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
            let row = row & Choice::ROW;
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

    /// Draws the first `places` pages of a tie class into `drawn`, row by row, and says in `drawn_of` how many
    /// they are of each.
    fn draw(&mut self, order: &Order<'_>, class: &[u32], places: usize) {
        let class = class.iter().map(|row| row & Choice::ROW);
        let size: usize = class.clone().map(|row| self.rows[row as usize].live as usize).sum();
        self.place_in_class.clear();
        self.place_in_class.resize(self.rows.len(), 0);
        for (place, row) in (1..).zip(class.clone()) {
            self.place_in_class[row as usize] = place;
        }
        self.drawn.clear();
        match order.walk(places, size) {
            Some(walk) => {
                let here = walk.filter(|&page| self.place_in_class[self.row_of[page as usize] as usize] > 0);
                self.drawn.extend(here.take(places));
            }
            None => {
                self.images.clear();
                for row in class.clone() {
                    self.sweep(row);
                    let Row { start, len, .. } = self.rows[row as usize];
                    let pages = &self.lists[start as usize..][..len as usize];
                    self.images.extend(pages.iter().map(|&page| order.image(page)));
                }
                if places < self.images.len() {
                    self.images.select_nth_unstable(places - 1);
                    self.images.truncate(places);
                }
                self.drawn.extend(self.images.iter().map(|&image| order.page(image)));
            }
        }
        self.part_by_row(class.len());
    }

    /// Brings the drawn pages of each row of the class together.
    fn part_by_row(&mut self, rows: usize) {
        self.drawn_of.clear();
        self.drawn_of.resize(rows, 0);
        if rows == 1 {
            self.drawn_of[0] = self.drawn.len() as u32;
            return;
        }
        let place = |page: u32| self.place_in_class[self.row_of[page as usize] as usize] as usize - 1;
        self.drawn.iter().for_each(|&page| self.drawn_of[place(page)] += 1);
        self.ends.clear();
        self.ends.extend(self.drawn_of.iter().scan(0, |sum, &n| {
            *sum += n;
            Some(*sum)
        }));
        self.parted.clear();
        self.parted.resize(self.drawn.len(), 0);
        for &page in &self.drawn {
            let end = &mut self.ends[place(page)];
            *end -= 1;
            self.parted[*end as usize] = page;
        }
        std::mem::swap(&mut self.drawn, &mut self.parted);
    }

    /// Strikes those off a row's list that left it.
    fn sweep(&mut self, row: u32) {
        let Row { start, len, live, .. } = self.rows[row as usize];
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

    /// Brings the chosen pages to where their moves lead.
    pub fn settle(&mut self, cycle: u32, moves: &[Move], rows: usize) {
        self.make_room();
        self.rows.resize(rows.max(self.rows.len()), Row::default());
        for m in moves {
            self.rows[m.source as usize].live -= m.visited;
            for (pages, _, to) in m.parts().into_iter().filter(|part| part.0 > 0) {
                let row = &mut self.rows[to as usize];
                if row.seen != cycle {
                    *row = Row { seen: cycle, ..Row::default() };
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

    /// Lists grow by the pages visited in each cycle; once they are as long as all pages three times over,
    /// what is out of date is thrown away.
    fn make_room(&mut self) {
        if self.lists.len() + self.chosen.len() > 3 * self.row_of.len() {
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

    /// The same pages in the same rows, and no memory beside.
    pub fn packed(mut self) -> Pages {
        self.pack();
        let Pages { lists, rows, row_of, .. } = self;
        Pages { lists, rows, row_of, ..Pages::default() }
    }
}

/// Copies pages, those that changed first, and says how many did.
fn changed_first(pages: &[u32], since: Since<'_>, out: &mut [u32]) -> u32 {
    match since {
        Since::Words { words, mask } => split(pages, out, |page| words[page] & mask != 0),
        Since::Versions { seen, now } => split(pages, out, |page| seen[page] != now[page]),
    }
}

/// Every page is written at both ends of what is left, and one end moves on: no branch to be mispredicted.
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
