//! The server: one listener per host, one control port, and the handle for tests.
//!
//! It runs on its own threads, so that both synchronous and asynchronous callers can use it. It
//! ends when the handle is dropped.

mod body;
mod config;
mod connection;
mod control;
mod core;
mod listen;
mod respond;

pub use self::core::{Info, PageTruth};
pub use config::{ClockError, Config, StartError, WebConfig};

use self::core::{Core, checked_cycle};
use crate::fault::FaultRule;
use crate::ledger::{AccessEntry, AccessLogError, Count, HeldVersions, Ledger, PATIENCE, Violations};
use crate::noise::Noise;
use crate::procedural::Procedural;
use crate::replay::ReplayedWeb;
use crate::sites::{MAX_HOSTS, Sites};
use crate::web::Web;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, RwLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// A running server, until dropped.
pub struct Server {
    core: Arc<Core>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Loads the web, opens all listeners and serves.
    ///
    /// # Errors
    /// [`StartError`] with the reason.
    pub fn start(config: Config) -> Result<Server, StartError> {
        let (seed, web): (u64, Box<dyn Web>) = match &config.web {
            WebConfig::Procedural(procedural) => (
                procedural.seed,
                Box::new(Procedural::new(procedural.clone()).map_err(StartError::Procedural)?),
            ),
            WebConfig::Replay(replay) => {
                (0, Box::new(ReplayedWeb::new(replay).map_err(StartError::Recording)?))
            }
        };
        let hosts = web.hosts();
        let apart = hosts.checked_sub(config.crowd).ok_or(StartError::Hosts(config.crowd))?;
        let addresses = config.addresses.unwrap_or(apart + config.crowd.min(1));
        let is_dealt = addresses > config.crowd.min(apart).min(1);
        if hosts > MAX_HOSTS || !is_dealt || addresses > hosts {
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
            listen::open(addresses, config.port, config.control_port)
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(why) => {
                // Dropping it would block, which an asynchronous caller must not do.
                runtime.shutdown_background();
                return Err(why);
            }
        };
        let core = Arc::new(Core {
            sites: Sites::new(hosts, addresses, config.crowd, opened.port, config.domain.as_deref()),
            control_port: opened.control_port,
            web,
            clock: AtomicU32::new(cycle),
            faults: RwLock::new(config.faults),
            ledger,
            noise: Noise::new(seed, config.noise),
            validators: config.validators,
            gzip: config.gzip,
            scripted: config.scripted,
            requisites: config.requisites,
            ping_key: config.ping_key,
        });
        let (stop, stopped) = oneshot::channel();
        let (started, ready) = mpsc::channel();
        let shared = Arc::clone(&core);
        // A runtime must not be dropped inside another one, and this thread is in none.
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
        // The caller may connect as soon as it has the server.
        ready.recv().map_err(|_| StartError::Threads(std::io::Error::other("the server thread ended")))?;
        Ok(Server { core, stop: Some(stop), thread: Some(thread) })
    }

    /// Description of the served web.
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
        let name = |authority: &String| authority.split(':').next().unwrap_or(authority).to_string();
        self.core.names().iter().enumerate().map(|(h, a)| (name(a), self.core.sites.address_of(h))).collect()
    }

    /// The clock.
    pub fn clock(&self) -> u32 {
        self.core.clock()
    }

    /// Sets the clock.
    ///
    /// # Errors
    /// [`ClockError`] if the web has no such cycle.
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

    /// URL of a page.
    pub fn url(&self, page: u32) -> String {
        self.core.url(page)
    }

    /// The version of the page at the cycle; `None` if it does not exist.
    pub fn version(&self, page: u32, cycle: u32) -> Option<u32> {
        self.core.web.version(page, cycle)
    }

    /// The truth about every page over the cycles `from..=to`.
    pub fn truth(&self, from: u32, to: u32) -> impl Iterator<Item = PageTruth> + '_ {
        (0..self.core.web.pages()).map(move |page| self.core.truth(page, from, to))
    }

    /// The versions that clients hold of each page, compared with the truth at the clock.
    pub fn held(&self) -> HeldVersions {
        self.settled().held()
    }

    /// The lines of the log from number `from` on, as far as they are kept.
    ///
    /// # Errors
    /// [`AccessLogError`] if the log file cannot be written or read.
    pub fn log(&self, from: u64) -> Result<Vec<AccessEntry>, AccessLogError> {
        self.settled().ledger.log(from)?.collect()
    }

    /// Violations by rule; gaps are compared with `delay`.
    pub fn violations(&self, delay: Duration) -> Violations {
        self.settled().violations(delay)
    }

    /// Whether no request is under way: the end of those of a killed client has been seen.
    pub fn is_idle(&self) -> bool {
        self.core.ledger.is_idle()
    }

    /// Number of complete responses of each page and index page.
    pub fn counts(&self) -> Vec<Count> {
        self.settled().counts()
    }

    /// The core, after its accounts are settled or the wait has timed out.
    fn settled(&self) -> &Core {
        for _ in 0..PATIENCE.0 {
            if self.core.ledger.is_settled() {
                break;
            }
            std::thread::sleep(PATIENCE.1);
        }
        &self.core
    }

    /// Replaces all fault rules.
    pub fn set_faults(&self, faults: Vec<FaultRule>) {
        *self.core.faults.write().expect("no thread panics with the faults open") = faults;
    }

    /// Clears the log, the counts and the violations; held versions stay.
    ///
    /// # Errors
    /// [`AccessLogError`] if the log file cannot be emptied.
    pub fn reset_log(&self) -> Result<(), AccessLogError> {
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
