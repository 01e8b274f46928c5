//! The touched URLs of a block, each with its place.

use crate::touched::Touched;
use recrawl_repository::PageBlock;

/// A block, with the touched URLs that belong in its key range.
pub(crate) struct Matched {
    pub block: PageBlock,
    pub touched: Touched,
    /// One per touched URL.
    pub places: Vec<Place>,
}

/// Where a URL belongs in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The page in this row.
    Known(usize),
    /// Not known; its place is before this row.
    New(usize),
}

impl Matched {
    /// Finds the places in one walk over both sides.
    pub fn new(block: PageBlock, touched: Touched) -> Matched {
        let mut row = 0;
        let mut place = |key: &[u8]| {
            while row < block.len() && block.key(row) < key {
                row += 1;
            }
            if row < block.len() && block.key(row) == key { Place::Known(row) } else { Place::New(row) }
        };
        let places = (0..touched.len()).map(|i| place(touched.key(i))).collect();
        Matched { block, touched, places }
    }
}
