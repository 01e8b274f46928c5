//! Runs over real sockets on a multi-threaded runtime: all parts together.

use super::*;
use crate::{HttpNetwork, NetworkError, system_clock};
use recrawl_types::Failure;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Responds by path; `/slow` sends a byte now and then, forever.
async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        let n = stream.read(&mut buffer).await?;
        let request = String::from_utf8_lossy(&buffer[..n]).into_owned();
        let Some(path) = request.split(' ').nth(1) else { return Ok(()) };
        let whole = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let to = |url: &str| format!("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {url}\r\n\r\n");
        let answer = match path {
            "/robots.txt" => whole("User-agent: recrawl/1.0\nDisallow: /denied\n"),
            "/to-loopback" => to("http://0x7f.0.0.9/admin"),
            "/to-metadata" => to("http://169.254.169.254/"),
            "/to-inner" => to("http://inner.test/"),
            "/cached" if request.contains("if-none-match: \"v\"") => {
                "HTTP/1.1 304 Not Modified\r\n\r\n".into()
            }
            "/slow" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await?;
                loop {
                    stream.write_all(b"x").await?;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            path => whole(path),
        };
        stream.write_all(answer.as_bytes()).await?;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_real_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    let mut config = FetchConfig {
        delay_per_host: Duration::ZERO,
        delay_per_ip: Duration::ZERO,
        timeout: Duration::from_millis(1000),
        // The port decides which URLs are checked; the URL of the 304 must not be.
        validator_checks: 0.0,
        allow_addresses: vec!["127.0.0.1/32".parse().unwrap()],
        ..FetchConfig::default()
    };
    // Twenty names at one address, and one name with a private address.
    for i in 0..20 {
        config.dns_overrides.insert(format!("h{i}.test"), "127.0.0.1".parse().unwrap());
    }
    config.dns_overrides.insert("inner.test".into(), "10.0.0.1".parse().unwrap());
    let page = |host: usize, path: &str| format!("http://h{host}.test:{port}{path}");
    let mut entries: Vec<ScheduleEntry> =
        (0..2000).map(|i| entry(&page(i % 20, &format!("/page/{i}")))).collect();
    for (i, path) in ["/denied/1", "/to-loopback", "/to-metadata", "/to-inner", "/slow"].iter().enumerate() {
        entries.push(entry(&page(i, path)));
    }
    let validators = recrawl_types::Validators::new(Some("\"v\""), None);
    let content = recrawl_types::Content { validators, ..Default::default() };
    entries.push(visited(&page(7, "/cached"), content));
    let network = Arc::new(HttpNetwork::new(&config).unwrap());
    let fetcher = Fetcher::new(config, network, Arc::new(MemoryHostTable::default()), system_clock());
    let (out, pages) = channel(16);
    let job = job(Arc::new(MemorySchedule::new(entries)), out);
    let (report, pages) = tokio::join!(fetcher.run(job), collect(pages));
    let output = RunOutput { report: report.unwrap(), pages };
    assert_eq!((output.report.outcomes.page, output.report.robots_requests), (2000, 20));
    for fetched in &output.pages {
        if let FetchResult::Page(response) = &fetched.result {
            assert_eq!(response.body, fetched.entry.url.path_and_query(), "each page its own answer");
        }
    }
    assert_eq!(output.outcome(&page(0, "/denied/1")), Outcome::RobotsDenied);
    assert_eq!(output.outcome(&page(4, "/slow")), Outcome::Failed(Failure::Timeout));
    assert_eq!(output.result(&page(7, "/cached")), "not modified");
    for (target, why) in [
        ("http://127.0.0.9/admin", NetworkError::Refused),
        ("http://169.254.169.254/", NetworkError::NoContact),
        ("http://inner.test/", NetworkError::NoContact),
    ] {
        assert_eq!(output.outcome(target), why.outcome(), "{target}");
    }
}
