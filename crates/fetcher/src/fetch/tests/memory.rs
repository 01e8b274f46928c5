//! However little memory bodies have, a run makes the same visits, each host's in the same order.

use super::*;
use crate::net::client::body_memory::{BodyMemory, MemoryShare};
use crate::net::client::{AddressFuture, Meter, ReplyFuture};
use crate::net::limits::MAX_SMALL_BODY;
use crate::{Hold, Network};
use proptest::prelude::*;
use tokio::time::sleep;

const MAX_BODY: usize = 1 << 20;

/// A network whose bodies grow as those of sockets do.
struct Growing {
    network: Arc<ScriptedNetwork>,
    memory: BodyMemory,
}

impl Network for Growing {
    fn get<'a>(&'a self, request: &'a Request, received: &'a Meter) -> ReplyFuture<'a> {
        Box::pin(async move {
            let mut reply = self.network.get(request, received).await?;
            let (mut share, mut space) = (MemoryShare::default(), MAX_SMALL_BODY);
            while space < reply.body.len() {
                space = (2 * space).min(request.max_body);
                self.memory.grow(&mut share, space, received).await;
                sleep(Duration::from_millis(300)).await;
            }
            reply.body = share.keep(reply.body.to_vec());
            Ok(reply)
        })
    }

    fn address<'a>(&'a self, host: &'a str) -> AddressFuture<'a> {
        self.network.address(host)
    }
}

/// Every fourth page is too slow for the time limit, with or without memory.
fn answer(request: &Request) -> Script {
    let path = request.url.path_and_query();
    let size = path.rsplit('/').next().and_then(|size| size.parse().ok()).unwrap_or(0);
    let latency = if path.starts_with("/3/") { 2_500 } else { 20 };
    Script::from(reply(200, &"x".repeat(size * 1_000))).after(Duration::from_millis(latency))
}

/// Pages that a run delivers by host, in order.
type Visits = BTreeMap<String, Vec<String>>;

/// Reads a page every 50 milliseconds.
fn visits(pages: &[String], bytes: usize) -> Visits {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let mut setup = Setup::new(&pages.iter().map(String::as_str).collect::<Vec<_>>(), answer);
        (setup.config.max_body, setup.config.timeout) = (MAX_BODY, Duration::from_secs(2));
        setup.config.delay_per_host = Duration::from_millis(100);
        let network =
            Arc::new(Growing { network: setup.network.clone(), memory: BodyMemory::new(bytes, MAX_BODY) });
        let fetcher = Fetcher::new(setup.config.clone(), network, setup.hosts.clone(), tokio_clock(NOW));
        let (out, mut pages) = channel(4);
        let mut hosts = Visits::new();
        let read = async {
            while let Some(page) = pages.recv().await {
                let FetchedPage { entry, result, hold, .. } = page;
                let size = if let FetchResult::Page(page) = &result { page.body.len() } else { 0 };
                let visit = format!("{} {} {size}", entry.url, short(&result));
                hosts.entry(entry.url.host().into_owned()).or_default().push(visit);
                drop::<Hold>(hold);
                sleep(Duration::from_millis(50)).await;
                drop(result);
            }
        };
        let (report, ()) = tokio::join!(fetcher.run(setup.job(out)), read);
        assert_eq!(report.unwrap().panics, 0);
        assert!(shortest_gap(&setup.network.log()) >= setup.config.delay_per_host);
        hosts
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn little_memory_makes_the_same_visits(
        hosts in prop::collection::vec(prop::collection::vec(0usize..1_500, 1..5), 1..12),
    ) {
        let pages: Vec<String> = (0..)
            .zip(&hosts)
            .flat_map(|(host, sizes)| {
                sizes.iter().enumerate().map(move |(page, size)| format!("http://h{host}.test/{page}/{size}"))
            })
            .collect();
        prop_assert_eq!(visits(&pages, 1 << 30), visits(&pages, MAX_BODY));
    }
}
