//! Work that recrawl does in a process of its own: the same program, named by its first argument. No command of the
//! command line begins with `@`.

pub mod supervisor;
pub mod templates;

use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// The running program, also after an update has replaced its file.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The first argument of a process that renders [templates].
const TEMPLATES: &str = "@templates";

/// The first argument of a process that [supervises](supervisor) the command of the further ones.
const SUPERVISOR: &str = "@supervise";

/// Does the work that the first argument names; none if it names no such work.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match arguments.next()?.to_str()? {
        SUPERVISOR => Some(supervisor::serve(arguments)),
        TEMPLATES => Some(templates::serve()),
        _ => None,
    }
}

/// A process of this program that does `work`.
fn command(work: &str) -> Command {
    let mut command = Command::new(THIS_PROGRAM);
    command.arg(work);
    command
}
