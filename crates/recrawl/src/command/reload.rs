//! `recrawl reload`: the running daemon reads its configuration again.

use super::control::tell;
use crate::cli::OnCrawl;
use crate::daemon::Daemon;
use recrawl_console::view::Change;
use recrawl_crawl::failure::Failure;

pub fn run(args: &OnCrawl) -> Result<(), Failure> {
    let settings = args.at.settings()?;
    let Some(daemon) = Daemon::in_charge(&settings.data_dir)? else {
        return Err(Failure::Usage(format!(
            "no daemon runs in {}; the next `recrawl serve` reads its configuration anyway",
            settings.data_dir.display()
        )));
    };
    tell(&daemon.make(&Change::Reload)?, args.json)
}
