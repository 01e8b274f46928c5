//! Arguments of the commands that read a crawl's own visits.

use super::Where;
use clap::Args;
use std::str::FromStr;

/// A sample of a crawl's own pages and visits.
#[derive(Args)]
pub struct OwnVisitsArgs {
    #[command(flatten)]
    pub at: Where,
    /// Pages of the sample at most
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..=5_000_000))]
    pub sample_pages: u32,
    /// The last cycles, of those whose visits are kept
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub sample_cycles: u32,
}

/// `recrawl whatif`
#[derive(Args)]
pub struct WhatIfArgs {
    #[command(flatten)]
    pub own: OwnVisitsArgs,
    /// Revisits of a cycle, as a number, or as a multiple such as 2x (repeatable) [default: from 0.25x to 4x]
    #[arg(long = "pages", value_name = "N|Fx")]
    pub pages: Vec<PagesACycle>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `recrawl savings`
#[derive(Args)]
pub struct SavingsArgs {
    #[command(flatten)]
    pub own: OwnVisitsArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A number of pages, or a multiple of the present one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PagesACycle {
    Number(u64),
    Times(f64),
}

impl FromStr for PagesACycle {
    type Err = String;

    fn from_str(text: &str) -> Result<PagesACycle, String> {
        let wrong = || format!("{text}: write a number of pages such as 5000, or a multiple such as 2x");
        match text.strip_suffix('x') {
            Some(times) => match times.parse::<f64>() {
                Ok(times) if (0.01..=100.0).contains(&times) => Ok(PagesACycle::Times(times)),
                Ok(_) => Err(format!("{text}: use a multiple from 0.01x to 100x")),
                Err(_) => Err(wrong()),
            },
            None => match text.parse::<u64>() {
                Ok(pages) if pages > 0 => Ok(PagesACycle::Number(pages)),
                _ => Err(wrong()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_a_number_or_a_multiple() {
        let of = |text: &str| text.parse::<PagesACycle>();
        assert_eq!((of("5000"), of("0.5x")), (Ok(PagesACycle::Number(5000)), Ok(PagesACycle::Times(0.5))));
        for wrong in ["", "x", "0", "-1", "2 x", "nanx", "0x", "101x", "5k"] {
            assert!(of(wrong).unwrap_err().starts_with(wrong), "{wrong}");
        }
    }
}
