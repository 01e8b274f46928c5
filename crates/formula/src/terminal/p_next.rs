//! `p_next`: the probability of a change by the model of the next change.

use super::{NEXT_CHANGE, Terminal};
use crate::{next_change, posterior};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_next",
    help: "probability of a change since the last visit, by a model learned from the visits so far",
    reads: |_| NEXT_CHANGE,
    load: |tile, out| {
        next_change::load(tile, false, out);
        posterior::to_probability(out);
    },
};
