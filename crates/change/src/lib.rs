//! Did the page change since its last visit?
//!
//! For the crawl cycle, which knows a SimHash and a digest of the last visit's text from the page
//! record. [`ChangeRules`] makes fingerprints and compares them, using a site's learned
//! [`NoiseFloor`]. Pure: no sockets, no disk, no clock. docs/change-detection.md gives reasons and
//! figures.
//!
//! ```
//! use recrawl_change::{ChangeRules, NoiseFloor};
//! use recrawl_types::{Content, ContentKind};
//!
//! let rules = ChangeRules::default();
//! let visited = |text: &str| Content { kind: ContentKind::Text, fingerprint: rules.fingerprint(text), ..Content::default() };
//! let before = visited("Opening hours: 9 to 17");
//! assert!(!rules.changed(&before, &visited("Opening  hours:\n9 to 17"), &NoiseFloor::default()));
//! assert!(rules.changed(&before, &visited("Opening hours: 9 to 18"), &NoiseFloor::default()));
//! ```
//!
//! The rejected alternative is to keep the last text and compare words. It would tell a clock from
//! a sentence, but cost a random read of the archive per visit.

pub mod detector;
mod fingerprint;
pub mod noise;
mod rules;
mod simhash;
mod sip;
mod words;

pub use crate::detector::Detector;
pub use crate::fingerprint::{Features, fingerprint};
pub use crate::noise::{LastComparisons, NoiseFloor, NoiseTally};
pub use crate::rules::{ChangeRules, Compared, distance};
