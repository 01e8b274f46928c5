//! The files of a learning run, in one folder: formula, report, curves, and a checkpoint until it
//! ends.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::whole_file;
use recrawl_formula::Formula;
use recrawl_learner::{Checkpoint, LearnOptions};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Paths of the files.
pub struct LearnFiles {
    /// `NAME.toml`
    pub formula: PathBuf,
    /// `NAME.md`
    pub report: PathBuf,
    /// `NAME.svg`, of one data set
    pub curves: PathBuf,
    /// `NAME.checkpoint.json`
    pub checkpoint: PathBuf,
    name: String,
}

impl LearnFiles {
    /// Names the files after `out`, or after the data set in the current folder.
    ///
    /// # Errors
    /// When `out` is not a `.toml` file in an existing folder.
    pub fn new(out: Option<&Path>, data: &str) -> Result<LearnFiles, Failure> {
        let formula = out.map_or_else(|| PathBuf::from(format!("learned-{data}.toml")), Path::to_owned);
        let name = formula.file_stem().and_then(|stem| stem.to_str()).unwrap_or("").to_owned();
        let wrong = |what: &str| Err(Failure::Usage(format!("--out {}: {what}", formula.display())));
        if name.is_empty() || formula.extension().is_none_or(|e| e != "toml") {
            return wrong("the file name must end in .toml");
        }
        let folder = formula.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return wrong("no such folder");
        }
        Ok(LearnFiles {
            report: formula.with_extension("md"),
            curves: formula.with_extension("svg"),
            checkpoint: formula.with_extension("checkpoint.json"),
            formula,
            name,
        })
    }

    /// The formula's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that a new run overwrites no file.
    ///
    /// # Errors
    /// When one of the files exists.
    pub fn vacant(&self) -> Result<(), Failure> {
        if self.checkpoint.exists() {
            return Err(Failure::Usage(format!(
                "{} exists; pass --resume to continue that run, or remove the file to start over",
                self.checkpoint.display()
            )));
        }
        match [&self.formula, &self.report, &self.curves].into_iter().find(|file| file.exists()) {
            Some(file) => {
                Err(Failure::Usage(format!("{} exists; choose another --out or remove it", file.display())))
            }
            None => Ok(()),
        }
    }

    /// Reads the checkpoint.
    ///
    /// # Errors
    /// When there is none, or it belongs to another run.
    pub fn resume(&self, data_name: &str, options: &LearnOptions) -> Result<Checkpoint, Failure> {
        let path = self.checkpoint.display();
        let file = fs::File::open(&self.checkpoint).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Failure::Usage(format!("{path} not found, nothing to resume; run without --resume"))
            }
            _ => Failure::Work(format!("cannot read {path}: {e}")),
        })?;
        let mut text = String::new();
        file.take(Checkpoint::MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(|e| Failure::Work(format!("cannot read {path}: {e}")))?;
        Checkpoint::from_json(&text, data_name, options)
            .map_err(|e| Failure::Usage(format!("cannot resume from {path}: {e}")))
    }

    /// Writes the checkpoint atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        whole_file::replace(&self.checkpoint, checkpoint.to_json().as_bytes())
    }

    /// Writes the results and removes the checkpoint.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, formula: &Formula, report: &str, curves: Option<&str>) -> Result<(), Failure> {
        whole_file::replace(&self.report, report.as_bytes())?;
        curves.map_or(Ok(()), |curves| whole_file::replace(&self.curves, curves.as_bytes()))?;
        formula.save(&self.formula).map_err(Failure::work)?;
        match fs::remove_file(&self.checkpoint) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(Failure::Work(format!("cannot remove {}: {e}", self.checkpoint.display())))
            }
            _ => Ok(()),
        }
    }
}
