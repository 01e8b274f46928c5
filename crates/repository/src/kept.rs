//! Files beside the generation: visits and requests by host, which a commit leaves and no round changes, and what targets
//! of documents hold.

pub mod copies;
pub mod entries;
pub mod file;
pub mod follow;
pub mod hosts;
pub mod joined;
pub mod rounds;
pub mod visits;
