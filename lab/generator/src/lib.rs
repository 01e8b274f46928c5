//! Histories that are made up: a seeded history of pages on sites that change like real ones.
//!
//! A page's chance to change in a cycle is 1 − e^(−rate · week · burst). The rates are heavy-tailed
//! and shared in part by the pages of a site; the week of most sites has two quiet days; and a page
//! has bursts of edits. Pages of a folder can change together. docs/datasets.md has the laws and
//! the properties of real data that they imitate.
//!
//! Each site has its own random stream, so the history of a site depends only on the seed and on
//! its place and size. Nothing depends on the machine.

mod change_process;
mod draws;
mod folders;
mod recipe;
mod related_web;
mod signaller;
mod sites;
mod texts;

pub use crate::recipe::{PRESETS, Recipe, RecipeError, RecipePreset};
pub use crate::related_web::{RelatedRecipe, RelatedWeb, read_experts, related_web};

use crate::change_process::ChangeProcess;
use crate::draws::Draws;
use crate::folders::Folders;
use crate::signaller::Signaller;
use recrawl_simulation::format::calendar;
use recrawl_simulation::{Dataset, histories::PageHistories};

/// Generates a history. The same recipe gives the same history on every machine.
///
/// # Errors
/// If the recipe is invalid, or exceeds the limits of a data set.
pub fn generate(recipe: &Recipe) -> Result<Dataset, RecipeError> {
    let start = recipe.check()?;
    let sizes = sites::sizes(recipe);
    let mut histories = PageHistories::default();
    let (mut together, mut changes, mut signals) = (Vec::new(), Vec::new(), Vec::new());
    for (number, &size) in (0u64..).zip(&sizes) {
        let name = format!("s{number:06}.example");
        let mut draws = Draws::new(recipe.seed, number + 1);
        let change_process = ChangeProcess::of_site(recipe, start, &mut draws);
        let mut signaller = Signaller::of_site(recipe, number + 1);
        let mut folders = Folders::of_site(recipe, number + 1);
        for page in 0..size {
            let url = match &mut folders {
                None => format!("http://{name}/{page}"),
                Some(folders) => {
                    folders.write_page(page, &mut together);
                    format!("http://{name}/{}/{page}", folders.of_page(page))
                }
            };
            change_process.write_page(&mut draws, &together, &mut changes);
            let page = histories.page(url, Some(&name), 0, recipe.cycles);
            histories.push(page, &changes).map_err(RecipeError::too_large)?;
            if let Some(signaller) = &mut signaller {
                signaller.write_page(&changes, &mut signals);
                histories.signal(&signals).map_err(RecipeError::too_large)?;
            }
        }
    }
    let dates = (0..=i64::from(recipe.cycles)).map(|cycle| calendar::date(start + cycle)).collect();
    histories.finish(recipe.name.clone(), dates, recipe.cycles).map_err(RecipeError::too_large)
}

#[cfg(test)]
mod tests;
