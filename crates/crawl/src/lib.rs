//! The crawl: one cycle after another over a data directory.
//!
//! Start reading at [`cycle`], which shows a cycle on one screen. [`config`] is the configuration as typed
//! and [`settings`] as checked; [`admission`] has the rules of what may be fetched; [`parts`] has a room for each
//! capability; [`operator`] has the decisions of people; [`output`] and [`progress`] tell about the crawl, and
//! [`forbidding`] why a page is not fetched.
//!
//! The crate knows no terminal and no console. The program around it passes in what it offers:
//! [`process::ProgramServices`].

pub mod admission;
pub mod capture;
pub mod clock;
pub mod config;
pub mod contact_check;
pub mod crawl;
pub mod cycle;
pub mod cycle_cache;
pub mod data_dir;
pub mod failure;
pub mod first_look;
pub mod fleet;
pub mod forbidding;
pub mod labels;
pub mod lesson;
pub mod open_read;
pub mod operator;
pub mod output;
pub mod page_rules;
pub mod part;
pub mod partition;
pub mod parts;
pub mod process;
pub mod progress;
pub mod record_inputs;
pub mod report;
pub mod room;
pub mod round;
pub mod settings;
pub mod site_rates;
pub mod space;
pub mod stored;
pub mod vault;
pub mod whole_file;

pub use crawl::Crawl;
pub use failure::Failure;
