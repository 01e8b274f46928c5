//! One pass over the blocks of a generation: opens those that the batch touches, carries the
//! others.
//!
//! One thread reads, decides and writes in URL order. The workers unpack, match and pack, which is
//! most of the work. A block passes three bounded queues: announced to the system for read-ahead,
//! being unpacked, being packed.

use crate::edit::Editor;
use crate::matched::Matched;
use crate::touch::{Touch, put_links};
use crate::touched::Touched;
use crate::workers::{JobResult, Workers};
use crate::{MergeError, MergeReport, MergeRules, SortedBatch};
use recrawl_repository::{
    BlockExtent, Changed, Generation, GenerationWriter, OpenBlock, PackedBlocks, PackedPages, ReadError,
    Scratch,
};
use recrawl_types::{CanonicalUrl, Visit};
use std::collections::VecDeque;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Memory of the touched URLs held with one block, in bytes per page that a new block has: 2 MiB with
/// the usual blocks. A block with more is edited in parts.
const TOUCHED_BYTES_A_PAGE: usize = 2 << 10;
/// A block has up to two pages for each of a new one. If all are visited, it is still edited as one.
const _: () = assert!(2 * (size_of::<Visit>() + size_of::<Touch>() + USUAL_TEXT) <= TOUCHED_BYTES_A_PAGE);
/// Bytes of a visit's key, twice, and its validators.
const USUAL_TEXT: usize = 256;
/// Maximum blocks announced before they are read. Together they hold at most as many bytes of touched
/// URLs as one block may; the two other queues hold as many per thread.
const BLOCKS_AHEAD: usize = 256;
/// Blocks in each of the two other queues, per thread; each block has at most one job.
pub(crate) const BLOCKS_A_THREAD: usize = 4;

pub(crate) struct Pass<'p, 's, 'g> {
    generation: &'p Generation,
    packed: PackedBlocks<'p>,
    batch: SortedBatch,
    writer: &'p mut GenerationWriter<'g>,
    rules: &'p MergeRules<'p>,
    workers: Workers<'s>,
    editor: Editor<'p>,
    /// Blocks of the old generation that were announced, in order.
    announced: VecDeque<AnnouncedLinks>,
    /// Bytes of the touched URLs held with them.
    held: usize,
    /// Blocks being unpacked, in order.
    opening: VecDeque<Opening>,
    /// Edited blocks being packed, in order.
    packing: VecDeque<Packing>,
    /// Bytes of the touched URLs of blocks in these two queues.
    in_flight: usize,
    room: usize,
    /// Bytes of touched URLs: of one block, and of all in flight.
    max_touched: usize,
    max_in_flight: usize,
}

enum AnnouncedLinks {
    Carried(Range<usize>),
    Skipped(usize, Touched),
    Opened(usize, BlockExtent, Touched),
}

enum Opening {
    Carried(Range<usize>),
    Skipped(usize, Touched),
    /// With the bytes of its touched URLs.
    Opened(usize, usize, JobResult<Result<Matched, ReadError>>),
}

enum Packing {
    Carried(Range<usize>),
    /// With the bytes of its touched URLs, as what is new.
    Replaced(usize, usize, JobResult<PackedPages>),
    New(usize, JobResult<PackedPages>),
}

impl<'p, 's, 'g> Pass<'p, 's, 'g> {
    pub fn new(
        generation: &'p Generation,
        batch: SortedBatch,
        writer: &'p mut GenerationWriter<'g>,
        rules: &'p MergeRules<'p>,
        workers: Workers<'s>,
    ) -> Result<Pass<'p, 's, 'g>, MergeError> {
        Ok(Pass {
            generation,
            packed: generation.packed_blocks(),
            batch,
            writer,
            rules,
            workers,
            editor: Editor::new(generation, rules)?,
            announced: VecDeque::new(),
            held: 0,
            opening: VecDeque::new(),
            packing: VecDeque::new(),
            in_flight: 0,
            room: BLOCKS_A_THREAD * rules.threads.max(1),
            max_touched: TOUCHED_BYTES_A_PAGE * rules.block_pages,
            max_in_flight: TOUCHED_BYTES_A_PAGE * rules.block_pages * rules.threads.max(1),
        })
    }

    pub fn run(mut self) -> Result<MergeReport, MergeError> {
        if self.generation.blocks() == 0 {
            let touched = self.take_touched(None)?;
            self.in_parts(OpenBlock::default(), touched, None)?;
        }
        for at in 0..self.generation.blocks() {
            self.block(at)?;
            self.read_until(BLOCKS_AHEAD)?;
        }
        self.finish_edits()?;
        self.write_until(0)?;
        debug_assert_eq!((self.held, self.in_flight), (0, 0), "all that was taken is written");
        self.batch.remove()?;
        let written = self.writer.summary();
        Ok(MergeReport {
            pages: written.pages,
            visited: written.visited,
            never_tried: written.untried,
            gone_total: written.gone,
            links_waiting: written.waiting,
            ..self.editor.report
        })
    }

    /// Queues block `at` with its touched URLs.
    fn block(&mut self, at: usize) -> Result<(), MergeError> {
        let generation = self.generation;
        let end = (at + 1 < generation.blocks()).then(|| generation.first_key(at + 1));
        let touched = self.take_touched(end)?;
        if touched.is_empty() {
            self.carry(at);
            return Ok(());
        }
        if touched.bytes() >= self.max_touched {
            // Edits are in URL order, so all earlier blocks are edited first.
            self.finish_edits()?;
            let packed = self.packed.read(at, BlockExtent::All)?;
            let (block, _) = packed.open(std::iter::empty(), &mut Scratch::default())?;
            self.in_parts(block, touched, end)?;
            self.report_progress(at..at + 1);
            return Ok(());
        }
        if touched.is_skipped() {
            self.held += touched.bytes();
            self.announced.push_back(AnnouncedLinks::Skipped(at, touched));
            return Ok(());
        }
        if !self.has_its_turn(at) && self.may_wait(&touched) {
            self.carry(at);
            return self.wait(&touched);
        }
        let outgrows = generation.block_pages(at) + touched.len() > 2 * self.rules.block_pages;
        let extent = if outgrows || touched.has_visits() { BlockExtent::All } else { BlockExtent::Known };
        self.packed.announce(at, extent);
        self.held += touched.bytes();
        self.announced.push_back(AnnouncedLinks::Opened(at, extent, touched));
        Ok(())
    }

    /// The touched URLs before `end`; at `max_touched` bytes there may be more.
    fn take_touched(&mut self, end: Option<&[u8]>) -> Result<Touched, MergeError> {
        let mut touched = Touched::default();
        while touched.bytes() < self.max_touched
            && self.batch.peek().is_some_and(|key| end.is_none_or(|end| key < end))
        {
            self.batch.next_into(&mut touched)?;
        }
        Ok(touched)
    }

    /// Whether block `at` has its turn, once in `max_cycles` cycles: nothing waits for it then.
    /// Turns spread the waiting links over the cycles. They depend on the block's first key, which
    /// never changes.
    fn has_its_turn(&self, at: usize) -> bool {
        let waiting = self.rules.waiting;
        let turn = xxh3_64(self.generation.first_key(at)).wrapping_add(self.rules.cycle.0.into());
        waiting.has_turns && turn.checked_rem(waiting.max_cycles.into()) == Some(0)
    }

    /// Whether all these updates of one block may wait.
    fn may_wait(&self, touched: &Touched) -> bool {
        let waiting = self.rules.waiting;
        if touched.len() >= waiting.enough {
            return false;
        }
        (0..touched.len()).all(|i| {
            let touch = touched.touch(i);
            touch.visits.is_empty()
                && touch.links.is_some_and(|links| {
                    !links.seed && self.rules.cycle.since(links.since) < waiting.max_cycles
                })
                && !self.batch.is_main(CanonicalUrl::origin_of(touched.key(i)))
        })
    }

    fn wait(&mut self, touched: &Touched) -> Result<(), MergeError> {
        let mut record = Vec::new();
        for i in 0..touched.len() {
            record.clear();
            let links = touched.touch(i).links.as_ref().expect("only links wait");
            put_links(&mut record, &[], touched.key(i), links);
            self.writer.wait(&record)?;
        }
        Ok(())
    }

    fn carry(&mut self, at: usize) {
        match self.announced.back_mut() {
            Some(AnnouncedLinks::Carried(range)) if range.end == at => range.end += 1,
            _ => self.announced.push_back(AnnouncedLinks::Carried(at..at + 1)),
        }
    }

    /// Reads announced blocks in order, until at most `room` are left.
    fn read_until(&mut self, room: usize) -> Result<(), MergeError> {
        while self.announced.len() > room || self.held > self.max_touched {
            let opening = match self.announced.pop_front().expect("there is one") {
                AnnouncedLinks::Carried(range) => {
                    self.report_progress(range.clone());
                    Opening::Carried(range)
                }
                AnnouncedLinks::Skipped(at, touched) => {
                    self.count_in_flight(touched.bytes());
                    self.report_progress(at..at + 1);
                    Opening::Skipped(at, touched)
                }
                AnnouncedLinks::Opened(at, extent, touched) => {
                    let bytes = touched.bytes();
                    self.count_in_flight(bytes);
                    let packed = self.packed.read(at, extent)?;
                    self.report_progress(at..at + 1);
                    let opened = self.workers.submit(move |scratch| Matched::open(&packed, touched, scratch));
                    Opening::Opened(at, bytes, opened)
                }
            };
            self.opening.push_back(opening);
            self.edit_until(self.room)?;
            self.limit_flight()?;
        }
        Ok(())
    }

    /// Counts these bytes of touched URLs as in flight, and no more as announced.
    fn count_in_flight(&mut self, bytes: usize) {
        self.held -= bytes;
        self.in_flight += bytes;
    }

    /// Finishes blocks in order, until what is in flight keeps to its limit.
    fn limit_flight(&mut self) -> Result<(), MergeError> {
        while self.in_flight > self.max_in_flight {
            match self.packing.len() {
                0 => self.edit_until(self.opening.len() - 1)?,
                packing => self.write_until(packing - 1)?,
            }
        }
        Ok(())
    }

    /// Reports blocks as read or carried.
    fn report_progress(&self, blocks: Range<usize>) {
        let pages = blocks.map(|at| self.generation.block_pages(at) as u64).sum();
        (self.rules.on_progress)(pages);
    }

    fn finish_edits(&mut self) -> Result<(), MergeError> {
        self.read_until(0)?;
        self.edit_until(0)
    }

    /// Edits unpacked blocks in order, until at most `room` are left.
    fn edit_until(&mut self, room: usize) -> Result<(), MergeError> {
        let block_pages = self.rules.block_pages;
        while self.opening.len() > room {
            match self.opening.pop_front().expect("there is one") {
                Opening::Carried(range) => self.packing.push_back(Packing::Carried(range)),
                Opening::Skipped(at, touched) => {
                    self.in_flight -= touched.bytes();
                    Editor::keep_skipped(touched, self.writer)?;
                    self.packing.push_back(Packing::Carried(at..at + 1));
                }
                Opening::Opened(at, bytes, opened) => {
                    let edited = self.editor.edit(opened.wait()?, self.writer)?;
                    if edited.changed == Changed::default() {
                        self.in_flight -= bytes;
                        self.packing.push_back(Packing::Carried(at..at + 1));
                    } else {
                        let packed = self.workers.submit(move |_| edited.pack(block_pages));
                        self.packing.push_back(Packing::Replaced(at, bytes, packed));
                    }
                }
            }
            self.write_until(self.room)?;
        }
        Ok(())
    }

    /// Edits a block in parts: reads the next `max_touched` bytes of URLs only when the previous ones are
    /// done.
    fn in_parts(
        &mut self,
        mut block: OpenBlock,
        mut touched: Touched,
        end: Option<&[u8]>,
    ) -> Result<(), MergeError> {
        let block_pages = self.rules.block_pages;
        loop {
            let next = self.batch.peek().filter(|key| end.is_none_or(|end| *key < end));
            let rest = match next {
                Some(next) => block.split_before(next),
                None => OpenBlock::default(),
            };
            let (is_last, bytes) = (next.is_none(), touched.bytes());
            let edited = self.editor.edit(Matched::find(block, touched), self.writer)?;
            if !edited.is_empty() {
                let packed = self.workers.submit(move |_| edited.whole().pack(block_pages));
                self.packing.push_back(Packing::New(bytes, packed));
                self.in_flight += bytes;
                self.write_until(self.room)?;
                self.limit_flight()?;
            }
            if is_last {
                return Ok(());
            }
            block = rest;
            touched = self.take_touched(end)?;
        }
    }

    /// Writes packed blocks in order, until at most `room` are left.
    fn write_until(&mut self, room: usize) -> Result<(), MergeError> {
        while self.packing.len() > room {
            match self.packing.pop_front().expect("there is one") {
                Packing::Carried(range) => range.into_iter().try_for_each(|at| self.writer.carry(at))?,
                Packing::Replaced(at, bytes, packed) => {
                    self.writer.replace(at, packed.wait())?;
                    self.in_flight -= bytes;
                }
                Packing::New(bytes, packed) => {
                    self.writer.append(packed.wait())?;
                    self.in_flight -= bytes;
                }
            }
        }
        Ok(())
    }
}
