//! `recrawl serve` as a child process, and its figures seen from outside.

use super::client::LoadClient;
use crate::crawl::error::CrawlError;
use crate::process::kib;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for the start.
const START: Duration = Duration::from_secs(60);
/// Ticks per second in `/proc`: Linux' USER_HZ, equal on all machines.
const TICKS: f64 = 100.0;

/// The daemon. Dropping it kills the process.
pub struct LoadedDaemon {
    child: Child,
    client: LoadClient,
}

/// Figures of the daemon at one moment.
#[derive(Clone, Copy, Debug)]
pub struct DaemonSample {
    /// Time of the sample.
    pub at: Instant,
    /// The last generation committed.
    pub generation: u64,
    /// Visits since the process began.
    pub visits: u64,
    /// Resident memory in bytes.
    pub resident: u64,
    /// Processor time in seconds.
    pub processor: f64,
}

impl LoadedDaemon {
    /// Starts the daemon and waits until it is ready.
    ///
    /// # Errors
    /// If it ends or is not ready in time.
    pub fn start(
        executable: &Path,
        configuration: &Path,
        data_dir: &Path,
        log: &Path,
        server: SocketAddr,
    ) -> Result<LoadedDaemon, CrawlError> {
        let said = File::create(log).map_err(|e| CrawlError::file(log, e))?;
        let mut command = Command::new(executable);
        command.arg("serve").arg("--config").arg(configuration).arg("--data-dir").arg(data_dir);
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn();
        let child = spawned.map_err(|e| CrawlError::file(executable, e))?;
        let mut daemon = LoadedDaemon { child, client: LoadClient::new(server) };
        let begun = Instant::now();
        while !daemon.client.ask("/ready", None).is_ok_and(|answer| answer.status == 200) {
            if let Ok(Some(status)) = daemon.child.try_wait() {
                return Err(CrawlError::Program { status: status.to_string(), log: log.into() });
            }
            if begun.elapsed() > START {
                return Err(CrawlError::Program { status: "not ready in time".into(), log: log.into() });
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(daemon)
    }

    /// The document at a path.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&mut self, path: &str) -> Result<String, CrawlError> {
        match self.client.ask(path, None) {
            Ok(answer) if answer.status == 200 => Ok(answer.body),
            Ok(answer) => Err(CrawlError::Report(format!("{path}: status {}", answer.status))),
            Err(e) => Err(CrawlError::Report(format!("{path}: {e}"))),
        }
    }

    /// The current figures.
    ///
    /// # Errors
    /// If the daemon no longer runs or responds.
    pub fn sample(&mut self) -> Result<DaemonSample, CrawlError> {
        let metrics = self.get("/metrics")?;
        let at = Instant::now();
        let of = |name: &str| metric(&metrics, name).ok_or(CrawlError::Report(format!("no metric {name}")));
        let (generation, visits) = (of("recrawl_generation")?, of("recrawl_visits_total")?);
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = fs::read_to_string(&path).map_err(|e| CrawlError::file(Path::new(&path), e))?;
        // The second field is the program's name in brackets, and may contain anything.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
        let (Some(kib), Some(user), Some(system)) = (kib(self.child.id(), "VmRSS"), ticks(11), ticks(12))
        else {
            return Err(CrawlError::Report("/proc of this system is not Linux'".into()));
        };
        let processor = (user + system) / TICKS;
        Ok(DaemonSample { at, generation, visits, resident: kib << 10, processor })
    }

    /// Sends SIGTERM and returns the time until the end.
    ///
    /// # Errors
    /// If the exit status is not 0.
    pub fn stop(mut self, log: &Path) -> Result<Duration, CrawlError> {
        let begun = Instant::now();
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        sent.map_err(|e| CrawlError::file(Path::new("kill"), e))?;
        let status = self.child.wait().map_err(|e| CrawlError::file(log, e))?;
        if status.success() {
            return Ok(begun.elapsed());
        }
        Err(CrawlError::Program { status: status.to_string(), log: log.into() })
    }
}

impl Drop for LoadedDaemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of a metric without labels.
fn metric(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.trim().parse::<f64>().ok().map(|value| value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# HELP a_total All.\na_total_more 3\na_total 17\nb 2.5e3\n";
        assert_eq!(
            (metric(text, "a_total"), metric(text, "b"), metric(text, "c")),
            (Some(17), Some(2500), None)
        );
    }
}
