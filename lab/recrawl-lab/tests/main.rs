//! The laboratory as its users meet it: the real binary, on recorded and generated data.

#[path = "../../../tests/ended.rs"]
mod ended;

/// Clusters of pages by features: fitted, shown, compared with sites.
mod cluster;
/// Data sets made up.
mod dataset;
/// Focused crawling: scores, terms, classifiers, replays.
mod focus;
/// Changes predicted from related pages.
mod predict;
/// Policies of crawls, crawlers and papers replayed.
mod simulate;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program under test.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recrawl-lab"));
    command.env_remove("RECRAWL_LOG");
    command
}

/// A file of the workspace.
fn workspace_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}
