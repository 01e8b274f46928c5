//! Answers that take their time.

use super::{Action, Kind, number};
use std::time::Duration;

/// Pieces a second.
const PIECES: usize = 10;

/// A slow body.
pub const SLOW: Kind = Kind {
    name: "slow",
    help: "sends the right body slowly, a tenth of a second between two pieces; value: bytes a second, 1000",
    parse: |value| {
        let rate: usize = number(value, 1_000)?;
        let piece = (rate / PIECES).max(1);
        if rate == 0 {
            return Err("0 bytes a second never end: use timeout".into());
        }
        let pause = Duration::from_secs_f64(piece as f64 / rate as f64);
        Ok(Box::new(move |_| Action::Trickle { piece, pause }))
    },
};
