//! Checks the limit of open files before anything is changed: a crawl that reached it later could
//! neither connect to hosts nor open the files of a commit.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files open besides connections: repository, tables, archive and logs.
const OWN: u64 = 256;

/// Ensures that all connections can be open at a time, those of the fetcher and `console` of the
/// console, by raising the soft limit. If the idle connections of `fetch.open_hosts` do not fit
/// too, fewer hosts are open.
///
/// # Errors
/// [`Failure::Usage`] when the hard limit is lower than the configuration needs.
pub fn make_room(settings: &mut Settings, console: u32) -> Result<(), Failure> {
    let limit = getrlimit(Resource::Nofile);
    let raised = raise(settings, console, limit.current, limit.maximum).map_err(Failure::Usage)?;
    let fitting = fitting_hosts(settings, console, limit.maximum);
    if fitting < settings.fetch.open_hosts {
        tracing::warn!(
            fetch.open_hosts = fitting,
            "reduced fetch.open_hosts: the limit of open files is too low; raise it (ulimit -Hn)"
        );
        settings.fetch.open_hosts = fitting;
    }
    let Some(raised) = raised else {
        return Ok(());
    };
    let limit = Rlimit { current: raised, maximum: limit.maximum };
    setrlimit(Resource::Nofile, limit)
        .map_err(|e| Failure::Work(format!("cannot raise the limit of open files: {e}")))
}

/// How many of the configured hosts may be open at a time; each may keep idle connections for its
/// next requests.
fn fitting_hosts(settings: &Settings, console: u32, hard: Option<u64>) -> usize {
    let others = u64::from(settings.config.fetch.connections) + u64::from(console) + OWN;
    let idle = u64::from(settings.config.politeness.connections_per_host.max(1));
    let fitting = hard.map_or(u64::MAX, |hard| hard.saturating_sub(others) / idle);
    settings.fetch.open_hosts.min(usize::try_from(fitting.max(1)).unwrap_or(usize::MAX))
}

/// The new soft limit, if it must change.
fn raise(
    settings: &Settings,
    console: u32,
    soft: Option<u64>,
    hard: Option<u64>,
) -> Result<Option<Option<u64>>, String> {
    let fetch = &settings.config.fetch;
    let needed = u64::from(fetch.connections) + u64::from(console) + OWN;
    if let Some(hard) = hard.filter(|hard| *hard < needed) {
        let serve = if console > 0 { format!(" + serve.connections {console}") } else { String::new() };
        return Err(format!(
            "recrawl needs {needed} open files (fetch.connections {}{serve} + {OWN} internal), but the limit is \
             {hard}; raise the hard limit (ulimit -Hn, LimitNOFILE= in systemd) or set fewer connections",
            fetch.connections
        ));
    }
    // Each open host may keep a connection for its next request.
    let welcome =
        needed + u64::from(fetch.open_hosts) * u64::from(settings.config.politeness.connections_per_host);
    Ok(soft.is_some_and(|soft| soft < welcome).then_some(hard).filter(|hard| *hard != soft))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::config::Config;

    #[test]
    fn the_limit_is_raised_where_it_may_be_and_named_where_it_may_not() {
        let settings = Settings::check(Config::default()).unwrap();
        let console = settings.config.serve.connections;
        let raise = |soft, hard| raise(&settings, console, soft, hard);
        assert_eq!(raise(Some(4096), Some(8192)), Ok(None), "it is enough");
        assert_eq!(raise(Some(1024), Some(8192)), Ok(Some(Some(8192))));
        assert_eq!(raise(Some(1024), None), Ok(Some(None)));
        assert_eq!(raise(Some(1024), Some(1024)), Ok(None), "enough for what must be, and all there is");
        let fitting = |hard| fitting_hosts(&settings, console, hard);
        assert_eq!([fitting(None), fitting(Some(1024)), fitting(Some(768))], [512, 256, 1]);
        let text = raise(Some(512), Some(512)).unwrap_err();
        assert!(text.contains("768 open files") && text.contains("LimitNOFILE"), "{text}");
        let text = super::raise(&settings, 0, Some(100), Some(100)).unwrap_err();
        assert!(text.contains("512 open files") && !text.contains("serve.connections"), "{text}");
    }

    #[test]
    fn the_machines_own_limit_is_enough_for_a_test() {
        let mut settings = Settings::check(Config::default()).unwrap();
        settings.config.fetch.connections = 1;
        make_room(&mut settings, 1).unwrap();
        assert!(getrlimit(Resource::Nofile).current.is_none_or(|now| now >= OWN + 2));
    }
}
