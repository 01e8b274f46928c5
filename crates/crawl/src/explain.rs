//! Why pages are not fetched.

pub mod forbidding;
