use super::*;
use crate::config::Config;
use crate::config::units::Proportion;
use std::fs;
use std::path::PathBuf;

fn config(folder: &Path) -> Config {
    let terms = folder.join("terms.toml");
    fs::write(&terms, "genre = [\"syllabus\"]\ncontent = [\"database\"]\n").unwrap();
    let mut config = Config::default();
    (config.focus.enabled, config.focus.terms) = (true, terms);
    config
}

#[test]
fn wrong_keys_are_told_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let good = config(folder.path());
    assert!(FocusRules::from_config(&good).unwrap().is_some());
    assert!(FocusRules::from_config(&Config::default()).unwrap().is_none());
    let of = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let changed = |change: &dyn Fn(&mut Config)| {
        let mut config = good.clone();
        change(&mut config);
        FocusRules::from_config(&config).unwrap_err()
    };
    let (other, spoilt) =
        (of("other.bin", "another file"), of("spoilt.toml", "genre = [\"a\"]\nkontent = []\n"));
    for (error, says) in [
        (changed(&|c| c.focus.terms = PathBuf::new()), &["focus.terms names no file", "config/focus"][..]),
        (changed(&|c| c.focus.terms = "absent.toml".into()), &["focus.terms: absent.toml: No such file"]),
        (changed(&|c| c.focus.terms = spoilt.clone()), &["line 2", "did you mean `content`"]),
        (changed(&|c| c.focus.order = "best".into()), &["focus.order is \"best\"", "fs-2", "learned"]),
        (changed(&|c| c.focus.order = "random".into()), &["focus.order is \"random\""]),
        (changed(&|c| c.focus.classifier = "svm".into()), &["focus.classifier is \"svm\"", "linear, terms"]),
        (changed(&|c| c.focus.classifier = "linear".into()), &["focus.model names no file", "focus train"]),
        (changed(&|c| c.focus.model = other.clone()), &["focus.model is set"]),
        (
            changed(&|c| (c.focus.classifier, c.focus.model) = ("linear".into(), other.clone())),
            &["focus.model:", "not a model of this version", "train it again"],
        ),
        (changed(&|c| c.focus.rounds = 0), &["focus.rounds"]),
        (changed(&|c| c.focus.groups = usize::MAX), &["focus.groups is out of range", "or leave it out"]),
        (changed(&|c| c.focus.worth = f64::NAN), &["focus.worth"]),
        (
            changed(&|c| c.focus.max_text.0 = 1 << 30),
            &["focus.max_text is out of range; write 1 B to 64 KiB"],
        ),
    ] {
        for part in says {
            assert!(error.contains(part), "{error:?} has no {part:?}");
        }
    }
    let mut off = Config::default();
    off.cycle.discovery_share = DiscoveryShare::Auto;
    assert!(FocusRules::from_config(&off).unwrap_err().contains("needs focus.enabled"));
    off.cycle.discovery_share = DiscoveryShare::Fixed(Proportion(0.3));
    assert!(FocusRules::from_config(&off).unwrap().is_none());
}

#[test]
fn the_digest_is_of_all_that_verdicts_depend_on() {
    let folder = tempfile::tempdir().unwrap();
    let good = config(folder.path());
    let digest = |config: &Config| FocusRules::from_config(config).unwrap().unwrap().digest;
    let before = digest(&good);
    fs::write(&good.focus.terms, "# a comment\ngenre = [\"syllabus\"]\ncontent = [\"database\"]\n").unwrap();
    assert_eq!(digest(&good), before);
    fs::write(&good.focus.terms, "genre = [\"syllabus\"]\ncontent = [\"databases\"]\n").unwrap();
    assert_ne!(digest(&good), before);
}

#[test]
fn a_page_at_the_threshold_is_relevant() {
    let folder = tempfile::tempdir().unwrap();
    let rules = FocusRules::from_config(&config(folder.path())).unwrap().unwrap();
    for (relevance, is_relevant) in [(0.47, true), (0.469, false), (1.0, true), (0.0, false)] {
        let kept = recrawl_types::Verdict::new(relevance, 0.0, 0.0, 0.0).relevance();
        assert_eq!(rules.is_relevant(kept), is_relevant, "{relevance}");
    }
}
