//! Converts documents by commands, each within limits of time, memory and bytes.

use crate::notifier::NotifierProgram;
use recrawl_crawl::config::ConvertTable;
use recrawl_crawl::parts::convert::too_large;
use recrawl_crawl::process::{ConvertFuture, Converter, SourceDocument};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::ExitStatusExt;

/// Sets the limits (kibibytes of memory, blocks of 512 bytes of a file), and becomes the command. It has files, not pipes:
/// the kernel ends a command that writes too much, and the command may read its document more than once.
const LAUNCH: &str =
    r#"ulimit -c 0; ulimit -v "$1"; ulimit -f "$2"; in=$3 out=$4; shift 4; exec "$@" <"$in" >"$out""#;
const BLOCK: u64 = 512;

/// Runs the commands.
pub struct Commands;

impl Converter for Commands {
    fn convert<'a>(
        &'a self,
        command: &'a [String],
        document: SourceDocument,
        limits: &'a ConvertTable,
    ) -> ConvertFuture<'a> {
        Box::pin(converted(command, document, limits))
    }
}

async fn converted(
    command: &[String],
    SourceDocument { url, media_type, body }: SourceDocument,
    limits: &ConvertTable,
) -> Result<Vec<u8>, String> {
    let folder = tempfile::Builder::new().prefix("recrawl-convert-").tempdir().map_err(|e| e.to_string())?;
    let [from, to] = ["document", "converted"].map(|name| folder.path().join(name));
    fs::write(&from, &body).map_err(|e| format!("{}: {e}", from.display()))?;
    // More than is allowed, so that what was cut off shows.
    let most = limits.max_document.0 / BLOCK + 1;
    let limit = [limits.memory.0 >> 10, most].map(|limit| limit.to_string());
    let files = [&from, &to].map(|path| path.display().to_string());
    let launch = ["/bin/sh", "-c", LAUNCH, "sh"].map(String::from);
    let command = launch.into_iter().chain(limit).chain(files).chain(command.iter().cloned()).collect();
    let environment = [("RECRAWL_URL", &*url), ("RECRAWL_TYPE", &*media_type)];
    let program = NotifierProgram { command, timeout: limits.time.0 };
    let (status, why) = program.end(&environment, String::new()).await.map_err(|e| e.to_string())?;
    match status.signal() {
        Some(signal) if signal == Signal::XFSZ.as_raw() => Err(too_large(limits.max_document)),
        _ if !status.success() => Err(why),
        _ => fs::read(&to).map_err(|e| format!("{}: {e}", to.display())),
    }
}
