//! How many pages are read without a tree, and why the others are not: `cargo run --release -p
//! recrawl-extractor --example page_ways -- FILE.html…`. Fails if the two ways differ.

use std::collections::BTreeMap;

fn main() -> std::io::Result<()> {
    let mut ways = BTreeMap::<_, (usize, String)>::new();
    for file in std::env::args().skip(1) {
        let body = std::fs::read(&file)?;
        let way = recrawl_extractor::assert_both_ways(&String::from_utf8_lossy(&body));
        ways.entry(way.err()).or_insert((0, file)).0 += 1;
    }
    for (why, (count, first)) in ways {
        println!("{count:>7}  {}; first: {first}", why.unwrap_or("without a tree"));
    }
    Ok(())
}
