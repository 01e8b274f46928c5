//! The tables keep what they are given.

use super::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use recrawl_types::{Failure, Scheme};

fn origin() -> impl Strategy<Value = Origin> {
    let scheme = prop_oneof![Just(Scheme::Http), Just(Scheme::Https)];
    (scheme, "[a-z]{1,8}(\\.[a-z]{1,3}){0,2}|\\[::1\\]", any::<u16>())
        .prop_map(|(scheme, host, port)| Origin { scheme, host: host.into(), port })
}

fn state() -> impl Strategy<Value = HostState> {
    let body = prop_oneof![
        Just(RobotsBody::AllowAll),
        option::of(any::<u8>()).prop_map(|why| RobotsBody::DisallowAll(why.map(failure))),
        vec(any::<u8>(), 0..300).prop_map(RobotsBody::Rules),
    ];
    let validators = (option::of("[ -~]{1,20}"), option::of("[ -~]{1,20}"))
        .prop_map(|(etag, date)| Validators::new(etag.as_deref(), date.as_deref()));
    let robots = (any::<u64>(), option::of(0..u64::MAX), body, validators).prop_map(
        |(fetched, unreachable_since, body, validators)| RobotsState {
            fetched,
            unreachable_since,
            body,
            validators,
        },
    );
    let numbers = any::<(u32, u64, u64, u64, u64, u64, u32, u32)>();
    let beliefs = proptest::sample::select(vec![Belief::Believed, Belief::Lying, Belief::Vain]);
    let trust = (beliefs, any::<[u32; 2]>(), any::<[u16; 3]>()).prop_map(|(belief, cycles, counts)| {
        let ([since, as_of], [shown, hidden, vain]) = (cycles, counts);
        ValidatorTrust { belief, since: Cycle(since), as_of: Round(as_of), shown, hidden, vain }
    });
    let pace = any::<(u32, u32, u64, u64, u64)>().prop_map(|(cycle, requests, first, last, promised)| {
        CyclePace { cycle: Cycle(cycle), requests, first, last, promised }
    });
    let detour = option::of("/[ -~]{0,20}").prop_map(|path| path.map(Into::into));
    let parts = (option::of(robots), numbers, trust, pace, detour, any::<u32>());
    parts.prop_map(|(robots, n, trust, pace, detour_path, vain_detours)| HostState {
        robots,
        trust,
        pace,
        detour_path,
        vain_detours,
        failures: n.0,
        back_off_until: n.1,
        requests: n.2,
        robots_denied: n.3,
        last_request: n.4,
        hold_until: n.5,
        slow_down: n.6,
        latency: n.7,
        rules_changed: n.3,
    })
}

fn failure(number: u8) -> Failure {
    let kinds = [Failure::Dns, Failure::Connect, Failure::Tls, Failure::Timeout, Failure::Protocol];
    kinds.get(usize::from(number)).copied().unwrap_or(Failure::Status(400 + u16::from(number)))
}

proptest! {
    #[test]
    fn hosts_come_back_as_bytes(origin in origin(), state in state(), noise in vec(any::<u8>(), 0..60)) {
        prop_assert_eq!(take_origin(&put_origin(&origin)), Ok(origin));
        let (mut row, is_apart) = take_row(&put_row(&state, true)).unwrap();
        if let (Some(robots), Some(whole), true) = (&mut row.robots, &state.robots, is_apart) {
            robots.body = whole.body.clone();
        }
        prop_assert_eq!(&row, &state);
        let bytes = put_host(&state);
        prop_assert_eq!(take_host(&bytes), Ok(state));
        let cut = take_host(&bytes[..bytes.len() - 1]);
        prop_assert!(cut.is_err(), "{cut:?}");
        if let Ok(origin) = take_origin(&noise) {
            prop_assert_eq!(put_origin(&origin), noise.clone());
        }
        prop_assert!(take_host(&noise).is_err() || noise.len() >= 6);
    }
}

#[test]
fn an_entry_of_format_version_1_lacks_what_came_later() {
    let robots = RobotsState {
        fetched: 6,
        unreachable_since: None,
        body: RobotsBody::AllowAll,
        validators: Validators::default(),
    };
    let state = HostState {
        failures: 1,
        back_off_until: 2,
        requests: 3,
        robots_denied: 4,
        last_request: 5,
        robots: Some(robots),
        ..HostState::default()
    };
    assert_eq!(take_host(&[1, 2, 3, 4, 5, 1, 6, 0, 0]), Ok(state.clone()));
    assert_eq!(put_host(&state), [1, 2, 3, 4, 5, 1, 6, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(take_host(&[0, 0, 0, 0, 0, 0]), Ok(HostState::default()));
}

#[test]
fn an_entry_of_format_version_2_knows_nothing_of_validators() {
    let of_version_2 = [0, 0, 3, 0, 5, 0, 0, 0, 9];
    let state = HostState { requests: 3, last_request: 5, latency: 9, ..HostState::default() };
    assert_eq!(take_host(&of_version_2), Ok(state.clone()));
    assert_eq!(put_host(&state), of_version_2, "and is written so where there is nothing to say");
    assert!(
        take_host(&[&of_version_2[..], &[77, 0]].concat()).is_err(),
        "what is unknown is not passed over"
    );
}

#[test]
fn an_entry_from_before_requests_were_counted_by_cycle_has_no_pace() {
    let before = [0, 0, 3, 0, 5, 0, 0, 0, 9, TRUST, 6, 1, 4, 4, 0, 2, 0];
    let trust = ValidatorTrust {
        belief: Belief::Lying,
        since: Cycle(4),
        as_of: Round(4),
        hidden: 2,
        ..ValidatorTrust::default()
    };
    let state = HostState { requests: 3, last_request: 5, latency: 9, trust, ..HostState::default() };
    assert_eq!(take_host(&before), Ok(state.clone()));
    assert_eq!(put_host(&state), before);
    let pace = CyclePace { cycle: Cycle(7), requests: 2, first: 1, last: 5, promised: 0 };
    let without_delays = [&before[..9], &[PACE, 4, 7, 2, 1, 5], &before[9..]].concat();
    let counted = HostState { pace, ..state };
    assert_eq!(
        take_host(&without_delays),
        Ok(counted.clone()),
        "nor one from before delays were a promise of it"
    );
    let counted = HostState { pace: CyclePace { promised: 4, ..pace }, ..counted };
    let bytes = put_host(&counted);
    assert_eq!((bytes.len(), take_host(&bytes)), (before.len() + 7, Ok(counted)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn hosts_are_stored_loaded_and_listed(hosts in btree_map(origin(), state(), 0..20), other in state()) {
        let tables = SledTables::temporary().unwrap();
        for (origin, state) in &hosts {
            HostTable::store(&tables, origin, &other).unwrap();
            HostTable::store(&tables, origin, state).unwrap();
        }
        for (origin, state) in &hosts {
            let loaded = HostTable::load(&tables, origin).unwrap();
            prop_assert_eq!(loaded.as_ref(), Some(state));
        }
        let listed: std::collections::BTreeMap<_, _> = tables.hosts().map(Result::unwrap).collect();
        prop_assert_eq!(&listed, &hosts);
        for host in hosts.keys().map(|origin| &origin.host) {
            let named: Vec<_> = listed.iter().filter(|(origin, _)| origin.host == *host).collect();
            let found = tables.hosts_named(host).unwrap();
            prop_assert_eq!(found.iter().map(|(o, s)| (o, s)).collect::<Vec<_>>(), named);
        }
        let unknown = Origin { scheme: Scheme::Http, host: "unknown.example".into(), port: 1 };
        prop_assert_eq!(HostTable::load(&tables, &unknown).unwrap(), None);
    }
}

#[test]
fn what_was_kept_is_there_after_a_restart_and_a_cycle_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let site = |tables: &SledTables| tables.site("example.org").unwrap();
    let sites = |value: &[u8]| [("example.org".to_owned(), value.to_vec())];
    {
        let tables = SledTables::open(dir.path()).unwrap();
        assert_eq!((site(&tables), tables.setting("order").unwrap()), (None, None));
        tables.set_setting("order", b"hash").unwrap();
        tables.apply_round(Round(255), sites(b"first")).unwrap();
        tables.apply_round(Round(255), sites(b"again")).unwrap();
        tables.apply_round(Round(3), sites(b"older")).unwrap();
        assert_eq!(site(&tables).unwrap(), b"first");
        tables.flush().unwrap();
    }
    let tables = SledTables::open(dir.path()).unwrap();
    assert_eq!(tables.setting("order").unwrap().unwrap(), b"hash");
    assert_eq!(site(&tables).unwrap(), b"first");
    tables.apply_round(Round(255), sites(b"after a restart")).unwrap();
    assert_eq!(site(&tables).unwrap(), b"first");
    tables.apply_round(Round(256), sites(b"second")).unwrap();
    assert_eq!(site(&tables).unwrap(), b"second");
}

#[test]
fn counts_of_dates_add_up_once_a_cycle() {
    let tables = SledTables::temporary().unwrap();
    let at = |host: &str| Origin { scheme: Scheme::Https, host: host.into(), port: 443 };
    let counted =
        LastmodCounts { newer_changed: 3, newer_unchanged: 2, same_changed: 1, same_unchanged: 300 };
    for cycle in [1, 1, 2] {
        tables.apply_lastmods(Round(cycle), [(at("a.example"), counted)]).unwrap();
    }
    assert_eq!(tables.lastmods(&at("a.example")).unwrap(), counted.and(counted));
    assert_eq!(tables.lastmods(&at("b.example")).unwrap(), LastmodCounts::default());
    // Sites and dates are learned from the same cycle.
    tables.apply_round(Round(2), [("a.example".to_owned(), b"floor".to_vec())]).unwrap();
    assert!(tables.site("a.example").unwrap().is_some());
}

#[test]
fn the_folder_belongs_to_one_process_and_messages_name_it() {
    let dir = tempfile::tempdir().unwrap();
    let tables = SledTables::open(dir.path()).unwrap();
    let error = SledTables::open(dir.path()).err().expect("it is taken");
    assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    drop(tables);
    assert!(SledTables::open(dir.path()).is_ok());
}

#[test]
fn a_damaged_entry_is_told() {
    let tables = SledTables::temporary().unwrap();
    tables.set_setting("order", b"hash").unwrap();
    let mut stored = tables.settings.get("order").unwrap().unwrap().to_vec();
    *stored.last_mut().unwrap() ^= 1;
    tables.settings.insert("order", stored).unwrap();
    let error = tables.setting("order").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().contains("checksum"), "{error}");
}

/// A row of an older version has robots.txt itself.
#[test]
fn robots_txt_is_stored_apart_and_written_only_when_it_changes() {
    let tables = SledTables::temporary().unwrap();
    let origin = Origin { scheme: Scheme::Https, host: "a.example".into(), port: 443 };
    let key = put_origin(&origin);
    let of = |body: RobotsBody, requests: u64| HostState {
        requests,
        robots: Some(RobotsState {
            fetched: 1,
            unreachable_since: None,
            body,
            validators: Validators::default(),
        }),
        ..HostState::default()
    };
    let rules = |length: usize| RobotsBody::Rules(vec![b'#'; length]);
    let older = of(rules(9_000), 1);
    tables.hosts.insert(&key, sealed(&put_host(&older))).unwrap();
    assert_eq!(HostTable::load(&tables, &origin).unwrap(), Some(older.clone()));
    for (state, row_in_robots) in [
        (older, Some(9_000)),
        (of(rules(9_000), 2), Some(9_000)),
        (of(rules(5_000), 3), Some(5_000)),
        (of(RobotsBody::AllowAll, 4), None),
    ] {
        HostTable::store(&tables, &origin, &state).unwrap();
        assert_eq!(HostTable::load(&tables, &origin).unwrap(), Some(state));
        assert_eq!(tables.hosts_named("a.example").unwrap().len(), 1);
        assert!(tables.hosts.get(&key).unwrap().unwrap().len() < 100);
        assert_eq!(tables.load(&tables.robots, &key).unwrap().map(|body| body.len()), row_in_robots);
    }
    HostTable::store(&tables, &origin, &of(rules(7), 5)).unwrap();
    tables.robots.remove(&key).unwrap();
    assert_eq!(HostTable::load(&tables, &origin).unwrap().unwrap().robots, None, "it is fetched again");
    HostTable::store(&tables, &origin, &of(rules(7), 5)).unwrap();
    tables.forget_origins(OriginTable::Hosts, &|host| host == "a.example", false).unwrap();
    assert!(tables.robots.is_empty() && tables.hosts.is_empty());
}
