//! Runs contenders, each as a child process in its own control group, and collects their outcomes.

use crate::Failure;
use crate::limit::ControlGroup;
use crate::ours::{self, NO_WAITING, WAITING};
use crate::outcome::ContenderOutcome;
use crate::rival::{self, Drum, FjallStore, Sieve, SledStore};
use crate::size::BenchmarkSize;
use crate::table;
use clap::ValueEnum;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Contender {
    /// The verifier; no link waits
    Ours,
    /// The verifier; links to blocks that little else touches wait
    OursWaiting,
    /// DRUM of IRLbot
    Drum,
    /// The sieve of Mercator and BUbiNG
    Sieve,
    /// fjall, with a lookup for each link
    Fjall,
    /// sled, with a lookup for each link
    Sled,
}

impl Contender {
    /// All contenders.
    pub const ALL: [Contender; 6] = [
        Contender::Ours,
        Contender::OursWaiting,
        Contender::Drum,
        Contender::Sieve,
        Contender::Fjall,
        Contender::Sled,
    ];

    /// Name in options, tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Contender::Ours => "ours",
            Contender::OursWaiting => "ours-waiting",
            Contender::Drum => "drum",
            Contender::Sieve => "sieve",
            Contender::Fjall => "fjall",
            Contender::Sled => "sled",
        }
    }
}

impl std::fmt::Display for Contender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs contenders one after the other, prints their table, and appends each outcome to the record.
///
/// # Errors
/// If one of them fails.
pub fn run(size: &BenchmarkSize, contenders: &[Contender], record: Option<&Path>) -> Result<(), Failure> {
    let (mut outcomes, mut failed) = (Vec::new(), Vec::new());
    for &contender in contenders {
        eprintln!("{contender}: {} pages, {} cycles of {} checks …", size.pages, size.cycles, size.checks());
        let outcome = match in_child(size, contender) {
            Ok(outcome) => outcome,
            // A failure of one contender, for example for lack of memory, is a result too.
            Err(e) => {
                println!("\n{contender}: {e}");
                failed.push(contender.name());
                continue;
            }
        };
        print!("{}", table::stages(&outcome));
        if let Some(record) = record {
            let mut file = OpenOptions::new().create(true).append(true).open(record)?;
            writeln!(file, "{}", serde_json::to_string(&outcome)?)?;
        }
        outcomes.push(outcome);
    }
    print!("\n{}", table::comparison(&outcomes));
    if failed.is_empty() { Ok(()) } else { Err(format!("without an outcome: {}", failed.join(", ")).into()) }
}

fn folder(size: &BenchmarkSize, contender: Contender) -> PathBuf {
    size.dir.join(contender.name())
}

/// Runs one contender in a process of its own.
fn in_child(size: &BenchmarkSize, contender: Contender) -> Result<ContenderOutcome, Failure> {
    let limit = ControlGroup::new(size.memory_bytes(), &format!("recrawl-benchmark-{}", std::process::id()));
    let mut child = Command::new(std::env::current_exe()?)
        .args(["one", "--contender", contender.name()])
        .args(size.arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    limit.put(child.id())?;
    // It starts only when its memory is limited.
    writeln!(child.stdin.take().expect("it was piped"), "begin")?;
    let output = child.wait_with_output()?;
    // Remove the files even after a kill: the next one starts with nothing, and the disk is shared.
    let dir = folder(size, contender);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    if !output.status.success() {
        return Err(format!("{contender} ended with {}: more memory may help", output.status).into());
    }
    let outcome: ContenderOutcome = serde_json::from_slice(&output.stdout)?;
    Ok(ContenderOutcome { memory_limit: limit.is_set().then(|| size.memory_bytes()), ..outcome })
}

/// Runs one contender in this process after a line of input, and prints the outcome as JSON.
///
/// # Errors
/// If it fails.
pub fn run_one(size: &BenchmarkSize, contender: Contender) -> Result<(), Failure> {
    io::stdin().read_line(&mut String::new())?;
    let dir = folder(size, contender);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    let memory = size.memory_bytes();
    let outcome = match contender {
        Contender::Ours => ours::run(size, &dir, NO_WAITING),
        Contender::OursWaiting => ours::run(size, &dir, WAITING),
        Contender::Drum => rival::run(size, &dir, &mut Drum::new(&dir)?),
        Contender::Sieve => rival::run(size, &dir, &mut Sieve::new(&dir)?),
        Contender::Fjall => rival::run(size, &dir, &mut FjallStore::new(&dir, memory)?),
        Contender::Sled => rival::run(size, &dir, &mut SledStore::new(&dir, memory)?),
    };
    let (contender, visited_share) = (contender.name().to_owned(), size.visited_share);
    println!("{}", serde_json::to_string(&ContenderOutcome { contender, visited_share, ..outcome? })?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_options() {
        for contender in Contender::ALL {
            assert_eq!(Contender::from_str(contender.name(), false), Ok(contender));
        }
    }
}
