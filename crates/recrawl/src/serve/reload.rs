//! Reloads the configuration: applies what can change in a running crawl, and names what cannot.

use super::shared_state::SharedState;
use crate::notifier;
use crate::tokens::tokens_of;
use recrawl_console::{RunningConsole, Tokens};
use recrawl_crawl::config::{Config, Log, Serve};
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::convert;
use recrawl_crawl::settings::Settings;
use recrawl_terminal::logging;
use std::sync::atomic::Ordering::Release;

/// Reads the configuration and puts it into force between two rounds. An invalid one changes
/// nothing.
pub fn reload(crawl: &mut Crawl, shared: &SharedState, console: &RunningConsole) {
    match read(shared).and_then(|fresh| put_in_force(fresh, crawl, shared, console)) {
        Ok(ChangedKeys { taken, left }) => {
            let answer = || tracing::info!(taken = taken.join(" "), "configuration reloaded");
            // Log this with the more verbose of the two filters.
            let is_heard = tracing::enabled!(tracing::Level::INFO);
            if is_heard {
                answer();
            }
            logging::refilter(&crawl.settings.config.log);
            if !is_heard {
                answer();
            }
            if !left.is_empty() {
                let keys = left.join(", ");
                tracing::warn!("restart the daemon to apply changes of: {keys}");
            }
        }
        Err(failure) => tracing::error!("kept the previous configuration: {failure}"),
    }
}

/// Keys with a new value.
#[derive(Debug, PartialEq)]
struct ChangedKeys {
    /// Applied.
    taken: Vec<String>,
    /// Applied at the next start.
    left: Vec<String>,
}

/// A configuration that can be put in force.
pub struct FreshConfiguration {
    settings: Settings,
    tokens: Option<Tokens>,
    changes: ChangedKeys,
}

/// Reads the configuration, and checks all that can be wrong with it. Who asks for a reload is told at once, and not
/// only the log when the round has ended.
///
/// # Errors
/// The fault of a configuration.
pub fn read(shared: &SharedState) -> Result<FreshConfiguration, Failure> {
    let mut fresh = shared.place.settings()?;
    fresh.use_contact(shared.contact.as_deref())?;
    let old = shared.settings();
    let (config, changes) = merge(&old.config, fresh.config);
    let mut settings = Settings::check(config).map_err(Failure::Usage)?;
    settings.data_dir.clone_from(&old.data_dir);
    settings.follow_folder()?;
    settings.admit_seed_sites(&shared.tables, &[])?;
    settings.scope.refuse_taken_down(shared.control.decided().taken_down.clone());
    settings.scope.read_opt_out().map_err(Failure::Usage)?;
    recrawl_crawl::contact_check::check_known(&settings, &shared.generation())?;
    notifier::check(&settings)?;
    convert::check_programs(&settings.pages)?;
    let tokens = tokens_of(&settings)?;
    Ok(FreshConfiguration { settings, tokens, changes })
}

fn put_in_force(
    FreshConfiguration { settings, tokens, changes }: FreshConfiguration,
    crawl: &mut Crawl,
    shared: &SharedState,
    console: &RunningConsole,
) -> Result<ChangedKeys, Failure> {
    crawl.pings.set_min_trust(settings.config.hints.min_trust.0);
    let has_other_requests = settings.fetch != crawl.settings.fetch;
    let before = std::mem::replace(&mut crawl.settings, settings);
    if has_other_requests && let Err(failure) = crawl.renew_fetcher() {
        crawl.settings = before;
        return Err(failure);
    }
    shared.set_settings(&crawl.settings);
    shared.reloads.fetch_add(1, Release);
    // The file may have changed since the signal.
    console.set_tokens(tokens);
    shared.next.reread(&crawl.settings);
    shared.refresh_improve();
    Ok(changes)
}

/// The new configuration, with the old values of all keys that are fixed for the process or the
/// repository.
fn merge(old: &Config, fresh: Config) -> (Config, ChangedKeys) {
    let mut merged = fresh.clone();
    merged.storage.data_dir.clone_from(&old.storage.data_dir);
    merged.storage.keep_visits = old.storage.keep_visits;
    merged.storage.reserve = old.storage.reserve;
    merged.storage.vault.clone_from(&old.storage.vault);
    merged.urls.clone_from(&old.urls);
    merged.change.features = old.change.features;
    merged.serve = Serve { tokens: fresh.serve.tokens.clone(), ..old.serve.clone() };
    let filter = if logging::is_chosen() { &old.log.filter } else { &fresh.log.filter };
    merged.pings.websub.clone_from(&old.pings.websub);
    merged.log = Log { filter: filter.clone(), ..old.log.clone() };
    let changes = ChangedKeys { taken: differing(old, &merged), left: differing(&fresh, &merged) };
    (merged, changes)
}

/// The keys in which two configurations differ, as `table.key`.
fn differing(a: &Config, b: &Config) -> Vec<String> {
    let keys = |config: &Config| {
        let tables = toml::Table::try_from(config).expect("the configuration is a table of tables");
        let mut keys = std::collections::BTreeMap::new();
        for (table, value) in tables {
            match value {
                toml::Value::Table(inner) => {
                    keys.extend(inner.into_iter().map(|(key, value)| (format!("{table}.{key}"), value)));
                }
                other => drop(keys.insert(table, other)),
            }
        }
        keys
    };
    let (a, b) = (keys(a), keys(b));
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    names.into_iter().filter(|name| a.get(*name) != b.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_change_does_and_what_cannot_is_named() {
        let old = Config::default();
        let text = "[politeness]\ndelay_per_host = \"3 s\"\n[cycle]\ndeadline = \"2 h\"\n[serve]\nlisten = \"127.0.0.1:1\"\n\
                    tokens = \"t\"\n[storage]\ndata_dir = \"other\"\narchive = false\n[urls]\ndrop_parameters = []\n\
                    [scope]\nrefuse_hosts = [\"a.test\"]\n[log]\nfilter = \"warn\"\nformat = \"json\"";
        let fresh: Config = toml::from_str(text).unwrap();
        let (merged, ChangedKeys { taken, left }) = merge(&old, fresh);
        assert_eq!(
            taken,
            [
                "cycle.deadline",
                "log.filter",
                "politeness.delay_per_host",
                "scope.refuse_hosts",
                "serve.tokens",
                "storage.archive"
            ]
        );
        assert_eq!(left, ["log.format", "serve.listen", "storage.data_dir", "urls.drop_parameters"]);
        assert_eq!((merged.serve.listen, merged.storage.data_dir), (old.serve.listen, old.storage.data_dir));
        assert_eq!(merged.politeness.delay_per_host.0.as_secs(), 3);
        let (_, none) = merge(&Config::default(), Config::default());
        assert_eq!(none, ChangedKeys { taken: vec![], left: vec![] });
    }
}
