//! Whom a vault belongs to, and tables that are followed.

mod start;

use super::lineage::{Lineage, join};
use super::rows::{FollowedRows, PREFIX};
use crate::config::Config;
use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_repository::SledTables;
use recrawl_vault::{CapturedFile, Founded, ShippedFile};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

const HERE: &str = "file:///vault";

fn settings() -> Settings {
    let mut config = Config::default();
    config.storage.vault = HERE.into();
    Settings::check(config).unwrap()
}

fn here(id: &str, nonce: &str, previous: &str) -> Option<Lineage> {
    let vault = HERE.to_owned();
    let (id, nonce, previous) = (id.to_owned(), nonce.to_owned(), previous.to_owned());
    let files = [("file".to_owned(), "identity".to_owned())].into();
    Some(Lineage { vault, id, nonce, previous, has_shipped: true, purge: true, files, ..Lineage::default() })
}

fn there(id: &str, epoch: u64, nonce: &str) -> Option<Founded> {
    Some(Founded { id: id.to_owned(), epoch, nonce: nonce.to_owned() })
}

fn joined(here: Option<Lineage>, there: Option<Founded>) -> Result<(Lineage, Founded), Failure> {
    join(&settings(), here, there, "new".into())
}

#[test]
fn a_directory_goes_on_only_with_a_vault_that_it_shipped_to_last() {
    let (begun, found) = joined(None, None).unwrap();
    assert_eq!((&*found.id, found.epoch, &*begun.nonce, &*begun.previous), ("new", 0, "new", ""));
    // The process before took its epoch, or died between its note and the epoch.
    for here in [here("a", "n7", "n6"), here("a", "never", "n7")] {
        let (lineage, found) = joined(here, there("a", 7, "n7")).unwrap();
        assert_eq!((found.epoch, &*lineage.previous, &*lineage.nonce), (7, "n7", "new"));
        assert!(
            lineage.purge && lineage.has_shipped && lineage.files.len() == 1,
            "what is to be done stays so"
        );
    }
    // Founded, and not taken.
    assert!(joined(here("a", "x", ""), there("a", 0, "")).is_ok());
    for (here, there, why) in [
        (None, there("a", 7, "n7"), "holds another crawl (a)"),
        (here("b", "n7", "n6"), there("a", 7, "n7"), "holds another crawl (a)"),
        (here("a", "n5", "n4"), there("a", 7, "n7"), "older than its vault"),
        (here("a", "n7", "n6"), None, "is empty, although"),
    ] {
        let failure = joined(here, there).unwrap_err();
        let text = failure.to_string();
        assert!(failure.is_usage() && text.starts_with("storage.vault: ") && text.contains(why), "{text}");
    }
    // Another address, or a start that never shipped: all is shipped anew.
    let moved = Lineage { vault: "s3://other".into(), ..here("a", "n7", "n6").unwrap() };
    let (lineage, found) = joined(Some(moved), None).unwrap();
    assert_eq!((&*found.id, found.epoch, lineage.files.len(), &*lineage.vault), ("a", 0, 0, HERE));
    // A takedown tells of the former one, and of both once no vault is configured.
    assert_eq!(lineage.other_than(HERE), ["s3://other".to_owned()].into());
    assert_eq!(lineage.other_than("").len(), 2);
    let unshipped = Lineage { has_shipped: false, ..here("a", "n7", "n6").unwrap() };
    assert!(joined(Some(unshipped), None).is_ok());
}

#[test]
fn what_is_noted_is_read_again_and_what_is_damaged_is_told() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Lineage::read(folder.path()).unwrap(), None);
    let lineage = here("a", "n7", "n6").unwrap();
    lineage.write(folder.path()).unwrap();
    assert_eq!(Lineage::read(folder.path()).unwrap(), Some(lineage));
    std::fs::write(folder.path().join("vault.json"), "{").unwrap();
    let told = Lineage::read(folder.path()).unwrap_err().to_string();
    assert!(told.contains("vault.json is damaged"), "{told}");
}

/// A vault that keeps the bytes of files.
#[derive(Default)]
struct MemoryVault {
    files: BTreeMap<String, (String, Vec<u8>)>,
    known: BTreeMap<String, ShippedFile>,
}

impl MemoryVault {
    fn take(&mut self, captured: Vec<CapturedFile>) {
        let names: Vec<String> = captured.iter().map(|file| file.name.clone()).collect();
        self.files.retain(|name, _| names.contains(name));
        for CapturedFile { name, identity, length, source, .. } in captured {
            let kept = self.files.entry(name.clone()).or_default();
            if kept.0 != identity {
                *kept = (identity.clone(), Vec::new());
            }
            // Only what is missing is ever read.
            let at = kept.1.len();
            kept.1.resize(length as usize, 0);
            source.unwrap().read_at(&mut kept.1[at..], at as u64).unwrap();
            self.known.insert(name, ShippedFile { identity, length, is_settled: true });
        }
    }

    fn tables(&self) -> SledTables {
        let tables = SledTables::temporary().unwrap();
        for name in ["base", "rounds", "round"] {
            if let Some((_, bytes)) = self.files.get(&format!("{PREFIX}{name}")) {
                tables.put_rows(&mut &bytes[..]).unwrap();
            }
        }
        tables
    }
}

fn all(tables: &SledTables) -> Vec<u8> {
    let mut rows = Vec::new();
    let mut write = |bytes: &[u8]| -> io::Result<()> {
        rows.extend_from_slice(bytes);
        Ok(())
    };
    tables.all_rows(&mut write).unwrap();
    rows
}

#[test]
fn followed_tables_come_back_as_they_were_at_each_capture() {
    let folder = tempfile::tempdir().unwrap();
    let tables = Arc::new(SledTables::temporary().unwrap());
    tables.set_setting("before", b"begun").unwrap();
    let mut rows = FollowedRows::follow(tables.clone(), "n", folder.path());
    let (mut kept, mut bases) = (MemoryVault::default(), std::collections::BTreeSet::new());
    // Values long enough that a new base is made in between; the tables compress what they can.
    let value = |n: u32| {
        let mut state = u64::from(n);
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..100_000).map(|_| next()).collect::<Vec<u8>>()
    };
    for n in 0..60_u32 {
        tables.set_setting(&format!("name {}", n % 7), &value(n)).unwrap();
        if n % 3 == 0 {
            tables.remove_setting(&format!("name {}", (n + 1) % 7)).unwrap();
        }
        let captured = rows.capture(n % 5 == 0, &kept.known).unwrap();
        bases.extend(
            captured.iter().filter(|file| file.name.ends_with("base")).map(|file| file.identity.clone()),
        );
        // One in four is never shipped; the next has what it had.
        if n % 4 != 3 {
            kept.take(captured);
            assert!(all(&kept.tables()) == all(&tables), "after change {n}");
        }
    }
    assert!(bases.len() > 1, "a new base was made");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no file has a name");
}

#[test]
fn rows_that_could_not_be_read_are_in_the_next_capture() {
    for (fails, is_commit) in [(false, false), (false, true), (true, false), (true, true)] {
        let folder = tempfile::tempdir().unwrap();
        let tables = Arc::new(SledTables::temporary().unwrap());
        let mut rows = FollowedRows::follow(tables.clone(), "n", folder.path());
        let mut kept = MemoryVault::default();
        kept.take(rows.capture(true, &kept.known).unwrap());
        tables.set_setting("name", b"value").unwrap();
        // A row of no table cannot be read.
        rows.written.insert((u8::MAX, Vec::new()));
        assert!(rows.capture(fails, &kept.known).is_err());
        rows.written.remove(&(u8::MAX, Vec::new()));
        kept.take(rows.capture(is_commit, &kept.known).unwrap());
        assert!(all(&kept.tables()) == all(&tables));
    }
}
