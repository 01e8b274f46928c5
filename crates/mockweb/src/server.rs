//! The server: one listener a host, one control port, and the handle that tests hold.
//!
//! It runs on threads of its own, so that it serves synchronous and asynchronous callers alike, and ends
//! when the handle is dropped.

mod body;
mod connection;
mod control;
mod listen;
mod respond;

use crate::fault::Rule;
use crate::ledger::{Access, Count, Counted, Held, Ledger, LogError, PATIENCE, Violations};
use crate::noise::Noise;
use crate::procedural::{Procedural, ProceduralConfig, ProceduralError};
use crate::recording::RecordingError;
use crate::replay::{Replay, ReplayConfig};
use crate::sites::{MAX_HOSTS, Sites};
use crate::validators::Validators;
use crate::web::Web;
use serde::Serialize;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, RwLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Which web to serve.
#[derive(Clone, Debug)]
pub enum WebConfig {
    /// One made from a seed.
    Procedural(ProceduralConfig),
    /// A recorded one.
    Replay(ReplayConfig),
}

/// How to serve it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The web.
    pub web: WebConfig,
    /// The port of all hosts; 0 for one that is free on all their addresses.
    pub port: u16,
    /// The port of the control interface on 127.0.0.1; 0 for a free one.
    pub control_port: u16,
    /// Threads that serve.
    pub threads: usize,
    /// With `mock.test`, hosts are also called `h1.mock.test`, `h2.mock.test` and so on.
    pub domain: Option<String>,
    /// Addresses to deal the hosts to; `None` for one each. Fewer than hosts needs a domain.
    pub addresses: Option<u32>,
    /// The clock at the start.
    pub cycle: u32,
    /// The share of hosts, 0 to 1, on which every response differs a little.
    pub noise: f64,
    /// How the web speaks of its versions.
    pub validators: Validators,
    /// Compress with gzip when asked.
    pub gzip: bool,
    /// What goes wrong.
    pub faults: Vec<Rule>,
    /// Where to keep the log; `None` for memory. A file that is there already is continued, and what
    /// it tells of pages held and counted is known again.
    pub log: Option<PathBuf>,
    /// Lines of the log kept in memory.
    pub max_log_lines: usize,
}

impl Config {
    /// A web served with the defaults: free ports, one thread, strong validators, no noise, no faults.
    pub fn new(web: WebConfig) -> Config {
        Config {
            web,
            port: 0,
            control_port: 0,
            threads: 1,
            domain: None,
            addresses: None,
            cycle: 0,
            noise: 0.0,
            validators: Validators::Strong,
            gzip: false,
            faults: Vec::new(),
            log: None,
            max_log_lines: 200_000,
        }
    }
}

/// Why a server does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The procedural web cannot be made.
    Procedural(ProceduralError),
    /// The recording cannot be read.
    Recording(RecordingError),
    /// The log cannot be continued.
    Log(LogError),
    /// More than [`MAX_HOSTS`] hosts, or no address, or more addresses than hosts.
    Hosts(u32),
    /// Hosts share addresses and have no names.
    NoDomain,
    /// The clock cannot be set to this cycle.
    Clock(ClockError),
    /// A listener cannot be opened.
    Listen {
        /// Where.
        at: SocketAddrV4,
        /// What the system said.
        cause: std::io::Error,
    },
    /// No port was found that is free on every address.
    NoFreePort,
    /// Threads cannot be started.
    Threads(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Procedural(cause) => cause.fmt(f),
            StartError::Recording(cause) => cause.fmt(f),
            StartError::Log(cause) => cause.fmt(f),
            StartError::Hosts(n) => {
                write!(f, "{n}: ask for 1 to {MAX_HOSTS} hosts and at most one address for each")
            }
            StartError::NoDomain => {
                f.write_str("hosts that share an address need names: give --names, for example mock.test")
            }
            StartError::Clock(cause) => cause.fmt(f),
            StartError::Listen { at, cause } => write!(f, "cannot listen on {at}: {cause}"),
            StartError::NoFreePort => f.write_str("found no port that is free on every address: give --port"),
            StartError::Threads(cause) => write!(f, "cannot start threads: {cause}"),
        }
    }
}

impl std::error::Error for StartError {}

/// A cycle that the web does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockError {
    /// The cycle asked for.
    pub cycle: u64,
    /// The last one there is.
    pub last: u32,
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no cycle {}: the last one is {}", self.cycle, self.last)
    }
}

impl std::error::Error for ClockError {}

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
    /// Pages, the index pages not counted.
    pub pages: u32,
    /// Pages there from the first to the last cycle.
    pub fixed: u32,
    /// The clock.
    pub cycle: u32,
    /// The last cycle; `None` when the web goes on for ever.
    pub last_cycle: Option<u32>,
}

/// What is true of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageTruth {
    /// Its URL.
    pub url: String,
    /// Its number.
    pub page_id: u32,
    /// Is it there from the first to the last cycle?
    pub fixed: bool,
    /// First cycle at which it is there.
    pub first: u32,
    /// Last cycle at which it is there; `None` when it stays.
    pub last: Option<u32>,
    /// The version in force at the start of the range asked about; `None` when it was not there.
    pub version: Option<u32>,
    /// Changes after the start and up to the end of the range: cycle and version.
    pub changes: Vec<(u32, u32)>,
}

/// What all parts of a running server share.
pub(crate) struct Core {
    pub(crate) web: Box<dyn Web>,
    pub(crate) sites: Sites,
    pub(crate) control_port: u16,
    clock: AtomicU32,
    pub(crate) faults: RwLock<Vec<Rule>>,
    pub(crate) ledger: Ledger,
    pub(crate) noise: Noise,
    pub(crate) validators: Validators,
    pub(crate) gzip: bool,
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

    fn index_url(&self, host: u32) -> String {
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

    pub(crate) fn held(&self) -> Held {
        self.ledger.held(&*self.web, self.clock())
    }

    pub(crate) fn counts(&self) -> Vec<Count> {
        let named = |(what, count)| match what {
            Counted::Page(page) => Count { url: self.url(page), page_id: Some(page), count },
            Counted::Index(host) => Count { url: self.index_url(host), page_id: None, count },
        };
        self.ledger.counts().into_iter().map(named).collect()
    }

    pub(crate) fn violations(&self, delay: Duration) -> Violations {
        self.ledger.violations(delay, self.names(), self.sites.addresses())
    }
}

fn checked_cycle(web: &dyn Web, cycle: u64) -> Result<u32, ClockError> {
    let last = web.last_cycle().unwrap_or(u32::MAX - 1);
    u32::try_from(cycle).ok().filter(|&c| c <= last).ok_or(ClockError { cycle, last })
}

/// A running server. Dropping it ends it.
pub struct Server {
    core: Arc<Core>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Makes or reads the web, opens all listeners and serves.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong or in the way.
    pub fn start(config: Config) -> Result<Server, StartError> {
        let (seed, web): (u64, Box<dyn Web>) = match &config.web {
            WebConfig::Procedural(procedural) => (
                procedural.seed,
                Box::new(Procedural::new(procedural.clone()).map_err(StartError::Procedural)?),
            ),
            WebConfig::Replay(replay) => (0, Box::new(Replay::new(replay).map_err(StartError::Recording)?)),
        };
        let hosts = web.hosts();
        let addresses = config.addresses.unwrap_or(hosts);
        if hosts > MAX_HOSTS || addresses == 0 || addresses > hosts {
            return Err(StartError::Hosts(hosts.max(addresses)));
        }
        if addresses < hosts && config.domain.is_none() {
            return Err(StartError::NoDomain);
        }
        let cycle = checked_cycle(&*web, u64::from(config.cycle)).map_err(StartError::Clock)?;
        let ledger = Ledger::open(&*web, addresses as usize, config.log.as_deref(), config.max_log_lines)
            .map_err(StartError::Log)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.threads.max(1))
            .thread_name("mockweb")
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let opened = {
            let _inside = runtime.enter();
            listen::open(addresses, config.port, config.control_port)?
        };
        let core = Arc::new(Core {
            sites: Sites::new(hosts, addresses, opened.port, config.domain.as_deref()),
            control_port: opened.control_port,
            web,
            clock: AtomicU32::new(cycle),
            faults: RwLock::new(config.faults),
            ledger,
            noise: Noise::new(seed, config.noise),
            validators: config.validators,
            gzip: config.gzip,
        });
        let (stop, stopped) = oneshot::channel();
        let (started, ready) = mpsc::channel();
        let shared = Arc::clone(&core);
        // A runtime may not be dropped inside another one; this thread is inside none.
        let thread = std::thread::Builder::new()
            .name("mockweb".into())
            .spawn(move || {
                {
                    let _inside = runtime.enter();
                    listen::serve(opened, &shared);
                }
                started.send(()).ok();
                runtime.block_on(stopped).ok();
                runtime.shutdown_timeout(Duration::from_millis(200));
            })
            .map_err(StartError::Threads)?;
        ready.recv().map_err(|_| StartError::Threads(std::io::Error::other("the server thread ended")))?;
        Ok(Server { core, stop: Some(stop), thread: Some(thread) })
    }

    /// What is served, and where.
    pub fn info(&self) -> Info {
        self.core.info()
    }

    /// The port of all hosts.
    pub fn port(&self) -> u16 {
        self.core.sites.port()
    }

    /// The control interface.
    pub fn control(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.core.control_port)
    }

    /// The index pages of all hosts.
    pub fn seeds(&self) -> Vec<String> {
        (0..self.core.web.hosts()).map(|host| self.core.index_url(host)).collect()
    }

    /// The name of each host (without port) and the address it listens on, for a resolver's table.
    pub fn names(&self) -> Vec<(String, Ipv4Addr)> {
        let addresses = self.core.sites.addresses();
        let name = |authority: &String| authority.split(':').next().unwrap_or(authority).to_string();
        self.core.names().iter().enumerate().map(|(h, a)| (name(a), addresses[h % addresses.len()])).collect()
    }

    /// The clock.
    pub fn clock(&self) -> u32 {
        self.core.clock()
    }

    /// Sets the clock.
    ///
    /// # Errors
    /// [`ClockError`] when the web has no such cycle.
    pub fn set_clock(&self, cycle: u32) -> Result<u32, ClockError> {
        self.core.set_clock(u64::from(cycle))
    }

    /// Sets the clock to the next cycle.
    ///
    /// # Errors
    /// [`ClockError`] at the last cycle.
    pub fn advance(&self) -> Result<u32, ClockError> {
        self.core.set_clock(u64::from(self.core.clock()) + 1)
    }

    /// The page's URL.
    pub fn url(&self, page: u32) -> String {
        self.core.url(page)
    }

    /// The version of the page at the cycle; `None` when it is not there.
    pub fn version(&self, page: u32, cycle: u32) -> Option<u32> {
        self.core.web.version(page, cycle)
    }

    /// What is true of every page over the cycles `from..=to`.
    pub fn truth(&self, from: u32, to: u32) -> impl Iterator<Item = PageTruth> + '_ {
        (0..self.core.web.pages()).map(move |page| self.core.truth(page, from, to))
    }

    /// What the visitors hold of each page, against the truth at the clock.
    pub fn held(&self) -> Held {
        self.settled().held()
    }

    /// The lines of the log from number `from` on, as far as they are kept.
    ///
    /// # Errors
    /// [`LogError`] when the log file cannot be written or read.
    pub fn log(&self, from: u64) -> Result<Vec<Access>, LogError> {
        self.settled().ledger.log(from)?.collect()
    }

    /// Who broke which rule; gaps are measured against `delay`.
    pub fn violations(&self, delay: Duration) -> Violations {
        self.settled().violations(delay)
    }

    /// How often each page and index page was given out whole.
    pub fn counts(&self) -> Vec<Count> {
        self.settled().counts()
    }

    /// The core, once its accounts are settled or patience has ended.
    fn settled(&self) -> &Core {
        for _ in 0..PATIENCE.0 {
            if self.core.ledger.is_settled() {
                break;
            }
            std::thread::sleep(PATIENCE.1);
        }
        &self.core
    }

    /// Replaces the faults.
    pub fn set_faults(&self, faults: Vec<Rule>) {
        *self.core.faults.write().expect("no thread panics with the faults open") = faults;
    }

    /// Forgets the log, the counts and the manners; what is held stays.
    ///
    /// # Errors
    /// [`LogError`] when the log file cannot be emptied.
    pub fn reset_log(&self) -> Result<(), LogError> {
        self.settled().ledger.reset()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
