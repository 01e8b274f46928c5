//! Arguments of `recrawl watch`.

use super::{OnCrawl, web_address};
use clap::Args;
use recrawl_types::Span;

/// `recrawl watch`
#[derive(Args)]
pub struct WatchArgs {
    /// URLs of the pages; https is assumed
    #[arg(value_name = "URL", value_parser = web_address, required = true)]
    pub urls: Vec<String>,
    /// CSS selector of what counts, such as `.price`. Default: the whole page
    #[arg(long, value_name = "SELECTOR")]
    pub select: Option<String>,
    /// Let a browser run the page's scripts, at each visit
    #[arg(long)]
    pub render: bool,
    /// Tell only while the first number of the text is below this one; of a watched page, it changes the number
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = number)]
    pub below: Option<f64>,
    /// How often to look [default: 1 h]
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    pub every: Option<Span>,
    /// Target of messages: ntfy://ntfy.sh/TOPIC, slack://…, discord://…, mailto:…, https://… or http://…
    #[arg(long, value_name = "TARGET")]
    pub to: Option<String>,
    #[command(flatten)]
    pub on: OnCrawl,
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "write a number, such as 15 or 19.90".to_owned())
}
