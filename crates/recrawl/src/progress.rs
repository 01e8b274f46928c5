//! Progress bars on a terminal; nothing elsewhere.

use crate::command::counted;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A progress bar on standard error, hidden if that is no terminal.
///
/// # Panics
/// When indicatif rejects the template.
pub fn line(steps: Option<u64>, template: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(4)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(steps, target);
    bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Progress of a cycle: pages, rate, time left, hosts.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar for `pages` pages on `hosts` hosts; `done` pages were fetched by an earlier run of the
    /// cycle.
    pub fn new(cycle: u32, pages: u64, hosts: usize, done: u64) -> Progress {
        let template = format!(
            "cycle {cycle}  {{bar:24}} {{human_pos}}/{{human_len}} pages, {}  {{per_sec}}  {{eta}} left",
            counted(hosts as u64, "host")
        );
        let bar = line(Some(pages), &template);
        bar.set_position(done);
        bar.reset_eta();
        Progress(bar)
    }

    /// Counts a page as done.
    pub fn page_done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
