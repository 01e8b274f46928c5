//! `p_next_section`: the probability of a change by the model of the next change, with the feature of sections.

use super::{NEXT_CHANGE_SECTION, Terminal};
use crate::{next_change, posterior};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_next_section",
    help: "as p_next, by a model that also reads section_rate",
    reads: |_| NEXT_CHANGE_SECTION,
    load: |tile, out| {
        next_change::load(tile, true, out);
        posterior::to_probability(out);
    },
};
