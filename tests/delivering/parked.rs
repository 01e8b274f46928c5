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

/// A full index is no fault of the documents.
#[test]
fn documents_that_are_all_refused_alike_wait() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    let links: String = (0..8).map(|page| format!("<a href=/{page}>{page}</a>")).collect();
    serve_each(listener, move |target, _| {
        ("text/html", String::new(), format!("<p>words of {target}{links}"))
    });
    world.configure("", "batch = 20");
    succeeds(world.run(&["crawl", "--cycles", "2", "-q", "--seed", &site]));
    world.index().refused = Some("words".into());
    let told = fails(world.run(&["deliver", "send", "search"]), 1);
    assert!(told.contains("it refuses each of 9 documents: a word that is refused"), "{told}");
    world.index().refused = Some("words of /3".into());
    let sent = succeeds(world.run(&["deliver", "send", "search"]));
    assert_eq!(sent, "search: 8 documents sent, 0 removed, 1 refused\n");
}

/// Pages with a fault of their own stop no others, whether or not the target has taken any before.
#[test]
fn pages_that_are_all_refused_alike_stop_no_others() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    let bad = (0..20).map(|page| format!("/a{page:02}"));
    let links: String = bad
        .chain((0..10).map(|page| format!("/z{page}")))
        .map(|page| format!("<a href={page}>x</a>"))
        .collect();
    let edition = world.edition.clone();
    serve_each(listener, move |target, _| {
        let edition = if target == "/z9" { 0 } else { edition.load(Relaxed) };
        let kind = if target < "/b" { "bad" } else { "good" };
        ("text/html", String::new(), format!("<p>{kind} words of {target}, edition {edition}</p>{links}"))
    });
    let crawl = |edition| {
        world.edition.store(edition, Relaxed);
        succeeds(world.run(&["crawl", "--cycles", "2", "-q", "--seed", &site]));
    };
    world.configure("", "batch = 6");
    crawl(0);
    world.index().refused = Some("bad words".into());
    // The first of them is bad, and nothing was ever taken; one of each further batch is tried.
    let told = fails(world.run(&["deliver", "send", "search"]), 1);
    assert!(told.contains("documents: a word that is refused"), "{told}");
    assert!(!world.index().documents.is_empty());
    let told = succeeds(world.run(&["deliver", "send", "search"]));
    assert!(told.contains("0 removed, 21 refused"), "{told}");
    assert_eq!(world.index().documents.len(), 10);
    let requests = world.index().changes;
    assert_eq!(succeeds(world.run(&["deliver", "send", "search"])), "search: 0 documents sent, 0 removed\n");
    assert_eq!(world.index().changes, requests);

    // A target that does not take again what it has has a fault of its own, so all wait.
    crawl(1);
    world.index().refused = Some("words".into());
    let told = fails(world.run(&["deliver", "send", "search"]), 1);
    assert!(told.contains("it refuses each of 6 documents: a word that is refused"), "{told}");
    world.index().refused = None;
    assert_eq!(succeeds(world.run(&["deliver", "send", "search"])), "search: 30 documents sent, 0 removed\n");
}
