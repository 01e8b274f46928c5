//! Takes pings over HTTP.

use super::changes::is_fetching;
use super::shared_state::SharedState;
use recrawl_console::view::{IndexNow, PingFigures, Pinged, Refusal, SubscriptionFigures};
use recrawl_crawl::parts::pings::{PingRefusal, Received, indexnow};
use recrawl_types::{CanonicalUrl, HostTable, Origin};

/// Takes a ping. It is stored when this returns.
pub fn take(shared: &SharedState, ping: &IndexNow) -> Result<Pinged, Refusal> {
    let settings = shared.settings();
    let config = &settings.config.pings;
    if !config.indexnow {
        return Err(Refusal::NotFound("IndexNow pings are off (pings.indexnow)".into()));
    }
    let IndexNow { host, url_list, key, key_location } = ping.clone();
    let request = indexnow::IndexNowRequest { host, urls: url_list, key, key_location };
    let notice = request.read(&settings.rules);
    let notice = notice.map_err(|indexnow::Wrong { at, what, todo }| Refusal::invalid(at, what, todo))?;
    let named = notice.key_file.host().into_owned();
    // A key file is fetched only from hosts that the crawl asks anyway.
    if shared.tables.load(&Origin::from_url(&notice.key_file)).map_err(Refusal::failed)?.is_none() {
        let what = format!("{named}: not a host of this crawl");
        return Err(Refusal::invalid("url", what, "ping only the hosts that it has visited"));
    }
    let admits = |url: &CanonicalUrl| admits(shared, url);
    let received =
        shared.pings.receive(notice, &admits, config.max_per_host, shared.now()).map_err(Refusal::failed)?;
    answer(shared, &named, received)
}

/// Is the page of the crawl?
pub fn admits(shared: &SharedState, url: &CanonicalUrl) -> bool {
    shared.settings().scope.refuse(url).is_none() && shared.control.blocks().cover(url).is_none()
}

/// The answer to the pings of a host. A round may begin at once, or the running one take the pages.
pub fn answer(
    shared: &SharedState,
    named: &str,
    received: Result<Received, PingRefusal>,
) -> Result<Pinged, Refusal> {
    let pinged = match received {
        Ok(Received::Noted(pages)) => Pinged { pages: pages as u64, checking: false },
        Ok(Received::Checking(pages)) => Pinged { pages: pages as u64, checking: true },
        Err(PingRefusal::WrongKey) => {
            return Err(Refusal::Forbidden(format!("the key file of {named} does not have this key")));
        }
        Err(PingRefusal::TooMany(seconds)) => {
            let what = format!("{named} has sent its pings of the hour (pings.max_per_host)");
            return Err(Refusal::TooMany { what, seconds });
        }
        Err(PingRefusal::Full) => return Err(Refusal::Busy("too many pings wait".into())),
    };
    if is_fetching(shared) {
        shared.pings.join(&shared.steering, &shared.generation()).map_err(Refusal::failed)?;
    }
    shared.wake();
    Ok(pinged)
}

/// The figures of pings; none while they are off.
pub fn figures(shared: &SharedState) -> Option<PingFigures> {
    let [waiting, checking, trusted] = shared.pings.sizes();
    let results = shared.pings.counts().rows().map(|(name, count)| (name.to_owned(), count)).collect();
    let subscriptions = subscriptions(shared);
    let is_on = shared.settings().config.pings.indexnow || subscriptions.is_some() || waiting > 0;
    is_on.then_some(PingFigures { waiting, checking, trusted, results, subscriptions })
}

/// The figures of subscriptions; none while they are off.
fn subscriptions(shared: &SharedState) -> Option<SubscriptionFigures> {
    let [wanted, active, failed] = shared.pings.websub()?.sizes(shared.now());
    Some(SubscriptionFigures { wanted, active, failed })
}
