//! Adds the results of the crate robotstxt to the cases of
//! `crates/fetcher/src/robots/differential/generate.py`, which describes how to run both.

use robotstxt::DefaultMatcher;
use serde_json::Value;
use std::error::Error;
use std::io::BufRead;

fn main() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let mut case: Value = serde_json::from_str(&line?)?;
        let pieces: Vec<(String, usize)> = serde_json::from_value(case["file"].clone())?;
        let file: String = pieces.iter().map(|(text, n)| text.repeat(*n)).collect();
        for path in case["paths"].as_array_mut().ok_or("no paths")? {
            let row = path.as_array_mut().ok_or("no path")?;
            let url = format!("http://a.test{}", row[0].as_str().ok_or("a path is a string")?);
            let allowed = DefaultMatcher::default().one_agent_allowed_by_robots(&file, "recrawl", &url);
            row.push(u8::from(allowed).into());
        }
        println!("{case}");
    }
    Ok(())
}
