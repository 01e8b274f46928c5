//! The visits of a cycle in rank order.

use super::choice::RowChoice;
use super::pages::RowMembers;
use super::states::Move;
use super::ties::TieOrder;

/// Lists whether each visit found a change, best rank first: by tie class, and within a class by
/// the tie-breaking order.
pub(super) fn hits(
    choice: &[u32],
    moves: &[Move],
    pages: &RowMembers,
    order: &TieOrder<'_>,
    class: &mut Vec<(u64, bool)>,
    hits: &mut Vec<bool>,
) {
    hits.clear();
    let mut chosen = pages.chosen();
    let mut moves = moves.iter().peekable();
    for rows in choice.chunk_by(|_, next| next & RowChoice::STARTS == 0) {
        class.clear();
        for row in rows {
            // A row of the last class has no move if none of its pages was drawn.
            let Some(m) = moves.next_if(|m| m.source == row & RowChoice::ROW) else { continue };
            let (here, rest) = chosen.split_at(m.visited as usize);
            chosen = rest;
            let pages = (0..m.visited).zip(here);
            class.extend(pages.map(|(i, &page)| (order.image(page), i < m.changed)));
        }
        let changed = class.iter().filter(|visit| visit.1).count();
        if changed > 0 && changed < class.len() {
            class.sort_unstable();
        }
        hits.extend(class.iter().map(|visit| visit.1));
    }
}
