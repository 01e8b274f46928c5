//! Pages that a round leaves out when its deadline comes or its bytes are spent. They are ranges of the
//! schedule in the log, however many they are.

use crate::crawl::Crawl;
use crate::failure::Failure;
use recrawl_fetcher::{FetchReport, StoppedBy};
use recrawl_repository::VisitLog;
use recrawl_types::{Cycle, LogRecord, ScheduleSource, Skip, Skipped};

/// Writes them to the log, and tells progress and operators of each.
///
/// # Errors
/// When the schedule cannot be read, or the disk takes no more.
pub fn record(
    crawl: &Crawl,
    report: &FetchReport,
    schedule: &dyn ScheduleSource,
    log: &mut VisitLog,
    cycle: Cycle,
) -> Result<(), Failure> {
    let why = match report.stopped_by {
        StoppedBy::ByteBudget => Skip::ByteBudget,
        StoppedBy::Deadline => Skip::Deadline,
        // Such a run leaves out nothing.
        StoppedBy::End | StoppedBy::Stop | StoppedBy::SlowHosts | StoppedBy::FirstLook => return Ok(()),
    };
    for pages in report.skipped.iter().cloned() {
        let skipped = Skipped { pages, why, at: (crawl.clock)() };
        skipped.each(schedule, |visit| -> Result<(), Failure> {
            crawl.live.recorded(&visit);
            crawl.control.recorded(&visit, cycle);
            crawl.display.page_done();
            Ok(())
        })?;
        log.append(&LogRecord::Skipped(skipped)).map_err(Failure::work)?;
    }
    if report.skipped.is_empty() { Ok(()) } else { log.sync().map_err(Failure::work) }
}
