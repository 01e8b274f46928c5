//! How far a cycle is, drawn on a terminal and silent elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A line on the terminal: pages, rate, time left, hosts.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar over `pages` pages of `hosts` hosts, `done` of which an earlier run of the cycle fetched.
    /// Draws only where standard error is a terminal.
    pub fn new(cycle: u32, pages: u64, hosts: usize, done: u64) -> Progress {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(4)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(pages), target);
        let template = format!(
            "cycle {cycle}  {{bar:24}} {{human_pos}}/{{human_len}} pages, {hosts} hosts  {{per_sec}}  {{eta}} left"
        );
        bar.set_style(ProgressStyle::with_template(&template).expect("the template is sound"));
        bar.set_position(done);
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress(bar)
    }

    /// One more page is done.
    pub fn page_done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
