//! The hosts of the hostile web, by kind.

/// Hosts with many pages.
pub const LARGE: u32 = 64;
/// Hosts with one page.
pub const SINGLE: u32 = 64;
/// The last hosts with one page; they share one slow address.
pub const CROWD: u32 = 12;
/// The number of the first host with one page.
pub const FIRST_SINGLE: u32 = LARGE;

/// Prefix of links to a flood; it sorts before all other pages.
const FLOOD: &str = "/0";

/// A kind of host and its faults.
struct HostileKind {
    name: &'static str,
    hosts: u32,
    /// Fault rules without the host, assigned to the hosts in turn.
    rules: &'static [&'static str],
    /// Whether they apply in one cycle only.
    passing: bool,
}

/// In the order of the hosts.
const KINDS: [HostileKind; 8] = [
    HostileKind { name: "sound", hosts: 37, rules: &[], passing: false },
    HostileKind { name: "flood", hosts: 8, rules: &["/0=flood:60"], passing: false },
    HostileKind {
        name: "costly pages",
        hosts: 4,
        rules: &["/=costly@0.02:hr", "/=costly@0.02:misnested", "/=costly@0.02:table", "/=costly@0.02:deep"],
        passing: false,
    },
    HostileKind {
        name: "hollow bodies",
        hosts: 3,
        rules: &["/=hollow@0.02:members", "/=hollow@0.02:blocks", "/=hollow@0.02:frames"],
        passing: false,
    },
    HostileKind { name: "idle closes", hosts: 8, rules: &["/=idle:20"], passing: false },
    HostileKind { name: "busy robots", hosts: 4, rules: &["/robots.txt=busy:1"], passing: true },
    HostileKind { name: "one page", hosts: SINGLE - CROWD, rules: &[], passing: false },
    HostileKind { name: "one address", hosts: CROWD, rules: &["/=slow:4000"], passing: false },
];

/// One host.
pub struct HostileHost {
    /// Counted from 0.
    pub number: u32,
    /// Index of its kind in [`names`].
    pub kind: usize,
}

/// All hosts, in order.
pub fn hosts() -> Vec<HostileHost> {
    let kinds = KINDS.iter().enumerate().flat_map(|(kind, k)| (0..k.hosts).map(move |_| kind));
    kinds.zip(0..).map(|(kind, number)| HostileHost { number, kind }).collect()
}

/// Names of the kinds.
pub fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

/// Whether this path is in the flood.
pub fn is_flood(fault: Option<&str>) -> bool {
    fault == Some("flood")
}

impl HostileHost {
    /// The seeds of the host with index page `home`.
    pub fn entries(&self, home: &str) -> Vec<String> {
        let is_flooded = KINDS[self.kind].rules.iter().any(|rule| rule.starts_with(FLOOD));
        let flood = is_flooded.then(|| format!("{home}{}/bl/1", &FLOOD[1..]));
        [home.to_owned()].into_iter().chain(flood).collect()
    }
}

/// The fault rules in force.
pub fn rules(hosts: &[HostileHost], passing_too: bool) -> Vec<String> {
    let mut rules = Vec::new();
    for host in hosts {
        let kind = &KINDS[host.kind];
        if let Some(rule) = kind.rules.get(host.number as usize % kind.rules.len().max(1))
            && (passing_too || !kind.passing)
        {
            rules.push(format!("{}{rule}", host.number + 1));
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_dealt_and_each_fault_has_one() {
        let hosts = hosts();
        assert_eq!(hosts.len() as u32, LARGE + SINGLE);
        assert_eq!(KINDS[hosts[FIRST_SINGLE as usize].kind].name, "one page");
        let all = rules(&hosts, true);
        for rule in KINDS.iter().flat_map(|kind| kind.rules) {
            assert!(all.iter().any(|dealt| dealt.ends_with(rule)), "{rule}: {all:?}");
        }
        assert!(rules(&hosts, false).iter().all(|rule| !rule.contains("robots")), "these pass");
        assert_eq!(hosts[37].entries("http://h/"), ["http://h/", "http://h/0/bl/1"]);
        assert_eq!(hosts[0].entries("http://h/"), ["http://h/"]);
    }
}
