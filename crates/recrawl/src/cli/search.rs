//! Arguments of `recrawl search`.

use super::OnCrawl;
use clap::Args;
use recrawl_types::Span;

/// `recrawl search`
#[derive(Args)]
pub struct SearchArgs {
    /// Words; "several words" stand side by side, and -word must not be there
    #[arg(required = true, value_name = "WORDS", allow_hyphen_values = true)]
    pub words: Vec<String>,
    /// Only pages of this host, or of a domain as `*.example.com`; `*` for all
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Only pages with a new text of this long until now, such as '7 d'
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    pub changed_since: Option<Span>,
    /// Show the newest texts first, instead of the best
    #[arg(long)]
    pub newest: bool,
    /// Maximum number of pages
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
    #[command(flatten)]
    pub on: OnCrawl,
}
