//! Files that a commit leaves beside the generation and no round changes: visits, and requests by host.

pub mod file;
pub mod follow;
pub mod hosts;
pub mod rounds;
pub mod visits;
