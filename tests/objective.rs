//! By which formula, and in how many rounds, a crawl revisits pages.

use crate::crash::{Moment, setting};
use crate::harness::{World, fails, json_lines, program, succeeds, web};
use crate::page_rules::generation_files;
use rand::SeedableRng;
use rand::rngs::StdRng;
use recrawl_mockweb::Validators;
use serde_json::{Value, json};

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

/// Score and rank of every page.
fn ranks(world: &World) -> Vec<[Value; 2]> {
    let told = |url: &String| -> Value {
        serde_json::from_str(&succeeds(world.run(&["explain", url, "--json"]))).expect("JSON")
    };
    world.pages().keys().map(told).map(|told| [told["score"].clone(), told["rank"].clone()]).collect()
}

#[test]
fn importance_weighs_an_objective_and_nothing_else() {
    let fresh = "[cycle]\npages = \"40%\"\n[schedule]\nformula = \"\"\nobjective = \"fresh\"\n";
    let world = World::new(web(16, 2), fresh);
    world.crawl(6);
    let url = world.server.url(world.lone_pages()[0]);
    let rule = |matches: &str, importance: &str| {
        format!("[[pages]]\nmatch = {matches:?}\nimportance = {importance}\n")
    };
    let without = ranks(&world);
    let ranked = |config: &str| {
        world.configure(config);
        ranks(&world)
    };
    assert_eq!(ranked(&format!("{fresh}{}", rule("*", "1"))), without);
    let twice = ranked(&format!("{fresh}{}", rule("*", "2")));
    for ([score, rank], [of_two, rank_of_two]) in without.iter().zip(&twice) {
        assert_eq!((rank, score.as_f64().map(|score| 2.0 * score)), (rank_of_two, of_two.as_f64()));
    }
    let config = format!("{fresh}{}", rule(&url, "1000"));
    assert_ne!(ranked(&config), without);
    let explain = |words: &[&str]| succeeds(world.run(&[&["explain", &url], words].concat()));
    let told: Value = serde_json::from_str(&explain(&["--json"])).unwrap();
    assert_eq!((&told["importance"], &told["rank"]), (&json!(1000), &json!(1)), "{told}");
    let text = explain(&[]);
    assert!(text.contains("it counts as 1000 pages"), "{text}");
    assert!(text.contains(&format!("importance  1000, by [[pages]] {url:?}\n")), "{text}");
    assert_eq!(next(&world), ("fresh_by_importance".to_owned(), 2));
    // A formula of the operator is left as it is, and all are told.
    let check = || {
        succeeds(program().args(["config", "check", "--config"]).arg(world.config_file()).output().unwrap())
    };
    let own = format!("[schedule]\nformula = \"age\"\n{}", rule(&url, "1000"));
    world.configure(&own);
    let (text, checked) = (explain(&[]), check());
    assert!(
        !text.contains("it counts as") && text.contains("the formula age does not read importance"),
        "{text}"
    );
    assert!(checked.contains("warning: the formula age does not read importance"), "{checked}");
    world.configure(&own.replace("\"age\"", "\"importance * t\""));
    assert!(!check().contains("warning"));
    let told: Value = serde_json::from_str(&explain(&["--json"])).unwrap();
    assert_eq!(told["score"], json!(1000.0 * told["terms"][2]["value"].as_f64().unwrap()), "{told}");
    world.is_sound();
}

/// Three pages count for more, one counts for nothing.
fn weighed(world: &World) -> String {
    let rules = world.lone_pages().into_iter().zip([50, 7, 0, 2]).map(|(page, importance)| {
        format!("[[pages]]\nmatch = {:?}\nimportance = {importance}\n", world.server.url(page))
    });
    format!("{SILENT}objective = \"balanced\"\n{}", rules.collect::<String>())
}

/// The visits of all cycles: cycle, page, share and outcome, in the order of pages.
fn visits(world: &World) -> Vec<String> {
    let visit = |visit: Value| {
        let path = visit["url"].as_str().expect("a URL").splitn(4, '/').nth(3).expect("a path").to_owned();
        format!("{:>3} {path} {} {}", visit["cycle"].as_u64().unwrap(), visit["share"], visit["outcome"])
    };
    let exported = succeeds(world.run(&["export", "visits", "--out", "-"]));
    let mut visits: Vec<String> = json_lines(&exported).into_iter().map(visit).collect();
    visits.sort();
    visits
}

/// One cycle, killed up to so many times before its last round ends. Returns how many kills met it running.
fn killed_cycle(world: &World, lot: &mut StdRng, kills: u64) -> u64 {
    let is_over = |before: &Value, now: &Value| {
        let last = |status: &Value| {
            let cycles = status["cycles"].as_array();
            cycles
                .and_then(|all| all.iter().max_by_key(|one| one["cycle"].as_u64()))
                .cloned()
                .unwrap_or_default()
        };
        last(before)["cycle"] != last(now)["cycle"] && last(now)["revisits_left"] == json!(0)
    };
    let status = || if world.data_dir.join("MANIFEST").exists() { world.status() } else { Value::Null };
    let before = status();
    for killed in 0..kills {
        let mut child = world.spawn_crawl(1);
        Moment::draw(lot, 6).wait(world, &mut child);
        child.kill().expect("our child");
        let ended = child.wait_with_output().expect("our child").status.success();
        world.forgets_the_killed();
        if is_over(&before, &status()) {
            return killed + u64::from(!ended);
        }
    }
    succeeds(world.crawl_command(1).output().expect("the program runs"));
    kills
}

#[test]
fn a_crawl_that_is_killed_plans_by_importance_as_one_that_is_not() {
    let (kills, seed) = (setting("RECRAWL_KILLS", 6), setting("RECRAWL_KILL_SEED", 1));
    let mut lot = StdRng::seed_from_u64(seed);
    let [calm, killed] = [(), ()].map(|()| World::new(web(60, 2), SILENT));
    [&calm, &killed].into_iter().for_each(|world| world.configure(&weighed(world)));
    let (mut met, mut cycle) = (0, 0);
    while met < kills || cycle < 6 {
        calm.server.advance().expect("a clock");
        calm.crawl(1);
        killed.server.advance().expect("a clock");
        // A crawl that ends sooner is killed in further cycles.
        met += killed_cycle(&killed, &mut lot, (kills - met).min(kills.div_ceil(6)));
        cycle += 1;
        assert!(cycle <= 6 + kills, "{met} kills in {cycle} cycles");
        assert_eq!(visits(&calm), visits(&killed), "seed {seed}, cycle {cycle}");
    }
    println!("{met} kills in {cycle} cycles");
    assert_eq!(ranks(&calm), ranks(&killed), "the next schedule");
    let of = |world: &World| world.crawl(1)[0]["formula"].clone();
    assert_eq!((of(&calm), of(&killed)), (json!("balanced_by_importance"), json!("balanced_by_importance")));
    killed.is_sound();
}

#[test]
fn what_is_off_changes_no_byte_of_an_explicit_formula() {
    let plain = "[cycle]\npages = \"40%\"\n[storage]\narchive = false\n[schedule]\nformula = \"p_eb * t\"\n";
    let crawl = |extra: &str| {
        let world = World::new(
            recrawl_mockweb::Config { validators: Validators::None, ..web(40, 2) },
            &format!("{plain}{extra}"),
        );
        (0..5).for_each(|_| drop(world.next_cycle()));
        let sizes: Vec<(String, usize)> =
            generation_files(&world.data_dir).into_iter().map(|(name, bytes)| (name, bytes.len())).collect();
        (visits(&world), ranks(&world), sizes)
    };
    let without = crawl("");
    let ones = "[improve]\nobjective = \"fresh\"\n[[pages]]\nmatch = \"*\"\nimportance = 1\n";
    assert_eq!(crawl(ones), without);
    let (visits, ..) = crawl("[[pages]]\nmatch = \"*\"\nimportance = 5\n");
    assert_eq!(visits, without.0, "a formula that does not read importance knows nothing of it");
}
