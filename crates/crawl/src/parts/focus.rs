//! Focused crawling (`[focus]`): relevant pages first, and how many are left.
//!
//! The crate `focus` judges pages and links; this module joins it to the crawl. [`reading`] judges a fetched page and its
//! links. [`survey`] is the pass before a plan that sums up what visits yielded, and ranks what was never fetched. [`lesson`]
//! teaches the model at the commit. [`report`] is what a round says of it.

pub mod discovery_share;
pub mod lesson;
pub mod reading;
pub mod report;
pub mod round_survey;
pub mod state;
pub mod survey;

use crate::config::units::DiscoveryShare;
use crate::config::{self, operator_file};
use crate::failure::Failure;
use recrawl_focus::classifier;
use recrawl_focus::classifier::linear::{Linear, LinearModel};
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::live::DiscoveryOrder;
use recrawl_focus::terms::MAX_FILE_BYTES;
use recrawl_focus::words::MAX_TEXT;
use recrawl_focus::{Classifier, TermsError, Topic, Words};
use recrawl_types::Size;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Greatest number of groups: their table has 2^24 places, 220 MB.
const MAX_GROUPS: usize = 14_000_000;

/// The checked configuration of a focused crawl.
pub struct FocusRules {
    /// The keys as typed.
    pub config: config::Focus,
    /// The terms in the words of all languages.
    pub terms: Terms,
    /// The model of another classifier than `terms`.
    linear: Option<Linear>,
    /// The order of discovery.
    pub order: DiscoveryOrder,
    /// Digest of all that verdicts depend on.
    pub digest: String,
    /// Is the discovery share `"auto"`, so that revisits are weighed against discovery?
    pub weighs_revisits: bool,
}

impl fmt::Debug for FocusRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FocusRules").field("config", &self.config).field("digest", &self.digest).finish()
    }
}

impl FocusRules {
    /// Reads the files and checks the keys; none unless the crawl is focused.
    ///
    /// # Errors
    /// The key, what is wrong with it, and what to do.
    pub fn from_config(config: &config::Config) -> Result<Option<FocusRules>, String> {
        let focus = &config.focus;
        if !focus.enabled {
            if config.cycle.discovery_share == DiscoveryShare::Auto {
                return Err("cycle.discovery_share \"auto\" needs focus.enabled = true".into());
            }
            return Ok(None);
        }
        let order = DiscoveryOrder::named(&focus.order, focus.change_threshold.0).ok_or_else(|| {
            format!("focus.order is {:?}; write one of: {}", focus.order, DiscoveryOrder::names().join(", "))
        })?;
        for (key, value, most, told) in [
            ("rounds", u64::from(focus.rounds), u64::MAX, "or more".into()),
            ("groups", focus.groups as u64, MAX_GROUPS as u64, format!("to {MAX_GROUPS}")),
            ("max_text", focus.max_text.0, MAX_TEXT as u64, format!("B to {}", Size(MAX_TEXT as u64))),
            ("site_patience", focus.site_patience, u64::MAX, "or more".into()),
        ] {
            if value == 0 || value > most {
                return Err(format!("focus.{key} is out of range; write 1 {told}, or leave it out"));
            }
        }
        if !(focus.worth.is_finite() && focus.worth >= 0.0) {
            return Err("focus.worth must be a number from 0 up".into());
        }
        let mut words = Words::new();
        let topic = topic(&focus.terms)?;
        let digest = topic.digest();
        let terms = || Terms::new(topic.clone(), &mut Words::new());
        let kinds = || classifier::ALL.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        let (linear, digest) = match focus.classifier.as_str() {
            "terms" if !focus.model.as_os_str().is_empty() => {
                return Err(
                    "focus.model is set, but focus.classifier \"terms\" needs none; write \"linear\"".into(),
                );
            }
            "terms" => (None, digest),
            // Another model judges otherwise, so it is told apart as other terms are.
            "linear" => {
                let (model, of_model) = model(&focus.model)?;
                (Some(Linear::new(model, terms())), format!("{digest}-{of_model}"))
            }
            other => return Err(format!("focus.classifier is {other:?}; write one of: {}", kinds())),
        };
        let terms = Terms::new(topic, &mut words);
        let weighs_revisits = config.cycle.discovery_share == DiscoveryShare::Auto;
        Ok(Some(FocusRules { config: focus.clone(), terms, linear, order, digest, weighs_revisits }))
    }

    /// Judges pages.
    pub fn classifier(&self) -> &dyn Classifier {
        match &self.linear {
            Some(linear) => linear,
            None => &self.terms,
        }
    }

    /// Is a page of this relevance relevant?
    pub fn is_relevant(&self, relevance: f64) -> bool {
        // A step of the stored form below the threshold is the threshold.
        relevance + 1e-5 >= self.config.threshold.0
    }
}

/// Reads a term file that a command names.
///
/// # Errors
/// The file, the line and a remedy; a file of terms is part of the arguments.
pub fn read_topic(path: &Path) -> Result<Topic, Failure> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text));
    read.map_err(|e| Failure::Usage(format!("cannot read {}: {e} (name a term file)", path.display())))?;
    Topic::from_toml(&text)
        .map_err(|error: TermsError| Failure::Usage(format!("{}: {error}", path.display())))
}

/// The topic of a term file.
fn topic(file: &Path) -> Result<Topic, String> {
    if file.as_os_str().is_empty() {
        return Err("focus.terms names no file; write a term file (config/focus has an example)".into());
    }
    let failed = |cause: &dyn fmt::Display| format!("focus.terms: {}: {cause}", file.display());
    let text = operator_file::read_text(file, MAX_FILE_BYTES as u64).map_err(|e| match e.kind() {
        ErrorKind::FileTooLarge => failed(&TermsError::TooLong),
        _ => failed(&e),
    })?;
    Topic::from_toml(&text).map_err(|e| failed(&e))
}

/// A trained model, and its digest.
fn model(file: &Path) -> Result<(LinearModel, String), String> {
    if file.as_os_str().is_empty() {
        return Err("focus.model names no file; train one with `recrawl-lab focus train --out FILE`".into());
    }
    let failed = |cause: &dyn fmt::Display| format!("focus.model: {}: {cause}", file.display());
    let bytes = operator_file::read(file, operator_file::MAX_DATA).map_err(|e| failed(&e))?;
    let model = LinearModel::from_bytes(&bytes).map_err(|e| failed(&e))?;
    Ok((model, format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes))))
}

#[cfg(test)]
mod tests;
