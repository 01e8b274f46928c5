//! Names of the objects of a fleet.

/// The folder of the maps.
pub(crate) const MAPS: &str = "map/";

/// Of the map.
pub(crate) fn map(number: u64) -> String {
    format!("{MAPS}{number:010}")
}

/// That says whether partitions are put together by a map, or never will be.
pub(crate) fn verdict(map: u64) -> String {
    format!("verdict/{map:010}")
}

/// That puts a format in force.
pub(crate) fn format(format: u32) -> String {
    format!("format/{format:010}")
}

/// The folder of a partition, which is that of its vault.
pub fn partition(partition: u32) -> String {
    format!("p/{partition:010}/")
}

/// That says in which map a partition began.
pub(crate) fn begun(partition: u32) -> String {
    format!("p/{partition:010}/begun")
}

/// By which a process takes an epoch.
pub(crate) fn epoch(partition: u32, epoch: u64) -> String {
    format!("p/{partition:010}/epoch/{epoch:010}")
}

/// The folder of these.
pub(crate) fn epochs(partition: u32) -> String {
    format!("p/{partition:010}/epoch/")
}

/// By which an owner shows that it is alive.
pub(crate) fn beat(partition: u32, epoch: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/beat")
}

/// The folder of the steps of the partition's vault that name all files.
pub(crate) fn manifests(partition: u32, epoch: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/manifest/")
}

/// The folder of the steps that say what changed.
pub(crate) fn logs(partition: u32, epoch: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/log/")
}

/// The folder of the runs of links.
pub(crate) fn runs(partition: u32, epoch: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/links/")
}

/// The head of a run of links.
pub(crate) fn run(partition: u32, epoch: u64, number: u64) -> String {
    format!("{}{number:010}", runs(partition, epoch))
}

/// A part of a run.
pub(crate) fn part(partition: u32, epoch: u64, number: u64, part: usize) -> String {
    format!("{}-{part:06}", run(partition, epoch, number))
}

/// The folder of the decisions about all partitions.
pub(crate) const DECISIONS: &str = "decisions/";

/// A decision.
pub(crate) fn decision(number: u64) -> String {
    format!("{DECISIONS}{number:010}")
}

/// The folder of the messages to a partition.
pub(crate) fn inbox(partition: u32) -> String {
    format!("p/{partition:010}/inbox/")
}

/// A message.
pub(crate) fn message(partition: u32, number: u64) -> String {
    format!("{}{number:010}", inbox(partition))
}

/// The nonce of the last question to a partition: one read tells its owner whether to look for questions.
pub(crate) fn bell(partition: u32) -> String {
    format!("p/{partition:010}/bell")
}

/// The folder of the questions to a partition, and of the answers.
pub(crate) fn questions(partition: u32) -> String {
    format!("p/{partition:010}/questions/")
}

/// A question.
pub(crate) fn question(partition: u32, nonce: &str) -> String {
    format!("{}{nonce}", questions(partition))
}

/// The end of the name of an answer, behind that of its question.
pub(crate) const ANSWER: &str = "-answer";

/// An answer.
pub(crate) fn answer(partition: u32, nonce: &str) -> String {
    format!("{}{ANSWER}", question(partition, nonce))
}

/// The folder of the lists of a partition's addresses.
pub(crate) fn address_lists(partition: u32) -> String {
    format!("p/{partition:010}/addresses/")
}

/// The addresses that a partition asks in a period.
pub(crate) fn addresses(partition: u32, period: u64) -> String {
    format!("{}{period:010}", address_lists(partition))
}

/// By which an owner reads the store's clock.
pub(crate) fn clock(partition: u32, epoch: u64, number: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/clock/{number:010}")
}

/// By which a receiver tells how far it is.
pub(crate) fn marks(partition: u32, epoch: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/marks")
}

/// The folder of the plans: one for all maps, so that what was spent stays known when a partition is divided.
pub(crate) const PLANS: &str = "bars/";

/// That says which plan was begun last.
pub(crate) const CALL: &str = "bars/call";

/// The folder of what is told of the plan of a cycle.
pub(crate) fn bars(cycle: u32) -> String {
    format!("{PLANS}{cycle:010}/")
}
