use super::*;

fn thesis() -> Preset {
    Preset::find("thesis").unwrap()
}

#[test]
fn every_file_of_the_folder_is_in_the_list_and_reads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/gp4c");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let mut listed: Vec<&str> = BUILTIN.iter().map(|b| b.0).collect();
    listed.sort_unstable();
    assert_eq!(files, listed);
    for (name, text) in BUILTIN {
        let preset = Preset::from_toml(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(preset.name, *name);
        // A comment for every key.
        let keys = text.lines().filter(|l| l.contains(" = ")).filter(|l| !l.starts_with('#'));
        for key in keys {
            let line = text.lines().position(|l| l == key).unwrap();
            let before = line.checked_sub(1).and_then(|above| text.lines().nth(above)).unwrap_or("");
            assert!(key.contains('#') || before.starts_with('#'), "{name}: nothing is said of {key}");
        }
    }
}

#[test]
fn the_presets_of_the_texts_have_their_figures() {
    for name in ["thesis", "journal", "program"] {
        let preset = Preset::find(name).unwrap();
        assert_eq!((preset.population.size, preset.population.generations), (300, 50));
        assert_eq!(preset.population.random_seeds, [111, 222, 333, 444, 555]);
        assert_eq!((preset.selection.kept, preset.breeding.tournament), (50, 2));
        assert_eq!(preset.tree.depth_created, 10);
        assert_eq!(preset.limits_of_crossover().depth, if name == "program" { 17 } else { 9 });
        assert_eq!(preset.selection.method, ChoiceMethod::Best);
        let protocol = if name == "journal" { Protocol::Journal } else { Protocol::Thesis };
        assert_eq!(preset.protocol, protocol);
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_its_key() {
    let (_, text) = BUILTIN[0];
    for (from, to, says) in [
        ("size = 300", "size = 0", "population.size = 0: use 1"),
        ("shrink = 0.05", "shrink = 1.5", "mutation.shrink = 1.5: use a rate from 0 to 1"),
        ("shrink = 0.05", "shrink = 0.05\nshrnk = 1", "unknown field `shrnk`"),
        ("size = 300", "# size = 300", "missing field `size`"),
        (
            "terminals = \"basic\"",
            "terminals = \"some\"",
            "unknown variant `some`, expected one of `basic`, `all`, `extended`",
        ),
        ("\"log\"", "\"lg\"", "unknown function 'lg'; use add"),
        ("[111, 222", "[111, 111, 222", "random seed 111 is repeated"),
        ("1000.0]", "inf]", "constant inf"),
        ("nodes = 512", "nodes = 513", "tree.nodes = 513: use 3 to 512"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Preset::from_toml(&text.replacen(from, to, 1)).expect_err(says).to_string();
        assert!(error.contains(says), "{error}\nshould say: {says}");
    }
    let mut none = thesis();
    (none.breeding.crossover, none.breeding.reproduction, none.breeding.new) = (0.0, 0.0, 0.0);
    assert!(matches!(none.check(), Err(PresetError::NothingBreeds)));
}

#[test]
fn a_preset_is_found_by_name_or_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let text = BUILTIN[0].1.replacen("size = 300", "size = 30", 1);
    std::fs::write(&path, text).unwrap();
    let name = path.to_str().unwrap();
    assert_eq!(Preset::find(name).unwrap().population.size, 30);
    std::fs::write(&path, "name = 1").unwrap();
    let wrong = Preset::find(name).unwrap_err().to_string();
    assert!(wrong.contains("mine.toml") && wrong.contains("invalid type"), "{wrong}");
    let unknown = Preset::find("teh thesis").unwrap_err().to_string();
    assert!(unknown.contains("thesis, journal, program, recrawl"), "{unknown}");
    assert!(Preset::find("none.toml").unwrap_err().to_string().contains("cannot read preset none.toml"));
}
