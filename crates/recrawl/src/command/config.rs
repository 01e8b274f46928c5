//! `recrawl config`: whether a configuration can be used, and what it says in full.

use super::{print, print_json};
use crate::cli::ConfigCommand;
use crate::failure::Failure;
use crate::serve;
use crate::settings::Settings;

pub fn run(command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check { config } => {
            let settings = Settings::load(config.as_deref(), None)?;
            // As the daemon would at its start.
            serve::tokens_of(&settings)?;
            match config {
                Some(file) => print(format!("{}: fine", file.display())),
                None => print("the built-in defaults: fine"),
            }
        }
        ConfigCommand::Show { config, json } => {
            let settings = Settings::load(config.as_deref(), None)?;
            if *json {
                print_json(&settings.config)
            } else {
                print(toml::to_string_pretty(&settings.config).map_err(Failure::work)?.trim_end())
            }
        }
    }
}
