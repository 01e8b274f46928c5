//! Crawling beyond loopback requires `crawler.contact`, after a [first look](crate::first_look).
//!
//! This module checks the hosts known at the start, before anything is changed. Hosts found later,
//! by links, redirects or names, are refused by the fetcher's address guard when it connects.

use crate::failure::Failure;
use crate::first_look::{FirstLookFile, MAX_REQUESTS};
use crate::settings::Settings;
use recrawl_fetcher::FirstLook as _;
use recrawl_repository::{Generation, OriginRun};
use recrawl_types::CanonicalUrl;
use recrawl_types::host::{is_within, literal};
use std::cell::LazyCell;

/// Checks that these pages may be fetched.
///
/// # Errors
/// [`Failure::Usage`], naming the first host that may not.
pub fn check_pages(settings: &Settings, pages: &[CanonicalUrl]) -> Result<(), Failure> {
    // If the configuration names no hosts, those of the seeds are in scope.
    let has_hosts = !settings.config.scope.hosts.is_empty();
    let mut belong = pages.iter().filter(|url| !has_hosts || settings.scope.admits(url));
    let is_over = LazyCell::new(|| FirstLookFile::in_folder(&settings.data_dir).is_over());
    belong.try_for_each(|url| check(settings, &url.host(), || !*is_over))
}

/// Is the first look over without a contact? Then the crawl requests nothing beyond loopback.
pub fn is_missing(settings: &Settings) -> bool {
    settings.fetch.contact.is_none() && FirstLookFile::in_folder(&settings.data_dir).is_over()
}

/// Does a request for this page count for the first look?
pub fn needs_look(settings: &Settings, url: &CanonicalUrl) -> bool {
    settings.fetch.contact.is_none() && !is_loopback(settings, &url.host())
}

/// Begins the first look at the hosts of these seeds, as far as it is needed. Returns whether it has them now. The data
/// directory exists.
///
/// # Errors
/// When it cannot be written down.
pub fn look_at(settings: &Settings, seeds: &[CanonicalUrl]) -> Result<bool, Failure> {
    let needs = |seed: &&CanonicalUrl| !is_loopback(settings, &seed.host());
    let outside: Vec<CanonicalUrl> = seeds.iter().filter(needs).cloned().collect();
    let look = FirstLookFile::in_folder(&settings.data_dir);
    if settings.fetch.contact.is_some() || outside.is_empty() || look.is_over() {
        return Ok(false);
    }
    look.admit(&outside)?;
    Ok(true)
}

/// Checks that the in-scope hosts of a repository may be fetched. If some of them are loopback
/// hosts, it is a crawl of a local web, which a link to the outside must not end: then the address
/// guard refuses outside hosts one by one.
///
/// # Errors
/// As [`check_pages`], if no host may be fetched.
pub fn check_known(settings: &Settings, generation: &Generation) -> Result<(), Failure> {
    if settings.fetch.contact.is_some() {
        return Ok(());
    }
    let mut runs = generation.origin_runs();
    let mut home = || runs.next_run()?.map(OriginRun::home).transpose().map_err(Failure::work);
    check_homes(settings, std::iter::from_fn(|| home().transpose()))
}

fn check_homes(
    settings: &Settings,
    homes: impl Iterator<Item = Result<CanonicalUrl, Failure>>,
) -> Result<(), Failure> {
    let (mut outside, look) = (None, FirstLookFile::in_folder(&settings.data_dir));
    for home in homes {
        let home = home?;
        if settings.scope.admits_host(&home.host()) {
            match check(settings, &home.host(), || look.admits(&home.host())) {
                Ok(()) => return Ok(()),
                Err(failure) => outside = outside.or(Some(failure)),
            }
        }
    }
    outside.map_or(Ok(()), Err)
}

fn check(settings: &Settings, host: &str, is_looked_at: impl FnOnce() -> bool) -> Result<(), Failure> {
    if settings.fetch.contact.is_some() || is_loopback(settings, host) || is_looked_at() {
        return Ok(());
    }
    let why = match FirstLookFile::in_folder(&settings.data_dir).is_over() {
        true => format!("the first {MAX_REQUESTS} requests, which need no contact, are made"),
        false => "only the first look at the seeds' own hosts needs no contact".into(),
    };
    Err(Failure::Usage(format!(
        "cannot crawl {host} without crawler.contact: {why}. Set it, or --contact, to an e-mail address or URL at which \
         site owners can reach you"
    )))
}

/// Is the host on this machine: by its address, by `dns.overrides`, or by its name (RFC 6761 §6.3)?
fn is_loopback(settings: &Settings, host: &str) -> bool {
    match literal(host).or(settings.fetch.dns_overrides.get(host).copied()) {
        Some(address) => address.to_canonical().is_loopback(),
        None => is_within(host, "localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// The settings in a data directory whose first look is over.
    fn settings(config: &str) -> (Settings, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("first-look.json"), "{\"requests\":100,\"hosts\":[]}").unwrap();
        let mut settings = Settings::check(toml::from_str::<Config>(config).unwrap()).unwrap();
        settings.data_dir = folder.path().into();
        (settings, folder)
    }

    fn refused(config: &str, url: &str) -> bool {
        let (settings, _folder) = settings(config);
        let url = settings.rules.canonicalize(url).unwrap();
        match check_pages(&settings, &[url]) {
            Ok(()) => false,
            Err(failure) => {
                assert!(failure.is_usage() && failure.to_string().contains("crawler.contact"));
                true
            }
        }
    }

    #[test]
    fn only_the_loopback_is_crawled_without_a_contact() {
        const NAMES: &str = "[dns.overrides]\n\"In.test.\" = \"127.0.0.9\"\n\"out.test\" = \"9.9.9.9\"\n\"mapped.test\" = \"::ffff:127.0.0.1\"";
        for (config, url, expected) in [
            ("", "http://127.0.0.1:8000/", false),
            ("", "http://[::1]/", false),
            ("", "http://localhost/", false),
            ("", "http://a.localhost/", false),
            ("", "https://example.com/", true),
            ("", "http://9.9.9.9/", true),
            ("", "http://10.0.0.1/", true),
            ("", "http://localhost.example/", true),
            (NAMES, "http://in.test/", false),
            (NAMES, "http://mapped.test/", false),
            (NAMES, "http://out.test/", true),
            ("[crawler]\ncontact = \"  \"", "https://example.com/", true),
            ("[crawler]\ncontact = \"me@example.org\"", "https://example.com/", false),
            // Pages out of scope are not crawled.
            ("[scope]\nhosts = [\"a.test\"]", "https://example.com/", false),
            ("[scope]\nhosts = [\"*\"]", "https://example.com/", true),
        ] {
            assert_eq!(refused(config, url), expected, "{config} {url}");
        }
    }

    #[test]
    fn a_known_host_outside_ends_no_crawl_of_the_loopback() {
        let (settings, _folder) = settings("[scope]\nhosts = [\"*\"]");
        let known = |text: &str| settings.rules.canonicalize(text).unwrap();
        let check_homes = |homes: &[CanonicalUrl]| check_homes(&settings, homes.iter().cloned().map(Ok));
        let (ours, theirs) = (known("http://127.0.0.1/"), known("http://169.254.169.254/"));
        assert!(check_homes(&[]).is_ok());
        assert!(check_homes(&[theirs.clone(), ours]).is_ok());
        assert!(check_homes(&[theirs]).unwrap_err().to_string().contains("169.254.169.254"));
    }

    #[test]
    fn a_first_look_is_at_the_hosts_of_the_seeds() {
        let (mut settings, folder) = settings("");
        settings.data_dir = folder.path().join("new");
        let known = |text: &str| settings.rules.canonicalize(text).unwrap();
        let (seed, other) = (known("https://example.com/"), known("https://example.org/"));
        assert!(check_pages(&settings, std::slice::from_ref(&seed)).is_ok());
        std::fs::create_dir(&settings.data_dir).unwrap();
        FirstLookFile::in_folder(&settings.data_dir).admit(std::slice::from_ref(&seed)).unwrap();
        let check_homes = |home: &CanonicalUrl| check_homes(&settings, [Ok(home.clone())].into_iter());
        let mut scope = settings.scope.clone();
        scope.admit_sites(["example.com".to_owned(), "example.org".to_owned()]);
        let settings = Settings { scope, ..settings.clone() };
        let homes = |home: &CanonicalUrl| super::check_homes(&settings, [Ok(home.clone())].into_iter());
        assert!(homes(&seed).is_ok() && check_homes(&other).is_ok(), "out of scope");
        assert!(homes(&other).unwrap_err().to_string().contains("seeds' own hosts"));
    }
}
