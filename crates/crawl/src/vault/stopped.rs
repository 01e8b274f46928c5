//! Shipping for commands that change a stopped crawl.

use crate::failure::Failure;
use crate::operator::stopped::StoppedCrawl;
use crate::settings::Settings;
use crate::vault::lineage::Lineage;
use crate::vault::{FollowedCrawl, Prepared, prepare, prepare_in};
use recrawl_archive::opener;
use recrawl_fetcher::system_clock;
use recrawl_vault::Store;
use std::sync::Arc;

/// Notes, before pages are taken down, that the vault must lose them: the next process that ships sees to it, whatever
/// happens to this one.
///
/// # Errors
/// When the note cannot be written.
pub fn will_purge(settings: &Settings) -> Result<(), Failure> {
    match Lineage::read(&settings.data_dir)? {
        Some(lineage) => Lineage { purge: true, ..lineage }.write(&settings.data_dir),
        None => Ok(()),
    }
}

/// Vaults that have objects of this directory and that `storage.vault` does not name: nobody removes from them what is
/// taken down. Each with words on what to do.
///
/// # Errors
/// When the note of them cannot be read.
pub fn out_of_reach(settings: &Settings) -> Result<Vec<String>, Failure> {
    let Some(lineage) = Lineage::read(&settings.data_dir)? else { return Ok(Vec::new()) };
    let address = &settings.config.storage.vault;
    let told = |vault: String| {
        // The vault of another address takes its place only once.
        let todo = match vault == lineage.vault && address.is_empty() {
            true => "set it and run the takedown again, or remove the objects there",
            false => "remove the objects there",
        };
        format!("pages in the vault {vault}, perhaps, which `storage.vault` does not name any more: {todo}")
    };
    Ok(lineage.other_than(address).into_iter().map(told).collect())
}

/// Ships a stopped crawl as it is, and ends; false if it has no vault. `tag`: random letters. It takes at most as long as the
/// end of a process may take, or, if it `must_finish`, as long as the store answers.
///
/// # Errors
/// When not all could be shipped. What was changed in the data directory is in force all the same.
pub fn ship_stopped(settings: &Settings, tag: &str, must_finish: bool) -> Result<bool, Failure> {
    match prepare(settings, tag, system_clock()())? {
        Some(prepared) => ship(prepared, settings, must_finish).map(|()| true),
        None => Ok(false),
    }
}

/// The same, to this store, and as long as it answers.
///
/// # Errors
/// When not all could be shipped.
pub fn ship_stopped_in(store: Arc<dyn Store>, settings: &Settings, tag: &str) -> Result<(), Failure> {
    ship(prepare_in(store, settings, tag, system_clock()())?, settings, true)
}

fn ship(prepared: Prepared, settings: &Settings, must_finish: bool) -> Result<(), Failure> {
    let clock = system_clock();
    let StoppedCrawl { storage, repository, tables, .. } = StoppedCrawl::open(settings)?;
    let warc = opener::create(&settings.data_dir)?;
    let vault = prepared.begin(FollowedCrawl { settings, storage, warc, tables: Arc::new(tables), clock })?;
    if must_finish {
        vault.wait_while_it_answers();
    }
    let figures = vault.close();
    drop(repository);
    match figures.lost.or(figures.error) {
        Some(why) => Err(Failure::Work(format!("storage.vault: {why}"))),
        None => Ok(()),
    }
}
