//! The dry run of a takedown: it counts what the takedown would remove.
//!
//! It reads the last committed generation without the lock, so it disturbs no running crawl. Such a crawl has the
//! tables; what is in them is not counted then.

use super::{Covered, TakedownOrder, TakedownResult, TakedownSummary, decide, remove_from};
use crate::data_dir::check_pinned;
use crate::failure::Failure;
use crate::open_read;
use crate::operator::removal;
use crate::settings::Settings;

/// Counts what a takedown would remove. `now` in milliseconds since 1970.
///
/// # Errors
/// As [`super::open`], but a crawl in use is no error; when something cannot be read.
pub fn dry_run(settings: &Settings, order: &TakedownOrder, now: u64) -> Result<TakedownResult, Failure> {
    let TakedownOrder { pattern: meant, end, .. } = order;
    let folder = &settings.data_dir;
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let (warc, kept) = match end {
        true => Default::default(),
        false => removal::beside_pages(settings, &repository, meant, (now, true))?,
    };
    // After the long readings: a crawl that starts waits for those who have the tables open.
    let opened = open_read::tables(folder);
    let mut decided = open_read::decisions(folder, || opened.clone())?;
    decide(&mut decided, order)?;
    let tables = opened.as_deref().ok();
    tables.map_or(Ok(()), |tables| check_pinned(tables, settings))?;
    let covered = Covered::by(meant, settings, tables, &decided, &generation)?;
    if *end {
        let removed = TakedownSummary::of_end(&covered);
        return Ok(TakedownResult { removed, covered, in_progress: None, tables_unread: None });
    }
    let in_tables = tables.map(|tables| remove_from(tables, meant, &settings.rules, true)).transpose()?;
    // A running crawl finishes its round itself.
    let in_progress =
        tables.map(|tables| open_read::in_progress(&**repository.storage(), &generation, Some(tables)));
    Ok(TakedownResult {
        removed: TakedownSummary::new(&covered, warc, kept, in_tables),
        covered,
        in_progress: in_progress.transpose()?.flatten(),
        tables_unread: opened.err(),
    })
}
