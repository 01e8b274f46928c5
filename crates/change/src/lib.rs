//! Did the page change since its last visit?
//!
//! For the crawl cycle, which knows of the last visit only what a page record holds: a SimHash and a
//! digest of the visible text. The main type is [`ChangeRules`]; it makes the fingerprint of a text and
//! compares two of them, with a site's learned [`NoiseFloor`] in between. Pure: no sockets, no disk, no
//! clock. Why the rules are as they are stands, with figures, in docs/change-detection.md.
//!
//! The refused alternative is to keep the last text and compare word by word. It would tell a clock from
//! a sentence, and cost a random read of the archive at every visit.

pub mod detector;
mod fingerprint;
pub mod noise;
mod rules;
mod simhash;
mod sip;
mod words;

pub use crate::detector::Detector;
pub use crate::fingerprint::{Features, fingerprint};
pub use crate::noise::{NoiseFloor, Tally};
pub use crate::rules::{ChangeRules, distance};
