//! `recrawl vault`: what the vault holds, and whether it is whole. It needs no data directory.

use super::{counted, print, print_json, print_labelled};
use crate::cli::{VaultArgs, VaultCommand};
use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::vault::failure;
use recrawl_types::Size;
use recrawl_vault::{Store, VerifiedVault, contents, found, is_of_vault, store, verify};
use serde_json::json;
use std::sync::Arc;

pub fn run(command: &VaultCommand) -> Result<(), Failure> {
    match command {
        VaultCommand::Status(args) => status(args),
        VaultCommand::Verify(args) => check(args),
    }
}

/// The store that is named, or configured.
fn open(args: &VaultArgs) -> Result<Arc<dyn Store>, Failure> {
    let configured = args.on.at.settings()?.config.storage.vault.clone();
    let address = args.vault.clone().unwrap_or(configured);
    if address.is_empty() {
        return Err(Failure::Usage("no vault: set `storage.vault`, or pass --vault URL".into()));
    }
    store::open(&address).map_err(|e| failure(&e))
}

fn absent(store: &dyn Store) -> Failure {
    Failure::Usage(format!("{}: nothing was shipped here yet", store.locate("")))
}

fn status(args: &VaultArgs) -> Result<(), Failure> {
    let store = open(args)?;
    let there = found(&*store).map_err(|e| failure(&e))?.ok_or_else(|| absent(&*store))?;
    let contents = contents(&*store).map_err(|e| failure(&e))?.ok_or_else(|| absent(&*store))?;
    let mut listed = store.list("").map_err(|e| failure(&e.into()))?;
    // In a folder there may be files of others.
    listed.retain(|object| is_of_vault(&object.key));
    let bytes: u64 = contents.files.values().map(|file| file.length()).sum();
    let (objects, held) = (listed.len() as u64, listed.iter().map(|object| object.bytes).sum());
    let now = (recrawl_fetcher::system_clock())();
    let age = now.saturating_sub(contents.at) / 1000;
    if args.on.json {
        return print_json(&json!({
            "vault": store.locate(""), "id": there.id, "epoch": there.epoch, "manifest": contents.manifest,
            "steps": contents.steps().count(), "at": contents.at, "age_seconds": age, "files": contents.files.len(),
            "bytes": bytes, "objects": objects, "bytes_held": held,
        }));
    }
    print_labelled(format!("vault     {} (crawl {}, epoch {})", store.locate(""), there.id, there.epoch))?;
    print_labelled(format!("shipped   {}, {age} s ago", timestamp(contents.at)))?;
    let logs = contents.steps().count() as u64 - 1;
    print_labelled(format!("newest    {}, and {} behind it", contents.manifest, counted(logs, "log")))?;
    let files = counted(contents.files.len() as u64, "file");
    print_labelled(format!("restores  {files} ({})", Size(bytes).rounded()))?;
    print_labelled(format!("holds     {} ({})", counted(objects, "object"), Size(held).rounded()))
}

fn check(args: &VaultArgs) -> Result<(), Failure> {
    let store = open(args)?;
    let verified = verify(&*store).map_err(|e| failure(&e))?.ok_or_else(|| absent(&*store))?;
    let VerifiedVault { files, bytes, damage } = &verified;
    if args.on.json {
        print_json(&verified)?;
    }
    for place in damage.iter().filter(|_| !args.on.json) {
        let of = place.file.as_ref().map(|file| format!(" (part of {file})")).unwrap_or_default();
        print(format!("{}, byte {}: {}{of}", place.object, place.offset, place.what))?;
    }
    match damage.len() as u64 {
        0 if args.on.json => Ok(()),
        0 => print(format!("ok: {}, {}", counted(*files, "file"), Size(*bytes).rounded())),
        places => Err(Failure::Work(format!(
            "{}: {}; while the data directory is whole, name an empty prefix in `storage.vault`: all is shipped again",
            store.locate(""),
            counted(places, "damaged place"),
        ))),
    }
}
