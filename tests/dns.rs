//! Names by a name server of our own: how long answers are kept, and names that change their mind.

use crate::harness::{World, count, web};
use recrawl_mockweb::dns::NameServer;
use recrawl_mockweb::trap::Trap;
use std::net::{IpAddr, Ipv4Addr};

/// A web whose names are known to this server alone, and `extra` TOML.
fn named(
    ttl: u32,
    answer: impl Fn(&str, usize) -> Vec<IpAddr> + Send + 'static,
    extra: &str,
) -> (World, NameServer) {
    let mut config = web(40, 2);
    config.domain = Some("mock.test".into());
    let world = World::new(config, "");
    let dns = NameServer::open("127.0.0.1:0".parse().unwrap(), ttl, answer).unwrap();
    world.configure(&format!(
        "[crawler]\ncontact = \"tests@mock.test\"\n[politeness]\ndelay_per_ip = \"1 ms\"\n[dns]\nservers = [\"{}\"]\n{extra}",
        dns.address()
    ));
    (world, dns)
}

/// The address of the web's host with this name.
fn own(name: &str) -> Vec<IpAddr> {
    match name {
        "h1.mock.test" => vec![Ipv4Addr::new(127, 1, 0, 1).into()],
        "h2.mock.test" => vec![Ipv4Addr::new(127, 1, 0, 2).into()],
        _ => Vec::new(),
    }
}

#[test]
fn answers_are_kept_as_long_as_they_hold_also_that_there_is_none() {
    let (world, dns) = named(3600, |name, _| own(name), "");
    let mut seeds = world.server.seeds();
    seeds.extend((0..30).map(|i| format!("http://none.test/{i}")));
    seeds.extend((0..30).map(|i| format!("http://a.none.test:{}/", 1000 + i)));
    world.seeds(&seeds);
    let reports = world.crawl(3);
    assert!(count(&reports[1], "fetched") > Some(2), "{reports:?}");
    assert_eq!(world.server.counts().iter().filter(|c| c.count == 0).count(), 0);
    let asked = dns.asked();
    for name in ["h1.mock.test", "h2.mock.test", "none.test", "a.none.test"] {
        assert_eq!(asked.get(name), Some(&1), "{name}: {asked:?}");
    }
}

#[test]
fn a_name_that_moves_inside_between_check_and_connection_leads_nowhere() {
    let (world, dns) = {
        // The first answer is for the check, before the address's pace; the next is for the connection.
        let moves = |name: &str, nth: usize| match own(name) {
            outside if nth == 0 => outside,
            outside if outside.is_empty() => outside,
            _ => vec![Ipv4Addr::new(127, 0, 0, 66).into()],
        };
        named(0, moves, "min_ttl = \"0 ms\"\n[fetch]\nallow_addresses = [\"127.1.0.0/16\"]\n")
    };
    let inside = Trap::open(format!("127.0.0.66:{}", world.server.port()).parse().unwrap()).unwrap();
    let report = world.fruitless_cycle();
    assert_eq!(inside.connections().unwrap(), 0, "{report}");
    assert!(dns.asked().values().all(|n| *n >= 2), "{:?}", dns.asked());
    assert_eq!((count(&report, "fetched"), count(&report, "refused")), (Some(0), Some(2)), "{report}");
    assert_eq!(world.server.log(0).unwrap(), []);
}

#[test]
fn where_nobody_listens_at_the_first_address_the_next_is_asked() {
    // Of both families: whichever comes first, only the last address serves.
    let several = |name: &str, _: usize| {
        let mut all: Vec<IpAddr> = vec!["::1".parse().unwrap(), Ipv4Addr::new(127, 0, 0, 77).into()];
        all.extend(own(name));
        all
    };
    let extra = "[fetch]\nallow_addresses = [\"127.0.0.0/8\", \"::1/128\"]\n";
    let (world, _dns) = named(3600, several, extra);
    let report = world.crawl(1).remove(0);
    assert_eq!((count(&report, "fetched"), count(&report, "failed")), (Some(2), Some(0)), "{report}");
}
