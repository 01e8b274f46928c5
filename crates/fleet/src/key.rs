//! Names of the objects of a fleet.

/// Of the map.
pub(crate) fn map(number: u64) -> String {
    format!("map/{number:010}")
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

/// That says what of an epoch counts.
pub(crate) fn seal(partition: u32, epoch: u64) -> String {
    format!("p/{partition:010}/seal/{epoch:010}")
}

/// A step of the partition's vault that names all files.
pub(crate) fn manifest(partition: u32, epoch: u64, number: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/manifest/{number:010}")
}

/// A step that says what changed.
pub(crate) fn log(partition: u32, epoch: u64, number: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/log/{number:010}")
}

/// The head of a run of links.
pub(crate) fn run(partition: u32, epoch: u64, number: u64) -> String {
    format!("p/{partition:010}/{epoch:010}/links/{number:010}")
}

/// A part of a run.
pub(crate) fn part(partition: u32, epoch: u64, number: u64, part: usize) -> String {
    format!("{}-{part:06}", run(partition, epoch, number))
}

/// The folder of what is told of the plan of a cycle.
pub(crate) fn bars(map: u64, cycle: u32) -> String {
    format!("bars/{map:010}/{cycle:010}/")
}
