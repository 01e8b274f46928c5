//! Flipped bits in every file of the tables.

use super::super::{DropCounts, RequisiteRow, TREES};
use super::*;
use recrawl_types::host::{RobotsBody, RobotsState};
use recrawl_types::{HostState, HostTable, LastmodCounts, Origin, Ping, Round, Scheme, UrlRules, Validators};
use std::collections::BTreeMap;

type Rows = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

fn origin(host: u32) -> Origin {
    Origin { scheme: Scheme::Https, host: format!("host{host}.test").into(), port: 443 }
}

/// Tables with rows of each kind, some of them long.
fn filled(dir: &Path) {
    let tables = SledTables::open(dir).unwrap();
    for host in 0..40 {
        let body = RobotsBody::Rules(format!("User-agent: *\nDisallow: /{host}\n").repeat(20).into_bytes());
        let validators = Validators::new(Some("\"tag\""), None);
        let robots = Some(RobotsState { fetched: 7, unreachable_since: None, body, validators });
        let state = HostState { requests: host.into(), robots, ..HostState::default() };
        HostTable::store(&tables, &origin(host), &state).unwrap();
        tables.keep_traps(&origin(host), b"{}").unwrap();
    }
    let sites = (0..20).map(|site| (format!("site{site}.test"), vec![site; 30]));
    tables.apply_round(Round(3), sites).unwrap();
    let counts = || [(origin(1), LastmodCounts { newer_changed: 3, ..LastmodCounts::default() })];
    tables.apply_lastmods(Round(3), counts()).unwrap();
    tables.apply_ping_counts(Round(3), counts()).unwrap();
    tables.add_dropped_links(&origin(1), DropCounts { linked: 3, listed: 1 }).unwrap();
    let page = UrlRules::keep_all().canonicalize("https://host1.test/page").unwrap();
    tables.keep_ping(&page, Some(Ping::at(7))).unwrap();
    tables.keep_requisite(&page, &RequisiteRow::default()).unwrap();
    tables.set_setting("plan", &[b'x'; 900]).unwrap();
    let noise = (0..600_000u32).map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 13) as u8);
    tables.set_setting("control_seeds", &noise.collect::<Vec<_>>()).unwrap();
    // Before the flush, which stores its number.
    for name in TREES {
        assert!(
            !tables.database.open_tree(name).unwrap().is_empty(),
            "keep a row in `{name}`, so that it is checked"
        );
    }
    tables.flush().unwrap();
}

fn found(dir: &Path, scratch: &Path) -> (TablesFound, Rows) {
    let mut rows = Rows::new();
    let mut keep = |(table, key, value): Row<'_>| {
        rows.insert((table.to_vec(), key.to_vec()), value.to_vec());
        Ok(())
    };
    let _ = fs::remove_dir_all(scratch);
    let found = read_copy(dir, scratch, &mut keep).unwrap().expect("nobody has them");
    (found, rows)
}

#[test]
fn sound_tables_are_sound_and_those_of_another_process_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, scratch) = (folder.path().join("tables"), folder.path().join("scratch"));
    filled(&dir);
    let found = SledTables::verify(&dir, &scratch).unwrap().unwrap();
    assert!(found.damage.is_empty() && found.rows > 100 && !scratch.exists(), "{found:?}");
    let open = SledTables::open(&dir).unwrap();
    assert_eq!(SledTables::verify(&dir, &scratch).unwrap(), None);
    drop(open);
    let to = folder.path().join("saved");
    let saved = SledTables::salvage(&dir, &to, &scratch).unwrap().unwrap();
    assert_eq!(saved, found);
    assert_eq!(HostTable::load(&SledTables::open(&to).unwrap(), &origin(3)).unwrap().unwrap().requests, 3);
}

#[test]
fn a_flipped_bit_in_any_file_of_the_tables_is_told_or_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, scratch) = (folder.path().join("tables"), folder.path().join("scratch"));
    filled(&dir);
    let (sound, rows) = found(&dir, &scratch);
    assert!(sound.damage.is_empty());
    let blobs = fs::read_dir(dir.join("blobs")).unwrap().map(|entry| entry.unwrap().path());
    let own = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let (mut told, mut idle, mut silent) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for path in own.chain(blobs).collect::<Vec<_>>() {
        let bytes = fs::read(&path).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
        let name = path.file_name().unwrap().to_string_lossy().split('.').next().unwrap().to_owned();
        let step = (used / 400).max(1);
        for at in (0..used).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(&path, flipped).unwrap();
            let (damaged, left) = found(&dir, &scratch);
            let count = match () {
                () if !damaged.damage.is_empty() => &mut told,
                () if left == rows => &mut idle,
                () => {
                    silent.push((name.clone(), at, rows.len() - left.len()));
                    continue;
                }
            };
            *count.entry(name.clone()).or_insert(0) += 1;
        }
        fs::write(&path, bytes).unwrap();
    }
    println!(
        "told {told:?}, without effect {idle:?}, silent {} {:?}",
        silent.len(),
        &silent[..silent.len().min(20)]
    );
    assert!(silent.is_empty(), "{silent:?}");
}
