//! `streak`: length of the last run of equal comparisons.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "streak",
    help: "consecutive last visits that found a change; negative if they found none",
    reads: |_| Reads::STREAK | Reads::CHANGES | Reads::LAST_CHANGE,
    load: |tile, out| {
        let c = tile.columns;
        tile.map2(&c.last_change, &c.last, out, |at, last| if at == last { 1.0 } else { 0.0 });
        for ((out, &x), &streak) in out.iter_mut().zip(tile.slice(&c.changes)).zip(tile.slice(&c.streak)) {
            let streak = f64::from(streak);
            // From 0, so that an empty streak is not −0.
            *out = if *out * f64::from(x) > 0.0 { streak } else { 0.0 - streak };
        }
    },
};
