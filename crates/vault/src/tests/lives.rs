//! Thousands of lives of processes over a store that fails, by seeds. A failing seed replays: it is printed.

use super::{FolderImage, bytes_of, capture, fresh, restored};
use crate::store::faulty::{Faults, FaultyStore, draw};
use crate::store::{MemoryStore, Store};
use crate::vault::{CaptureExtent, Inherited, Vault, found};
use crate::{Uploads, VaultError, contents};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A crawl of one seed: its folder, and what the vault may say of it.
struct VaultWorld {
    seed: u64,
    objects: Arc<MemoryStore>,
    folder: FolderImage,
    /// Folders that a restore may find: the last that was shipped, and those whose shipping nobody has heard of since.
    possible: Vec<BTreeMap<String, Vec<u8>>>,
    identities: BTreeMap<String, String>,
    uploads: Uploads,
    made: u64,
    has_shipped: bool,
}

impl VaultWorld {
    fn draw(&mut self, below: u64) -> u64 {
        draw(&mut self.seed) % below
    }

    /// Something happens in the folder.
    fn change(&mut self) {
        let name = ["warc-1", "warc-2", "log", "small", "last"][self.draw(5) as usize].to_owned();
        self.made += 1;
        let (identity, length) = (self.made.to_string(), self.draw(200_000) as usize);
        let byte = self.draw(256) as u8;
        match (self.folder.contains_key(&name), self.draw(8)) {
            (true, 0) => _ = self.folder.remove(&name),
            (true, 1..=6) => {
                let (_, bytes) = self.folder.get_mut(&name).unwrap();
                bytes.extend(std::iter::repeat_n(byte, length / 7));
            }
            _ => _ = self.folder.insert(name, (identity, vec![byte; length])),
        }
    }

    /// A start cuts a torn end off. It is compared byte by byte, as its identity says no more that it has only grown.
    fn cut(&mut self) {
        let names: Vec<String> = self.folder.keys().cloned().collect();
        for name in names {
            if self.draw(4) == 0 {
                let bytes = &mut self.folder.get_mut(&name).expect("it is there").1;
                bytes.truncate(bytes.len() / 2);
                self.identities.remove(&name);
                self.uploads.keep_identities(|other| other != name);
            }
        }
    }

    /// A life of a process. It ends when it dies, or has lost the vault, or after a while.
    fn live(&mut self, faults: Faults) {
        let seed = draw(&mut self.seed);
        let store = Arc::new(FaultyStore::new(self.objects.clone(), seed, faults));
        if self.draw(3) == 0 {
            store.die_after(1 + self.draw(60));
        }
        let nonce = seed.to_string();
        self.cut();
        let Ok(founded) = found(&*store) else { return };
        let founded = founded.unwrap_or_else(fresh);
        let before = Inherited { identities: self.identities.clone(), uploads: self.uploads.clone() };
        let Ok(mut vault) = Vault::begin(store.clone(), &founded, &nonce, 1, &before) else { return };
        vault.portion = 1 + self.draw(200_000);
        for _ in 0..self.draw(12) {
            (0..self.draw(4)).for_each(|_| self.change());
            let extent = [CaptureExtent::Changes, CaptureExtent::Changes, CaptureExtent::Commit]
                [self.draw(3) as usize];
            // From here on a restore may find it.
            self.possible.push(bytes_of(&self.folder));
            let tries = 1 + self.draw(6);
            for _ in 0..tries {
                let shipped = vault.ship(&capture(&self.folder, extent), 1);
                // It may die before it notes this.
                if self.draw(3) > 0 {
                    self.uploads = vault.uploads().clone();
                }
                match shipped {
                    Ok(shipped) if !shipped.is_whole => {}
                    Ok(_) => {
                        self.possible = vec![bytes_of(&self.folder)];
                        self.identities = vault.identities();
                        self.has_shipped = true;
                        break;
                    }
                    Err(error) => assert!(error.is_passing(), "seed: {error}"),
                }
            }
            if self.draw(5) == 0 {
                // Old or young: both must be right, and errors are.
                let _ = vault.sweep(u64::MAX);
            }
            if self.draw(9) == 0 {
                let _ = vault.purge();
            }
        }
    }

    /// The vault holds one of the folders that it may, whole.
    fn check(&self) -> Option<FolderImage> {
        let found = contents(&*self.objects).unwrap_or_else(|e| panic!("{e}"));
        let Some(found) = found else {
            assert!(!self.has_shipped, "what was shipped is gone");
            return None;
        };
        let files = restored(&*self.objects, &found).unwrap_or_else(|e| panic!("{e}"));
        assert!(self.possible.contains(&files), "{:?} of {} folders", found.manifest, self.possible.len());
        let anew = |(name, bytes)| (name, (format!("restored {}", self.made), bytes));
        Some(files.into_iter().map(anew).collect())
    }
}

fn lives_of(seed: u64, faults: Faults) -> u64 {
    let (objects, folder, identities) = (Arc::new(MemoryStore::new()), FolderImage::new(), BTreeMap::new());
    let uploads = Uploads::default();
    let mut world = VaultWorld {
        seed,
        objects,
        folder,
        possible: Vec::new(),
        identities,
        uploads,
        made: 0,
        has_shipped: false,
    };
    let lives = 2 + world.draw(8);
    for _ in 0..lives {
        world.live(faults);
        let found = world.check();
        // The disk burns; or the next process only forgets what it shipped.
        match (world.draw(3), found) {
            (0, Some(files)) => {
                world.made += 1;
                // And what is still on its way, until a process of the next epoch has shipped.
                world.possible.push(bytes_of(&files));
                (world.folder, world.identities) = (files, BTreeMap::new());
                world.uploads = Uploads::default();
            }
            (1, _) => world.identities.clear(),
            _ => {}
        }
    }
    lives
}

/// Each life begins with what an earlier one left; a third of them die at some request, a third of the disks burn.
#[test]
#[expect(clippy::disallowed_methods, reason = "more lives are asked for by a documented variable")]
fn over_thousands_of_lives_a_restore_finds_what_was_shipped_last_or_what_was_being_shipped() {
    let seeds = std::env::var("RECRAWL_VAULT_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut lives = 0;
    for seed in 0..seeds {
        let trouble = [0, 30, 120, 300][(seed % 4) as usize];
        let faults = Faults { before: trouble, after: trouble, late: trouble / 2 };
        let run = std::panic::catch_unwind(|| lives_of(seed, faults));
        lives += run.unwrap_or_else(|_| panic!("seed {seed} failed: RECRAWL_VAULT_SEEDS={}", seed + 1));
    }
    assert!(lives >= 2 * seeds, "{lives} lives");
}

/// A fault of a store passes.
#[test]
fn a_store_that_answers_nothing_is_away_and_not_lost() {
    let objects = Arc::new(MemoryStore::new());
    let store: Arc<dyn Store> = Arc::new(FaultyStore::new(objects.clone(), 1, Faults::default()));
    let mut vault = Vault::begin(store, &fresh(), "a", 1, &Inherited::default()).unwrap();
    let files = super::folder(&[("last", b"1")]);
    vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    let dead = Arc::new(FaultyStore::new(objects, 1, Faults { before: 1000, ..Faults::default() }));
    assert!(matches!(found(&*dead), Err(VaultError::Away(_))));
    vault.store = dead;
    let error =
        vault.ship(&capture(&super::folder(&[("last", b"22")]), CaptureExtent::Commit), 2).unwrap_err();
    assert!(error.is_passing(), "{error}");
}
