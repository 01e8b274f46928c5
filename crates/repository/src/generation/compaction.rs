//! Which files of older generations are emptied: what is carried by reference leaves garbage around it.

use recrawl_types::Round;
use std::collections::BTreeSet;

/// Files that hold frames of one part. More would be more to open, and more places to read from at once.
pub(crate) const MAX_FILES_A_PART: usize = 24;

/// A file that holds frames of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub file: Round,
    pub bytes: u64,
    /// Of these, bytes that belong to the present generation.
    pub live: u64,
}

/// The files whose frames the next generation copies, so that they can be removed: of one part, until the others
/// hold no more garbage than live bytes, the emptiest first, and are at most [`MAX_FILES_A_PART`] − 1, those with
/// the least in them first. Copying costs as many bytes as are freed or less, so a byte is copied about once for
/// each time that it is written.
pub(crate) fn to_empty(mut files: Vec<Usage>) -> BTreeSet<Round> {
    let mut emptied = BTreeSet::new();
    // Of two files the one with the smaller part of its bytes alive, by cross multiplication.
    let share = |a: &Usage, b: &Usage| u128::from(a.live) * u128::from(b.bytes);
    files.sort_by(|a, b| share(a, b).cmp(&share(b, a)).then(a.file.cmp(&b.file)));
    let live: u64 = files.iter().map(|f| f.live).sum();
    let mut bytes: u64 = files.iter().map(|f| f.bytes).sum();
    for file in &files {
        if bytes <= 2 * live {
            break;
        }
        bytes -= file.bytes - file.live;
        emptied.insert(file.file);
    }
    files.retain(|f| !emptied.contains(&f.file));
    files.sort_by_key(|f| (f.live, f.file));
    let too_many = (files.len() + 1).saturating_sub(MAX_FILES_A_PART);
    emptied.extend(files[..too_many].iter().map(|f| f.file));
    emptied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(file: u32, bytes: u64, live: u64) -> Usage {
        Usage { file: Round(file), bytes, live }
    }

    fn emptied(files: &[Usage]) -> Vec<u32> {
        to_empty(files.to_vec()).into_iter().map(|c| c.0).collect()
    }

    #[test]
    fn the_emptiest_files_are_copied_until_no_more_than_half_is_garbage() {
        assert_eq!(emptied(&[]), [] as [u32; 0]);
        assert_eq!(emptied(&[usage(1, 100, 60), usage(2, 100, 50)]), [] as [u32; 0]);
        assert_eq!(emptied(&[usage(1, 100, 60), usage(2, 100, 10), usage(3, 100, 50)]), [2]);
        assert_eq!(emptied(&[usage(1, 1000, 1), usage(2, 100, 10), usage(3, 100, 60)]), [1, 2]);
    }

    #[test]
    fn there_are_never_too_many_files() {
        let many: Vec<Usage> = (1..=40).map(|i| usage(i, 100, 60 + u64::from(i))).collect();
        let gone = emptied(&many);
        assert_eq!(many.len() - gone.len(), MAX_FILES_A_PART - 1);
        assert_eq!(gone, (1..=17).collect::<Vec<u32>>(), "those that hold the least");
    }
}
