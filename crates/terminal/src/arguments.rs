//! The arguments of output that each command has, and the exit code.

use crate::{clock, colour, logging};
use anstream::ColorChoice;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use recrawl_crawl::failure::Failure;
use std::process::ExitCode;
use std::time::SystemTime;
use tracing::Level;

/// The arguments of output that each command has.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Log only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more; twice for debugging
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Colours: on a terminal, always or never. NO_COLOR and CLICOLOR_FORCE are obeyed
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: Color,
}

/// `--color`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "help lists what has a comment at length")]
pub enum Color {
    /// On a terminal
    Auto,
    Always,
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> ColorChoice {
        match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
    }
}

impl OutputArgs {
    /// Applies the arguments. `program` begins each message.
    ///
    /// # Errors
    /// If the system clock was never set.
    pub fn apply(&self, program: &'static str) -> Result<(), Failure> {
        logging::choose(program, logging::Verbosity { is_quiet: self.quiet, more: self.verbose });
        colour::choose(self.color.into());
        clock::check(SystemTime::now())
    }
}

/// Says why a program failed, and gives its exit code.
pub fn exit_code(ended: Result<(), Failure>) -> ExitCode {
    if let Err(failure) = &ended {
        logging::say(Level::ERROR, &failure.to_string());
    }
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Work(_)) => ExitCode::from(1),
        Err(Failure::Usage(_)) => ExitCode::from(2),
    }
}

/// A parser of these values, each with the name and the description that help shows.
pub fn one_of<T: Copy + Send + Sync>(
    values: &'static [T],
    named: fn(T) -> (&'static str, &'static str),
) -> impl TypedValueParser<Value = T> {
    let shown = values.iter().map(|value| named(*value));
    PossibleValuesParser::new(shown.map(|(name, text)| PossibleValue::new(name).help(text))).map(
        move |given: String| {
            *values.iter().find(|value| named(**value).0 == given).expect("clap knows these names alone")
        },
    )
}
