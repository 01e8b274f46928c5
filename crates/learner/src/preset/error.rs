//! Errors of presets.

use super::BUILTIN;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a preset cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum PresetError {
    /// No preset with this name.
    Unknown(String),
    /// The file cannot be read.
    Read {
        /// Path.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// The file is too long.
    TooLong {
        /// Path.
        path: PathBuf,
        /// Maximum bytes.
        limit: u64,
    },
    /// A file is invalid.
    File {
        /// Path.
        path: PathBuf,
        /// What is wrong.
        cause: Box<PresetError>,
    },
    /// Not TOML, or not the keys of a preset.
    Toml(Box<toml::de::Error>),
    /// A number out of range.
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
    Rate {
        /// Key.
        key: &'static str,
        /// Value.
        rate: f64,
    },
    /// Crossover, reproduction and new individuals are all 0.
    NothingBreeds,
    /// A repeated random seed, which would repeat its run.
    SeedTwice(u64),
    /// Unknown function.
    Function(String),
    /// There is no function.
    NoFunction,
    /// A constant that is not finite.
    Constant(f64),
}

impl fmt::Display for PresetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PresetError::Unknown(name) => {
                let names: Vec<&str> = BUILTIN.iter().map(|b| b.0).collect();
                write!(f, "unknown preset '{name}'; use {}, or a file (*.toml)", names.join(", "))
            }
            PresetError::Read { path, cause } => write!(f, "cannot read preset {}: {cause}", path.display()),
            PresetError::TooLong { path, limit } => {
                write!(f, "preset {}: more than {limit} bytes; is this the right file?", path.display())
            }
            PresetError::File { path, cause } => write!(f, "preset {}: {cause}", path.display()),
            // The message of the TOML reader has several lines, which show the position.
            PresetError::Toml(cause) => write!(f, "{}", cause.to_string().trim_end()),
            PresetError::Number { key, value, least, most } => {
                write!(f, "{key} = {value}: use {least} to {most}")
            }
            PresetError::Rate { key, rate } => write!(f, "{key} = {rate}: use a rate from 0 to 1"),
            PresetError::NothingBreeds => {
                write!(
                    f,
                    "breeding.crossover, reproduction and new are all 0; no next generation is possible"
                )
            }
            PresetError::SeedTwice(seed) => {
                write!(f, "random seed {seed} is repeated; it would repeat its run")
            }
            PresetError::Function(name) => {
                let names: Vec<&str> = recrawl_formula::function::ALL.iter().map(|f| f.name).collect();
                write!(f, "unknown function '{name}'; use {}", names.join(", "))
            }
            PresetError::NoFunction => write!(f, "tree.functions is empty; a tree needs a function"),
            PresetError::Constant(value) => write!(f, "constant {value}: use a finite number"),
        }
    }
}

impl Error for PresetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PresetError::Read { cause, .. } => Some(cause),
            PresetError::File { cause, .. } => Some(cause),
            PresetError::Toml(cause) => Some(cause),
            _ => None,
        }
    }
}
