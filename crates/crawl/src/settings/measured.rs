//! Whether the shares and limits leave a measured crawl (`improve.mode`) what it needs: which one binds, and what would
//! do.

use crate::config::Config;
use crate::config::units::Amount;
use crate::parts::improve::rules::MIN_KEPT_CYCLES;

/// Pages of the audit share at least: the panel takes a quarter of them, and a candidate's choice another.
const MIN_AUDIT: u64 = 4;

/// Checks the configuration of a crawl that is measured; `learns`: it also learns formulas.
///
/// # Errors
/// The key that binds, and a value that would do.
pub fn check(config: &Config, learns: bool) -> Result<(), String> {
    let cycle = &config.cycle;
    let mode = format!("improve.mode = {:?}", config.improve.mode);
    let audit = cycle.audit_share.0;
    if audit == 0.0 {
        return Err(format!("cycle.audit_share is 0, and {mode} measures by it; set it to 0.02"));
    }
    let shares = [
        ("cycle.discovery_share", cycle.discovery_share.least()),
        ("cycle.announced_share", cycle.announced_share.0),
        ("cycle.audit_share", audit),
    ];
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if sum >= 1.0 {
        let (key, share) = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are three");
        return Err(format!(
            "cycle.discovery_share, announced_share and audit_share leave nothing of k to the score, which {mode} \
             measures; {key} is the largest, set it below {share}"
        ));
    }
    // A share of the known pages cannot be judged yet: their number changes.
    if let Amount::Pages(pages) = cycle.pages {
        let pages = pages.max(cycle.pages_min);
        if audit * (pages as f64) < MIN_AUDIT as f64 {
            let todo = match MIN_AUDIT as f64 / pages.max(1) as f64 {
                share if share <= 0.5 => format!("set it to at least {share:.4}"),
                _ => format!("set cycle.pages to at least {}", 2 * MIN_AUDIT),
            };
            return Err(format!(
                "cycle.audit_share {audit} of {pages} pages a cycle is less than {MIN_AUDIT} pages, which {mode} needs for \
                 its audit sample and its panel; {todo}"
            ));
        }
    }
    let kept = config.storage.keep_visits;
    // Measuring alone needs no histories, but learning replays them.
    match (learns, kept) {
        (_, 0) => Err(format!("storage.keep_visits is 0, and {mode} keeps visits; set it to 100")),
        (true, kept) if kept < MIN_KEPT_CYCLES => Err(format!(
            "storage.keep_visits is {kept}, and {mode} learns from the visits of at least {MIN_KEPT_CYCLES} cycles; set it \
             to 100"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::units::{DiscoveryShare, Proportion};

    fn wrong(learns: bool, change: fn(&mut Config)) -> Option<String> {
        let mut config = Config::default();
        config.improve.mode = if learns { "propose" } else { "watch" }.into();
        change(&mut config);
        check(&config, learns).err()
    }

    #[test]
    fn what_leaves_nothing_is_named_with_what_would_do() {
        assert_eq!((wrong(false, |_| ()), wrong(true, |_| ())), (None, None));
        for (learns, change, parts) in [
            (
                false,
                (|c| c.cycle.audit_share = Proportion(0.0)) as fn(&mut Config),
                ["cycle.audit_share is 0", "improve.mode = \"watch\"", "set it to 0.02"],
            ),
            (
                true,
                |c| c.cycle.discovery_share = DiscoveryShare::Fixed(Proportion(0.89)),
                [
                    "leave nothing of k to the score",
                    "improve.mode = \"propose\"",
                    "cycle.discovery_share is the largest, set it below 0.89",
                ],
            ),
            (
                true,
                |c| c.cycle.pages = Amount::Pages(200),
                ["cycle.audit_share 0.01 of 200 pages", "less than 4 pages", "at least 0.0200"],
            ),
            (
                true,
                |c| (c.cycle.pages, c.cycle.pages_min) = (Amount::Pages(5), 0),
                ["of 5 pages", "less than 4 pages", "cycle.pages to at least 8"],
            ),
            (
                true,
                |c| c.storage.keep_visits = 0,
                ["storage.keep_visits is 0", "keeps visits", "set it to 100"],
            ),
            (
                true,
                |c| c.storage.keep_visits = 13,
                ["storage.keep_visits is 13", "at least 14 cycles", "set it to 100"],
            ),
        ] {
            let why = wrong(learns, change).unwrap();
            assert!(parts.iter().all(|part| why.contains(part)), "{why}");
        }
        assert_eq!(wrong(false, |c| c.storage.keep_visits = 13), None, "measuring alone needs no histories");
    }
}
