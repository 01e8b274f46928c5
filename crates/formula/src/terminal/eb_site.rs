//! `eb_site`: the rate under a Gamma prior with the site's rate.

use super::{GAMMA_SITE, Terminal};
use crate::posterior::{self, Mean};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "eb_site",
    help: "rate of change under a Gamma prior with the site's rate: a'/b'",
    reads: |_| GAMMA_SITE,
    load: |tile, out| {
        posterior::load(
            tile,
            Mean::Site,
            out,
            #[inline(always)]
            |p, _| p.rate(),
        )
    },
};
