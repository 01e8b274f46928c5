//! How pages are ranked: by an objective of the operator, by a formula, or as the data directory began.
//!
//! An objective names a formula and the number of rounds, the best that are known for it. If pages have an importance,
//! the formula weighs by it; a formula of the operator does so only if it reads `importance`. A data directory that began
//! before there were objectives goes on by the default of then, so that an update changes no schedule. A newer one
//! notes its objective when it begins, in a file, so that readers and restarts know it as well.

use crate::config::units::Rounds;
use crate::config::{Config, PagesTable, operator_file};
use crate::data_dir;
use crate::failure::Failure;
use crate::settings::formula_file;
use crate::whole_file;
use recrawl_formula::Formula;
use recrawl_formula::builtin::Builtin;
use recrawl_repository::{Damage, Generation};
use recrawl_scheduler::Parts;
use recrawl_scheduler::policy::PolicyKind;
use recrawl_types::{Importance, Round};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The file of a data directory that names the objective with which it began.
pub const FILE: &str = "schedule.toml";
/// Maximum bytes of the file.
const MAX_BYTES: u64 = 1 << 10;

/// The purpose of revisits (`schedule.objective`). Each has a built-in formula of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Many changes found, and few stale copies.
    #[default]
    Balanced,
    /// Few stale copies.
    Fresh,
    /// Many changes found.
    Changes,
}

/// The formula and the rounds of a crawl.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedBy {
    /// The formula, unless the data directory has one of its own.
    pub formula: Formula,
    /// The revisit rounds of a cycle.
    pub rounds: CycleRounds,
    /// The objective that names both, if one does.
    pub objective: Option<Objective>,
}

/// The revisit rounds of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleRounds {
    parts: Parts,
    /// Of an objective, not of the configuration: a cycle that begins without a visited page has one.
    learn: bool,
}

impl CycleRounds {
    /// Those of a cycle that begins with this generation. As long as no page was visited, no page can have changed, so
    /// the first round of an objective could teach nothing to the second.
    pub fn of_cycle(&self, generation: &Generation) -> &Parts {
        if self.learn && generation.summary().visited == 0 { &ONE_ROUND } else { &self.parts }
    }

    /// Maximum number in a cycle.
    pub fn most(&self) -> u32 {
        self.parts.count()
    }
}

/// The formula of data directories that began before there were objectives.
const FORMER: &str = "default";
/// Rounds of a cycle by an objective: the second one knows what the first found. More add almost nothing.
const ROUNDS: u32 = 2;
static ONE_ROUND: Parts = Parts::Equal(1);

impl Objective {
    /// All of them.
    pub const ALL: [Objective; 3] = [Objective::Balanced, Objective::Fresh, Objective::Changes];

    /// The name in configurations, and of its formula.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Balanced => "balanced",
            Objective::Fresh => "fresh",
            Objective::Changes => "changes",
        }
    }

    fn formula(self, config: &Config) -> Formula {
        weighed(self.name(), config)
    }

    /// The objective that the configuration names, if any.
    fn configured(config: &Config) -> Result<Option<Objective>, String> {
        Objective::named("schedule.objective", &config.schedule.objective)
    }

    /// The objective that a key names, if any.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn named(key: &str, text: &str) -> Result<Option<Objective>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let named = Objective::ALL.into_iter().find(|objective| objective.name() == text);
        let names = Objective::ALL.map(Objective::name).join(", ");
        named.map(Some).ok_or_else(|| format!("{key} is {text:?}; write one of: {names}"))
    }

    /// The objective with which a data directory began: the best for a new one; none if it began before there were
    /// objectives.
    ///
    /// # Errors
    /// When its file cannot be read.
    fn of_folder(folder: &Path) -> Result<Option<Objective>, Failure> {
        let path = folder.join(FILE);
        let wrong = |why: String| {
            Failure::Work(format!(
                "{}: {why}; write objective = \"balanced\", \"fresh\" or \"changes\" in it",
                path.display()
            ))
        };
        data_dir::check_files(folder)?;
        match operator_file::read_text(&path, MAX_BYTES) {
            Ok(text) => match toml::from_str::<Began>(&text) {
                Ok(Began { objective }) => Ok(Some(objective)),
                Err(e) => Err(wrong(e.message().replace('\n', "; "))),
            },
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok((!data_dir::is_begun(folder)).then(Objective::default))
            }
            Err(e) => Err(wrong(format!("cannot be read: {e}"))),
        }
    }
}

/// The content of [`FILE`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Began {
    objective: Objective,
}

/// Notes the objective of a data directory that has no generation yet. Must run before it is told what is in force.
///
/// # Errors
/// When the file cannot be written.
pub fn begin(folder: &Path, last: Round) -> Result<(), Failure> {
    let path = folder.join(FILE);
    if last > Round(0) || path.exists() {
        return Ok(());
    }
    let began = Began { objective: Objective::default() };
    let text = toml::to_string(&began).map_err(Failure::work)?;
    whole_file::replace(&path, text.as_bytes())
}

/// Damage of the file of a data directory, if it is there and cannot be read.
pub fn damage(folder: &Path) -> Option<Damage> {
    let path = folder.join(FILE);
    let failure = path.exists().then(|| Objective::of_folder(folder).err()).flatten()?;
    let file = path.display().to_string();
    let what = failure.to_string().replacen(&format!("{file}: "), "", 1);
    Some(Damage { file, offset: 0, what })
}

/// Tells of a crawl that ranks as one that began before there were objectives: it may have lost its file.
pub fn note(folder: &Path, config: &Config) -> Option<String> {
    let path = folder.join(FILE);
    (is_silent(config) && data_dir::is_begun(folder) && !path.exists()).then(|| {
        format!(
            "{}: missing, so the formula `{FORMER}` ranks, as in a crawl that an older version began; if it was lost, write \
             objective = \"balanced\" in it",
            path.display()
        )
    })
}

/// Copies the file to another data directory, so that the crawl goes on there as it began. A damaged one is copied as
/// it is: without it, the copy would silently go on as a crawl of an older version. Must run before the copy has a
/// manifest, without which it is no copy.
///
/// # Errors
/// When it cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    match fs::read(from.join(FILE)) {
        Ok(content) => whole_file::replace(&to.join(FILE), &content),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Failure::Work(format!("cannot read {}: {e}", from.join(FILE).display()))),
    }
}

impl RankedBy {
    /// As the configuration says, for a new data directory.
    ///
    /// # Errors
    /// The key, and what is wrong with it.
    pub fn in_new_folder(config: &Config, policy: PolicyKind) -> Result<RankedBy, String> {
        RankedBy::begun_with(config, policy, Some(Objective::default()))
    }

    /// The same for a data directory.
    ///
    /// # Errors
    /// When its objective cannot be read.
    pub fn in_folder(config: &Config, policy: PolicyKind, folder: &Path) -> Result<RankedBy, Failure> {
        let began = match is_silent(config) {
            true => Objective::of_folder(folder)?,
            false => None,
        };
        RankedBy::begun_with(config, policy, began).map_err(Failure::Usage)
    }

    /// By this formula alone, which counts before the configuration.
    pub fn by(formula: Formula, config: &Config) -> RankedBy {
        RankedBy { formula, rounds: rounds(config, 1), objective: None }
    }

    fn begun_with(config: &Config, policy: PolicyKind, began: Option<Objective>) -> Result<RankedBy, String> {
        let text = &config.schedule.formula;
        let objective = Objective::configured(config)?;
        if !text.is_empty() {
            let formula = formula_file::find(text).map_err(|e| format!("schedule.formula: {e}"))?;
            return match objective {
                Some(objective) if objective.formula(config).expr != formula.expr => Err(format!(
                    "schedule.objective = {:?} ranks by {}, and schedule.formula = {text:?} by {}; remove one of them",
                    objective.name(),
                    objective.formula(config).expr,
                    formula.expr
                )),
                Some(objective) => Ok(RankedBy::to(objective, config, policy)),
                None => Ok(RankedBy::by(formula, config)),
            };
        }
        Ok(match objective.or(began) {
            Some(objective) => RankedBy::to(objective, config, policy),
            None => RankedBy::by(weighed(FORMER, config), config),
        })
    }

    fn to(objective: Objective, config: &Config, policy: PolicyKind) -> RankedBy {
        // A policy without a formula learns nothing from the first round.
        let several = if policy.is_formula() { ROUNDS } else { 1 };
        RankedBy {
            formula: objective.formula(config),
            rounds: rounds(config, several),
            objective: Some(objective),
        }
    }
}

/// Does the configuration leave the formula to the data directory?
fn is_silent(config: &Config) -> bool {
    config.schedule.formula.is_empty() && config.schedule.objective.is_empty()
}

/// The configured rounds, or else this number.
fn rounds(config: &Config, otherwise: u32) -> CycleRounds {
    match &config.cycle.rounds {
        Some(Rounds(parts)) => CycleRounds { parts: parts.clone(), learn: false },
        None => CycleRounds { parts: Parts::Equal(otherwise), learn: true },
    }
}

/// A built-in formula; if some page may have an importance other than 1, the same times the importance.
fn weighed(name: &str, config: &Config) -> Formula {
    let builtin = Builtin::named(name).expect("a built-in formula");
    let is_one = |table: &PagesTable| table.importance.unwrap_or_default() == Importance::ONE;
    if config.pages.iter().all(is_one) { builtin.formula() } else { builtin.by_importance() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use proptest::prelude::*;
    use recrawl_types::{Cycle, History, Known, StateColumns};

    fn settings(text: &str, folder: &Path) -> Result<Settings, String> {
        let config: Config = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut settings = Settings::check(config)?;
        settings.data_dir = folder.into();
        settings.follow_folder().map_err(|e| e.to_string())?;
        Ok(settings)
    }

    fn ranked(text: &str, folder: &Path) -> (String, u32) {
        let Settings { formula, rounds, .. } = settings(text, folder).unwrap();
        (formula.name, rounds.most())
    }

    #[test]
    fn a_new_directory_is_balanced_and_an_old_one_keeps_its_formula_until_an_objective_is_set() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::create_dir_all(old.join(data_dir::TABLES)).unwrap();
        let by = |name: &str, rounds| (name.to_owned(), rounds);
        assert_eq!(ranked("", &new), by("balanced", 2));
        assert_eq!(ranked("", &old), by("default", 1));
        for folder in [&new, &old] {
            let why = settings("[improve]\nobjective = \"best\"\n", folder).unwrap_err();
            assert_eq!(why, "improve.objective is \"best\"; write one of: balanced, fresh, changes");
            for name in ["balanced", "fresh", "changes"] {
                let schedule = format!("[schedule]\nobjective = {name:?}\n");
                assert_eq!(ranked(&schedule, folder), by(name, 2));
                assert_eq!(ranked(&format!("{schedule}formula = {name:?}\n"), folder), by(name, 2));
                assert_eq!(ranked(&format!("{schedule}[cycle]\nrounds = 3\n"), folder), by(name, 3));
            }
            assert_eq!(ranked("[schedule]\nformula = \"t * X\"\n", folder), by("t * X", 1));
            assert_eq!(ranked("[schedule]\nformula = \"t\"\n[cycle]\nrounds = 2\n", folder), by("t", 2));
            assert_eq!(ranked("[schedule]\npolicy = \"age\"\n", folder).1, 1);
        }
        fs::create_dir_all(&new).unwrap();
        begin(&new, Round(0)).unwrap();
        fs::create_dir_all(new.join(data_dir::TABLES)).unwrap();
        begin(&old, Round(7)).unwrap();
        assert_eq!((ranked("", &new), ranked("", &old)), (by("balanced", 2), by("default", 1)), "once begun");
        fs::write(new.join(FILE), "objective = \"fresh\"\n").unwrap();
        begin(&new, Round(0)).unwrap();
        assert_eq!(ranked("", &new), by("fresh", 2), "it is written once");
    }

    #[test]
    fn importance_weighs_what_the_operator_did_not_choose() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::create_dir_all(old.join(data_dir::TABLES)).unwrap();
        let pages = |importance: &str| format!("[[pages]]\nmatch = \"a.test\"\nimportance = {importance}\n");
        let expression = |text: &str, folder: &Path| {
            let formula = settings(text, folder).unwrap().formula;
            (formula.name, formula.expr.to_string())
        };
        for (schedule, folder, name, weighed) in [
            ("", &new, "balanced", "importance * pow(p_next_section * sqrt(u_fresh_next_section), 2 / 3)"),
            ("", &old, "default", "importance * pow(p_eb_site * sqrt(sqrt(u_harm_site)), 4 / 5)"),
            ("[schedule]\nobjective = \"fresh\"\n", &old, "fresh", "importance * u_fresh_next_section"),
            ("[schedule]\nobjective = \"changes\"\n", &new, "changes", "importance * p_next_section"),
        ] {
            let without = expression(schedule, folder);
            assert_eq!(without.0, name);
            assert_eq!(expression(&format!("{}{schedule}", pages("1")), folder), without);
            let with = expression(&format!("{}{schedule}", pages("0.5")), folder);
            assert_eq!(with, (format!("{name}_by_importance"), weighed.to_owned()));
        }
        let own = format!("{}[schedule]\nformula = \"t * X\"\n", pages("5"));
        assert_eq!(expression(&own, &new).1, "t * X");
        let both = format!("{}[schedule]\nobjective = \"fresh\"\nformula = \"fresh\"\n", pages("5"));
        let why = settings(&both, &new).unwrap_err();
        assert!(why.contains("importance * u_fresh_next_section") && why.contains("remove one"), "{why}");
    }

    proptest! {
        /// Twice the importance gives twice the score to the bit, so that no order changes; 0 gives 0, and nothing NaN.
        #[test]
        fn scores_are_in_proportion_to_importance(
            visits in prop::collection::vec((1..200u32, any::<bool>()), 0..30), rates in prop::array::uniform4(1e-9..9.0f64),
            (burst, importance, never) in (0.01..100.0f64, 0.001..500.0f64, any::<bool>()),
        ) {
            let rule = PagesTable { importance: Importance::new(5.0), ..PagesTable::default() };
            let config = Config { pages: vec![rule], ..Config::default() };
            let mut history = History::first_fetch(Cycle(1));
            visits.iter().for_each(|(gap, changed)| history.record(Cycle(history.last.0 + gap), *changed && !never));
            let [global_rate, site, section, siblings] = rates;
            let mut columns = StateColumns { global_rate, ..StateColumns::default() };
            for importance in [importance, 2.0 * importance, 0.0, 1_000.0] {
                columns.push(Known::default(), Some(&history));
                columns.importance.push(importance);
                columns.site_rate.push(site);
                columns.section_rate.push(section);
                columns.sibling_rate.push(siblings);
                columns.burst.push(burst);
            }
            for name in ["balanced", "fresh", "changes", FORMER] {
                let mut scores = Vec::new();
                weighed(name, &config).compile().evaluate(&columns, Cycle(history.last.0 + 7), &mut scores);
                prop_assert!(scores[0] > 0.0 && scores.iter().all(|score| score.is_finite()), "{name}: {scores:?}");
                prop_assert_eq!((scores[1], scores[2]), (2.0 * scores[0], 0.0), "{}", name);
            }
        }
    }

    #[test]
    fn contradictions_and_nonsense_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let why = |text: &str| settings(text, folder.path()).unwrap_err();
        let both = why("[schedule]\nobjective = \"fresh\"\nformula = \"t * X\"\n");
        assert!(
            both.contains("\"fresh\"") && both.contains("t * X") && both.contains("remove one"),
            "{both}"
        );
        assert!(why("[schedule]\nobjective = \"best\"\n").contains("balanced, fresh, changes"));
        for text in ["nonsense", "objective = \"best\"", "objective = \"fresh\"\nrounds = 2"] {
            fs::write(folder.path().join(FILE), text).unwrap();
            let why = why("");
            assert!(why.contains(FILE) && why.contains("objective = \"balanced\""), "{text}: {why}");
            assert!(settings("[schedule]\nformula = \"t\"\n", folder.path()).is_ok(), "it is not asked");
        }
    }
}
