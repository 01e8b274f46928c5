//! The limit of open files, checked before anything is touched: a crawl that meets it halfway fails in odd places.

use crate::failure::Failure;
use crate::settings::Settings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open besides connections: the repository's, the tables', archive and logs.
const OWN: u64 = 256;

/// Sees to it that all connections can be open at a time: raises the limit as far as the system lets it.
///
/// # Errors
/// [`Failure::Usage`] when the hard limit is below what the configuration asks for.
pub fn make_room(settings: &Settings) -> Result<(), Failure> {
    let limit = getrlimit(Resource::Nofile);
    let Some(raised) = raise(settings, limit.current, limit.maximum).map_err(Failure::Usage)? else {
        return Ok(());
    };
    let limit = Rlimit { current: raised, maximum: limit.maximum };
    setrlimit(Resource::Nofile, limit)
        .map_err(|e| Failure::Work(format!("the limit of open files cannot be raised: {e}")))
}

/// The soft limit to be set, if another is.
fn raise(settings: &Settings, soft: Option<u64>, hard: Option<u64>) -> Result<Option<Option<u64>>, String> {
    let (fetch, serve) = (&settings.config.fetch, &settings.config.serve);
    let needed = u64::from(fetch.connections) + u64::from(serve.connections) + OWN;
    if hard.is_some_and(|hard| hard < needed) {
        return Err(format!(
            "{needed} files must be open at a time (fetch.connections {} + serve.connections {} + {OWN} of our own), \
             and the system lets us have {}: raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd), or set \
             fewer connections",
            fetch.connections,
            serve.connections,
            hard.unwrap_or_default()
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
    use crate::config::Config;

    #[test]
    fn the_limit_is_raised_where_it_may_be_and_named_where_it_may_not() {
        let settings = Settings::check(Config::default()).unwrap();
        let raise = |soft, hard| raise(&settings, soft, hard);
        assert_eq!(raise(Some(4096), Some(8192)), Ok(None), "it is enough");
        assert_eq!(raise(Some(1024), Some(8192)), Ok(Some(Some(8192))));
        assert_eq!(raise(Some(1024), None), Ok(Some(None)));
        assert_eq!(raise(Some(1024), Some(1024)), Ok(None), "enough for what must be, and all there is");
        let text = raise(Some(512), Some(512)).unwrap_err();
        assert!(text.contains("768 files") && text.contains("LimitNOFILE"), "{text}");
    }

    #[test]
    fn the_machines_own_limit_is_enough_for_a_test() {
        let mut settings = Settings::check(Config::default()).unwrap();
        settings.config.fetch.connections = 1;
        settings.config.serve.connections = 1;
        make_room(&settings).unwrap();
        assert!(getrlimit(Resource::Nofile).current.is_none_or(|now| now >= OWN + 2));
    }
}
