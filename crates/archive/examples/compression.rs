//! Time and size of the compressors that could make an archive, over recorded texts, each as one gzip member:
//! `zstd -dc SET/content.jsonl.zst | cargo run --release -p recrawl-archive --example compression [MAX_BYTES]`

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};
use serde_json::Value;
use std::io::BufRead;
use std::time::{Duration, Instant};

/// Texts that are read, and the length from which they count as pages.
const PAGES: (usize, usize) = (4000, 1000);
const ROUNDS: usize = 4;

fn main() {
    let most = std::env::args().nth(1).map_or(usize::MAX, |most| most.parse().expect("a number of bytes"));
    let mut pages = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        texts(&serde_json::from_str(&line).expect("JSON"), &mut pages);
        if pages.len() >= PAGES.0 {
            break;
        }
    }
    pages.truncate(PAGES.0);
    pages.iter_mut().for_each(|page| page.truncate(most));
    let bytes: usize = pages.iter().map(Vec::len).sum();
    println!("{} texts, {} bytes each", pages.len(), bytes / pages.len().max(1));
    let mut first = None;
    for (name, compress) in compressors() {
        let (took, size) = best_of(&pages, compress);
        let (base, base_size) = *first.get_or_insert((took, size));
        let times = took.as_secs_f64() / base.as_secs_f64();
        let speed = bytes as f64 / 1e6 / took.as_secs_f64();
        let (share, smaller) = (size as f64 / bytes as f64, size as f64 / base_size as f64);
        println!(
            "{name:<14} {speed:6.1} MB/s  {times:.2} of the first's time  {smaller:.3} of its size  {share:.3}"
        );
    }
}

type Compressing = Box<dyn FnMut(&[u8]) -> usize>;

fn compressors() -> Vec<(String, Compressing)> {
    let mut all: Vec<(String, Compressing)> = Vec::new();
    for level in 1..=3 {
        let mut deflate = Compress::new_gzip(Compression::new(level), 15);
        let compress = move |page: &[u8]| {
            deflate.reset();
            let mut out = Vec::with_capacity(page.len() / 3 + 512);
            loop {
                out.reserve(1024);
                let taken = deflate.total_in() as usize;
                let status = deflate.compress_vec(&page[taken..], &mut out, FlushCompress::Finish);
                if status.expect("compressing into memory does not fail") == Status::StreamEnd {
                    return out.len();
                }
            }
        };
        all.push((format!("zlib-rs {level}"), Box::new(compress)));
    }
    for level in 1..=3 {
        let level_of = CompressionLvl::new(level).expect("a level");
        let (mut deflate, mut room) = (Compressor::new(level_of), Vec::new());
        let compress = move |page: &[u8]| {
            room.resize(deflate.gzip_compress_bound(page.len()), 0);
            deflate.gzip_compress(page, &mut room).expect("there is room")
        };
        all.push((format!("libdeflate {level}"), Box::new(compress)));
    }
    all
}

/// The least time of several rounds over all pages, and their size.
fn best_of(pages: &[Vec<u8>], mut compress: Compressing) -> (Duration, usize) {
    let mut best = (Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let size = pages.iter().map(|page| compress(page)).sum();
        best = best.min((begun.elapsed(), size));
    }
    best
}

fn texts(value: &Value, pages: &mut Vec<Vec<u8>>) {
    match value {
        Value::String(text) if text.len() >= PAGES.1 => pages.push(text.as_bytes().to_vec()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, pages)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, pages)),
        _ => {}
    }
}
