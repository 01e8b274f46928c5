//! recrawl
fn main() {}
