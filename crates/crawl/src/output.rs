//! What a crawl tells others: its events, and the history of a page.

pub mod events;
pub mod page_history;
pub mod sorted_lines;
