//! Noise: differences of pages that are no changes, as the visits of a site show, and what they mean for one page.

pub mod page;
pub mod site;

use crate::failure::Failure;
use crate::part::{InTables, Takedown};

/// Removes what a takedown means from the tables, or only counts it.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(takedown: &Takedown<'_>, removed: &mut InTables) -> Result<(), Failure> {
    let Takedown { tables, meant, only_count, .. } = takedown;
    removed.noise_floors += tables.forget_sites(&|site| meant.touches_site(site), *only_count)?;
    Ok(())
}
