//! Folders whose pages change together.

use crate::Recipe;
use crate::draws::{Chance, Draws};

/// The streams of folders come after those of signals, so that folders leave the other draws as they are.
const FIRST_STREAM: u64 = 1 << 33;

/// Draws the bursts of a site's folders.
pub struct Folders {
    draws: Draws,
    /// The cycles of the bursts of the current folder.
    bursts: Vec<u32>,
    begins: Chance,
    changes: Chance,
    cycles: u32,
    pages: u32,
}

impl Folders {
    /// For the site of this number; `None` if the recipe has no folders.
    pub fn of_site(recipe: &Recipe, number: u64) -> Option<Folders> {
        (recipe.folder_bursts > 0.0).then(|| Folders {
            draws: Draws::new(recipe.seed, FIRST_STREAM + number),
            bursts: Vec::new(),
            begins: Chance::new(recipe.folder_bursts),
            changes: Chance::new(recipe.folder_share),
            cycles: recipe.cycles,
            pages: recipe.folder_pages,
        })
    }

    /// The folder of a page of the site. Pages are asked for in order, from 0.
    pub fn of_page(&self, page: u32) -> u32 {
        page / self.pages
    }

    /// The cycles in which the site's next page changes together with its folder, ascending.
    pub fn write_page(&mut self, page: u32, together: &mut Vec<u32>) {
        if page.is_multiple_of(self.pages) {
            self.bursts.clear();
            self.bursts.extend((1..=self.cycles).filter(|_| self.draws.is(self.begins)));
        }
        together.clear();
        together.extend(self.bursts.iter().filter(|_| self.draws.is(self.changes)));
    }
}
