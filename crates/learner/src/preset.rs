//! Presets: every parameter of the learner under one name. The files are in config/gp4c.

mod error;

pub use error::PresetError;

use crate::create;
use crate::folds::Protocol;
use crate::tree::TreeLimits;
use crate::vocabulary::Vocabulary;
use recrawl_formula::terminal::TerminalSet;
use recrawl_formula::{Basis, Expr, Function, Protection};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// All parameters of the learner. The files explain each; docs/learning.md compares them with the
/// papers and the authors' program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Name of the preset.
    pub name: String,
    /// Which of the papers it follows, in a line.
    pub description: String,
    /// How pages and cycles are divided.
    pub protocol: Protocol,
    /// How division and logarithm are protected.
    pub protection: Protection,
    /// The basis of the rates among the terminals.
    pub estimators: Basis,
    /// Parameters of trees.
    pub tree: TreeParameters,
    /// Parameters of the population.
    pub population: PopulationParameters,
    /// Parameters of breeding.
    pub breeding: BreedingParameters,
    /// Probabilities of mutations.
    pub mutation: MutationParameters,
    /// How the final formula is chosen.
    pub selection: SelectionParameters,
}

/// Parameters of trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeParameters {
    /// The set of terminals.
    pub terminals: TerminalSet,
    /// The functions, by name.
    pub functions: Vec<String>,
    /// The constants.
    pub constants: Vec<f64>,
    /// Maximum depth of a new tree.
    pub depth_created: usize,
    /// Maximum depth of offspring of a crossover.
    pub depth_crossed: usize,
    /// Maximum depth of the subtree that a replacement inserts.
    pub depth_replacement: usize,
    /// Maximum nodes of a tree.
    pub nodes: usize,
}

/// Parameters of the population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PopulationParameters {
    /// N_p: individuals.
    pub size: usize,
    /// N_g: generations.
    pub generations: u32,
    /// Random seeds, one run each.
    pub random_seeds: Vec<u64>,
    /// Start trees: expressions, formula files, or `rivals`.
    pub start_from: Vec<String>,
}

/// Parameters of breeding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreedingParameters {
    /// Number of best individuals that survive unchanged.
    pub elite: usize,
    /// Individuals in a tournament.
    pub tournament: usize,
    /// Rate of crossover, relative to the next two.
    pub crossover: f64,
    /// Rate of reproduction.
    pub reproduction: f64,
    /// Rate of new random individuals.
    pub new: f64,
    /// Offspring of a crossover that are kept, 1 or 2.
    pub offspring: usize,
    /// Whether the smaller of two individuals with equal fitness is better.
    pub parsimony: bool,
    /// Whether a child that already exists is bred again.
    pub unique: bool,
}

/// Probability that each mutation is applied to a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutationParameters {
    /// A function node becomes a leaf.
    pub shrink: f64,
    /// A node becomes another of its kind.
    pub node_replacement: f64,
    /// Two subtrees are exchanged.
    pub swap: f64,
    /// A subtree becomes a new one.
    pub replacement: f64,
    /// A constant is multiplied by ½ to 2.
    pub nudge: f64,
}

/// How the final formula is chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionParameters {
    /// N_b: individuals kept for validation.
    pub kept: usize,
    /// The method that chooses a fold's formula.
    pub method: ChoiceMethod,
    /// The spread that Sum_σ and Avg_σ subtract.
    pub sigma: Sigma,
}

/// How one of the kept formulas is chosen (thesis section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceMethod {
    /// The best fitness on the training part: GP4C_Best.
    Best,
    /// Training + validation − σ: GP4C_Sum.
    Sum,
    /// The mean of training and validation, − σ: GP4C_Avg.
    Avg,
    /// The best fitness on the validation part; in neither paper.
    Validation,
}

impl ChoiceMethod {
    /// Every method, in the order of reports.
    pub const ALL: [ChoiceMethod; 4] =
        [ChoiceMethod::Best, ChoiceMethod::Sum, ChoiceMethod::Avg, ChoiceMethod::Validation];

    /// The name in presets and reports.
    pub fn name(self) -> &'static str {
        match self {
            ChoiceMethod::Best => "best",
            ChoiceMethod::Sum => "sum",
            ChoiceMethod::Avg => "avg",
            ChoiceMethod::Validation => "validation",
        }
    }
}

/// The spread of the fitness over the cycles of training and validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sigma {
    /// √(Σ(x − mean)² / cycles), the standard deviation of the papers.
    Deviation,
    /// √Σ(x − mean)², without division, as in the authors' program.
    Undivided,
}

/// The built-in presets: name and text of the file.
pub const BUILTIN: &[(&str, &str)] = &[
    ("thesis", include_str!("../../../config/gp4c/thesis.toml")),
    ("journal", include_str!("../../../config/gp4c/journal.toml")),
    ("program", include_str!("../../../config/gp4c/program.toml")),
    ("recrawl", include_str!("../../../config/gp4c/recrawl.toml")),
];

/// Maximum bytes of a preset file.
const MAX_FILE_BYTES: u64 = 64 * 1024;

impl Preset {
    /// Maximum of population size and of generations; more is likely a mistake.
    pub const MOST: usize = 1_000_000;
    /// Maximum depth of trees: half of the parser's.
    pub const MAX_DEPTH: usize = Expr::MAX_DEPTH / 2;

    /// The preset with this name, or the one in the file with this name.
    ///
    /// # Errors
    /// If there is neither, or the file is invalid.
    pub fn find(name: &str) -> Result<Preset, PresetError> {
        if let Some((_, text)) = BUILTIN.iter().find(|(known, _)| *known == name) {
            return Preset::from_toml(text);
        }
        let path = Path::new(name);
        match std::fs::metadata(path) {
            Err(_) if !name.ends_with(".toml") => Err(PresetError::Unknown(name.to_owned())),
            Err(cause) => Err(PresetError::Read { path: path.to_owned(), cause }),
            Ok(file) if file.len() > MAX_FILE_BYTES => {
                Err(PresetError::TooLong { path: path.to_owned(), limit: MAX_FILE_BYTES })
            }
            Ok(_) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|cause| PresetError::Read { path: path.to_owned(), cause })?;
                Preset::from_toml(&text)
                    .map_err(|cause| PresetError::File { path: path.to_owned(), cause: Box::new(cause) })
            }
        }
    }

    /// Parses a preset file.
    ///
    /// # Errors
    /// Unknown or missing keys, and invalid values.
    pub fn from_toml(text: &str) -> Result<Preset, PresetError> {
        let preset: Preset = toml::from_str(text).map_err(|e| PresetError::Toml(Box::new(e)))?;
        preset.check()?;
        Ok(preset)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first invalid one.
    pub fn check(&self) -> Result<(), PresetError> {
        let number = |key, value: usize, least, most| {
            let fine = (least..=most).contains(&value);
            if fine { Ok(()) } else { Err(PresetError::Number { key, value, least, most }) }
        };
        let size = self.population.size;
        number("population.size", size, 1, Self::MOST)?;
        number("population.generations", self.population.generations as usize, 1, Self::MOST)?;
        number("number of random seeds", self.population.random_seeds.len(), 1, 1000)?;
        number("selection.kept", self.selection.kept, 1, 10_000)?;
        number("breeding.elite", self.breeding.elite, 0, size)?;
        number("breeding.tournament", self.breeding.tournament, 1, 1000)?;
        number("breeding.offspring", self.breeding.offspring, 1, 2)?;
        number("tree.depth_created", self.tree.depth_created, create::LEAST_DEPTH, Self::MAX_DEPTH)?;
        number("tree.depth_crossed", self.tree.depth_crossed, create::LEAST_DEPTH, Self::MAX_DEPTH)?;
        number("tree.depth_replacement", self.tree.depth_replacement, 1, Self::MAX_DEPTH)?;
        number("tree.nodes", self.tree.nodes, 3, Expr::MAX_NODES)?;
        let (b, m) = (&self.breeding, &self.mutation);
        for (key, rate) in [
            ("breeding.crossover", b.crossover),
            ("breeding.reproduction", b.reproduction),
            ("breeding.new", b.new),
            ("mutation.shrink", m.shrink),
            ("mutation.node_replacement", m.node_replacement),
            ("mutation.swap", m.swap),
            ("mutation.replacement", m.replacement),
            ("mutation.nudge", m.nudge),
        ] {
            if !(0.0..=1.0).contains(&rate) {
                return Err(PresetError::Rate { key, rate });
            }
        }
        if b.crossover + b.reproduction + b.new <= 0.0 {
            return Err(PresetError::NothingBreeds);
        }
        for pair in self.population.random_seeds.iter().enumerate() {
            if self.population.random_seeds[..pair.0].contains(pair.1) {
                return Err(PresetError::SeedTwice(*pair.1));
            }
        }
        self.vocabulary().map(|_| ())
    }

    /// The vocabulary of trees.
    ///
    /// # Errors
    /// Unknown names, constants that cannot be written, an empty list.
    pub fn vocabulary(&self) -> Result<Vocabulary, PresetError> {
        let tree = &self.tree;
        let named = |name: &String| Function::named(name).ok_or_else(|| PresetError::Function(name.clone()));
        let functions: Vec<_> = tree.functions.iter().map(named).collect::<Result<_, _>>()?;
        if let Some(bad) = tree.constants.iter().find(|c| !c.is_finite()) {
            return Err(PresetError::Constant(*bad));
        }
        if functions.is_empty() {
            return Err(PresetError::NoFunction);
        }
        Ok(Vocabulary {
            terminals: tree.terminals.terminals().to_vec(),
            constants: tree.constants.clone(),
            functions,
        })
    }

    /// Limits of new and mutated trees.
    pub fn limits(&self) -> TreeLimits {
        TreeLimits { depth: self.tree.depth_created.max(self.tree.depth_crossed), nodes: self.tree.nodes }
    }

    /// Limits of the offspring of a crossover.
    pub fn limits_of_crossover(&self) -> TreeLimits {
        TreeLimits { depth: self.tree.depth_crossed, nodes: self.tree.nodes }
    }
}

#[cfg(test)]
mod tests;
