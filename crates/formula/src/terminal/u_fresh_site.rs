//! `u_fresh_site`: the gain of a visit in freshness, with the site's rate.

use super::{GAMMA_SITE, Terminal};
use crate::posterior::{self, Mean};
use crate::refresh;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_fresh_site",
    help: "as u_fresh, with eb_site",
    reads: |_| GAMMA_SITE,
    load: |tile, out| posterior::load_gain(tile, Mean::Site, out, refresh::freshness),
};
