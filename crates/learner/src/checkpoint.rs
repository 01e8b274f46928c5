//! Checkpoints of interrupted learning, as text without loss of digits.

use crate::evolve::{EvolutionRun, EvolvedGeneration};
use crate::hall_of_fame::{Front, HallOfFame};
use crate::options::LearnOptions;
use crate::select::Individual;
use recrawl_formula::{Expr, parse};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. Others are rejected, since their meaning may differ.
const VERSION: u32 = 1;

/// The state of learning between two generations.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The data and options that it belongs to: everything that results depend on, by name.
    belongs_to: BTreeMap<String, String>,
    /// The runs so far, by fold and then by seed; the last may be unfinished.
    pub runs: Vec<EvolutionRun>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointText {
    version: u32,
    belongs_to: BTreeMap<String, String>,
    runs: Vec<RunText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunText {
    seed: u64,
    generation: u32,
    population: Vec<String>,
    kept: Vec<IndividualText>,
    front: Vec<IndividualText>,
    history: Vec<[Number; 3]>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndividualText {
    fitness: Number,
    expression: String,
}

/// A number as text, since JSON readers may round the last digit of a number.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct Number(f64);

impl From<Number> for String {
    fn from(number: Number) -> String {
        format!("{:?}", number.0)
    }
}

impl TryFrom<String> for Number {
    type Error = String;

    fn try_from(text: String) -> Result<Number, String> {
        text.parse().map(Number).map_err(|_| format!("'{text}' is not a number"))
    }
}

impl Checkpoint {
    /// Maximum bytes; a thousand runs of the largest formulas fit.
    pub const MAX_BYTES: u64 = 1 << 30;

    /// For learning with these options on the data with this name.
    pub fn new(data_name: &str, options: &LearnOptions, runs: Vec<EvolutionRun>) -> Checkpoint {
        Checkpoint { belongs_to: belongings(data_name, options), runs }
    }

    /// The checkpoint as JSON.
    pub fn to_json(&self) -> String {
        let individual =
            |i: &Individual| IndividualText { fitness: Number(i.fitness), expression: i.expr.to_string() };
        let run = |run: &EvolutionRun| RunText {
            seed: run.seed,
            generation: run.generation,
            population: run.population.iter().map(Expr::to_string).collect(),
            kept: run.kept.best().map(individual).collect(),
            front: run.front.points().iter().map(individual).collect(),
            history: run.history.iter().map(|g| [g.best, g.mean, g.nodes].map(Number)).collect(),
        };
        let text = CheckpointText {
            version: VERSION,
            belongs_to: self.belongs_to.clone(),
            runs: self.runs.iter().map(run).collect(),
        };
        serde_json::to_string(&text).expect("texts and numbers can be written as JSON")
    }

    /// Parses JSON, for learning with these options on the data with this name.
    ///
    /// # Errors
    /// If it is not a checkpoint, or belongs to other data or options.
    pub fn from_json(
        text: &str,
        data_name: &str,
        options: &LearnOptions,
    ) -> Result<Checkpoint, CheckpointError> {
        let version: Version = serde_json::from_str(text).map_err(CheckpointError::json)?;
        if version.version != VERSION {
            return Err(CheckpointError::Version(version.version));
        }
        let text: CheckpointText = serde_json::from_str(text).map_err(CheckpointError::json)?;
        let belongs_to = belongings(data_name, options);
        for (name, now) in &belongs_to {
            let then = text.belongs_to.get(name).map_or("", String::as_str);
            if then != now {
                let (name, then, now) = (name.clone(), then.to_owned(), now.clone());
                return Err(CheckpointError::Other { name, then, now });
            }
        }
        let runs = text.runs.into_iter().map(|run| run_of(run, options)).collect::<Result<_, _>>()?;
        Ok(Checkpoint { belongs_to, runs })
    }
}

/// The part that is read before the version is known.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn run_of(text: RunText, options: &LearnOptions) -> Result<EvolutionRun, CheckpointError> {
    let tree = |text: &String| parse(text).map_err(|e| CheckpointError::Broken(format!("'{text}': {e}")));
    let individual =
        |i: &IndividualText| tree(&i.expression).map(|expr| Individual { expr, fitness: i.fitness.0 });
    let preset = &options.preset;
    let done = text.generation == preset.population.generations;
    let population = if done { 0 } else { preset.population.size };
    if text.population.len() != population || text.history.len() != text.generation as usize {
        let what = format!("generation {} of {} trees", text.generation, text.population.len());
        return Err(CheckpointError::Broken(what));
    }
    let (mut kept, mut front) = (HallOfFame::new(preset.selection.kept), Front::default());
    for i in &text.kept {
        kept.offer(&individual(i)?, preset.protection);
    }
    for i in &text.front {
        front.offer(&individual(i)?, preset.protection);
    }
    Ok(EvolutionRun {
        seed: text.seed,
        generation: text.generation,
        population: text.population.iter().map(tree).collect::<Result<_, _>>()?,
        kept,
        front,
        history: text
            .history
            .iter()
            .map(|[best, mean, nodes]| EvolvedGeneration { best: best.0, mean: mean.0, nodes: nodes.0 })
            .collect(),
    })
}

/// Everything that results depend on, by name.
fn belongings(data_name: &str, options: &LearnOptions) -> BTreeMap<String, String> {
    let rules = &options.rules;
    let start: Vec<String> = options.start.iter().map(Expr::to_string).collect();
    [
        ("data set", data_name.to_owned()),
        ("data digest", options.data_digest.clone()),
        ("preset", json(&options.preset)),
        ("fold protocol", json(&options.preset.protocol)),
        ("folds", options.folds.to_string()),
        ("fold-by", json(&options.fold_by)),
        ("only-fold", options.only_fold.map_or("none".into(), |f| (f + 1).to_string())),
        ("rules", format!("{rules:?}")),
        ("fitness", options.fitness.to_string()),
        ("start-from", start.join(", ")),
        ("program version", options.program_version.clone()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("options can be written as JSON")
}

/// Why a checkpoint cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Not JSON, or not the keys of a checkpoint.
    #[error("not a checkpoint: {0}")]
    Json(String),
    /// From another version of the format.
    #[error("the checkpoint has version {0}, but this program reads version {VERSION}")]
    Version(u32),
    /// It belongs to other data or options.
    #[error(
        "the checkpoint belongs to another run: its {name} is {then}, now it is {now}; use the same options, \
         or start over without --resume"
    )]
    Other {
        /// What differs.
        name: String,
        /// In the checkpoint.
        then: String,
        /// Now.
        now: String,
    },
    /// It contradicts itself.
    #[error("the checkpoint is inconsistent: {0}")]
    Broken(String),
}

impl CheckpointError {
    fn json(error: serde_json::Error) -> CheckpointError {
        CheckpointError::Json(error.to_string())
    }
}
