//! How large a run is, and where it may write.

use crate::stream::Stream;
use crate::web::Web;
use std::path::PathBuf;

/// What all contenders are given alike.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct Size {
    /// Known pages.
    #[arg(long, default_value_t = 1_000_000)]
    pub pages: u64,
    /// Links of a cycle; without, half the pages, at most 5 million.
    #[arg(long)]
    pub checks: Option<u64>,
    /// Cycles in a row.
    #[arg(long, default_value_t = 3)]
    pub cycles: u64,
    /// Of each site that a cycle visits, the part of its pages that it visits: the less, the more sites.
    #[arg(long, default_value_t = 0.05)]
    pub visited_share: f64,
    /// Memory of each contender, page cache included, in MiB.
    #[arg(long, default_value_t = 2048)]
    pub memory: u64,
    /// A store that is asked point by point stops a cycle after so many seconds.
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
    /// Where chance comes from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// A folder for the contenders' files, which are removed afterwards.
    #[arg(long, default_value = "data/bench-verifier")]
    pub dir: PathBuf,
}

/// The most links of a cycle that nobody asked for otherwise.
const DEFAULT_CHECKS: u64 = 5_000_000;

impl Size {
    /// Links of a cycle.
    pub fn checks(&self) -> u64 {
        self.checks.unwrap_or((self.pages / 2).clamp(1, DEFAULT_CHECKS))
    }

    /// The stream.
    pub fn stream<'w>(&self, web: &'w Web) -> Stream<'w> {
        Stream { web, checks: self.checks(), visited_share: self.visited_share }
    }

    /// Bytes of memory for each contender.
    pub fn memory_bytes(&self) -> u64 {
        self.memory << 20
    }

    /// The same, as options of the command line.
    pub fn arguments(&self) -> Vec<String> {
        let options = [
            ("pages", self.pages.to_string()),
            ("checks", self.checks().to_string()),
            ("cycles", self.cycles.to_string()),
            ("visited-share", self.visited_share.to_string()),
            ("memory", self.memory.to_string()),
            ("seconds", self.seconds.to_string()),
            ("seed", self.seed.to_string()),
            ("dir", self.dir.display().to_string()),
        ];
        options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect()
    }
}
