//! Generated worlds: a seeded history of pages on sites that change like real ones.
//!
//! A page's chance to change in a cycle is 1 − e^(−rate · week · burst). The rates are heavy-tailed
//! and shared in part by the pages of a site; the week of most sites has two quiet days; and a page
//! has bursts of edits. docs/datasets.md has the laws and the properties of real data that they
//! imitate.
//!
//! Each site has its own random stream, so the history of a site depends only on the seed and on
//! its place and size. Nothing depends on the machine.

pub(crate) mod draws;
mod recipe;
mod sites;
mod story;

pub use self::recipe::{PRESETS, Preset, Recipe, RecipeError};

use self::draws::Draws;
use self::story::Story;
use crate::format::calendar;
use crate::{Dataset, Page, histories::Histories};

/// A history by this recipe. The same recipe gives the same on every machine.
///
/// # Errors
/// When the recipe says what cannot be, or asks for more than a data set may hold.
pub fn generate(recipe: &Recipe) -> Result<Dataset, RecipeError> {
    let start = recipe.check()?;
    let sizes = sites::sizes(recipe);
    let mut histories = Histories::default();
    let mut changes = Vec::new();
    for (number, &size) in (0u64..).zip(&sizes) {
        let name = format!("s{number:06}.example");
        let mut draws = Draws::new(recipe.seed, number + 1);
        let story = Story::of_site(recipe, start, &mut draws);
        let site = histories.site(&name);
        for page in 0..size {
            story.write_page(&mut draws, &mut changes);
            let page =
                Page { url: format!("http://{name}/{page}").into(), site, first: 0, last: recipe.cycles };
            histories.push(page, &changes).map_err(RecipeError::too_large)?;
        }
    }
    let dates = (0..=i64::from(recipe.cycles)).map(|cycle| calendar::date(start + cycle)).collect();
    histories.finish(recipe.name.clone(), dates, recipe.cycles).map_err(RecipeError::too_large)
}

#[cfg(test)]
mod tests;
