//! Pages made by script, where no browser is started: what a crawl sees of them, and what it says if one is missing.

use crate::harness::{World, fails, program, web};
use recrawl_mockweb::Config;

#[test]
fn without_a_browser_a_scripted_web_is_empty() {
    let world = World::new(Config { scripted: true, ..web(30, 2) }, "[cycle]\npages = \"100%\"\n");
    (0..3).for_each(|_| drop(world.next_cycle()));
    assert_eq!(world.pages().len(), world.server.seeds().len(), "no link is seen");
}

#[test]
fn a_missing_browser_is_told_before_the_first_request() {
    let world = World::new(
        web(3, 1),
        "[[pages]]\nmatch = \"*\"\nrender = true\n[render]\nbrowser = \"/nowhere/chromium\"\n",
    );
    let said = fails(world.crawl_command(1).output().unwrap(), 2);
    assert!(said.contains("/nowhere/chromium") && said.contains("render.browser"), "{said}");
    let mut command = program();
    command.args(["config", "check", "--config"]).arg(world.config_file());
    let said = fails(command.output().unwrap(), 2);
    assert!(said.contains("/nowhere/chromium"), "{said}");
    assert!(world.server.log(0).unwrap().is_empty());
}
