//! Measures repeated bisection over generated rows, and the assignment of rows: seconds and peak memory.
//!
//! `cargo run --release -p recrawl-clusters --example fit_time [ROWS] [DIMS] [CLUSTERS] [THREADS] [WORDS] [ASSIGNED]`
//!
//! Rows are points around 300 directions of unequal weight, dense. With `WORDS` they are sparse instead: each has
//! `WORDS` different words of `DIMS`, rare ones less often. `ASSIGNED` rows are assigned on one thread: 1,000, over and
//! over.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_clusters::Rows;
use recrawl_clusters::bisection::{BisectionOptions, bisect};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

const DIRECTIONS: usize = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |a| a.parse::<usize>());
    let (rows, dims, clusters) = (number(200_000)?, number(48)?, number(100)?);
    let (threads, words, assigned) = (number(1)?, number(0)?, number(10_000_000)?);
    let matrix = if words > 0 { sparse(rows, dims, words)? } else { dense(rows, dims)? };
    println!("{rows} rows of {dims} dimensions made, peak memory {} MiB", peak()?);

    let start = Instant::now();
    let found = bisect(&matrix, &BisectionOptions { threads, ..BisectionOptions::new(clusters) })?;
    let seconds = start.elapsed().as_secs_f64();
    let (count, per_row) = (found.centroids.len(), found.tau / rows as f64);
    println!(
        "{count} clusters on {threads} threads in {seconds:.1} s, τ a row {per_row:.6}, {} MiB",
        peak()?
    );

    let mut random = ChaCha8Rng::seed_from_u64(2);
    let sample: Vec<f64> = (0..1000 * dims).map(|_| random.random_range(-1.0..1.0)).collect();
    let start = Instant::now();
    let rows = sample.chunks_exact(dims).cycle().take(assigned);
    let sum = rows.map(|row| found.centroids.nearest(row).0).sum::<usize>();
    let seconds = start.elapsed().as_secs_f64();
    println!("{assigned} rows assigned in {seconds:.1} s, sum of numbers {sum}, {} MiB", peak()?);
    Ok(())
}

fn dense(rows: usize, dims: usize) -> Result<Rows, Box<dyn Error>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let directions: Vec<f64> = (0..DIRECTIONS * dims).map(|_| random.random_range(-1.0..1.0)).collect();
    let mut values = Vec::with_capacity(rows * dims);
    for _ in 0..rows {
        // The product of two numbers by chance: small ones are likelier.
        let place = random.random_range(0.0..1.0) * random.random_range(0.0..1.0);
        let direction = (place * DIRECTIONS as f64) as usize * dims;
        values.extend((0..dims).map(|i| directions[direction + i] + random.random_range(-1.0..1.0)));
    }
    Ok(Rows::from_dense(dims, &values)?)
}

fn sparse(rows: usize, dims: usize, words: usize) -> Result<Rows, Box<dyn Error>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut matrix = Rows::new(dims);
    for _ in 0..rows {
        let topic = random.random_range(0..DIRECTIONS) * 7919;
        let mut counts = BTreeMap::new();
        for _ in 0..words {
            let place =
                (random.random_range(0.0..1.0) * random.random_range(0.0..1.0) * dims as f64) as usize;
            let word = if random.random_range(0..2) == 0 { place } else { (topic + place / 8) % dims };
            *counts.entry(word as u32).or_insert(0.0) += 1.0;
        }
        matrix.push(&counts.into_iter().collect::<Vec<_>>())?;
    }
    Ok(matrix)
}

/// Peak memory of this process, in MiB.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? >> 10)
}
