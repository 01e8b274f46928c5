use super::*;
use proptest::prelude::*;

fn chosen(name: &str) -> ChosenDetector {
    name.parse().unwrap()
}

#[test]
fn the_list_is_complete_and_its_names_are_found() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/detector");
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> =
        names.filter(|n| n != "tests.rs").map(|n| n.trim_end_matches(".rs").to_owned()).collect();
    files.sort();
    let listed: Vec<&str> = ALL.iter().map(|d| d.name()).collect();
    assert_eq!(listed, files, "a file under detector/ is one detector of the same name, in order of name");
    for detector in ALL {
        assert_eq!(chosen(detector.name()).name(), detector.name());
        assert!(detector.about().len() > 20);
    }
    let error = "levenshtein".parse::<ChosenDetector>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown change detector \"levenshtein\"; choose one of adaptive, digest, simhash"
    );
}

#[test]
fn each_detector_on_either_side_of_its_border() {
    let differs = |distance, max_distance, floor| ContentComparison {
        digest_equal: false,
        distance,
        max_distance,
        floor,
    };
    for (name, comparison, changed) in [
        ("digest", differs(0, 9, Some(9)), true),
        ("simhash", differs(3, 3, None), false),
        ("simhash", differs(4, 3, None), true),
        ("simhash", differs(4, 3, Some(4)), false),
        ("simhash", differs(4, 3, Some(2)), true),
        ("adaptive", differs(0, 9, None), true),
        ("adaptive", differs(4, 0, Some(4)), false),
        ("adaptive", differs(5, 0, Some(4)), true),
        ("adaptive", differs(5, 5, Some(4)), false),
        ("adaptive", differs(0, 0, Some(0)), false),
    ] {
        assert_eq!(chosen(name).changed(&comparison), changed, "{name} {comparison:?}");
    }
}

proptest! {
    /// Laws of every detector: equal texts never changed, and if a distance counts as a change, so
    /// does every larger one.
    #[test]
    fn every_detector_keeps_the_laws(
        distance in 0u32..64, more in 0u32..64, max_distance in 0u32..65, floor in proptest::option::of(0u32..65)
    ) {
        for detector in ALL {
            let equal = ContentComparison { digest_equal: true, distance: 0, max_distance, floor };
            prop_assert!(!detector.changed(&equal));
            let near = ContentComparison { digest_equal: false, distance, max_distance, floor };
            let far = ContentComparison { distance: (distance + more).min(64), ..near };
            prop_assert!(!detector.changed(&near) || detector.changed(&far), "{}", detector.name());
        }
    }
}
