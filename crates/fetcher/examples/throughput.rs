//! Measures the fetcher alone: pages of 10 kB on 64 loopback hosts, no delay.
//!
//! ```sh
//! cargo run --release -p recrawl-fetcher --example throughput -- serve 8099 &
//! time cargo run --release -p recrawl-fetcher --example throughput -- fetch 8099 100000
//! ```
//!
//! `fetch` counts pages; the shell's `time` prints their CPU time.

use recrawl_fetcher::{FetchConfig, Fetcher, HttpNetwork, Job, system_clock};
use recrawl_types::host::MemoryHostTable;
use recrawl_types::schedule::MemorySchedule;
use recrawl_types::{PageRecord, ScheduleEntry, Share, UrlRules};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::channel;
use tokio_util::sync::CancellationToken;

const HOSTS: u32 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["serve", port] => runtime.block_on(serve(port.parse()?)),
        ["fetch", port, pages] => runtime.block_on(fetch(port.parse()?, pages.parse()?)),
        _ => Err("serve PORT | fetch PORT PAGES".into()),
    }
}

async fn serve(port: u16) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(("0.0.0.0", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer(stream));
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let page = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let (robots, text) = (page("User-agent: *\nDisallow: /no\n"), page(&"<p>words</p> ".repeat(10_000 / 13)));
    let mut buffer = [0; 4096];
    loop {
        // Requests are small and come one at a time, so one read is one request.
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        let is_robots = buffer.starts_with(b"GET /robots.txt");
        stream.write_all(if is_robots { &robots } else { &text }.as_bytes()).await?;
    }
}

async fn fetch(port: u16, pages: u32) -> Result<(), Box<dyn Error>> {
    let rules = UrlRules::default();
    let url = |i: u32| rules.canonicalize(&format!("http://127.1.0.{}:{port}/page/{i}", 1 + i % HOSTS));
    let entries: Result<Vec<_>, _> = (0..pages)
        .map(|i| url(i).map(|url| ScheduleEntry::new(url, Share::Score, PageRecord::default())))
        .collect();
    let config = FetchConfig {
        delay_per_host: Duration::ZERO,
        delay_per_ip: Duration::ZERO,
        allow_addresses: vec!["127.0.0.0/8".parse()?],
        ..FetchConfig::default()
    };
    let network = Arc::new(HttpNetwork::new(&config)?);
    let fetcher = Fetcher::new(config, network, Arc::new(MemoryHostTable::default()), system_clock());
    let (out, mut taken) = channel(256);
    let job = Job {
        schedule: Arc::new(MemorySchedule::new(entries?)),
        done: Arc::new(|_| false),
        refuses: Arc::new(|_| None),
        opted_out: Arc::new(|_| false),
        in_scope: Arc::new(|_| true),
        reads_anew: Arc::new(|_| false),
        rules: Arc::new(rules),
        out,
        stop: CancellationToken::new(),
        followed: Vec::new(),
        spent: Default::default(),
        round: recrawl_types::DatedRound::only_of(recrawl_types::Cycle(2)),
        precedence: Default::default(),
        unavailable: Default::default(),
        deadline: None,
        held_deadline: None,
        patience: None,
        control: Arc::default(),
        types: None,
        requests: None,
        resources: None,
    };
    let count = async {
        let mut count = 0u64;
        while taken.recv().await.is_some() {
            count += 1;
        }
        count
    };
    let (report, count) = tokio::join!(fetcher.run(job), count);
    let report = report?;
    let rate = count as f64 / report.elapsed.as_secs_f64();
    println!("{count} pages, {} requests, {} bytes, {rate:.0} pages/s", report.requests, report.bytes);
    Ok(())
}
