//! The formula of the next cycle, as last read: that of the data directory, or else the configured
//! one.
//!
//! `recrawl formula use` may write the file at any time, and an operator may change it while a
//! commit reads it again. So the file and the shared state are read and changed together, under a
//! lock.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::settings::formula_file;
use recrawl_formula::Formula;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

pub struct NextFormula {
    lock: Mutex<()>,
    read: RwLock<FormulaRead>,
}

struct FormulaRead {
    /// The last one that could be read.
    formula: Arc<Formula>,
    /// Why the file holds no formula, if so.
    problem: Option<String>,
}

/// The lock for choosing another formula: nobody else reads or writes the file meanwhile.
pub struct FormulaLock<'n> {
    next: &'n NextFormula,
    _guard: MutexGuard<'n, ()>,
}

impl NextFormula {
    /// Reads the file in the data directory of these settings. If it is invalid, the problem is
    /// reported and the console still works. The configured formula is shown, and no cycle is
    /// planned until the file is fixed.
    pub fn new(settings: &Settings) -> NextFormula {
        let read = FormulaRead { formula: Arc::new(settings.formula.clone()), problem: None };
        let next = NextFormula { lock: Mutex::default(), read: RwLock::new(read) };
        next.reread(settings);
        next
    }

    /// The formula of the next cycle.
    pub fn formula(&self) -> Arc<Formula> {
        self.read.read().expect("no panic under the lock").formula.clone()
    }

    /// Why no cycle can be planned, if so.
    pub fn problem(&self) -> Option<String> {
        self.read.read().expect("no panic under the lock").problem.clone()
    }

    /// Reads the file in the data directory again.
    pub fn reread(&self, settings: &Settings) {
        drop(self.lock(settings));
    }

    /// Locks the choice of formula, after reading the file again.
    pub fn lock(&self, settings: &Settings) -> FormulaLock<'_> {
        let lock = self.lock.lock().expect("no panic under the lock");
        match formula_file::in_force(settings) {
            Ok(formula) => self.lay_out(formula),
            Err(failure) => {
                let problem = Some(failure.to_string());
                let mut read = self.read.write().expect("no panic under the lock");
                if read.problem != problem {
                    tracing::error!("cannot plan the next cycle: {failure}");
                    read.problem = problem;
                }
            }
        }
        FormulaLock { next: self, _guard: lock }
    }

    fn lay_out(&self, formula: Formula) {
        let read = FormulaRead { formula: Arc::new(formula), problem: None };
        *self.read.write().expect("no panic under the lock") = read;
    }
}

impl FormulaLock<'_> {
    /// The formula of the next cycle; none if the file is invalid.
    pub fn in_force(&self) -> Option<Arc<Formula>> {
        self.next.problem().is_none().then(|| self.next.formula())
    }

    /// Uses another formula.
    ///
    /// # Errors
    /// When the file cannot be written; then nothing has changed.
    pub fn put(self, data_dir: &Path, formula: Formula) -> Result<(), Failure> {
        formula_file::keep_in_data_dir(data_dir, &formula)?;
        self.next.lay_out(formula);
        Ok(())
    }

    /// Uses the configured formula, including later changes of the configuration.
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
    use recrawl_crawl::config::Config;
    use recrawl_formula::builtin;

    #[test]
    fn what_the_file_holds_is_laid_out_and_what_holds_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::check(Config::default()).unwrap();
        settings.data_dir = folder.path().to_owned();
        let file = folder.path().join("formula.toml");
        std::fs::write(&file, "nonsense").unwrap();
        let next = NextFormula::new(&settings);
        assert!(next.problem().unwrap().contains("formula.toml"), "{:?}", next.problem());
        assert_eq!(*next.formula(), settings.formula, "something is shown all the same");
        assert!(next.lock(&settings).in_force().is_none());
        let other = builtin::resolve("t + n").unwrap();
        next.lock(&settings).put(folder.path(), other.clone()).unwrap();
        assert_eq!((next.problem(), &*next.formula()), (None, &other));
        formula_file::keep_in_data_dir(folder.path(), &builtin::resolve("t").unwrap()).unwrap();
        assert_eq!(
            next.lock(&settings).in_force().unwrap().expr.to_string(),
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
