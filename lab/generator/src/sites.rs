//! Sizes of sites.

use crate::Recipe;
use crate::draws::Draws;
use recrawl_formula::math::exp;

/// Pages of each site: log-normal, from 1 to the recipe's maximum, with the recipe's total.
pub fn sizes(recipe: &Recipe) -> Vec<u32> {
    let mut draws = Draws::new(recipe.seed, 0);
    let weights: Vec<f64> = (0..recipe.sites).map(|_| exp(recipe.site_sizes * draws.normal())).collect();
    let most = recipe.site_pages_max.min(recipe.pages);
    let size = |scale: f64, weight: f64| ((scale * weight).floor().clamp(1.0, f64::from(most))) as u32;
    let total = |scale: f64| weights.iter().map(|&weight| u64::from(size(scale, weight))).sum::<u64>();
    // The largest scale that does not exceed the total, to the last relevant bit.
    let wanted = u64::from(recipe.pages);
    let (mut low, mut high) = (0.0, f64::from(most));
    while total(high) < wanted && high < 1e30 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        *(if total(middle) <= wanted { &mut low } else { &mut high }) = middle;
    }
    let mut sizes: Vec<u32> = weights.iter().map(|&weight| size(low, weight)).collect();
    // Distribute the remainder of rounding down, one page per site.
    let mut left = wanted - sizes.iter().map(|&size| u64::from(size)).sum::<u64>();
    while left > 0 {
        for size in sizes.iter_mut().filter(|size| **size < most) {
            if left > 0 {
                *size += 1;
                left -= 1;
            }
        }
    }
    sizes
}
