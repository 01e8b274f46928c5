//! `recrawl config`: checks or prints a configuration.

use super::{print, print_json};
use crate::cli::{ConfigCommand, load};
use crate::tokens::tokens_of;
use recrawl_crawl::failure::Failure;

pub fn run(command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check { config } => {
            let settings = load(config.as_deref(), None)?;
            // Checked as the daemon does at its start.
            tokens_of(&settings)?;
            match config {
                Some(file) => print(format!("{}: ok", file.display())),
                None => print("built-in defaults: ok"),
            }
        }
        ConfigCommand::Show { config, json } => {
            let settings = load(config.as_deref(), None)?;
            if *json {
                print_json(&settings.config)
            } else {
                print(toml::to_string_pretty(&settings.config).map_err(Failure::work)?.trim_end())
            }
        }
    }
}
