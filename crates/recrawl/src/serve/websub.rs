//! Subscribes to feeds at their hubs, and takes what the hubs send.

use super::pings;
use super::shared_state::SharedState;
use recrawl_console::view::{PingDelivery, Refusal, Verification};
use recrawl_crawl::admission::loading::service_manner;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::pings::websub::{self, DueRequest, KEY_BYTES, PingSender, WebSub, request};
use recrawl_fetcher::HttpNetwork;
use recrawl_types::CanonicalUrl;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// Interval at which a changed table is stored. After a power cut, the next visits of the feeds bring back
/// what is missing.
const KEEP_EVERY: Duration = Duration::from_secs(60);

/// Sends requests until it is dropped.
pub struct Subscriber {
    end: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic is in the log.
            let _ = thread.join();
        }
    }
}

/// Turns subscriptions on and starts the thread that sends requests, unless `pings.websub` is empty. A request
/// goes to one hub at a time, and the next one a second later.
///
/// # Errors
/// When the tables cannot be read or written, or the thread cannot be started.
pub fn start(shared: Arc<SharedState>) -> Result<Option<Subscriber>, Failure> {
    let base = websub::base(&shared.settings().config.pings.websub).map_err(Failure::Usage)?;
    if base.is_empty() {
        return Ok(None);
    }
    shared.pings.subscribe(&base, || {
        let mut key = [0; KEY_BYTES];
        let random = SystemRandom::new().fill(&mut key);
        random.map_err(|_| Failure::Work("the system gives no random numbers".into()))?;
        Ok(key)
    })?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
    let end = CancellationToken::new();
    let stop = end.clone();
    let work = move || {
        let websub = shared.pings.websub().expect("it is on");
        runtime.block_on(async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = send(&shared, websub) => {}
            }
        });
        keep(websub);
    };
    let thread = thread::Builder::new().name("websub".into()).spawn(work).map_err(Failure::work)?;
    Ok(Some(Subscriber { end, thread: Some(thread) }))
}

fn keep(websub: &WebSub) {
    if let Err(failure) = websub.keep() {
        tracing::error!("cannot store the subscriptions to feeds: {failure}");
    }
}

/// Sends requests as they are due.
async fn send(shared: &SharedState, websub: &WebSub) {
    let mut network: Option<(recrawl_fetcher::FetchConfig, HttpNetwork)> = None;
    let mut kept = shared.uptime();
    loop {
        tokio::time::sleep(request::EVERY).await;
        if shared.uptime() - kept >= KEEP_EVERY {
            kept = shared.uptime();
            keep(websub);
        }
        let settings = shared.settings();
        let is_paused = shared.control.paused().is_some();
        let admits = |feed: &CanonicalUrl| pings::admits(shared, feed);
        let Some(due) = (!is_paused).then(|| websub.next_request(&admits, shared.now())).flatten() else {
            continue;
        };
        // A reload may have changed the rules of requests.
        if network.as_ref().is_none_or(|(config, _)| *config != settings.fetch) {
            match HttpNetwork::new(&settings.fetch) {
                Ok(new) => network = Some((settings.fetch.clone(), new)),
                Err(error) => {
                    tracing::error!("cannot subscribe to feeds: {error}");
                    websub.failed(&due.id, shared.now());
                    continue;
                }
            }
        }
        let Some((config, network)) = &network else { continue };
        let blocks = shared.control.blocks();
        let manner = |url: &CanonicalUrl| service_manner(url, &settings.scope, &blocks);
        let DueRequest { hub, form, id } = &due;
        match request::send(network, hub, form, &manner, config.timeout, config.max_redirects).await {
            Ok(()) => tracing::debug!(%hub, "asked for a subscription"),
            Err(error) => {
                websub.failed(id, shared.now());
                tracing::info!(%hub, "a WebSub hub rejected a subscription; trying again later: {error}");
            }
        }
    }
}

fn on(shared: &SharedState) -> Result<&WebSub, Refusal> {
    let off = || Refusal::NotFound("WebSub is off; set pings.websub and restart".into());
    shared.pings.websub().ok_or_else(off)
}

/// Takes a verification or a denial.
pub fn verify(shared: &SharedState, id: &str, verification: &Verification) -> Result<(), Refusal> {
    let Verification { mode, topic, lease_seconds, .. } = verification;
    let asked = websub::HubQuestion { mode, topic, lease: *lease_seconds };
    match on(shared)?.verify(id, asked, shared.now()) {
        true => Ok(()),
        false => Err(Refusal::NotFound("no request of this crawl fits".into())),
    }
}

/// Takes a notification. It is stored when this returns.
pub fn notify(
    shared: &SharedState,
    id: &str,
    signature: Option<&str>,
    body: &[u8],
) -> Result<PingDelivery, Refusal> {
    let websub = on(shared)?;
    let feed = match websub.sender(id, signature, body) {
        PingSender::Unknown => return Ok(PingDelivery::Gone),
        PingSender::Forger => {
            shared.pings.count_forged();
            return Ok(PingDelivery::Taken);
        }
        PingSender::HubOf(feed) => feed,
    };
    if !pings::admits(shared, &feed) {
        websub.drop_feed(&feed);
        shared.pings.count_foreign();
        return Ok(PingDelivery::Gone);
    }
    let named = feed.host().into_owned();
    let max_per_host = shared.settings().config.pings.max_per_host;
    let received = shared.pings.notified(feed, max_per_host, shared.now()).map_err(Refusal::failed)?;
    pings::answer(shared, &named, received)?;
    Ok(PingDelivery::Taken)
}
