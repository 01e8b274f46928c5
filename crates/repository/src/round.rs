//! Files of the round in progress: its commit removes them.

pub mod carried_pages;
pub mod log_file;
pub mod request_log;
pub mod requisite_log;
pub mod schedule_file;
pub mod visit_log;
