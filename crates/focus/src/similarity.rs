//! The similarity of a page and a set of terms (Assis 2008, section 3.1, equations 3.1 to 3.5).

use libm::log;

/// Occurrences of a term in a page that count. A defence of ours: a page that repeats one term a thousand times would
/// else push its other terms towards 0.
pub const MAX_FREQUENCY: u32 = 20;

/// The cosine of a page and a set of terms, 0 to 1; 0 if the page has none of the terms.
///
/// `frequencies` holds how often each term of the set occurs in the page, `idf` the weight of each term in the
/// collection. Frequencies are divided by the greatest of them (equation 3.3); a term's weight in the page is that
/// times its idf (3.2). Since each term is in the set once, its weight there is its idf (3.5).
///
/// # Panics
/// If the numbers of frequencies and weights differ.
pub fn similarity(frequencies: &[u32], idf: &[f64]) -> f64 {
    assert_eq!(frequencies.len(), idf.len(), "a weight for each term");
    let capped = |frequency: u32| f64::from(frequency.min(MAX_FREQUENCY));
    let greatest = frequencies.iter().copied().map(capped).fold(0.0, f64::max);
    if greatest == 0.0 {
        return 0.0;
    }
    let (mut product, mut page, mut set) = (0.0, 0.0, 0.0);
    for (&frequency, &idf) in frequencies.iter().zip(idf) {
        let in_page = capped(frequency) / greatest * idf;
        product += in_page * idf;
        page += in_page * in_page;
        set += idf * idf;
    }
    // Terms that every page of the collection has weigh nothing.
    if page == 0.0 { 0.0 } else { (product / (page * set).sqrt()).min(1.0) }
}

/// The inverse document frequency of a term (equation 3.4): ln(N / n), where `found` of `pages` pages have the term.
/// A term that no page has counts as one that a single page has, since its weight would be infinite.
pub fn idf(pages: u32, found: u32) -> f64 {
    log(f64::from(pages.max(1)) / f64::from(found.clamp(1, pages.max(1))))
}

#[cfg(test)]
mod tests;
