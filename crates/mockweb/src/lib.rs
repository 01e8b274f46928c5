//! mockweb
