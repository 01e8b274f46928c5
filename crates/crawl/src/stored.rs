//! Single values that the tables store by name, as JSON.

use crate::failure::Failure;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Site};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeSet;

const SEED_SITES: &str = "seed_sites";

/// Maximum number of sites that seeds may bring into the scope; a larger crawl sets `scope.hosts`.
pub const MAX_SEED_SITES: usize = 100_000;

/// A setting of the tables; none if it was never stored.
///
/// # Errors
/// When it cannot be read or parsed.
pub fn kept<T: DeserializeOwned>(tables: &SledTables, name: &str) -> Result<Option<T>, Failure> {
    let bytes = tables.setting(name)?;
    bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(Failure::work)
}

/// Stores a setting in the tables.
///
/// # Errors
/// When they cannot be written.
pub fn keep(tables: &SledTables, name: &str, value: &impl Serialize) -> Result<(), Failure> {
    tables.set_setting(name, &serde_json::to_vec(value).map_err(Failure::work)?).map_err(Failure::from)
}

/// The sites of all seeds ever given to this repository.
pub fn seed_sites(tables: &SledTables, seeds: &[CanonicalUrl]) -> Result<BTreeSet<String>, Failure> {
    add_seed_sites(tables, seeds.iter().map(|url| Site::from_url(url).to_string()))
}

/// The same, after adding these sites.
pub fn add_seed_sites(
    tables: &SledTables,
    news: impl IntoIterator<Item = String>,
) -> Result<BTreeSet<String>, Failure> {
    let mut sites: BTreeSet<String> = kept(tables, SEED_SITES)?.unwrap_or_default();
    let before = sites.len();
    sites.extend(news);
    if sites.len() > MAX_SEED_SITES {
        let text = format!("seeds on more than {MAX_SEED_SITES} sites; set scope.hosts instead");
        return Err(Failure::Usage(text));
    }
    if sites.len() > before {
        keep(tables, SEED_SITES, &sites)?;
    }
    Ok(sites)
}
