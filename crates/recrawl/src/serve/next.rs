//! The formula of the next cycle, as it was last read: the data directory's own, else the configured one.
//!
//! `recrawl formula use` may write the file at any time, and so may an operator's change while a commit has it read again:
//! so file and what is laid out are read or changed together, by one at a time.

use crate::failure::Failure;
use crate::formula_file;
use crate::settings::Settings;
use recrawl_formula::Formula;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// What is laid out of it.
pub struct Next {
    turn: Mutex<()>,
    read: RwLock<Read>,
}

struct Read {
    /// The last one that could be read.
    formula: Arc<Formula>,
    /// Why the file holds none, if so.
    problem: Option<String>,
}

/// The right to choose another: meanwhile nobody reads or writes the file.
pub struct Turn<'n> {
    next: &'n Next,
    _turn: MutexGuard<'n, ()>,
}

impl Next {
    /// As these settings and the file in their data directory have it. A file that holds none is told and no reason not
    /// to look at the crawl: the configured one is shown, and no cycle is planned until the file is mended.
    pub fn new(settings: &Settings) -> Next {
        let read = Read { formula: Arc::new(settings.formula.clone()), problem: None };
        let next = Next { turn: Mutex::default(), read: RwLock::new(read) };
        next.reread(settings);
        next
    }

    /// What ranks the next cycle.
    pub fn formula(&self) -> Arc<Formula> {
        self.read.read().expect("no panic under the lock").formula.clone()
    }

    /// Why no cycle can be planned by it, if so.
    pub fn problem(&self) -> Option<String> {
        self.read.read().expect("no panic under the lock").problem.clone()
    }

    /// Takes up what was left in the data directory since.
    pub fn reread(&self, settings: &Settings) {
        drop(self.turn(settings));
    }

    /// The right to choose another, the file read anew before.
    pub fn turn(&self, settings: &Settings) -> Turn<'_> {
        let turn = self.turn.lock().expect("no panic under the lock");
        match formula_file::in_force(settings) {
            Ok(formula) => self.lay_out(formula),
            Err(failure) => {
                let problem = Some(failure.to_string());
                let mut read = self.read.write().expect("no panic under the lock");
                if read.problem != problem {
                    tracing::error!("no cycle can be planned: {failure}");
                    read.problem = problem;
                }
            }
        }
        Turn { next: self, _turn: turn }
    }

    fn lay_out(&self, formula: Formula) {
        let read = Read { formula: Arc::new(formula), problem: None };
        *self.read.write().expect("no panic under the lock") = read;
    }
}

impl Turn<'_> {
    /// What ranks the next cycle; none where the file holds no formula.
    pub fn in_force(&self) -> Option<Arc<Formula>> {
        self.next.problem().is_none().then(|| self.next.formula())
    }

    /// Has another one rank it.
    ///
    /// # Errors
    /// When the folder takes no file; then nothing has changed.
    pub fn put(self, data_dir: &Path, formula: Formula) -> Result<(), Failure> {
        formula_file::keep_in_data_dir(data_dir, &formula)?;
        self.next.lay_out(formula);
        Ok(())
    }

    /// Has the configured one rank it, whichever that will be.
    ///
    /// # Errors
    /// When the file in the data directory cannot be removed; then nothing has changed.
    pub fn leave_to(self, settings: &Settings) -> Result<(), Failure> {
        formula_file::forget_in_data_dir(&settings.data_dir)?;
        self.next.lay_out(settings.formula.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use recrawl_formula::builtin;

    #[test]
    fn what_the_file_holds_is_laid_out_and_what_holds_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::check(Config::default()).unwrap();
        settings.data_dir = folder.path().to_owned();
        let file = folder.path().join("formula.toml");
        std::fs::write(&file, "nonsense").unwrap();
        let next = Next::new(&settings);
        assert!(next.problem().unwrap().contains("formula.toml"), "{:?}", next.problem());
        assert_eq!(*next.formula(), settings.formula, "something is shown all the same");
        assert!(next.turn(&settings).in_force().is_none());
        let other = builtin::resolve("t + n").unwrap();
        next.turn(&settings).put(folder.path(), other.clone()).unwrap();
        assert_eq!((next.problem(), &*next.formula()), (None, &other));
        formula_file::keep_in_data_dir(folder.path(), &builtin::resolve("t").unwrap()).unwrap();
        assert_eq!(
            next.turn(&settings).in_force().unwrap().expr.to_string(),
            "t",
            "read before it is compared"
        );
        std::fs::write(&file, "nonsense").unwrap();
        next.reread(&settings);
        assert_eq!(next.formula().expr.to_string(), "t", "the last that could be read");
        std::fs::remove_file(&file).unwrap();
        next.reread(&settings);
        assert_eq!((next.problem(), &*next.formula()), (None, &settings.formula));
    }
}
