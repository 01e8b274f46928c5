//! Configuration and start errors of a server.

use crate::fault::Rule;
use crate::ledger::LogError;
use crate::procedural::{ProceduralConfig, ProceduralError};
use crate::recording::RecordingError;
use crate::replay::ReplayConfig;
use crate::sites::MAX_HOSTS;
use crate::validators::Validators;
use std::fmt;
use std::net::SocketAddrV4;
use std::path::PathBuf;

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
    /// So many hosts, the last ones, share the last address and have it for themselves. Needs a domain, unless it is
    /// 0.
    pub crowd: u32,
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
            crowd: 0,
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
                write!(f, "{n}: use 1 to {MAX_HOSTS} hosts and at most one address per host")
            }
            StartError::NoDomain => f.write_str(
                "hosts that share an address need names; add --names, for example --names mock.test",
            ),
            StartError::Clock(cause) => cause.fmt(f),
            StartError::Listen { at, cause } => write!(f, "cannot listen on {at}: {cause}"),
            StartError::NoFreePort => f.write_str("found no port that is free on every address; set --port"),
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
        write!(f, "no cycle {}: the last one is {}", self.cycle, self.last)
    }
}

impl std::error::Error for ClockError {}
