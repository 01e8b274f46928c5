//! Errors of presets.

use super::BUILTIN;
use recrawl_types::Size;
use std::io;
use std::path::PathBuf;

/// Why a preset cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PresetError {
    /// No preset with this name.
    #[error(
        "unknown preset '{0}'; use {names}, or a file (*.toml)",
        names = BUILTIN.iter().map(|b| b.0).collect::<Vec<_>>().join(", ")
    )]
    Unknown(String),
    /// The file cannot be read.
    #[error("cannot read preset {}: {cause}", .path.display())]
    Read {
        /// Path.
        path: PathBuf,
        /// Error of the system.
        #[source]
        cause: io::Error,
    },
    /// The file is too long.
    #[error("preset {}: longer than {}; is this the right file?", .path.display(), Size(*.limit))]
    TooLong {
        /// Path.
        path: PathBuf,
        /// Maximum bytes.
        limit: u64,
    },
    /// A file is invalid.
    #[error("preset {}: {cause}", .path.display())]
    File {
        /// Path.
        path: PathBuf,
        /// What is wrong.
        #[source]
        cause: Box<PresetError>,
    },
    /// Not TOML, or not the keys of a preset.
    // The message of the TOML reader has several lines, which show the position.
    #[error("{}", .0.to_string().trim_end())]
    Toml(#[source] Box<toml::de::Error>),
    /// A number out of range.
    #[error("{key} = {value}: use {least} to {most}")]
    Number {
        /// Key.
        key: &'static str,
        /// Value.
        value: usize,
        /// Minimum.
        least: usize,
        /// Maximum.
        most: usize,
    },
    /// A rate that is not between 0 and 1.
    #[error("{key} = {rate}: use a rate from 0 to 1")]
    Rate {
        /// Key.
        key: &'static str,
        /// Value.
        rate: f64,
    },
    /// Crossover, reproduction and new individuals are all 0.
    #[error("breeding.crossover, reproduction and new are all 0; no next generation is possible")]
    NothingBreeds,
    /// A repeated random seed, which would repeat its run.
    #[error("random seed {0} is repeated; it would repeat its run")]
    SeedTwice(u64),
    /// Unknown function.
    #[error(
        "unknown function '{0}'; use {names}",
        names = recrawl_formula::function::ALL.iter().map(|f| f.name).collect::<Vec<_>>().join(", ")
    )]
    Function(String),
    /// There is no function.
    #[error("tree.functions is empty; a tree needs a function")]
    NoFunction,
    /// A constant that is not finite.
    #[error("constant {0}: use a finite number")]
    Constant(f64),
}
