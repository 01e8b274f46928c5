//! Documents that a target refuses or waits for, and operators who give them up.

use super::*;

/// What a target refuses is listed with its reason, until it is given up or its page changes.
#[test]
fn refused_and_waiting_documents_are_listed_and_given_up() {
    let world = World::new();
    world.index().refused = Some("words of /b".into());
    world.crawl(0);
    world.sent();
    let page = |path: &str| format!("{}{path}", world.site);
    let status = || succeeds(world.run(&["deliver", "status"]));
    let told = status();
    assert!(told.contains("search: 4 documents delivered, 0 not confirmed, 1 refused\n"), "{told}");
    assert!(told.contains(&format!("  {} refused since 20", page("/b"))), "{told}");
    assert!(told.contains(": a word that is refused\n"), "{told}");
    let json =
        || -> Value { serde_json::from_str(&succeeds(world.run(&["deliver", "status", "--json"]))).unwrap() };
    let parked = &json()[0]["parked"];
    assert_eq!(
        (&parked[0]["url"], &parked[0]["why"]),
        (&json!(page("/b")), &json!("a word that is refused"))
    );
    let told = fails(world.run(&["deliver", "skip", "search", "--url", &page("/a")]), 2);
    assert!(told.contains("was refused or waits for search"), "{told}");
    let told = succeeds(world.run(&["deliver", "skip", "search", "--url", &page("/b")]));
    assert_eq!(told, "search: 1 document given up until their pages change (1 refused, 0 waiting)\n");
    assert!(status().contains("search: 4 documents delivered, 0 not confirmed, 0 refused, 1 skipped\n"));
    assert_eq!(json()[0]["parked"], json!([]));

    // A page changes while the target is down, another is taken down: the one is given up, the other never.
    world.index().faults = vec![RequestFault::Answer(503, String::new(), "down".into()); 9].into();
    world.visit(1);
    fails(world.run(&["deliver", "send"]), 1);
    world.takedown("/c", &[]);
    let told = succeeds(world.run(&["deliver", "skip", "search"]));
    assert!(
        told.contains("1 document given up") && told.contains("next delivery deletes 1 document"),
        "{told}"
    );
    world.index().faults.clear();
    let told = world.sent();
    assert!(told.starts_with("search: 0 documents sent, 1 removed\n"), "{told}");
    assert_eq!(held(&world.index(), &world.site), world.expected(&[("/", 0), ("/a", 0), ("/private", 0)]));
    world.index().refused = None;
    world.visit(2);
    world.sent();
    assert_eq!(held(&world.index(), &world.site)["/a"], world.expected(&[("/a", 2)])["/a"]);
}
