//! By which formula, and in how many rounds, a crawl revisits pages.

use crate::harness::{World, fails, json_lines, succeeds, web};

/// The formula and the number of rounds of the next cycle.
fn next(world: &World) -> (String, usize) {
    world.server.advance().expect("a clock");
    let reports = json_lines(&succeeds(world.crawl_command(1).output().unwrap()));
    assert!(reports.iter().all(|report| report["kind"] == "revisit"), "{reports:?}");
    let formula = reports[0]["formula"].as_str().expect("a name").to_owned();
    assert!(reports.iter().all(|report| report["formula"] == formula.as_str()), "{reports:?}");
    (formula, reports.len())
}

/// Neither an objective nor a formula.
const SILENT: &str = "[cycle]\npages = \"40%\"\n[schedule]\nformula = \"\"\n";

#[test]
fn a_new_directory_is_balanced_and_an_older_one_goes_on_until_an_objective_is_set() {
    let world = World::new(web(60, 2), SILENT);
    let by = |name: &str, rounds| (name.to_owned(), rounds);
    assert_eq!(next(&world), by("balanced", 1), "nothing can be learned in the first cycle");
    assert_eq!(next(&world), by("balanced", 2));
    let told = succeeds(world.run(&["formula", "list"]));
    assert!(told.lines().any(|line| line.starts_with("* balanced")), "{told}");
    // A copy of the last commit goes on as the crawl began.
    let copy = world.folder.path().join("copy");
    succeeds(world.run(&["backup", copy.to_str().unwrap(), "--last-commit"]));
    assert!(copy.join("schedule.toml").exists());
    // As an older version left it.
    std::fs::remove_file(world.data_dir.join("schedule.toml")).expect("it was noted");
    assert_eq!(next(&world), by("default", 1));
    assert_eq!(next(&world), by("default", 1), "an update changes nothing");
    world.configure(&format!("{SILENT}objective = \"fresh\"\n"));
    assert_eq!(next(&world), by("fresh", 2));
    world.configure("[cycle]\npages = \"40%\"\n[schedule]\nformula = \"t * X\"\n");
    assert_eq!(next(&world), by("t * X", 1));
    world.is_sound();
}

#[test]
fn an_objective_and_a_formula_that_contradict_are_refused_by_name() {
    let world = World::new(web(9, 1), "[schedule]\nobjective = \"changes\"\nformula = \"t * X\"\n");
    let told = fails(world.crawl_command(1).output().unwrap(), 2);
    assert!(told.contains("schedule.objective = \"changes\"") && told.contains("t * X"), "{told}");
    world.configure("[schedule]\nformula = \"\"\nobjective = \"best\"\n");
    let told = fails(world.crawl_command(1).output().unwrap(), 2);
    assert!(told.contains("balanced, fresh, changes"), "{told}");
    world.configure("[schedule]\nformula = \"\"\n");
    world.crawl(1);
    std::fs::write(world.data_dir.join("schedule.toml"), "nonsense").unwrap();
    let told = fails(world.crawl_command(1).output().unwrap(), 1);
    assert!(told.contains("schedule.toml") && told.contains("objective = \"balanced\""), "{told}");
}
