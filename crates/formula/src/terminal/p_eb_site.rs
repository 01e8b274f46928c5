//! `p_eb_site`: the probability of a change under a Gamma prior with the site's rate.

use super::{GAMMA_SITE, Terminal};
use crate::posterior::{self, Mean};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_eb_site",
    help: "as p_eb, with the prior of eb_site",
    reads: |_| GAMMA_SITE,
    load: |tile, out| posterior::load_probability(tile, Mean::Site, out),
};
