//! Each request that may have reached a server is written down, with its gap and its delay.

use super::repeated::at_first;
use super::*;
use crate::NetworkError;
use crate::testing::with_header;
use recrawl_types::{HostRequests, SentRequest};
use std::io;
use std::sync::Mutex;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Written {
    requests: Mutex<Vec<SentRequest>>,
    /// Requests after which the disk is full.
    room: Option<usize>,
}

impl RequestLog for Written {
    fn append(&self, request: &SentRequest) -> io::Result<()> {
        let mut requests = self.requests.lock().unwrap();
        if self.room == Some(requests.len()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        requests.push(request.clone());
        Ok(())
    }
}

impl Setup {
    /// The requests that a run wrote down, and its output.
    async fn written(&mut self) -> (Vec<SentRequest>, RunOutput) {
        let log = Arc::new(Written::default());
        self.requests = Some(log.clone());
        let output = self.run().await;
        let requests = log.requests.lock().unwrap().clone();
        (requests, output)
    }
}

/// It reached a server, so it counts and begins a gap. It takes no repetition from those that a server did not process.
#[tokio::test(start_paused = true)]
async fn a_request_whose_answer_is_no_sound_http_2_is_written_down_and_made_again() {
    use NetworkError::{NotProcessed, Unsound};
    let ends = at_first(&[NotProcessed, Unsound]);
    let mut setup = Setup::new(&["http://a.test/1"], ends).delay(SECOND);
    let (written, output) = setup.written().await;
    assert_eq!(output.result("http://a.test/1"), "page 200");
    assert_eq!((output.report.requests, output.report.repeated), (3, 1));
    let seen: Vec<_> = written.iter().map(|sent| (sent.status, sent.gap)).collect();
    assert_eq!(seen, [(0, None), (404, Some(SECOND)), (200, Some(SECOND))]);
    assert_eq!(setup.state("http://a.test/1").requests, 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_written_is_what_the_network_saw() {
    let pages = [
        "http://a.test/1",
        "http://a.test/2",
        "http://a.test/moved",
        "https://a.test/1",
        "http://b.test/1",
        "http://b.test/none",
        "http://b.test/busy",
        "http://c.test/1",
    ];
    let answer = |r: &Request| match r.url.to_string().as_str() {
        "http://a.test/moved" => with_header(reply(302, ""), "location", "http://b.test/target").into(),
        "http://b.test/none" => reply(404, "none").into(),
        "http://b.test/busy" => reply(429, "").into(),
        "http://c.test/robots.txt" => reply(200, "User-agent: *\nCrawl-delay: 7").into(),
        "http://c.test/1" => NetworkError::Timeout.into(),
        _ => Script::from(reply(200, "some text")).after(SECOND / 2),
    };
    let mut setup = Setup::new(&pages, answer).delay(SECOND);
    let start = Instant::now();
    let (written, output) = setup.written().await;
    let log = setup.network.log();
    assert_eq!((written.len() as u64, written.len()), (output.report.requests, log.len()));
    let mut last = BTreeMap::<String, Instant>::new();
    for seen in &log {
        let url = &seen.request.url;
        let at = NOW + (seen.start - start).as_millis() as u64;
        let sent = written.iter().find(|sent| sent.origin == Origin::from_url(url) && sent.at == at);
        let sent = sent.unwrap_or_else(|| panic!("{url} is not written"));
        let before = last.insert(url.host().into_owned(), seen.start);
        if let (Some(gap), Some(before)) = (sent.gap, before) {
            assert_eq!(gap, seen.start - before, "{url}");
            assert!(gap >= sent.delay, "{url}");
        }
        let (status, bytes) = match (seen.request.url.to_string().as_str(), &answer(&seen.request).answer) {
            ("http://c.test/1", _) | (_, Err(_)) => (0, 0),
            (_, Ok(reply)) => (reply.status, reply.body.len() as u64),
        };
        assert_eq!((sent.status, sent.bytes), (status, bytes), "{url}");
        // The 429 has doubled the delay of what follows it, and each answer lowers it again.
        let raised = url.host() == "b.test" && (SECOND..=SECOND * 2).contains(&sent.delay);
        let delay = if url.to_string() == "http://c.test/1" { SECOND * 7 } else { SECOND };
        assert!(sent.delay == delay || raised, "{url}: {sent:?}");
    }
    assert!(written.iter().filter(|sent| sent.gap.is_some()).count() >= 5, "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn the_shortest_gap_is_that_of_the_network_with_several_connections_too() {
    let pages: Vec<String> = (0..20).map(|i| format!("http://a.test/{i}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let latency = |r: &Request| SECOND * (r.url.to_string().len() as u32 % 3 * 4);
    let mut setup = Setup::new(&pages, move |r| friendly(r).after(latency(r))).delay(SECOND);
    setup.config.connections_per_host = 3;
    let (written, _) = setup.written().await;
    let mut starts: Vec<Instant> = setup.network.log().iter().map(|seen| seen.start).collect();
    starts.sort();
    let shortest = starts.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    let mut sum = HostRequests::default();
    written.iter().for_each(|sent| sum.count(sent));
    assert_eq!(sum.shortest.map(|gap| gap.millis), Some(shortest.as_millis() as u64));
    assert_eq!((sum.requests(), sum.early), (21, 0));
}

#[tokio::test(start_paused = true)]
async fn what_no_server_took_is_not_written() {
    let mut setup = Setup::new(&["http://a.test/1"], |r| match r.url.to_string().as_str() {
        "http://a.test/1" => NetworkError::Refused.into(),
        _ => friendly(r),
    })
    .delay(SECOND);
    let (written, output) = setup.written().await;
    assert_eq!((written.len() as u64, setup.network.log().len()), (output.report.requests, 2));
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_ends_the_run() {
    let mut setup = Setup::new(&["http://a.test/1", "http://a.test/2"], friendly);
    setup.requests = Some(Arc::new(Written { room: Some(1), ..Written::default() }));
    assert!(matches!(setup.try_run().await, Err(FetchError::Requests(_))));
}
