//! `u_harm_next_section`: the gain of a visit in harmonic penalty by the model with the feature of sections.

use super::{NEXT_CHANGE_SECTION, Terminal};
use crate::{next_change, posterior, refresh};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_harm_next_section",
    help: "as u_harm_next, with p_next_section",
    reads: |_| NEXT_CHANGE_SECTION,
    load: |tile, out| {
        next_change::load(tile, true, out);
        posterior::to_gain(tile, out, refresh::harmonic);
    },
};
