//! Configuration and start errors of a server.

use crate::fault::FaultRule;
use crate::ledger::AccessLogError;
use crate::procedural::{ProceduralConfig, ProceduralError};
use crate::recording::RecordingError;
use crate::replay::ReplayConfig;
use crate::sites::MAX_HOSTS;
use crate::validators::Validators;
use std::net::SocketAddrV4;
use std::path::PathBuf;

/// Which web to serve.
#[derive(Clone, Debug)]
pub enum WebConfig {
    /// A generated web.
    Procedural(ProceduralConfig),
    /// A recorded web.
    Replay(ReplayConfig),
}

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The web.
    pub web: WebConfig,
    /// Port of all hosts; 0 finds a port that is free on all addresses.
    pub port: u16,
    /// Port of the control interface on 127.0.0.1; 0 finds a free port.
    pub control_port: u16,
    /// Server threads.
    pub threads: usize,
    /// With `mock.test`, hosts are also called `h1.mock.test`, `h2.mock.test` and so on.
    pub domain: Option<String>,
    /// Number of addresses to share among hosts; `None` for one per host. Fewer than hosts need a
    /// domain.
    pub addresses: Option<u32>,
    /// Number of last hosts that share the last address, without other hosts on it. Above 0 it
    /// needs a domain.
    pub crowd: u32,
    /// Cycle of the clock at the start.
    pub cycle: u32,
    /// Share of hosts, 0 to 1, whose responses differ slightly each time.
    pub noise: f64,
    /// Validators to send.
    pub validators: Validators,
    /// Compress with gzip on request.
    pub gzip: bool,
    /// Are pages made by script? Then they are sent as shells without text and links.
    pub scripted: bool,
    /// Have pages style sheets and images?
    pub requisites: bool,
    /// Key of IndexNow, which every host has in the file /KEY.txt.
    pub ping_key: Option<String>,
    /// Fault rules.
    pub faults: Vec<FaultRule>,
    /// File of the access log; `None` for memory. An existing file is continued, and held versions
    /// and counts are restored from it.
    pub log: Option<PathBuf>,
    /// Lines of the log kept in memory.
    pub max_log_lines: usize,
}

impl Config {
    /// A web with the defaults: free ports, one thread, strong validators, no noise, no faults.
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
            scripted: false,
            requisites: false,
            ping_key: None,
            faults: Vec::new(),
            log: None,
            max_log_lines: 200_000,
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The generated web is invalid.
    #[error("{0}")]
    Procedural(ProceduralError),
    /// The recording cannot be read.
    #[error("{0}")]
    Recording(RecordingError),
    /// The log cannot be continued.
    #[error("{0}")]
    Log(AccessLogError),
    /// More than [`MAX_HOSTS`] hosts, or no address, or more addresses than hosts.
    #[error("{0}: use 1 to {MAX_HOSTS} hosts and at most one address per host")]
    Hosts(u32),
    /// Hosts share addresses but have no names.
    #[error("hosts that share an address need names; add --names, for example --names mock.test")]
    NoDomain,
    /// The clock cannot be set to this cycle.
    #[error("{0}")]
    Clock(ClockError),
    /// A listener cannot be opened.
    #[error("cannot listen on {at}: {cause}")]
    Listen {
        /// The address.
        at: SocketAddrV4,
        /// The system's error.
        cause: std::io::Error,
    },
    /// No port was found that is free on every address.
    #[error("found no port that is free on every address; set --port")]
    NoFreePort,
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(std::io::Error),
}

/// A cycle that the web does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no cycle {cycle}: the last one is {last}")]
pub struct ClockError {
    /// The requested cycle.
    pub cycle: u64,
    /// The last cycle.
    pub last: u32,
}
