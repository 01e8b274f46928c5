//! A loop that nobody looks after: killed, out of disk, it decides what it decides when nothing happens.

use crate::crash::{Moment, setting};
use crate::harness::{World, count, json_lines, succeeds, web};
use crate::improve_loop::offer_to;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const LOOP: &str = "[improve]\nmode = \"promote\"\nevery = 1000\nshadow_cycles = 2\nbefore_cycles = 2\n\
                    settling_cycles = 1\ntrial_cycles = 3\nguard_cycles = 4\nmax_loss = 0.4\ntrial_sites = 20\n\
                    [schedule]\nformula = \"n\"\n[cycle]\npages = \"30%\"\naudit_share = 0.4\n\
                    [fetch]\nconnections = 8\n";
/// Cycles between two offered formulas.
const OFFERED: u64 = 14;
/// Among them are some that lose.
const FORMULAS: [&str; 5] = ["t", "1 / (1 + t)", "t * X", "p_eb_site", "t * p_eb"];

/// What ended a crawl before its cycle did.
#[derive(Debug)]
enum Trouble {
    Killed(Moment),
    /// A file cannot grow beyond this size in bytes. A write beyond it fails, as on a full disk.
    Full(u64),
}

/// This cycle of the crawl, after all this trouble.
fn cycle(world: &World, number: u64, troubles: &[Trouble]) -> u64 {
    let mut met = 0;
    for trouble in troubles {
        let ended = match trouble {
            Trouble::Killed(moment) => {
                let mut child = world.spawn_crawl(1);
                moment.wait(world, &mut child);
                child.kill().unwrap();
                child.wait_with_output().unwrap()
            }
            Trouble::Full(bytes) => {
                let crawl = world.crawl_command(1);
                let mut shell = Command::new("bash");
                // SIGXFSZ does not end the program, so the write fails.
                let script = format!("ulimit -f {}; exec \"$@\"", bytes / 1024);
                shell.args(["-c", &script, "bash"]).arg(crawl.get_program()).args(crawl.get_args());
                shell.envs(crawl.get_envs().filter_map(|(name, value)| Some((name, value?))));
                shell.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
            }
        };
        if ended.status.success() {
            return met;
        }
        met += 1;
        // Trouble after the commit, before the end.
        let is_done =
            world.data_dir.join("MANIFEST").exists() && count(&world.status(), "generation") == Some(number);
        if is_done {
            return met;
        }
        if let Trouble::Full(_) = trouble {
            let told = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(1), "{trouble:?}: {told}");
            assert!(told.contains("File too large"), "{trouble:?}: {told}");
        }
    }
    world.crawl(1);
    met
}

/// Cycles of a crawl to which formulas are offered, with this many troubles: the events of its loop, the formula of each
/// cycle, and the troubles met.
fn crawl(world: &World, cycles: u64, troubles: u64, lot: &mut StdRng) -> (Vec<Value>, Vec<Value>, u64) {
    let mut met = 0;
    for number in 1..=cycles {
        world.server.set_clock(number as u32).unwrap();
        if number >= 8 && number % OFFERED == 8 % OFFERED {
            let place = (number / OFFERED) as usize % FORMULAS.len();
            offer_to(&world.data_dir, FORMULAS[place]);
        }
        let due = (troubles * number / cycles).saturating_sub(met);
        let draw = |_| match lot.random_range(0..3) {
            0 => Trouble::Full(lot.random_range(1..200) * 1024),
            _ => Trouble::Killed(Moment::draw(lot, 60)),
        };
        let troubles: Vec<Trouble> = (0..due).map(draw).collect();
        met += cycle(world, number, &troubles);
    }
    let history = succeeds(world.run(&["improve", "history", "--json"]));
    let history: Value = serde_json::from_str(&history).unwrap();
    let told = |event: &Value| ["cycle", "what", "candidate", "why"].map(|name| event[name].clone()).into();
    let events = history["events"].as_array().unwrap().iter().map(told).collect();
    let cycles = succeeds(world.run(&["export", "cycles", "--out", "-"]));
    let formulas = json_lines(&cycles).iter().map(|cycle| cycle["formula"].clone()).collect();
    (events, formulas, met)
}

/// RECRAWL_CYCLES and RECRAWL_KILLS make it longer, RECRAWL_KILL_SEED different.
#[test]
fn killed_and_out_of_disk_the_loop_decides_as_if_nothing_had_happened() {
    let (cycles, troubles) = (setting("RECRAWL_CYCLES", 40), setting("RECRAWL_KILLS", 12));
    let mut lot = StdRng::seed_from_u64(setting("RECRAWL_KILL_SEED", 1));
    let mut world = World::new(web(240, 24), LOOP);
    let (events, formulas, _) = crawl(&world, cycles, 0, &mut lot);
    let promoted = events.iter().filter(|event| event[1] == "promoted").count();
    assert!(promoted > 0, "{events:?}");
    // The same web from its beginning.
    world.data_dir = PathBuf::from(world.folder.path()).join("troubled");
    let troubled = crawl(&world, cycles, troubles, &mut lot);
    println!("{cycles} cycles, {promoted} promotions, {} events, {} troubles", events.len(), troubled.2);
    assert!(troubled.2 >= troubles / 2, "{} troubles", troubled.2);
    assert_eq!((troubled.0, troubled.1), (events, formulas));
    world.is_sound();
}
