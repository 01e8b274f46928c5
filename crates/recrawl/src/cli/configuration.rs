//! Which configuration a command uses.

use crate::process;
use clap::Args;
use recrawl_crawl::config::ConfigError;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::{SecretUse, Settings};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The configuration in the working directory, which is used unless another one is named.
pub const HERE: &str = "recrawl.toml";
/// The variable that names another one.
const VARIABLE: &str = "RECRAWL_CONFIG";

/// Selects a configuration.
#[derive(Args, Clone, Default)]
pub struct Configuration {
    /// Configuration file (TOML). Default: that of RECRAWL_CONFIG, else recrawl.toml here, else built-in defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file that was used once. It may be gone for a moment when it is looked for again.
    #[arg(skip)]
    used: OnceLock<PathBuf>,
}

impl Configuration {
    /// The file; none for the built-in defaults. Once there is one, it stays: a daemon that reloads must not take the
    /// defaults because a file is just being replaced.
    pub fn file(&self) -> Option<PathBuf> {
        let file = self.used.get().cloned().or_else(|| self.look())?;
        Some(self.used.get_or_init(|| file).clone())
    }

    #[expect(clippy::disallowed_methods, reason = "it names the configuration, as --config does")]
    fn look(&self) -> Option<PathBuf> {
        let here = || Some(PathBuf::from(HERE)).filter(|file| file.exists());
        let of_environment = || std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        self.config.clone().or_else(of_environment).or_else(here)
    }

    /// Does the command line name it?
    pub fn is_named(&self) -> bool {
        self.config.is_some()
    }

    /// The file, if the command line names none.
    pub fn found(&self) -> Option<PathBuf> {
        self.file().filter(|_| !self.is_named())
    }
}

/// Reads and checks a configuration file, or the defaults.
///
/// # Errors
/// [`Failure::Usage`], naming the file and the key.
pub fn load(file: Option<&Path>, data_dir: Option<&Path>, secrets: SecretUse) -> Result<Settings, Failure> {
    let settings = Settings::load(file, data_dir, secrets)?;
    process::check_log(&settings.config.log).map_err(|problem| match file {
        Some(file) => Failure::from(ConfigError::Parse(file.into(), problem)),
        None => Failure::Usage(problem),
    })?;
    Ok(settings)
}
