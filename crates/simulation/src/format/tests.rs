use super::*;
use crate::testing::datasets;
use proptest::prelude::*;
use std::fs;

/// Groups in the order of first use by a page, as a reader numbers them, and the sites that it derives.
fn as_met(mut data: Dataset) -> Dataset {
    let mut histories = crate::histories::PageHistories::default();
    for page in &mut data.pages {
        let group = &data.groups[page.group as usize];
        *page = histories.page(page.url.clone(), Some(group), page.first, page.last);
    }
    (data.sites, data.groups) = histories.names();
    data
}

fn dated(mut data: Dataset, urls: bool, dates: bool) -> Dataset {
    for (place, page) in data.pages.iter_mut().enumerate() {
        page.url = if urls { format!("https://{place}.example/ü") } else { format!("page {place}") }.into();
    }
    if dates {
        data.dates = (0..=i64::from(data.truth.cycles())).map(|c| calendar::date(20_000 + c / 2)).collect();
    }
    data
}

proptest! {
    #[test]
    fn the_folder_of_tables_keeps_all_of_a_data_set(
        data in datasets(false, 70), urls: bool, dates: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random");
        let data = as_met(dated(data, urls, dates));
        prop_assert_eq!(create(&data, &path, "native").unwrap(), Vec::<String>::new());
        let read = open(&path, None).unwrap();
        prop_assert_eq!(&read, &data);
        prop_assert_eq!(read.digest(), data.digest());
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn bit_strings_survive_the_way_through_tables_and_back(
        (width, bits) in (1usize..90).prop_flat_map(|w| (Just(w), prop::collection::vec(prop::collection::vec(any::<bool>(), w), 1..9))),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [first, tables, second] = ["first", "tables", "second"].map(|name| folder.path().join(name));
        let bit = |&bit: &bool| if bit { '1' } else { '0' };
        let text: String = bits.iter().map(|page| page.iter().map(bit).chain(['\n']).collect::<String>()).collect();
        fs::write(&first, &text).unwrap();
        let data = open(&first, None).unwrap();
        prop_assert_eq!(data.truth.cycles() as usize, width);
        create(&data, &tables, "native").unwrap();
        let again = open(&tables, None).unwrap();
        prop_assert_eq!(&again.truth, &data.truth);
        prop_assert_eq!(again.digest(), data.digest());
        prop_assert_eq!(create(&again, &second, "gp4c").unwrap(), ["addresses and sites"]);
        prop_assert_eq!(fs::read_to_string(&second).unwrap(), text);
    }

    #[test]
    fn no_text_makes_a_reader_fail_otherwise_than_by_an_error(
        text in "[ -~\n\t]{0,300}|([01]{3}\n){0,3}[01 ]{0,5}| CDX [Nbamsk ]{0,12}\n(com,a\\)/ [0-9]{13,14} http://a/ - (200|-) [A-C-]\n){0,4}\
                 |(\\{\"cycle\":[0-9]{1,10},\"time\":[0-9]{1,20},\"url\":\"[a-c]\",\"site\":\"\",\"outcome\":\"fetched\",\"changed\":(true|null)\\}\n){1,4}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, &text).unwrap();
        for format in ALL.iter().map(|format| Some(format.name)).chain([None]) {
            match open(&path, format) {
                Ok(data) => prop_assert!(!data.pages.is_empty() && data.pages.len() == data.truth.pages()),
                Err(e) => prop_assert!(!e.to_string().contains('\n'), "one line: {}", e),
            }
        }
    }
}

#[test]
fn what_bit_strings_lose_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let page = |last| crate::RecordedPage { url: "a".into(), last, ..crate::RecordedPage::default() };
    let mut data = Dataset {
        name: "back".into(),
        dates: vec!["2026-01-01".into(); 3],
        pages: vec![page(2)],
        sites: vec!["a".into()],
        groups: vec!["a".into()],
        truth: crate::Truth::from_changes(2, [[(1, 1), (2, 0)].as_slice()].into_iter()),
        signals: Default::default(),
        contents: None,
        beginning: None,
    };
    data.signals.push(0, &[2]);
    let path = folder.path().join("bits");
    let losses = create(&data, &path, "gp4c").unwrap();
    assert_eq!(losses[..2], ["addresses and sites", "dates"]);
    assert!(losses[2].starts_with("that 1 changes return"), "{losses:?}");
    assert_eq!(losses[3], "signals");
    assert_eq!(fs::read_to_string(&path).unwrap(), "11\n");
    data.pages[0].last = 1;
    let message = create(&data, &folder.path().join("other"), "gp4c").unwrap_err().to_string();
    assert!(message.contains("page 0 does not exist in all cycles"), "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what failed leaves nothing");
}

#[test]
fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bits");
    fs::write(&path, "01\n").unwrap();
    let data = open(&path, None).unwrap();
    for format in ["gp4c", "native"] {
        let error = create(&data, &path, format).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("not overwritten"), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "01\n");
    fs::write(folder.path().join(".new.partial"), "half").unwrap();
    let left = create(&data, &folder.path().join("new"), "gp4c").unwrap_err();
    assert!(left.to_string().contains(".new.partial: left by an interrupted run"), "{left}");
    let read_only = create(&data, &folder.path().join("x"), "cdx").unwrap_err();
    assert!(read_only.is_usage() && read_only.to_string().contains("native, gp4c"), "{read_only}");
}

#[test]
fn names_with_tabs_are_not_written_into_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bits");
    fs::write(&path, "01\n").unwrap();
    let mut data = open(&path, None).unwrap();
    data.groups[0] = "a\tb".into();
    let message = create(&data, &folder.path().join("tables"), "native").unwrap_err().to_string();
    assert!(message.contains("control character"), "{message}");
}

#[test]
fn names_are_few_words_and_no_two_are_the_same() {
    for (place, format) in ALL.iter().enumerate() {
        assert!(format.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{}", format.name);
        assert!(!format.help.is_empty() && !format.help.ends_with('.'), "{}", format.name);
        assert!(ALL[..place].iter().all(|other| other.name != format.name), "{}", format.name);
    }
    // One file each; these are shared modules, not formats.
    let shared = ["calendar", "captures", "error", "index", "lines", "tests"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/format");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !shared.contains(&name.as_str()))
        .collect();
    let mut names: Vec<&str> = ALL.iter().map(|format| format.name).collect();
    found.sort();
    names.sort();
    assert_eq!(found, names);
}
