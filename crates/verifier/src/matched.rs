//! What a batch says of the pages of a block, each beside its place there.

use crate::touched::Touched;
use recrawl_repository::PageBlock;

/// A block and what is said of its pages, and of URLs that belong among them.
pub(crate) struct Matched {
    pub block: PageBlock,
    pub touched: Touched,
    /// For each touched URL.
    pub places: Vec<Place>,
}

/// Where a URL belongs in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the page in this row.
    Known(usize),
    /// It is not known, and would come before this row.
    New(usize),
}

impl Matched {
    /// Finds the places, by one walk over both sides.
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
