//! A fleet: one crawl on many machines, which talk to nobody but an object store.
//!
//! The rules, and nothing else: who owns which URLs, what of a dead owner counts, how links reach their owner once, and how
//! all make one plan. A partition is a range of the URL order and a complete crawl; this crate knows nothing of crawling.
//! Objects are created and never overwritten, but for beats; who creates number N has written it.
//!
//! ```text
//! format/N                    the format in force is the highest
//! map/N                       the ranges, and the change that made them
//! decisions/N                 a decision about all partitions
//! verdict/N                   whether a map that puts partitions together is in force
//! p/ID/inbox/N                a message to the owner
//! p/ID/bell                   overwritten: somebody asks the owner something
//! p/ID/questions/NONCE        a question to it, and NONCE-answer; both are removed
//! p/ID/epoch/E                each owner takes the next epoch; the highest one owns
//! p/ID/E/beat                 overwritten: the owner is alive
//! p/ID/E/manifest/N, log/N    steps of the partition's vault
//! p/ID/addresses/N            the addresses that a partition asks in a period
//! p/ID/E/clock/N              created and removed: the time of the store
//! p/ID/E/marks             overwritten: the runs that are applied
//! p/ID/E/links/N              a run of links that leave the partition, in parts links/N-P
//! p/ID/seal/E                 what of epoch E counts, by the owner of a later one
//! bars/call                   overwritten: the cycle whose plan was begun last
//! bars/C/S/ID, close          what each partition tells of its part of a plan
//! ```
//!
//! No threads and no clock: time is a number that the caller gives, and waiting is the caller's ([`ExchangePatience`]).

mod change;
mod decisions;
mod division;
mod epoch;
mod exchange;
mod format;
mod inbox;
mod joining;
mod key;
mod lease;
mod map;
mod marks;
mod partition;
mod question;
mod receive;
mod run;
mod slots;
mod sweep;

pub use change::{DivisionError, has_first_range, is_outdated, newest_map, propose, sweep_void};
pub use decisions::has_decision;
pub use division::{divided, put_in_force};
pub use epoch::{begin, highest, newest, partition_store, seal_before};
pub use exchange::{ExchangeError, ExchangePatience, MemberFigures, PlanExchange, PlanMembers};
pub use format::{FORMAT, FleetFormat, agree_on_format, unknown_format};
pub use inbox::has_message;
pub use joining::{joined, left, put_joining_in_force, sweep_former, void_joinings};
pub use key::partition as partition_folder;
pub use lease::{HANDED_OVER, Lease, LeaseWatch, RELEASED, beat, counter, hand_over, release};
pub use map::{
    FleetMap, FormerPartition, MapDivision, MapError, MapJoining, PartitionEnd, PartitionRange,
    begin_partitions, read_map, write_map,
};
pub use marks::{MarkFinding, RunMark, RunMarks, next_run};
pub use partition::{FleetWaits, GivingUp, HoldsLease, Partition};
pub use question::{MAX_ANSWER, QuestionBox, QuestionEnd, ask};
pub use receive::{ReceivedLinks, receive_behind};
pub use run::{EachLink, NextLink, ReceivedRun, RefusedParts, RunWriter};
pub use slots::{AddressSlots, CLOCK_BOUND, SlotFigures, SlotKeeper, StoreClock};
pub use sweep::{SweptRuns, sweep_runs, tell_marks};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
