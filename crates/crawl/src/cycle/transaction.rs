//! The transaction of a crawl: generation g becomes g+1.

use crate::crawl::Crawl;
use crate::cycle::improvement;
use crate::cycle::merge::MergedRound;
use crate::failure::Failure;
use crate::fleet;
use crate::report::cycle_totals::CycleTotals;
use crate::report::facts::Facts;
use crate::report::{RoundReport, history};

/// Commits a merged round, and gives its report. By now archive and log are durable.
///
/// The order of writes: first the lessons, then one rename that makes the generation current, then the removal of what
/// waited for the round. A crash before the rename leaves generation g, schedule and log: the next start merges the round
/// again, and stores all lessons again. A crash after it leaves generation g+1, and what waited for the round waits on.
/// So each write before the rename counts once, however often it is made, and each after it may be lost.
///
/// The second merge may judge otherwise than the first: it reads the noise floors and trap patterns that the first one
/// stored.
///
/// # Errors
/// When the tables or the generation cannot be written, before the rename. Nothing is lost: the round is merged again.
/// After the rename there are only warnings.
pub fn commit(crawl: &mut Crawl, facts: &Facts, merged: MergedRound<'_>) -> Result<RoundReport, Failure> {
    let MergedRound { next, mut lessons, report, division, sample, spent, marks } = merged;
    let round = facts.round();

    // Durable at once, before the rest. The loop of `improve` keeps it by cycle: noted again, it replaces itself.
    improvement::note(crawl, facts, &report, division)?;
    // Kept under two names in turn. A round merged again reads those of the round before, which this does not touch.
    let goes_on = crawl.settings.config.cycle.fill || crawl.settings.rounds.most() > 1;
    CycleTotals::leave(&crawl.tables, goes_on, round.round, sample, spent)?;
    // Under two names in turn, too: the links behind the marks of a round are applied with its rename, or not at all.
    fleet::keep_marks(&crawl.tables, round.round, marks)?;
    // Each names the round that it counts, or keeps what it began with.
    lessons.store(&crawl.tables, round)?;
    // Before the rename: a generation whose lessons are lost would never learn them, since its log is gone. The other
    // way round they are only stored again.
    crawl.tables.flush()?;

    // The rename. It makes pages, kept visits, kept hosts and report current at once; schedule and log go.
    let commit = || crawl.repository.commit(next, &report.to_json());
    tracing::error_span!("commit").in_scope(commit).map_err(Failure::work)?;

    // The round is committed. A history that is not shortened only takes more room.
    if let Err(failure) = history::shorten(&mut crawl.repository) {
        tracing::warn!("the reports of old rounds could not be added up: {failure}");
    }
    // Last: a ping that was removed before the rename would be lost with it. One that stays is answered twice.
    lessons.committed(&crawl.tables);
    // A capture that failed is made again with the next log.
    if let Err(failure) = crawl.vault.each(|vault| vault.committed()) {
        tracing::warn!("the commit is not in the vault yet: {failure}");
    }
    Ok(report)
}
