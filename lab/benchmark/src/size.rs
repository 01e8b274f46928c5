//! Size of a run, and its folder.

use crate::stream::LinkStream;
use crate::web::Web;
use recrawl_verifier::BatchLimits;
use std::path::PathBuf;

/// The options that all contenders share.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct BenchmarkSize {
    /// Known pages.
    #[arg(long, default_value_t = 1_000_000)]
    pub pages: u64,
    /// Links per cycle; by default half the pages, at most 5 million.
    #[arg(long)]
    pub checks: Option<u64>,
    /// Links that a visited page has, of which none was merged before: 60 of a new page, 4 a visit on recorded webs.
    #[arg(long, default_value_t = 60)]
    pub links_a_page: u64,
    /// Number of consecutive cycles.
    #[arg(long, default_value_t = 3)]
    pub cycles: u64,
    /// Share of a visited site's pages that a cycle visits: the lower, the more sites.
    #[arg(long, default_value_t = 0.05)]
    pub visited_share: f64,
    /// Memory of the batch of our verifier in MiB, as `storage.batch_memory`
    #[arg(long, default_value_t = 64)]
    pub batch_memory: u64,
    /// Memory of each contender in MiB, page cache included.
    #[arg(long, default_value_t = 2048)]
    pub memory: u64,
    /// Seconds after which a store with point lookups stops a cycle.
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Folder for the contenders' files, which are removed afterwards.
    #[arg(long, default_value = "data/bench-verifier")]
    pub dir: PathBuf,
}

/// Default maximum of links per cycle.
const DEFAULT_CHECKS: u64 = 5_000_000;

impl BenchmarkSize {
    /// Links per cycle.
    pub fn checks(&self) -> u64 {
        self.checks.unwrap_or((self.pages / 2).clamp(1, DEFAULT_CHECKS))
    }

    /// The stream.
    pub fn stream<'w>(&self, web: &'w Web) -> LinkStream<'w> {
        LinkStream {
            web,
            checks: self.checks(),
            links_a_page: self.links_a_page,
            visited_share: self.visited_share,
        }
    }

    /// Limits of our verifier's batch.
    pub fn batch_limits(&self) -> BatchLimits {
        BatchLimits { memory_bytes: (self.batch_memory << 20) as usize }
    }

    /// Memory of each contender in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory << 20
    }

    /// The same, as command-line options.
    pub fn arguments(&self) -> Vec<String> {
        let options = [
            ("pages", self.pages.to_string()),
            ("checks", self.checks().to_string()),
            ("links-a-page", self.links_a_page.to_string()),
            ("cycles", self.cycles.to_string()),
            ("visited-share", self.visited_share.to_string()),
            ("batch-memory", self.batch_memory.to_string()),
            ("memory", self.memory.to_string()),
            ("seconds", self.seconds.to_string()),
            ("seed", self.seed.to_string()),
            ("dir", self.dir.display().to_string()),
        ];
        options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect()
    }
}
