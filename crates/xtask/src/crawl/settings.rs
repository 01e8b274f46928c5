//! The crawler's configuration for the recorded web: no delays on loopback, all new pages at once,
//! and the budget of the protocol.

use std::collections::BTreeSet;

/// Budget of discovery cycles: only first visits.
const DISCOVERY_BUDGET: &str = "pages = 0\npages_min = 0\nwarmup = 0\nrounds = 1";

/// The configuration of discovery cycles.
pub fn discovery(seeds: &[String]) -> String {
    configuration(seeds, DISCOVERY_BUDGET, None)
}

/// The configuration of later cycles. `share` is `"5%"` or a number of pages. Without a formula the
/// default applies.
pub fn recrawl(seeds: &[String], share: &str, formula: Option<&str>) -> String {
    let pages = if share.parse::<u64>().is_ok() { share.to_owned() } else { quoted(share) };
    // One round a cycle, since a row of the table is the report of a round.
    let warmup = super::plan::WARMUP_CYCLES;
    let budget = format!("pages = {pages}\npages_min = 1\nwarmup = {warmup}\nrounds = 1");
    configuration(seeds, &budget, formula)
}

fn configuration(seeds: &[String], budget: &str, formula: Option<&str>) -> String {
    let hosts: BTreeSet<&str> = seeds.iter().filter_map(|seed| host(seed)).collect();
    let hosts: Vec<String> = hosts.into_iter().map(quoted).collect();
    let schedule = formula.map(|f| format!("[schedule]\nformula = {}\n", quoted(f))).unwrap_or_default();
    format!(
        "# Written by `make crawl` for the recorded web; a change here is lost.\n\
         [cycle]\n{budget}\ndiscovery_share = 0.0\ndiscovery_min = 1000000\nfill = false\naudit_share = 0.0\n\
         [politeness]\ndelay_per_host = \"0 ms\"\ndelay_per_ip = \"0 ms\"\n\
         [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\nvalidator_checks = 0\n\
         [scope]\nhosts = [{}]\n{schedule}",
        hosts.join(", ")
    )
}

/// The host of `http://HOST:PORT/…`.
fn host(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split('/').next()?;
    Some(authority.rsplit_once(':').map_or(authority, |(host, _)| host))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_toml_and_names_each_host_once() {
        let seeds = ["http://127.1.0.2:8418/", "http://127.1.0.1:8418/", "http://127.1.0.1:8418/sitemap.xml"];
        let seeds = seeds.map(str::to_owned);
        let table: toml::Table = recrawl(&seeds, "5%", Some("t * \"X\"")).parse().expect("TOML");
        assert_eq!(table["cycle"]["pages"].as_str(), Some("5%"));
        assert_eq!(table["cycle"]["warmup"].as_integer(), Some(2));
        assert_eq!(table["schedule"]["formula"].as_str(), Some("t * \"X\""));
        let hosts = table["scope"]["hosts"].as_array().expect("a list");
        assert_eq!(hosts.iter().filter_map(|h| h.as_str()).collect::<Vec<_>>(), ["127.1.0.1", "127.1.0.2"]);
        let table: toml::Table = recrawl(&seeds, "40", None).parse().expect("TOML");
        assert_eq!(table["cycle"]["pages"].as_integer(), Some(40));
        assert_eq!(table["cycle"]["rounds"].as_integer(), Some(1));
        let table: toml::Table = discovery(&seeds).parse().expect("TOML");
        assert_eq!(table["cycle"]["warmup"].as_integer(), Some(0));
    }
}
