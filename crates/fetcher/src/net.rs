//! Requests and their answers: names, the address guard, proxies, credentials, cookies, HTTP, and the limits of all that.
//! It knows no host's pace and no page.

pub mod access;
pub mod client;
pub mod cookies;
pub mod date;
pub mod dns;
pub mod exhausted;
pub mod guard;
pub mod kept_types;
pub mod limits;
pub mod proxy;
