//! One cycle of the crawler as a child process, with memory measurement and a time limit.

use crate::crawl::error::CrawlError;
use crate::crawl::report::Report;
use crate::process::kib;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a cycle; `settings` limits the pages per host.
pub const MAX_CYCLE: Duration = Duration::from_secs(600);
/// Interval of memory measurements. The measured value is the peak so far.
const LOOK: Duration = Duration::from_millis(20);

/// Result of a cycle.
pub struct HazardCycle {
    /// The crawler's report.
    pub report: Report,
    /// Peak memory, in KiB.
    pub peak_kib: u64,
    /// Run time of the process.
    pub wall: Duration,
}

/// Runs one cycle and appends the crawler's log to `log`.
pub fn run(
    executable: &Path,
    data_dir: &Path,
    configuration: &Path,
    seeds: &Path,
    log: &Path,
) -> Result<HazardCycle, CrawlError> {
    let words = File::options().create(true).append(true).open(log).map_err(|e| CrawlError::file(log, e))?;
    let mut command = Command::new(executable);
    command.args(["crawl", "--cycles", "1", "--json", "--data-dir"]).arg(data_dir);
    command.arg("--config").arg(configuration).arg("--seeds").arg(seeds);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(words);
    let started = Instant::now();
    let failed = |e| CrawlError::file(executable, e);
    let mut child = command.spawn().map_err(failed)?;
    let mut peak_kib = 0;
    while child.try_wait().map_err(failed)?.is_none() {
        if started.elapsed() > MAX_CYCLE {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            return Err(CrawlError::Program {
                status: format!("stopped after {MAX_CYCLE:?}"),
                log: log.into(),
            });
        }
        peak_kib = peak_kib.max(peak_memory(child.id()));
        std::thread::sleep(LOOK);
    }
    let wall = started.elapsed();
    // Its one line fits into the pipe, so the child did not block on a full pipe.
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(CrawlError::Program { status: output.status.to_string(), log: log.into() });
    }
    let text = String::from_utf8(output.stdout).map_err(|e| CrawlError::Report(e.to_string()))?;
    let report = Report::from_output(&text).map_err(CrawlError::Report)?;
    Ok(HazardCycle { report, peak_kib, wall })
}

/// Peak memory of a process so far, in KiB; 0 if it is gone.
fn peak_memory(process: u32) -> u64 {
    kib(process, "VmHWM").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_had_memory_and_one_that_is_gone_has_none() {
        assert!(peak_memory(std::process::id()) > 0);
        assert_eq!(peak_memory(u32::MAX), 0);
    }
}
