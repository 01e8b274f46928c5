//! Requests that the run before left in flight.

use super::FetchLoop;
use crate::fetch::in_flight::InFlight;
use crate::fetch::visit::HostVisit;
use crate::host::{HostRequest, QueuedPage};
use crate::outcome::FetchError;
use recrawl_types::Origin;

impl FetchLoop {
    /// Takes over a request that an earlier run left in flight: its host and address are in use until it ends.
    pub(super) fn take_over(&mut self, left: InFlight) -> Result<(), FetchError> {
        let InFlight { action, address, sent } = left;
        let run = self.run.clone();
        let (action, url) = match action {
            HostRequest::Page(page) => {
                // Rules and schedule may have changed since the request was sent.
                let Some(page) = self.as_planned(*page)? else { return Ok(()) };
                let url = page.entry.url.clone();
                (HostRequest::Page(Box::new(page)), url)
            }
            HostRequest::Robots(robots_request) => {
                let id = self.frontier.host_of(&robots_request.robots_url, &run);
                let origin = Origin::from_url(&robots_request.robots_url);
                // Its answer is on its way, so the file is not requested again.
                self.frontier.host(id).open_origin(&origin, &run)?.await_robots();
                let url = robots_request.url.clone();
                (HostRequest::Robots(robots_request), url)
            }
            HostRequest::Lookup(_) => return Ok(()),
        };
        let id = self.frontier.host_of(&url, &run);
        let host = self.frontier.host(id);
        host.in_flight += 1;
        let retry = host.retry_policy();
        let queue = host.open_origin(&Origin::from_url(&url), &run)?;
        queue.take_over();
        let (origin, detour_path) = (queue.id, queue.state.detour_path.clone());
        // The address is in use as well: other hosts on it wait for the end of this request.
        if let Some(address) = address {
            host.resolved(Some(address));
            self.frontier.set_address(id, address);
            self.addresses.request_started(address, &url.host());
        }
        self.start_visit(HostVisit {
            host: id,
            finished: Vec::new(),
            action: Some((Some(origin), action)),
            start: sent.start,
            address,
            last: false,
            retry,
            detour_path,
            sent: Some(sent),
        });
        Ok(())
    }

    /// A page of an earlier run as this schedule has it; none if it is done, or refused by now: then its request is given up,
    /// and a page of the schedule passes the gates as any other.
    fn as_planned(&mut self, page: QueuedPage) -> Result<Option<QueuedPage>, FetchError> {
        if (self.run.opted_out)(&page.entry.url.host()) || (self.run.refuses)(&page.entry).is_some() {
            return Ok(None);
        }
        let url = &page.entry.url;
        Ok(match self.run.find(url)? {
            Some(found) if (self.run.done)(found.index) => None,
            Some(found) => {
                let id = self.frontier.host_of(url, &self.run);
                let planned = self.frontier.host(id).take_early(found, &self.run);
                planned.map(|planned| QueuedPage { index: planned.index, entry: planned.entry, ..page })
            }
            None => self.run.add_followed(url).then_some(QueuedPage { index: None, ..page }),
        })
    }
}
