//! What the repository promises when things go wrong: power cuts, damage, full and failing disks.

/// A power cut, or an I/O error, at every write of a cycle.
mod crash;
/// A small crawl cycle by hand: schedule, visits, generation, commit.
mod cycle;
/// A flipped bit anywhere in what is committed.
mod damage;
/// Storage that must not be touched, or cannot.
mod refusal;
/// Reports that are replaced by shorter ones.
mod reports;
/// Folders that older format versions left.
mod upgrade;
