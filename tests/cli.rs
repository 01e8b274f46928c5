//! Words, exit codes, and one-line errors.

use crate::harness::{World, fails, json_lines, program, succeeds, web, workspace_file};

#[test]
fn wrong_words_exit_with_2_and_touch_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["crawl", "--no-such-flag"][..],
        &["crawl", "--cycles", "many"],
        &["frobnicate"],
        &[],
        &["export", "everything", "--out", "x"],
    ] {
        let output = program().current_dir(folder.path()).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_command_that_moved_to_the_laboratory_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&["predict", "--data", "x"][..], &["-q", "dataset", "generate", "x", "--pages", "5"]] {
        let line = fails(program().current_dir(folder.path()).args(words).output().unwrap(), 2);
        assert!(line.contains("use `recrawl-lab "), "{words:?}: {line}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_bad_seed_names_itself_and_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let crawl =
        |words: &[&str]| program().current_dir(folder.path()).arg("crawl").args(words).output().unwrap();
    let line = fails(crawl(&["--seed", "nonsense", "--cycles", "1"]), 2);
    assert!(line.contains("nonsense") && line.contains("https://"), "{line}");
    let line = fails(crawl(&["ftp://example.com", "--cycles", "1"]), 2);
    assert!(line.contains("ftp://example.com"), "{line}");
    std::fs::write(folder.path().join("seeds.txt"), "https://a.example/\nnonsense\n").unwrap();
    let line = fails(crawl(&["--seeds", "seeds.txt", "--cycles", "1"]), 2);
    assert!(line.contains("seeds.txt") && line.contains("line 2"), "{line}");
    let line = fails(crawl(&["--seeds", "none.txt", "--cycles", "1"]), 2);
    assert!(line.contains("none.txt"), "{line}");
    assert!(!folder.path().join("data").exists());
}

#[test]
fn a_crawl_with_nothing_to_start_from_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = program().current_dir(folder.path()).args(["crawl", "--cycles", "1"]).output().unwrap();
    let line = fails(output, 2);
    assert!(line.contains("recrawl crawl https://example.com"), "{line}");
    assert!(!folder.path().join("data").exists());
}

#[test]
fn a_bad_configuration_names_file_key_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    for (text, wants) in [
        ("[politeness]\ndelay_per_hots = \"1 s\"\n", &["delay_per_hots", "delay_per_host`"][..]),
        ("[cycle]\nperiod = 5\n", &["line 2", "unit"]),
        ("[cycle]\ndiscovery_share = 0.8\naudit_share = 0.5\n", &["audit_share"]),
        ("[schedule]\nformula = \"t * Y\"\n", &["schedule.formula", "Y"]),
        ("[schedule]\npolicy = \"best\"\n", &["schedule.policy", "formula, rand, age"]),
        ("[fetch]\nallow_addresses = [\"localhost\"]\n", &["allow_addresses", "localhost"]),
        ("[change]\ndetector = \"psychic\"\n", &["psychic", "digest"]),
        ("[scope]\nhosts = [\"http://x/\"]\n", &["scope.hosts"]),
        ("[crawler]\nuser_agent = \"\"\n", &["user_agent"]),
        ("[cycle\n", &["line 1"]),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = program().args(["config", "check", "--config"]).arg(&file).output().unwrap();
        let line = fails(output, 2);
        for want in wants {
            assert!(line.contains(want), "{text:?}: {line}");
        }
        assert!(line.contains("c.toml"), "{line}");
    }
}

#[test]
fn a_configuration_is_fine_when_its_tokens_are() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (file, tokens) = (folder.path().join("c.toml"), folder.path().join("tokens"));
    std::fs::write(&file, format!("[serve]\ntokens = \"{}\"\n", tokens.display())).unwrap();
    let check = || program().args(["config", "check", "--config"]).arg(&file).output().unwrap();
    let line = fails(check(), 2);
    assert!(line.contains("serve.tokens: ") && line.contains("tokens: "), "{line}");
    for (mode, text, wants) in [
        (0o644, "anna 0123456789abcdef0123456789abcdef\n", "chmod 600"),
        (0o600, "anna\n", "tokens:1: "),
        (0o600, "anna short\n", "characters"),
    ] {
        std::fs::write(&tokens, text).unwrap();
        std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(mode)).unwrap();
        let line = fails(check(), 2);
        assert!(line.contains("serve.tokens: ") && line.contains(wants), "{line}");
    }
    std::fs::write(&tokens, "anna 0123456789abcdef0123456789abcdef\n").unwrap();
    succeeds(check());
}

#[test]
fn the_reference_configuration_is_the_default() {
    let reference = workspace_file("config/recrawl.toml");
    let mut check = program();
    check.args(["config", "check", "--json", "--config"]).arg(&reference);
    let checked: serde_json::Value = serde_json::from_str(&succeeds(check.output().unwrap())).unwrap();
    assert_eq!((&checked["ok"], &checked["file"]), (&true.into(), &reference.display().to_string().into()));
    let shown = succeeds(program().args(["config", "show", "--config"]).arg(&reference).output().unwrap());
    let defaults = succeeds(program().args(["config", "show"]).output().unwrap());
    assert_eq!(shown, defaults);
}

#[test]
fn formulas_are_listed_shown_checked_and_used() {
    let list = succeeds(program().args(["formula", "list"]).output().unwrap());
    assert!(list.contains("default") && list.contains("p_eb_site * sqrt(sqrt(u_harm_site))"), "{list}");
    let show = succeeds(program().args(["formula", "show", "age"]).output().unwrap());
    assert!(show.contains("expression = \"t\""), "{show}");
    let show = succeeds(program().args(["formula", "show", "age", "--json"]).output().unwrap());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&show).unwrap()["expression"], "t");
    let check = succeeds(program().args(["formula", "check", "t * X"]).output().unwrap());
    assert!(check.contains("never visited again"), "t * X starves: {check}");
    let fine = succeeds(program().args(["formula", "check", "default"]).output().unwrap());
    assert!(fine.contains("ok          finite"), "{fine}");
    let line = fails(program().args(["formula", "check", "t * ("]).output().unwrap(), 2);
    assert!(line.contains("column"), "{line}");

    let world = World::new(web(20, 2), "");
    world.crawl(1);
    // The check judges the formula in force, and says which that is.
    world.configure("[[pages]]\nmatch = \"*\"\nimportance = 5\n");
    let checked = succeeds(world.run(&["config", "check"]));
    assert!(
        checked.contains("formula: default, by the configuration") && checked.contains("warning: "),
        "{checked}"
    );
    succeeds(world.run(&["formula", "use", "t * importance"]));
    let checked = succeeds(world.run(&["config", "check"]));
    assert!(checked.contains("formula: t * importance, by `recrawl formula use` ("), "{checked}");
    assert!(checked.contains("default, by the configuration, is not in force"), "{checked}");
    assert!(!checked.contains("warning: "), "{checked}");
    let back = succeeds(world.run(&["formula", "rollback"]));
    assert!(back.contains("default: in force from cycle 2 on (from the configuration)"), "{back}");
    assert!(!world.data_dir.join("formula.toml").exists());
    succeeds(world.run(&["formula", "use", "t * (X + 2)"]));
    let report = world.crawl(1).remove(0);
    assert_eq!(report["formula"], "t * (X + 2)");
    let log = std::fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap();
    let rows = json_lines(&log);
    assert_eq!((&rows[4]["result"], &rows[5]["result"]), (&"begun".into(), &"next_cycle".into()), "{log}");
    assert_eq!(rows[5]["change"]["kind"], "use_formula");
    assert!(rows[5]["change"]["text"].as_str().unwrap().contains("t * (X + 2)"), "{log}");
}

#[test]
fn a_directory_of_somebody_else_is_not_taken_for_a_data_directory() {
    let world = World::new(web(5, 1), "[serve]\nlisten = \"127.0.0.1:0\"");
    std::fs::create_dir_all(world.data_dir.join("photos")).unwrap();
    std::fs::write(world.data_dir.join("letter.txt"), "mine").unwrap();
    let list = world.folder.path().join("list");
    std::fs::write(&list, world.server.seeds().join("\n")).unwrap();
    let import = world.command(&["import", "list"]).arg(&list).output();
    for refused in [
        world.crawl_command(1).output(),
        world.command(&["serve"]).output(),
        import,
        world.command(&["formula", "use", "age"]).output(),
    ] {
        let line = fails(refused.unwrap(), 2);
        assert!(line.contains("letter.txt, photos") && line.contains("--data-dir"), "{line}");
    }
    assert_eq!(std::fs::read_dir(&world.data_dir).unwrap().count(), 2, "nothing is touched");
    assert_eq!(world.server.log(0).unwrap(), []);
    // What the command names may lie there, and once there is a crawl, anything.
    std::fs::remove_dir(world.data_dir.join("photos")).unwrap();
    std::fs::rename(world.seed_file(), world.data_dir.join("letter.txt")).unwrap();
    let seeds = world.data_dir.join("letter.txt");
    let from = |seeds: &std::path::Path| {
        succeeds(world.command(&["crawl", "--cycles", "1"]).arg("--seeds").arg(seeds).output().unwrap())
    };
    from(&seeds);
    std::fs::create_dir(world.data_dir.join("photos")).unwrap();
    from(&seeds);
}

#[test]
fn a_new_data_directory_may_hold_what_is_named_and_what_output_goes_to() {
    let world = World::new(web(5, 1), "");
    std::fs::create_dir_all(&world.data_dir).unwrap();
    let put = |name: &str, text: &str| {
        let file = world.data_dir.join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let formula = put("mine.toml", "name = \"mine\"\nexpression = \"t\"\n");
    let password = put("password", "opensesame\n");
    let log = put("crawl.log", "words of an earlier start\n");
    let of_host =
        format!("host = \"nowhere.test\"\nuser = \"anna\"\npassword = \"file:{}\"", password.display());
    let settings = std::fs::read_to_string(world.config_file()).unwrap();
    std::fs::write(world.config_file(), format!("{settings}\n[[hosts]]\n{of_host}\n")).unwrap();
    let line = fails(world.crawl_command(1).output().unwrap(), 2);
    assert!(line.contains("contains crawl.log, mine.toml but no crawl;"), "{line}");
    let mut command = world.crawl_command(1);
    command.arg("--formula").arg(formula);
    command.stderr(std::fs::File::options().append(true).open(log).unwrap());
    assert_eq!(json_lines(&succeeds(command.output().unwrap()))[0]["formula"], "mine");
}
