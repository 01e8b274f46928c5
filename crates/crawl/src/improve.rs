//! What a crawl measures in order to improve its formula: the pages of its plans, a panel, and what its visits found
//! beside what was expected. With `improve.mode = "off"`, none of this is done or kept.

pub mod found;
pub mod panel;
pub mod population;
pub mod watch;
