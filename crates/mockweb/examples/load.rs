//! Measures a mock web: requests its pages over a few persistent connections and prints pages/s.
//!
//! Run `cargo run --release --example load -- CONTROL_PORT SECONDS CONNECTIONS` next to a running
//! server. The client does as little as possible: it sends a request and reads `Content-Length`
//! bytes.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let &[control, seconds, connections] = &arguments[..] else {
        return Err("usage: load CONTROL_PORT SECONDS CONNECTIONS".into());
    };
    let mut stream = TcpStream::connect(("127.0.0.1", control as u16))?;
    stream.write_all(b"GET /truth?to=0 HTTP/1.1\r\nhost: control\r\nconnection: close\r\n\r\n")?;
    let mut truth = String::new();
    stream.read_to_string(&mut truth)?;
    let urls: Vec<&str> =
        truth.split("\"url\":\"http://").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    // Every connection keeps to one host, as a polite crawler's would.
    let mut hosts: Vec<&str> = urls.iter().filter_map(|url| url.split('/').next()).collect();
    hosts.dedup();
    let until = Instant::now() + Duration::from_secs(seconds);
    let totals = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..connections as usize)
            .map(|n| {
                let host = hosts[n % hosts.len()];
                let own: Vec<&str> = urls
                    .iter()
                    .filter_map(|url| url.strip_prefix(host))
                    .filter(|target| target.starts_with('/'))
                    .collect();
                scope.spawn(move || ask(host, &own, until))
            })
            .collect();
        workers.into_iter().map(|w| w.join().expect("no worker panics")).collect::<Result<Vec<_>, _>>()
    })?;
    let (pages, bytes) = totals.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{} pages/s, {} bytes per page", pages / seconds, bytes / pages.max(1));
    Ok(())
}

fn ask(host: &str, targets: &[&str], until: Instant) -> std::io::Result<(u64, u64)> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 1 << 20];
    let (mut pages, mut bytes) = (0, 0);
    for target in targets.iter().cycle() {
        if Instant::now() > until {
            break;
        }
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes())?;
        let (mut have, mut want) = (0, usize::MAX);
        while have < want {
            have += stream.read(&mut buffer[have..])?;
            if want == usize::MAX
                && let Some(end) = buffer[..have].windows(4).position(|w| w == b"\r\n\r\n")
            {
                let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1).and_then(|l| l.lines().next());
                want = end + 4 + length.and_then(|l| l.parse::<usize>().ok()).unwrap_or(0);
            }
        }
        pages += 1;
        bytes += have as u64;
    }
    Ok((pages, bytes))
}
