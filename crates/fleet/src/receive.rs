//! The links of others' runs: for a merge of their receiver, or when receivers are put together.

use crate::map::FleetMap;
use crate::marks::{MarkFinding, RunMark, RunMarks, next_run};
use crate::run::{EachLink, RefusedParts};
use recrawl_vault::{Store, VaultError};
use std::collections::BTreeMap;

/// The result of receiving.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedLinks {
    /// The next runs to ask for: for the commit that has the links.
    pub marks: RunMarks,
    /// Links that were taken.
    pub links: u64,
    /// By sender, what was not taken.
    pub refused: BTreeMap<u32, RefusedParts>,
}

/// Those who may have sent links to a partition: the others, and those that ended, up to their last epoch.
pub(crate) fn senders(map: &FleetMap, own: u32) -> impl Iterator<Item = (u32, Option<RunMark>)> + '_ {
    let others = map.ranges().iter().filter(move |range| range.id != own).map(|range| (range.id, None));
    let end = |epoch| Some(RunMark { epoch, number: 0 });
    others.chain(map.former().iter().map(move |former| (former.id, end(former.epoch))))
}

/// Reads the runs of a sender.
pub(crate) struct RunReading<'r> {
    pub store: &'r dyn Store,
    pub sender: u32,
    /// Bounds of the receiver's keys.
    pub bounds: (&'r [u8], Option<&'r [u8]>),
    /// Not beyond this mark, if there is one.
    pub until: Option<RunMark>,
}

impl RunReading<'_> {
    /// Gives the links behind a mark to `each`, and notes in `received` how far it came. When there is no more, `waits` is told the round
    /// of the last run, and says whether to look again.
    pub fn read<E: From<VaultError>>(
        &self,
        received: &mut ReceivedLinks,
        waits: &mut dyn FnMut(Option<u32>) -> bool,
        each: &mut EachLink<'_, E>,
    ) -> Result<(), E> {
        let mut mark = received.marks.get(&self.sender).copied().unwrap_or_default();
        let (mut reached, mut refused, mut links) = (None, RefusedParts::default(), 0);
        let mut counted = |key: &[u8], value: &[u8]| -> Result<bool, E> {
            let is_taken = each(key, value)?;
            links += u64::from(is_taken);
            Ok(is_taken)
        };
        while self.until.is_none_or(|until| mark < until) {
            match next_run(self.store, self.sender, mark).map_err(E::from)? {
                MarkFinding::Run(run, behind) => {
                    let of_run = run.links_within(self.store, self.bounds, &mut counted)?;
                    refused.blocks += of_run.blocks;
                    refused.links += of_run.links;
                    (mark, reached) = (behind, Some(run.round()));
                }
                MarkFinding::Refused(behind) => {
                    refused.runs += 1;
                    mark = behind;
                }
                MarkFinding::NotYet(behind) => {
                    mark = behind;
                    if !waits(reached) {
                        break;
                    }
                }
            }
        }
        received.marks.insert(self.sender, mark);
        received.links += links;
        if refused != RefusedParts::default() {
            received.refused.insert(self.sender, refused);
        }
        Ok(())
    }
}

/// Gives the links that a partition has not applied, behind its marks, to `each`: its owner puts it together with others, and
/// nobody would apply them. Up to the marks of `ends`, which gets those of senders that it has not: so each part comes as far as the
/// first one, and the marks are those of all. Gives the number of links.
///
/// # Errors
/// When the store does not answer, or `each` fails. Damage is told by the third.
pub fn receive_behind<E: From<VaultError>>(
    store: &dyn Store,
    map: &FleetMap,
    (id, marks): (u32, RunMarks),
    ends: &mut RunMarks,
    each: &mut EachLink<'_, E>,
) -> Result<ReceivedLinks, E> {
    let mut received = ReceivedLinks { marks, ..ReceivedLinks::default() };
    let Some(place) = map.place_of(id) else { return Ok(received) };
    for (sender, end) in senders(map, id) {
        let until = ends.get(&sender).copied().or(end);
        let reading = RunReading { store, sender, bounds: map.bounds(place), until };
        reading.read(&mut received, &mut |_| false, each)?;
        ends.entry(sender).or_insert(received.marks[&sender]);
    }
    Ok(received)
}
