//! Why a preset cannot be used.

use super::BUILTIN;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A preset cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum PresetError {
    /// No preset of that name.
    Unknown(String),
    /// The file cannot be read.
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Longer than any preset is.
    TooLong {
        /// Which file.
        path: PathBuf,
        /// The most bytes.
        limit: u64,
    },
    /// A file holds something wrong.
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong in it.
        cause: Box<PresetError>,
    },
    /// Not TOML, or not the keys of a preset.
    Toml(Box<toml::de::Error>),
    /// A number out of its bounds.
    Number {
        /// Its key.
        key: &'static str,
        /// What it is.
        value: usize,
        /// The least it may be.
        least: usize,
        /// The most.
        most: usize,
    },
    /// A rate that is not between 0 and 1.
    Rate {
        /// Its key.
        key: &'static str,
        /// What it is.
        rate: f64,
    },
    /// Crossover, reproduction and new individuals are all 0.
    NothingBreeds,
    /// A random seed is there twice: its run would be the same again.
    SeedTwice(u64),
    /// No function has that name.
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
                write!(f, "no preset '{name}': there are {}, or give a file (*.toml)", names.join(", "))
            }
            PresetError::Read { path, cause } => write!(f, "cannot read preset {}: {cause}", path.display()),
            PresetError::TooLong { path, limit } => {
                write!(f, "preset {}: more than {limit} bytes; is this the right file?", path.display())
            }
            PresetError::File { path, cause } => write!(f, "preset {}: {cause}", path.display()),
            // The message of the TOML reader has lines of its own, which show the place.
            PresetError::Toml(cause) => write!(f, "{}", cause.to_string().trim_end()),
            PresetError::Number { key, value, least, most } => {
                write!(f, "{key} = {value}: it is from {least} to {most}")
            }
            PresetError::Rate { key, rate } => write!(f, "{key} = {rate}: a rate is from 0 to 1"),
            PresetError::NothingBreeds => {
                write!(f, "breeding.crossover, reproduction and new are all 0: no generation would follow")
            }
            PresetError::SeedTwice(seed) => {
                write!(f, "random seed {seed} is there twice: its run would be the same again")
            }
            PresetError::Function(name) => {
                let names: Vec<&str> = recrawl_formula::function::ALL.iter().map(|f| f.name).collect();
                write!(f, "no function '{name}': there are {}", names.join(", "))
            }
            PresetError::NoFunction => write!(f, "tree.functions is empty: a tree needs a function"),
            PresetError::Constant(value) => write!(f, "constant {value}: constants are finite"),
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
