//! `recrawl report HOST`: what a site owner asks.

use super::{print_json, print_labelled};
use crate::cli::ReportArgs;
use crate::daemon::{Daemon, ReadsApi, encoded};
use crate::report::host_report::{HostReport, HostSources};
use recrawl_crawl::admission::named_host::NamedHost;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;

pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let settings = args.at.settings_to_read()?;
    let name = &args.host;
    let named = NamedHost::parse(name).map_err(Failure::Usage)?;
    let unknown = || Failure::Work(format!("{name}: unknown host; `recrawl status` lists the largest hosts"));
    if let Some(daemon) = Daemon::beside(&settings.data_dir) {
        let path = format!("/api/v1/hosts/{}/report?cycles={}", encoded(name), args.cycles);
        return match args.json {
            true => print_json(&daemon.json(&path)?.ok_or_else(unknown)?),
            false => print_labelled(&daemon.text(&path)?.ok_or_else(unknown)?),
        };
    }
    let tables =
        open_read::tables(&settings.data_dir).map_err(|why| Failure::Work(format!("{name}: {why}")))?;
    let repository = open_read::repository(&settings)?;
    let decided = open_read::decisions(&settings.data_dir, || Ok(tables.clone()))?;
    let sources = HostSources {
        settings: &settings,
        tables: &tables,
        generation: &repository.current(),
        kept: &repository.kept(),
        decided: &decided,
        now: recrawl_fetcher::system_clock()(),
    };
    let report = HostReport::for_host(&sources, &named, args.cycles as usize)?.ok_or_else(unknown)?;
    if args.json { print_json(&report.json()) } else { print_labelled(report.text()) }
}
