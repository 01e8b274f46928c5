//! A formula that was learned and back-tested, waiting to be tried: a file of the data directory.

use crate::failure::Failure;
use crate::whole_file;
use recrawl_estimation::starves;
use recrawl_formula::Formula;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// The version of the file. Figures of another one may mean something else.
const VERSION: u32 = 1;
/// The name of the file.
const FILE: &str = "candidate.json";

/// A formula with what its back-test showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormulaCandidate {
    version: u32,
    /// The formula file.
    pub formula_toml: String,
    /// Its name.
    pub name: String,
    /// Its expression.
    pub expression: String,
    /// The last cycle whose visits it was learned from.
    pub cycle: u32,
    /// How it compares with the formula that was in force, over completed histories.
    pub back_test: BackTestFigures,
    digest: String,
}

/// Figures of a back-test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackTestFigures {
    /// The figure that was compared: `change_rate`, `freshness` or `balanced`.
    pub fitness: String,
    /// The name of the formula in force, and what it reached.
    pub in_force: (String, f64),
    /// The figure that the candidate reached.
    pub candidate: f64,
    /// Each closed form, and what it reached.
    pub closed_forms: Vec<(String, f64)>,
    /// Ends of the interval of the gain over the formula in force.
    pub gain: [f64; 2],
    /// The error probability of that interval: smaller with each try since the last promotion.
    pub alpha: f64,
    /// Share of pages visited at least once: in force, and by the candidate.
    pub coverage: [f64; 2],
    /// Pages, sites or folders, cycles.
    pub sample: [u64; 3],
    /// Freshness, whatever figure was compared; none in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<FreshnessTest>,
}

/// Freshness in a back-test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreshnessTest {
    /// With the formula in force.
    pub in_force: f64,
    /// With the candidate.
    pub candidate: f64,
    /// Ends of the interval of the gain.
    pub gain: [f64; 2],
}

impl BackTestFigures {
    /// Is a loss of this much freshness excluded, as a trial must exclude it?
    pub fn excludes_loss(&self, max_loss: f64) -> bool {
        self.freshness.is_some_and(|test| test.gain[0] > -max_loss)
    }

    /// Does the formula in force starve pages that the candidate would visit? Then each cycle of a trial costs more than
    /// the guard risks.
    pub fn starved(&self) -> Option<String> {
        let [before, after] = self.coverage;
        starves(before, after).then(|| {
            format!(
                "{:.0} % of the pages are visited now, and {:.0} % would be",
                before * 100.0,
                after * 100.0
            )
        })
    }
}

/// The digest of a formula: of its expression, and of what the names in it mean.
pub fn digest_of(formula: &Formula) -> String {
    let text = format!("{} {} {}", formula.expr, formula.protection, formula.basis);
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

impl FormulaCandidate {
    /// A new candidate.
    ///
    /// # Errors
    /// If the formula cannot be written as a file.
    pub fn new(
        formula: &Formula,
        cycle: u32,
        back_test: BackTestFigures,
    ) -> Result<FormulaCandidate, Failure> {
        let mut candidate = FormulaCandidate {
            version: VERSION,
            formula_toml: formula.to_toml().map_err(Failure::work)?,
            name: formula.name.clone(),
            expression: formula.expr.to_string(),
            cycle,
            back_test,
            digest: String::new(),
        };
        candidate.digest = candidate.computed()?;
        Ok(candidate)
    }

    /// The digest of all but the digest.
    fn computed(&self) -> Result<String, Failure> {
        let bare = FormulaCandidate { digest: String::new(), ..self.clone() };
        Ok(format!("{:032x}", xxh3_128(&serde_json::to_vec(&bare).map_err(Failure::work)?)))
    }

    /// The file in this data directory.
    pub fn path(data_dir: &Path) -> PathBuf {
        data_dir.join(FILE)
    }

    /// The formula.
    ///
    /// # Errors
    /// If this version cannot read it.
    pub fn formula(&self) -> Result<Formula, Failure> {
        Formula::from_toml(&self.formula_toml).map_err(Failure::work)
    }

    /// The digest of its formula, by which it is known; empty if this version cannot read the formula.
    pub fn id(&self) -> String {
        self.formula().map(|formula| digest_of(&formula)).unwrap_or_default()
    }

    /// Writes it to the data directory, atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, data_dir: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self).map_err(Failure::work)?;
        whole_file::replace(&FormulaCandidate::path(data_dir), &text)
    }

    /// The candidate in this data directory, if there is one; or why it is refused.
    pub fn read(data_dir: &Path) -> Option<Result<FormulaCandidate, String>> {
        let path = FormulaCandidate::path(data_dir);
        let text = match fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return None,
            Err(e) => return Some(Err(format!("cannot read {}: {e}", path.display()))),
            Ok(text) => text,
        };
        Some(
            FormulaCandidate::parsed(&text)
                .map_err(|why| format!("{}: {why}; it is not tried", path.display())),
        )
    }

    fn parsed(text: &[u8]) -> Result<FormulaCandidate, String> {
        let candidate: FormulaCandidate = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if candidate.version != VERSION {
            return Err(format!("version {}, this program reads {VERSION}", candidate.version));
        }
        let computed = candidate.computed().map_err(|e| e.to_string())?;
        if computed != candidate.digest {
            return Err("its digest does not match: it was changed by hand".into());
        }
        candidate.formula().map_err(|e| e.to_string())?;
        Ok(candidate)
    }

    /// Removes it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(data_dir: &Path) -> Result<(), Failure> {
        let path = FormulaCandidate::path(data_dir);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                Err(Failure::Work(format!("cannot remove {}: {e}", path.display())))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn back_test(gain: [f64; 2]) -> BackTestFigures {
        BackTestFigures {
            fitness: "change_rate".into(),
            in_force: ("t * X".into(), 0.2),
            candidate: 0.2 + (gain[0] + gain[1]) / 2.0,
            closed_forms: vec![("p_eb_site".into(), 0.2)],
            gain,
            alpha: 0.025,
            coverage: [0.9, 0.95],
            sample: [1000, 80, 60],
            freshness: None,
        }
    }

    #[test]
    fn a_file_that_was_changed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path();
        assert_eq!(FormulaCandidate::read(data_dir), None);
        let formula = Formula::from_expression("t * p_eb").unwrap();
        let candidate = FormulaCandidate::new(&formula, 70, back_test([0.01, 0.03])).unwrap();
        candidate.write(data_dir).unwrap();
        assert_eq!(FormulaCandidate::read(data_dir), Some(Ok(candidate.clone())));
        assert_eq!(candidate.formula().unwrap().expr, formula.expr);
        let path = FormulaCandidate::path(data_dir);
        let text = fs::read_to_string(&path).unwrap();
        for (from, to, what) in [
            ("t * p_eb", "t * X", "digest"),
            ("0.01", "0.02", "digest"),
            ("\"version\": 1", "\"version\": 2", "version 2"),
            ("}", "", "expected"),
        ] {
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
            let why = FormulaCandidate::read(data_dir).unwrap().unwrap_err();
            assert!(why.contains(what) && why.contains("candidate.json"), "{why}");
        }
        FormulaCandidate::remove(data_dir).unwrap();
        FormulaCandidate::remove(data_dir).unwrap();
        assert_eq!(FormulaCandidate::read(data_dir), None);
    }

    #[test]
    fn formulas_have_one_digest_by_any_name() {
        let of = |text: &str| Formula::from_expression(text).unwrap();
        let renamed = Formula { name: "other".into(), ..of("t * X") };
        assert_eq!(digest_of(&renamed), digest_of(&of("t * X")));
        assert_ne!(digest_of(&of("t * X")), digest_of(&of("t * n")));
    }
}
