//! The files of a learning, all beside each other: formula, report, curves, and a checkpoint while it lasts.

use crate::failure::Failure;
use recrawl_formula::Formula;
use recrawl_learner::{Checkpoint, Options};
use recrawl_simulation::Dataset;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Where the files are.
pub struct Files {
    /// `NAME.toml`
    pub formula: PathBuf,
    /// `NAME.md`
    pub report: PathBuf,
    /// `NAME.svg`
    pub curves: PathBuf,
    /// `NAME.checkpoint.json`
    pub checkpoint: PathBuf,
    name: String,
}

impl Files {
    /// Beside `out`, or in the current folder and named by the data set.
    ///
    /// # Errors
    /// When `out` is no `.toml` in a folder that is there.
    pub fn new(out: Option<&Path>, data: &str) -> Result<Files, Failure> {
        let formula = out.map_or_else(|| PathBuf::from(format!("learned-{data}.toml")), Path::to_owned);
        let name = formula.file_stem().and_then(|stem| stem.to_str()).unwrap_or("").to_owned();
        let wrong = |what: &str| Err(Failure::Usage(format!("--out {}: {what}", formula.display())));
        if name.is_empty() || formula.extension().is_none_or(|e| e != "toml") {
            return wrong("a formula file ends in .toml");
        }
        let folder = formula.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return wrong("no such folder");
        }
        Ok(Files {
            report: formula.with_extension("md"),
            curves: formula.with_extension("svg"),
            checkpoint: formula.with_extension("checkpoint.json"),
            formula,
            name,
        })
    }

    /// What the formula is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Is nothing in the way of a learning that begins?
    ///
    /// # Errors
    /// When a file is: what was learned before is not written over.
    pub fn vacant(&self) -> Result<(), Failure> {
        if self.checkpoint.exists() {
            return Err(Failure::Usage(format!(
                "{} is there: --resume goes on with that learning; remove it to begin anew",
                self.checkpoint.display()
            )));
        }
        match [&self.formula, &self.report, &self.curves].into_iter().find(|file| file.exists()) {
            Some(file) => {
                Err(Failure::Usage(format!("{} is there: give another --out, or remove it", file.display())))
            }
            None => Ok(()),
        }
    }

    /// The checkpoint, if it belongs to this learning.
    ///
    /// # Errors
    /// When there is none, or it belongs to another.
    pub fn resume(&self, data: &Dataset, options: &Options) -> Result<Checkpoint, Failure> {
        let path = self.checkpoint.display();
        let file = fs::File::open(&self.checkpoint).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Failure::Usage(format!("{path} is not there: nothing to resume; begin without --resume"))
            }
            _ => Failure::Work(format!("{path}: {e}")),
        })?;
        let mut text = String::new();
        file.take(Checkpoint::MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(|e| Failure::Work(format!("{path}: {e}")))?;
        Checkpoint::from_json(&text, data, options).map_err(|e| Failure::Usage(format!("{path}: {e}")))
    }

    /// Writes the checkpoint, wholly or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        whole(&self.checkpoint, &checkpoint.to_json())
    }

    /// Writes what was learned; the checkpoint goes.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, formula: &Formula, report: &str, curves: &str) -> Result<(), Failure> {
        whole(&self.report, report)?;
        whole(&self.curves, curves)?;
        formula.save(&self.formula).map_err(Failure::work)?;
        match fs::remove_file(&self.checkpoint) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(Failure::Work(format!("{}: {e}", self.checkpoint.display())))
            }
            _ => Ok(()),
        }
    }
}

/// Writes a file beside its place and moves it there.
fn whole(path: &Path, text: &str) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|e| Failure::Work(format!("{}: {e}", path.display())))
}
