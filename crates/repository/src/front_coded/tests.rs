//! Keys that are spliced and cut are, byte for byte, what packing them anew would give.

use super::*;
use proptest::collection::btree_set;
use proptest::prelude::*;
use std::collections::BTreeSet;

type Names = BTreeSet<Vec<u8>>;

fn packed(keys: &Names) -> FrontCoded {
    let (mut bytes, mut last) = (Vec::new(), &[][..]);
    for key in keys {
        put_key(&mut bytes, last, key);
        last = key;
    }
    FrontCoded { bytes, rows: keys.len() }
}

/// Few letters, so that keys share beginnings, and one key is often the beginning of another.
fn names() -> impl Strategy<Value = Names> {
    btree_set("[ab]{1,12}|(ab){0,80}[a-c]{1,4}", 0..40)
        .prop_map(|names| names.into_iter().map(String::into_bytes).collect())
}

proptest! {
    #[test]
    fn urls_are_found_and_spliced_as_if_all_keys_were_packed_anew(
        old in names(), urls in names(), admitted in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let (keys, places) = FrontCoded::take(packed(&old).bytes, old.len(), urls.iter().map(Vec::as_slice)).unwrap();
        prop_assert_eq!(places.len(), urls.len());
        let mut new = Vec::new();
        for ((url, place), is_admitted) in urls.iter().zip(&places).zip(admitted) {
            match *place {
                Place::Known(row) => prop_assert_eq!(old.iter().nth(row), Some(url)),
                Place::New(gap) => {
                    prop_assert!(!old.contains(url));
                    prop_assert_eq!(gap.row, old.range(..url.clone()).count());
                    if is_admitted {
                        new.push((url.as_slice(), gap));
                    }
                }
            }
        }
        let all: Names = old.iter().cloned().chain(new.iter().map(|(key, _)| key.to_vec())).collect();
        prop_assert_eq!(keys.splice(new.into_iter()), packed(&all));
    }

    #[test]
    fn pieces_are_as_if_they_were_packed_alone(keys in names(), cuts in btree_set(1usize..40, 0..5)) {
        let cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut < keys.len()).collect();
        let ends = cuts.iter().copied().chain([keys.len()]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let expected: Vec<FrontCoded> = starts
            .zip(ends)
            .map(|(start, end)| packed(&keys.iter().skip(start).take(end - start).cloned().collect()))
            .collect();
        for (piece, start) in expected.iter().zip([0].iter().chain(&cuts)) {
            prop_assert_eq!(piece.first(), keys.iter().nth(*start).map_or(&[][..], Vec::as_slice));
        }
        prop_assert_eq!(packed(&keys).cut(&cuts), expected);
    }

    #[test]
    fn what_is_no_list_of_ascending_keys_is_refused(
        keys in names(), at in any::<usize>(), byte in any::<u8>(), urls in names(),
    ) {
        let mut damaged = packed(&keys);
        prop_assume!(!damaged.bytes.is_empty());
        let at = at % damaged.bytes.len();
        damaged.bytes[at] = byte;
        let urls = || urls.iter().map(Vec::as_slice);
        let mut unpacked = recrawl_types::Keys::default();
        let plain = crate::page_block::take_keys(&damaged.bytes, damaged.rows, &mut unpacked);
        let found = FrontCoded::take(damaged.bytes, damaged.rows, urls());
        prop_assert_eq!(found.as_ref().err(), plain.as_ref().err());
        if let Ok((_, places)) = found {
            for (url, place) in urls().zip(places) {
                prop_assert_eq!(unpacked.row_of(url), if let Place::Known(row) = place { Some(row) } else { None });
            }
        }
    }
}

#[test]
fn a_cut_behind_the_last_key_leaves_nothing() {
    let keys = packed(&[b"a".to_vec(), b"ab".to_vec()].into());
    assert_eq!(keys.cut(&[2]), [keys.clone(), FrontCoded::default()]);
    assert_eq!(keys.cut(&[0]), [FrontCoded::default(), keys.clone()]);
    assert_eq!(FrontCoded::default().cut(&[0]), [FrontCoded::default(), FrontCoded::default()]);
}
