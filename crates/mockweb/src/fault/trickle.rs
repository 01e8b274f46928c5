//! Slow responses.

use super::{Action, FaultKind, number};
use std::time::Duration;

/// Pieces per second.
const PIECES: usize = 10;

/// A slow body.
pub const SLOW: FaultKind = FaultKind {
    name: "slow",
    help: "the correct body in pieces, ten per second; value: bytes per second, default 1000",
    parse: |value| {
        let rate: usize = number(value, 1_000)?;
        let piece = (rate / PIECES).max(1);
        if rate == 0 {
            return Err("0 bytes per second would never end; use timeout".into());
        }
        let pause = Duration::from_secs_f64(piece as f64 / rate as f64);
        Ok(Box::new(move |_| Action::Trickle { piece, pause }))
    },
};
