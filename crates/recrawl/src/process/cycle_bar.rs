//! The progress of a cycle on a terminal; nothing elsewhere.

use indicatif::ProgressBar;
use recrawl_crawl::labels::counted;
use recrawl_crawl::process::CycleDisplay;
use recrawl_terminal::progress_bar;
use recrawl_types::Cycle;
use std::sync::{Mutex, MutexGuard};

/// Progress of a cycle: pages, rate, time left, hosts.
#[derive(Default)]
pub struct CycleBar(Mutex<Option<ProgressBar>>);

impl CycleBar {
    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.0.lock().expect("no panic under the lock")
    }
}

impl CycleDisplay for CycleBar {
    fn begin(&self, cycle: Cycle, pages: u64, hosts: usize, done: u64) {
        let template = format!(
            "cycle {cycle}  {{bar:24}} {{human_pos}}/{{human_len}} pages, {}  {{per_sec}}  {{eta}} left",
            counted(hosts as u64, "host")
        );
        let bar = progress_bar::line(Some(pages), &template);
        bar.set_position(done);
        bar.reset_eta();
        *self.bar() = Some(bar);
    }

    fn page_done(&self) {
        self.bar().iter().for_each(|bar| bar.inc(1));
    }

    fn end(&self) {
        self.bar().take().iter().for_each(ProgressBar::finish_and_clear);
    }
}
