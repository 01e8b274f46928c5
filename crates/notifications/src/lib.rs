//! What is told of changes, to whom, and how far each target was told (`[[notify]]`).
//!
//! The visits that a crawl keeps (`storage.keep_visits`) are the queue. A target's [`Delivery`] only says up to
//! which visit they were read, and which messages still wait for an answer. So a change is told at least once,
//! whatever stops the program, and each message has the same id whenever it is sent. Time is passed in, and
//! nothing here sends anything.

pub mod backlog;
pub mod condition;
pub mod delivery;
pub mod kind;
pub mod message;
pub mod newest;
pub mod number;
pub mod signature;
pub mod store;
pub mod template;

pub use backlog::Backlog;
pub use condition::MessageCondition;
pub use delivery::Delivery;
pub use kind::ChangeKind;
pub use message::{ChangeContents, ChangeNotice, Message};
