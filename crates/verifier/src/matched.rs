//! A block with the touched URLs that belong in its key range, each with its place.

use crate::touched::Touched;
use recrawl_repository::{KeyPlace, OpenBlock, PackedBlock, ReadError, Scratch};

pub(crate) struct Matched {
    pub block: OpenBlock,
    pub touched: Touched,
    /// One per touched URL.
    pub places: Vec<KeyPlace>,
}

impl Matched {
    /// Opens a block and finds the places.
    pub fn open(packed: &PackedBlock, touched: Touched, scratch: &mut Scratch) -> Result<Matched, ReadError> {
        let (block, places) = packed.open(touched.keys(), scratch)?;
        Ok(Matched { block, touched, places })
    }

    /// Finds the places in an open block.
    pub fn find(block: OpenBlock, touched: Touched) -> Matched {
        let places = block.find(touched.keys());
        Matched { block, touched, places }
    }
}
