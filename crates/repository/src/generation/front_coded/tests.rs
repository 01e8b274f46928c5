//! Splicing and cutting keys gives the same bytes as packing them anew with the same symbols.

use super::*;
use proptest::collection::btree_set;
use proptest::prelude::*;
use std::collections::BTreeSet;

type Names = BTreeSet<Vec<u8>>;

fn keys_of(names: &Names) -> KeyRows {
    let mut keys = KeyRows::default();
    names.iter().for_each(|name| keys.push(name));
    keys
}

fn packed(names: &Names, symbols: &Arc<Symbols>) -> FrontCoded {
    FrontCoded::with(&keys_of(names), 0..names.len(), symbols.clone())
}

fn symbols_of(names: &Names) -> Arc<Symbols> {
    Arc::new(Symbols::from_texts(&names.iter().map(Vec::as_slice).collect::<Vec<_>>()))
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
        texts in names(),
    ) {
        let symbols = symbols_of(&texts);
        let (keys, places) = FrontCoded::take(packed(&old, &symbols).bytes, old.len(), urls.iter().map(Vec::as_slice)).unwrap();
        prop_assert_eq!(places.len(), urls.len());
        let mut new = Vec::new();
        for ((url, place), is_admitted) in urls.iter().zip(&places).zip(admitted) {
            match *place {
                KeyPlace::Known(row) => prop_assert_eq!(old.iter().nth(row), Some(url)),
                KeyPlace::New(gap) => {
                    prop_assert!(!old.contains(url));
                    prop_assert_eq!(gap.row, old.range(..url.clone()).count());
                    if is_admitted {
                        new.push((url.as_slice(), gap));
                    }
                }
            }
        }
        let all: Names = old.iter().cloned().chain(new.iter().map(|(key, _)| key.to_vec())).collect();
        let spliced = keys.splice(new.into_iter());
        // An empty block says nothing of symbols, and keys without symbols may get some.
        let symbols = if old.is_empty() && symbols.is_empty() { Arc::default() } else { symbols };
        let with_these = packed(&all, &symbols);
        let is_long = if symbols.is_empty() { with_these.bytes.len() >= MIN_CODED } else { with_these.is_longer_than_text() };
        if is_long {
            prop_assert_eq!(spliced, FrontCoded::packed(&keys_of(&all), 0..all.len(), &Arc::default()));
        } else {
            prop_assert_eq!(spliced, with_these);
        }
    }

    #[test]
    fn pieces_are_as_if_they_were_packed_alone(keys in names(), cuts in btree_set(1usize..40, 0..5), texts in names()) {
        let symbols = symbols_of(&texts);
        let cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut < keys.len()).collect();
        let ends = cuts.iter().copied().chain([keys.len()]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let rows = starts.zip(ends).map(|(start, end)| start..end);
        let expected: Vec<FrontCoded> =
            rows.clone().map(|rows| FrontCoded::packed(&keys_of(&keys), rows, &symbols)).collect();
        for (piece, rows) in expected.iter().zip(rows) {
            let names: Names = keys.iter().skip(rows.start).take(rows.len()).cloned().collect();
            prop_assert_eq!(piece.first(), names.first().cloned().unwrap_or_default());
            prop_assert_eq!(piece.keys(), keys_of(&names));
            prop_assert_eq!(piece, &FrontCoded::packed(&keys_of(&names), 0..names.len(), &symbols));
        }
        prop_assert_eq!(packed(&keys, &symbols).cut(&cuts), expected);
    }

    #[test]
    fn keys_come_back_with_any_symbols(keys in names(), texts in names()) {
        let packed = packed(&keys, &symbols_of(&texts));
        prop_assert_eq!(packed.keys(), keys_of(&keys));
        prop_assert_eq!(take_all_keys(&packed.bytes), Ok(keys_of(&keys)));
    }

    #[test]
    fn what_is_no_list_of_ascending_keys_is_refused(
        keys in names(), at in any::<usize>(), byte in any::<u8>(), urls in names(), texts in names(),
    ) {
        let mut damaged = packed(&keys, &symbols_of(&texts));
        prop_assume!(!damaged.bytes.is_empty());
        let at = at % damaged.bytes.len();
        damaged.bytes[at] = byte;
        let urls = || urls.iter().map(Vec::as_slice);
        let mut unpacked = recrawl_types::KeyRows::default();
        let plain = take_keys(&damaged.bytes, damaged.rows, &mut unpacked);
        let found = FrontCoded::take(damaged.bytes, damaged.rows, urls());
        prop_assert_eq!(found.as_ref().err(), plain.as_ref().err());
        if let Ok((_, places)) = found {
            for (url, place) in urls().zip(places) {
                prop_assert_eq!(unpacked.row_of(url), if let KeyPlace::Known(row) = place { Some(row) } else { None });
            }
        }
    }
}

#[test]
fn a_cut_behind_the_last_key_leaves_nothing() {
    let keys = packed(&[b"a".to_vec(), b"ab".to_vec()].into(), &Arc::default());
    assert_eq!(keys.cut(&[2]), [keys.clone(), FrontCoded::default()]);
    assert_eq!(keys.cut(&[0]), [FrontCoded::default(), keys.clone()]);
    assert_eq!(FrontCoded::default().cut(&[0]), [FrontCoded::default(), FrontCoded::default()]);
}

/// Like those of a site: numbers and words.
fn site(pages: usize) -> Names {
    let words = ["north", "river", "old", "stone", "garden", "report", "annual", "of"];
    let word = |i: usize| words[i % words.len()];
    let url = |i: usize| {
        let words = [word(i), word(i / 3), word(i * 7), word(i / 11)].join("-");
        format!("example\u{1}www\0P\0\u{1}/{i:05}/{words}.html").into_bytes()
    };
    (0..pages).map(url).collect()
}

#[test]
fn symbols_shorten_the_keys_of_a_site_and_serve_its_other_pages() {
    let (some, more) = (site(1000), site(3000));
    let packed = FrontCoded::packed(&keys_of(&some), 0..some.len(), &Arc::default());
    let plain = self::packed(&some, &Arc::default());
    assert!(packed.bytes.len() * 2 < plain.bytes.len(), "{} of {}", packed.bytes.len(), plain.bytes.len());
    let others = FrontCoded::packed(&keys_of(&more), 0..more.len(), packed.symbols());
    assert!(others.symbols() == packed.symbols());
    // Symbols of other words do not serve it.
    let foreign = symbols_of(&[b"0123456789".repeat(20)].into());
    let own = FrontCoded::packed(&keys_of(&some), 0..some.len(), &foreign);
    assert!(own == packed);
    // Few keys need none, and many get some even where they come one by one.
    let few = site(20);
    assert!(FrontCoded::packed(&keys_of(&few), 0..few.len(), &Arc::default()).symbols().is_empty());
    let mut grown = self::packed(&few, &Arc::default());
    for name in some.difference(&few) {
        grown = with_one_more(&grown, name);
    }
    assert_eq!(grown.keys(), keys_of(&some));
    assert!(!grown.symbols().is_empty() && grown.bytes.len() < plain.bytes.len());
}

fn with_one_more(keys: &FrontCoded, name: &[u8]) -> FrontCoded {
    let (places, text) = keys.read([name].into_iter()).unwrap();
    assert_eq!(text, keys.text, "a walk counts what was put");
    let KeyPlace::New(gap) = places[0] else { panic!("it is new") };
    keys.splice([(name, gap)].into_iter())
}

#[test]
fn a_block_that_grows_by_urls_of_another_kind_is_never_longer_than_without_symbols() {
    let numbers: Names = (0..400).map(|i: u64| format!("{:020}", i.pow(5) * 7919).into_bytes()).collect();
    let mut grown = FrontCoded::packed(&keys_of(&numbers), 0..numbers.len(), &Arc::default());
    let first = grown.symbols().clone();
    assert!(!first.is_empty());
    let mut all = numbers;
    for name in site(1200) {
        grown = with_one_more(&grown, &name);
        all.insert(name);
        assert!(!grown.is_longer_than_text(), "{} keys", grown.rows);
    }
    assert_eq!(grown.keys(), keys_of(&all));
    assert!(*grown.symbols() != first, "they were chosen again");
    let (plain, anew) = (packed(&all, &Arc::default()), packed(&all, grown.symbols()));
    assert!(grown == anew && grown.bytes.len() < plain.bytes.len());
}
