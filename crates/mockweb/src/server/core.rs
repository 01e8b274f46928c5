//! Shared state of a running server: the web, its clock, its accounts.

use super::config::ClockError;
use crate::fault::FaultRule;
use crate::ledger::{Count, CountKey, HeldChanges, HeldVersions, Ledger, Violations};
use crate::noise::Noise;
use crate::sites::Sites;
use crate::validators::Validators;
use crate::web::Web;
use serde::Serialize;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    /// `procedural` or `replay`.
    pub kind: &'static str,
    /// The port of all hosts.
    pub port: u16,
    /// The port of the control interface.
    pub control_port: u16,
    /// The index pages of all hosts.
    pub seeds: Vec<String>,
    /// Hosts.
    pub hosts: u32,
    /// Pages, without the index pages.
    pub pages: u32,
    /// Pages that exist from the first to the last cycle.
    pub fixed: u32,
    /// The clock.
    pub cycle: u32,
    /// The last cycle; `None` for an endless web.
    pub last_cycle: Option<u32>,
}

/// The truth about a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageTruth {
    /// Its URL.
    pub url: String,
    /// Its number.
    pub page_id: u32,
    /// Whether it exists from the first to the last cycle.
    pub fixed: bool,
    /// First cycle at which it exists.
    pub first: u32,
    /// Last cycle at which it exists; `None` if it stays.
    pub last: Option<u32>,
    /// The version at the start of the requested range; `None` if it did not exist.
    pub version: Option<u32>,
    /// Changes after the start and up to the end of the range: cycle and version.
    pub changes: Vec<(u32, u32)>,
}

/// Shared by every connection and the handle.
pub(crate) struct Core {
    pub(crate) web: Box<dyn Web>,
    pub(crate) sites: Sites,
    pub(crate) control_port: u16,
    pub(crate) clock: AtomicU32,
    pub(crate) faults: RwLock<Vec<FaultRule>>,
    pub(crate) ledger: Ledger,
    pub(crate) noise: Noise,
    pub(crate) validators: Validators,
    pub(crate) gzip: bool,
    pub(crate) scripted: bool,
    pub(crate) requisites: bool,
    pub(crate) ping_key: Option<String>,
}

impl Core {
    pub(crate) fn clock(&self) -> u32 {
        self.clock.load(Ordering::Acquire)
    }

    pub(crate) fn set_clock(&self, cycle: u64) -> Result<u32, ClockError> {
        let cycle = checked_cycle(&*self.web, cycle)?;
        self.clock.store(cycle, Ordering::Release);
        Ok(cycle)
    }

    pub(crate) fn names(&self) -> &[String] {
        self.sites.authorities(self.sites.spelling())
    }

    pub(crate) fn url(&self, page: u32) -> String {
        let address = self.web.address(page);
        format!("http://{}{}", self.names()[address.host as usize], address.target)
    }

    pub(crate) fn index_url(&self, host: u32) -> String {
        format!("http://{}/", self.names()[host as usize])
    }

    pub(crate) fn info(&self) -> Info {
        let web = &self.web;
        let fixed = match web.last_cycle() {
            None => web.pages(),
            Some(_) => (0..web.pages()).filter(|&page| web.is_fixed(page)).count() as u32,
        };
        Info {
            kind: web.kind(),
            port: self.sites.port(),
            control_port: self.control_port,
            seeds: (0..web.hosts()).map(|host| self.index_url(host)).collect(),
            hosts: web.hosts(),
            pages: web.pages(),
            fixed,
            cycle: self.clock(),
            last_cycle: web.last_cycle(),
        }
    }

    pub(crate) fn truth(&self, page: u32, from: u32, to: u32) -> PageTruth {
        let (first, last) = self.web.lifetime(page);
        PageTruth {
            url: self.url(page),
            page_id: page,
            fixed: self.web.is_fixed(page),
            first,
            last,
            version: self.web.version(page, from),
            changes: self.web.changes(page, from, to),
        }
    }

    pub(crate) fn held(&self) -> HeldVersions {
        self.ledger.held(&*self.web, self.clock())
    }

    pub(crate) fn changes(&self) -> Vec<HeldChanges> {
        self.ledger.changes(&*self.web, self.clock())
    }

    pub(crate) fn counts(&self) -> Vec<Count> {
        let named = |(what, count)| match what {
            CountKey::Page(page) => Count { url: self.url(page), page_id: Some(page), count },
            CountKey::Index(host) => Count { url: self.index_url(host), page_id: None, count },
        };
        self.ledger.counts().into_iter().map(named).collect()
    }

    pub(crate) fn violations(&self, delay: Duration) -> Violations {
        self.ledger.violations(delay, self.names(), self.sites.addresses())
    }
}

pub(crate) fn checked_cycle(web: &dyn Web, cycle: u64) -> Result<u32, ClockError> {
    let last = web.last_cycle().unwrap_or(u32::MAX - 1);
    u32::try_from(cycle).ok().filter(|&c| c <= last).ok_or(ClockError { cycle, last })
}
