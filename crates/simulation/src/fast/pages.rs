//! The pages of each state, and the pages that a choice of states visits.

use super::choice::RowChoice;
use super::states::{Move, NOWHERE, States};
use super::ties::TieOrder;
use crate::{Since, Truth};
use std::ops::Range;

/// The pages of every row. What a visit found is written once, and rows refer to it. Pages that are drawn from a large tie
/// class stay listed in their old row until it is read again.
#[derive(Clone, Debug, Default)]
pub(super) struct RowMembers {
    /// Pages, in pieces.
    lists: Vec<u32>,
    /// Length of `lists` that is in use.
    used: usize,
    spare: Vec<u32>,
    pieces: Vec<RowPiece>,
    rows: Vec<PagesRow>,
    /// Where the pages of this cycle's visits are, by move, changed ones first.
    chosen: Range<usize>,
    /// The mark of the row that lists each page, if the row has one; else another one, or 0.
    pub mark_of: Vec<u32>,
    marks: u32,
    /// The pages drawn from a tie class, row by row, their number per row, and buffers to find them.
    drawn: Vec<u32>,
    drawn_of: Vec<u32>,
    /// A bit for each page; none is set between two draws.
    bits: Vec<u64>,
    ascending: Vec<u32>,
    ends: Vec<u32>,
    images: Vec<u64>,
    ordered: Vec<u64>,
    /// For each mark the index of its row in the tie class plus 1; 0 if it is not in it.
    place_in_class: Vec<u32>,
}

/// Pages that reached a row by one move.
#[derive(Clone, Copy, Debug)]
struct RowPiece {
    start: u32,
    len: u32,
    /// The row's next piece, counted from 1; 0 for none.
    next: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct PagesRow {
    /// Its first piece, counted from 1; 0 for none.
    first: u32,
    /// Number of pages that are listed, and of those that are still here.
    len: u32,
    live: u32,
    /// Cycle of their last visit.
    seen: u32,
    /// Differs from that of other rows; 0 until the row is in a large tie class.
    mark: u32,
}

impl PagesRow {
    /// The pages that are listed, piece by piece.
    fn listed<'l>(&self, pieces: &'l [RowPiece], lists: &'l [u32]) -> impl Iterator<Item = &'l [u32]> {
        let piece = |number: u32| pieces.get((number as usize).wrapping_sub(1));
        std::iter::successors(piece(self.first), move |before| piece(before.next))
            .map(|piece| &lists[piece.start as usize..][..piece.len as usize])
    }

    /// Removes pages from the list.
    fn retain(&mut self, pieces: &mut [RowPiece], lists: &mut [u32], mut stays: impl FnMut(u32) -> bool) {
        self.len = 0;
        let mut next = self.first;
        while let Some(piece) = pieces.get_mut((next as usize).wrapping_sub(1)) {
            let list = &mut lists[piece.start as usize..][..piece.len as usize];
            let mut kept = 0;
            for i in 0..list.len() {
                let page = list[i];
                list[kept] = page;
                kept += usize::from(stays(page));
            }
            (piece.len, next) = (kept as u32, piece.next);
            self.len += piece.len;
        }
    }
}

impl RowMembers {
    /// All pages, in the rows of [`States::first_fetch`]. `sites` has the site of each page.
    pub fn first_fetch(states: &States, sites: &[u32]) -> RowMembers {
        let mut row_of_site = vec![0; sites.iter().max().map_or(0, |&site| site as usize + 1)];
        let rows = 0..states.counts.len() as u32;
        if rows.len() > 1 {
            rows.for_each(|row| row_of_site[states.site(row) as usize] = row);
        }
        let row_of: Vec<u32> = sites.iter().map(|&site| row_of_site[site as usize]).collect();
        RowMembers::in_rows(states, &row_of)
    }

    /// All pages, each in its row.
    pub fn in_rows(states: &States, row_of: &[u32]) -> RowMembers {
        let mut members =
            RowMembers { lists: vec![0; row_of.len()], used: row_of.len(), ..RowMembers::default() };
        let mut start = 0;
        for (row, &pages) in (0..).zip(&states.counts) {
            members.pieces.push(RowPiece { start, len: 0, next: 0 });
            members.rows.push(PagesRow {
                first: row + 1,
                len: pages,
                live: pages,
                seen: states.last(row),
                mark: 0,
            });
            start += pages;
        }
        for (page, &row) in (0..).zip(row_of) {
            let piece = &mut members.pieces[row as usize];
            members.lists[(piece.start + piece.len) as usize] = page;
            piece.len += 1;
        }
        members.mark_of = vec![0; row_of.len()];
        members
    }

    /// Copies another one, which is [packed](Self::packed), into the own buffers.
    pub fn copy(&mut self, other: &RowMembers) {
        self.used = other.used;
        self.lists.resize(self.lists.len().max(self.used), 0);
        self.lists[..self.used].copy_from_slice(&other.lists);
        self.pieces.clone_from(&other.pieces);
        self.rows.clone_from(&other.rows);
        self.marks = 0;
        self.mark_of.clone_from(&other.mark_of);
    }

    /// Each page with the cycle of its last visit.
    pub fn seen(&self) -> impl Iterator<Item = (u32, u32)> {
        self.rows.iter().filter(|row| row.live > 0).flat_map(move |row| {
            let listed = row.listed(&self.pieces, &self.lists).flatten();
            let is_here = |page: &&u32| row.len == row.live || self.mark_of[**page as usize] == row.mark;
            listed.filter(is_here).map(|&page| (page, row.seen))
        })
    }

    /// The pages visited in this cycle, by move, changed ones first.
    pub fn chosen(&self) -> &[u32] {
        &self.lists[self.chosen.clone()]
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
        self.make_room(k);
        moves.clear();
        let mut at = self.chosen.start;
        let mut visit = |row: u32, visited: u32, changed: u32| {
            moves.push(Move { source: row, visited, changed, to: [NOWHERE; 2] });
            visited as usize
        };
        let first_partly = choice.partition_point(|row| row & RowChoice::PARTLY == 0);
        let (whole, class) = choice.split_at(first_partly);
        for row in whole.iter().map(|row| row & RowChoice::ROW) {
            self.sweep(row);
            let here = self.rows[row as usize];
            let (lists, chosen) = self.lists.split_at_mut(at);
            let pages = here.listed(&self.pieces, lists);
            let since = truth.since(here.seen, order.cycle);
            let changed = changed_first(pages, since, &mut chosen[..here.len as usize]);
            at += visit(row, here.len, changed);
        }
        if !class.is_empty() {
            self.draw(order, class, self.chosen.end - at);
            let mut drawn = self.drawn.as_slice();
            for (row, &len) in class.iter().zip(&self.drawn_of).filter(|(_, len)| **len > 0) {
                let row = row & RowChoice::ROW;
                let (pages, rest) = drawn.split_at(len as usize);
                drawn = rest;
                let since = truth.since(self.rows[row as usize].seen, order.cycle);
                let changed =
                    changed_first(std::iter::once(pages), since, &mut self.lists[at..][..pages.len()]);
                at += visit(row, len, changed);
            }
        }
        assert_eq!(at, self.chosen.end, "the chosen rows have k pages");
    }

    /// Draws the first `places` pages of a tie class into `drawn`, row by row, and sets `drawn_of`
    /// to their number per row.
    fn draw(&mut self, order: &TieOrder<'_>, class: &[u32], places: usize) {
        let class = class.iter().map(|row| row & RowChoice::ROW);
        let size: usize = class.clone().map(|row| self.rows[row as usize].live as usize).sum();
        let Some(walk) = order.walk(places, size) else {
            return self.select(order, class, places);
        };
        class.clone().for_each(|row| self.mark(row));
        self.place_in_class.resize(self.marks as usize + 1, 0);
        for (place, row) in (1..).zip(class.clone()) {
            self.place_in_class[self.rows[row as usize].mark as usize] = place;
        }
        self.bits.resize(self.mark_of.len().div_ceil(64), 0);
        let mut left = places;
        for &page in walk {
            if left == 0 {
                break;
            }
            let is_here = self.place_in_class[self.mark_of[page as usize] as usize] > 0;
            self.bits[page as usize / 64] |= u64::from(is_here) << (page % 64);
            left -= usize::from(is_here);
        }
        self.part_by_row(class.len(), places);
        for row in class {
            self.place_in_class[self.rows[row as usize].mark as usize] = 0;
        }
    }

    /// Lets the pages of a row be found by its mark.
    fn mark(&mut self, row: u32) {
        let row = &mut self.rows[row as usize];
        if row.mark == 0 {
            self.marks += 1;
            row.mark = self.marks;
            for pages in row.listed(&self.pieces, &self.lists) {
                pages.iter().for_each(|&page| self.mark_of[page as usize] = row.mark);
            }
        }
    }

    /// Moves the first `places` pages of a tie class from their lists to `drawn`, after reading the whole class.
    fn select(&mut self, order: &TieOrder<'_>, class: impl Iterator<Item = u32> + Clone, places: usize) {
        self.images.clear();
        for row in class.clone() {
            self.sweep(row);
            for pages in self.rows[row as usize].listed(&self.pieces, &self.lists) {
                self.images.extend(pages.iter().map(|&page| order.image(page)));
            }
        }
        self.ordered.clone_from(&self.images);
        let last = *self.ordered.select_nth_unstable(places - 1).1;
        // Every page is written, and those that are not drawn are overwritten.
        self.drawn.resize(places + 1, 0);
        self.drawn_of.clear();
        let mut images = self.images.iter();
        let mut drawn = 0;
        for row in class {
            let (row, before) = (&mut self.rows[row as usize], drawn);
            row.retain(&mut self.pieces, &mut self.lists, |page| {
                let image = images.next().expect("an image for each page");
                self.drawn[drawn] = page;
                drawn += usize::from(*image <= last);
                *image > last
            });
            if row.mark > 0 {
                self.drawn[before..drawn].iter().for_each(|&page| self.mark_of[page as usize] = 0);
            }
            self.drawn_of.push((drawn - before) as u32);
        }
        self.drawn.truncate(places);
    }

    /// Lists the marked pages by row, ascending, and clears their bits and marks.
    fn part_by_row(&mut self, rows: usize, count: usize) {
        self.ascending.clear();
        for (first, word) in (0..).step_by(64).zip(&mut self.bits) {
            let mut rest = std::mem::take(word);
            while rest != 0 {
                self.ascending.push(first + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        assert_eq!(self.ascending.len(), count, "a tie class has enough pages");
        let place = |mark: u32| self.place_in_class[mark as usize] as usize - 1;
        self.drawn_of.clear();
        self.drawn_of.resize(rows, 0);
        self.ascending.iter().for_each(|&page| self.drawn_of[place(self.mark_of[page as usize])] += 1);
        self.ends.clear();
        self.ends.extend(self.drawn_of.iter().scan(0, |sum, &n| {
            *sum += n;
            Some(*sum - n)
        }));
        self.drawn.resize(count, 0);
        for &page in &self.ascending {
            let end = &mut self.ends[place(std::mem::take(&mut self.mark_of[page as usize]))];
            self.drawn[*end as usize] = page;
            *end += 1;
        }
    }

    /// Removes the pages that left a row from its list.
    fn sweep(&mut self, row: u32) {
        let row = &mut self.rows[row as usize];
        if row.len == row.live || row.live == 0 {
            return;
        }
        let mark = row.mark;
        row.retain(&mut self.pieces, &mut self.lists, |page| self.mark_of[page as usize] == mark);
        assert_eq!(row.len, row.live, "a row lists its pages");
    }

    /// Moves the chosen pages to their destinations.
    pub fn settle(&mut self, cycle: u32, moves: &[Move], rows: usize) {
        self.rows.resize(rows.max(self.rows.len()), PagesRow::default());
        for m in moves {
            self.rows[m.source as usize].live -= m.visited;
            for (pages, _, to) in m.parts().into_iter().filter(|part| part.0 > 0) {
                let row = &mut self.rows[to as usize];
                if row.seen != cycle {
                    *row = PagesRow { seen: cycle, ..PagesRow::default() };
                }
                self.pieces.push(RowPiece { start: self.used as u32, len: pages, next: row.first });
                row.first = self.pieces.len() as u32;
                row.len += pages;
                row.live += pages;
                self.used += pages as usize;
            }
        }
    }

    /// Makes room for the visits of a cycle, by which lists grow. When they are five times as long as the number of pages,
    /// outdated entries are dropped.
    fn make_room(&mut self, visits: usize) {
        if self.used + visits > 5 * self.mark_of.len() {
            self.pack();
        }
        self.chosen = self.used..self.used + visits;
        self.lists.resize(self.lists.len().max(self.chosen.end), 0);
    }

    fn pack(&mut self) {
        (0..self.rows.len() as u32).for_each(|row| self.sweep(row));
        self.spare.clear();
        let before = std::mem::take(&mut self.pieces);
        for row in &mut self.rows {
            if row.live > 0 {
                let start = self.spare.len() as u32;
                row.listed(&before, &self.lists).for_each(|pages| self.spare.extend(pages));
                self.pieces.push(RowPiece { start, len: row.live, next: 0 });
                row.first = self.pieces.len() as u32;
            }
            row.mark = 0;
        }
        std::mem::swap(&mut self.lists, &mut self.spare);
        self.used = self.lists.len();
        self.marks = 0;
        self.mark_of.fill(0);
    }

    /// The same pages in the same rows, without spare capacity.
    pub fn packed(mut self) -> RowMembers {
        self.pack();
        let RowMembers { lists, used, pieces, rows, mark_of, .. } = self;
        RowMembers { lists, used, pieces, rows, mark_of, ..RowMembers::default() }
    }
}

/// Copies pages, changed ones first, and returns the number of changed ones.
fn changed_first<'p>(pages: impl Iterator<Item = &'p [u32]>, since: Since<'_>, mut out: &mut [u32]) -> u32 {
    let mut all = 0;
    for pages in pages {
        let changed = match since {
            Since::Words { words, mask } => split(pages, out, |page| words[page] & mask != 0),
            Since::Versions { seen, now } => split(pages, out, |page| seen[page] != now[page]),
        };
        let left = out.len() - pages.len();
        out = &mut out[changed..][..left];
        all += changed as u32;
    }
    all
}

/// Writes every page at both ends of the remaining space and advances one end, which avoids
/// mispredicted branches.
#[inline(never)]
fn split(pages: &[u32], out: &mut [u32], changed: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, out.len());
    for &page in pages {
        out[low] = page;
        out[high - 1] = page;
        let changed = usize::from(changed(page as usize));
        low += changed;
        high -= 1 - changed;
    }
    low
}
