mod change;
pub mod client;
pub mod crawl;
mod document;
mod event;
mod limit;
mod ping;
mod refusal;
mod route;
