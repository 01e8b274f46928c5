//! The order of pages with equal scores, in one cycle.

use recrawl_scheduler::{Ties, shuffle::Shuffle, shuffle::ShufflePurpose};
use recrawl_types::Cycle;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tie-breaking orders of all cycles, each computed on first use.
#[derive(Debug)]
pub(super) struct Orders {
    ties: Ties,
    seed: u64,
    /// The number of each page in the data, by which ties are broken, and its inverse.
    pub numbers: Vec<u32>,
    places: Vec<u32>,
    /// For each cycle, all pages in tie-breaking order.
    sorted: Vec<OnceLock<Vec<u32>>>,
    /// Number of entries that these may still add.
    room: AtomicUsize,
}

/// The tie-breaking order of one cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct TieOrder<'a> {
    pub cycle: u32,
    shuffle: Option<Shuffle>,
    orders: &'a Orders,
}

impl Orders {
    /// Maximum entries of all sorted orders together: 256 MiB. Further cycles do without.
    pub const MAX_SORTED: usize = 64 << 20;

    /// Of pages with these numbers in the data.
    pub fn new(ties: Ties, seed: u64, numbers: Vec<u32>, cycles: u32) -> Orders {
        let sorted = (0..=cycles).map(|_| OnceLock::new()).collect();
        let mut places = vec![0; numbers.len()];
        (0..).zip(&numbers).for_each(|(page, &number)| places[number as usize] = page);
        Orders { ties, seed, numbers, places, sorted, room: AtomicUsize::new(Self::MAX_SORTED) }
    }

    pub fn in_cycle(&self, cycle: u32) -> TieOrder<'_> {
        let shuffle = match self.ties {
            Ties::Index => None,
            Ties::Hash => Some(Shuffle::new(self.seed, Cycle(cycle), ShufflePurpose::Ties)),
        };
        TieOrder { cycle, shuffle, orders: self }
    }
}

impl<'a> TieOrder<'a> {
    /// A number that is lower for pages that come earlier.
    #[inline]
    pub fn image(&self, page: u32) -> u64 {
        let number = self.orders.numbers[page as usize].into();
        self.shuffle.map_or(number, |shuffle| shuffle.apply(number))
    }

    /// The page of an image.
    #[inline]
    pub fn page(&self, image: u64) -> u32 {
        self.orders.places[self.shuffle.map_or(image, |shuffle| shuffle.invert(image)) as usize]
    }

    /// All pages in tie-breaking order, if walking them until `places` of a class of `size` pages
    /// are found is faster than reading the whole class.
    pub fn walk(&self, places: usize, size: usize) -> Option<&'a [u32]> {
        // A step of the walk costs about a third of reading a page.
        let steps = places as u128 * self.orders.places.len() as u128 / size.max(1) as u128;
        if steps > 3 * size as u128 {
            return None;
        }
        match self.shuffle {
            None => Some(&self.orders.places),
            Some(_) => self.sorted(),
        }
    }

    fn sorted(&self) -> Option<&'a [u32]> {
        let orders = self.orders;
        let slot = &orders.sorted[self.cycle as usize];
        if slot.get().is_none() {
            let less = |room: usize| room.checked_sub(orders.places.len());
            orders.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        }
        Some(slot.get_or_init(|| {
            let mut images: Vec<u64> = (0..orders.places.len() as u32).map(|page| self.image(page)).collect();
            images.sort_unstable();
            images.into_iter().map(|image| self.page(image)).collect()
        }))
    }
}
