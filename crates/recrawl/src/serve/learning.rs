//! The learner of a daemon: a child process of the lowest priority, that ends with the daemon.

use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::improve::steps::LoopState;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Learns formulas from the crawl's own visits, one at a time.
pub struct Learner {
    /// The configuration file of the daemon.
    config: Option<PathBuf>,
    child: Option<Child>,
}

impl Learner {
    pub fn new(config: Option<PathBuf>) -> Learner {
        Learner { config, child: None }
    }

    /// After a commit: tells how learning ended, and begins anew when it is due. A learner that cannot be started is
    /// logged; the crawl goes on without.
    pub fn after_commit(&mut self, crawl: &Crawl) {
        self.reap();
        if let Err(failure) = self.begin(crawl) {
            tracing::error!("cannot learn from the crawl's visits: {failure}");
        }
    }

    fn reap(&mut self) {
        let Some(child) = &mut self.child else { return };
        match child.try_wait() {
            Ok(None) => return,
            Ok(Some(status)) if status.success() => {
                tracing::info!("learned a candidate from the crawl's visits")
            }
            Ok(Some(status)) => tracing::warn!("learning from the crawl's visits ended with {status}"),
            Err(error) => tracing::error!("lost the learner: {error}"),
        }
        self.child = None;
    }

    fn begin(&mut self, crawl: &Crawl) -> Result<(), Failure> {
        let Some(rules) = crawl.settings.loop_rules else { return Ok(()) };
        let cycle = crawl.repository.current().cycle();
        let mut state = LoopState::read(&crawl.tables)?;
        if self.child.is_some() || !state.wants_learning(cycle, &rules) {
            return Ok(());
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["improve", "run", "--child", "--quiet", "--threads", "1", "--tries"]);
        command.arg(state.tries.to_string()).arg("--data-dir").arg(&crawl.settings.data_dir);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        self.child = Some(child);
        tracing::info!("learning from the crawl's visits");
        // Kept last: a start that failed is tried again.
        state.learned = cycle;
        state.keep(&crawl.tables)
    }
}

impl Drop for Learner {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; its files are whole or not there.
            let _ended = child.kill();
            let _status = child.wait();
        }
    }
}
