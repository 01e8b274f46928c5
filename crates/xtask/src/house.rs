//! Measures of the workspace's structure (docs/internals/style.md), as tables for people and as
//! figures for the rule `ratchet`.

mod figures;
mod graph;
mod plan;
mod source;
mod table;

use crate::workspace::Workspace;
use figures::LONG;
use plan::CrateGraph;
use source::RustSource;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Options of `cargo xtask house`.
#[derive(clap::Args)]
pub struct HouseOptions {
    /// Measure the checkout in this folder instead
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Also name the places behind the figures
    #[arg(long)]
    list: bool,
}

/// All crates with their plans.
pub struct House<'a> {
    workspace: &'a Workspace,
    plans: BTreeMap<&'a str, CrateGraph<'a>>,
}

/// Name of a measure, then of a crate or `all`: the figure.
pub type Measures = BTreeMap<String, BTreeMap<String, usize>>;

impl<'a> House<'a> {
    /// Reads the Rust files of all crates.
    pub fn read(workspace: &'a Workspace) -> House<'a> {
        let mut crates: BTreeMap<&str, Vec<RustSource>> = BTreeMap::new();
        for file in workspace.rust() {
            if let (Some(folder), Some(source)) = (file.crate_folder(), RustSource::read(file)) {
                crates.entry(folder).or_default().push(source);
            }
        }
        let plans = crates.into_iter().map(|(folder, files)| (folder, CrateGraph::draw(files))).collect();
        House { workspace, plans }
    }

    fn files(&self, name: &str) -> impl Iterator<Item = &RustSource<'a>> {
        self.plans.get(name).into_iter().flat_map(|plan| &plan.files)
    }

    /// The figures that may only fall. Those that are 0 are left out.
    pub fn measures(&self) -> Measures {
        let mut found = Measures::new();
        let mut note = |measure: &str, place: &str, figure: usize| {
            if figure > 0 {
                found.entry(measure.into()).or_default().insert(place.into(), figure);
            }
        };
        for (name, plan) in &self.plans {
            note("back_arrows", name, plan.rooms(&[]).graph.back_arrows().len());
            note("circle_files", name, plan.circles().first().map_or(0, Vec::len));
            let excess = self.long_functions(name).into_iter().map(|(_, lines)| lines - LONG).sum();
            note("lines_over_70", name, excess);
            note("fn_of", name, self.functions_named_of(name).len());
            note("doc_openings", name, self.doc_openings(name).len());
        }
        note("shared_type_names", "all", self.types().values().filter(|n| **n > 1).count());
        note("words", "all", self.words());
        note("product_lines", "recrawl", self.lines().values().map(|(product, _)| product).sum());
        found
    }
}

/// Prints the tables of the checkout in the options, or else of the one at `here`.
///
/// # Errors
/// If the folder cannot be read.
pub fn run(options: &HouseOptions, here: &Path) -> io::Result<()> {
    let workspace = Workspace::read(options.root.as_deref().unwrap_or(here))?;
    let house = House::read(&workspace);
    print!("{}", table::inside(&house) + &table::figures(&house));
    if options.list {
        print!("{}", table::list(&house));
    }
    Ok(())
}
