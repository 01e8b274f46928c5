//! How far something is, drawn on a terminal and silent elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A line that shows how far something is, where standard error is a terminal.
///
/// # Panics
/// When the template is not one of indicatif's.
pub fn line(steps: Option<u64>, template: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(4)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(steps, target);
    bar.set_style(ProgressStyle::with_template(template).expect("the template is sound"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A cycle's line: pages, rate, time left, hosts.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar over `pages` pages of `hosts` hosts, `done` of which an earlier run of the cycle fetched.
    pub fn new(cycle: u32, pages: u64, hosts: usize, done: u64) -> Progress {
        let template = format!(
            "cycle {cycle}  {{bar:24}} {{human_pos}}/{{human_len}} pages, {hosts} hosts  {{per_sec}}  {{eta}} left"
        );
        let bar = line(Some(pages), &template);
        bar.set_position(done);
        bar.reset_eta();
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
