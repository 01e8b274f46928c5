//! The crawler as a child process, one cycle per run.

use super::error::CrawlError;
use super::report::Report;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How to run the crawler.
pub struct CrawlerProgram {
    /// The executable.
    pub executable: PathBuf,
    /// Its data directory.
    pub data_dir: PathBuf,
    /// Its log file.
    pub log: PathBuf,
}

impl CrawlerProgram {
    /// Runs one cycle, or the rest of an interrupted one.
    pub fn crawl(&self, configuration: &Path, seeds: &[String]) -> Result<Report, CrawlError> {
        let mut command = self.command("crawl")?;
        command.arg("--config").arg(configuration).args(["--cycles", "1", "--json"]);
        for seed in seeds {
            command.args(["--seed", seed]);
        }
        Report::from_output(&self.output(command)?).map_err(CrawlError::Report)
    }

    fn command(&self, name: &str) -> Result<Command, CrawlError> {
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.map_err(|e| CrawlError::file(&self.log, e))?;
        let mut command = Command::new(&self.executable);
        command.arg(name).arg("--data-dir").arg(&self.data_dir);
        command.stdin(Stdio::null()).stderr(log);
        Ok(command)
    }

    fn output(&self, mut command: Command) -> Result<String, CrawlError> {
        let output = command.output().map_err(|e| CrawlError::file(&self.executable, e))?;
        if !output.status.success() {
            return Err(CrawlError::Program { status: output.status.to_string(), log: self.log.clone() });
        }
        String::from_utf8(output.stdout).map_err(|e| CrawlError::Report(e.to_string()))
    }
}
