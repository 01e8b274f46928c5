//! Pages of other encodings, documents in pages, and fields that lead on: what browsers ask for, the program asks for.

use crate::harness::{World, web};
use recrawl_mockweb::{Config, Validators};

/// Each page has what the mock web gives any page, and a few links of its own.
#[test]
fn links_are_those_that_browsers_find() {
    let cases = [
        ("refresh: 0; url='/refreshed'", "/refreshed"),
        ("content-type: text/html; charset=koi8-r | <a href='/find?q=&#1090;'>x</a>", "/find?q=%D4"),
        (
            "content-type: text/html | <meta charset=koi8-r><a href='/named?q=&#1090;&#252;'>x</a>",
            "/named?q=%D4%26%23252%3B",
        ),
        ("<meta name=x content='charset=koi8-r'><a href='/plain?q=&#1090;'>x</a>", "/plain?q=%D1%82"),
        ("<iframe srcdoc='&lt;a href=/inner&gt;in&lt;/a&gt;'></iframe>", "/inner"),
        ("<svg><base href=/wrong/></base></svg><a href='drawn'>x</a>", "drawn"),
    ];
    let world =
        World::new(Config { validators: Validators::None, ..web(60, 1) }, "[cycle]\npages = \"100%\"\n");
    let pages: Vec<u32> = world.lone_pages().into_iter().take(cases.len()).collect();
    let rule = |(page, (wish, _)): (&u32, &(&str, &str))| world.fault_on(*page, &format!("wishes:{wish}"));
    world.server.set_faults(pages.iter().zip(&cases).map(rule).collect());
    let urls: Vec<String> = pages.iter().map(|page| world.server.url(*page)).collect();
    world.seeds(&urls);
    world.crawl(2);
    let known = world.pages();
    for (url, (wish, expected)) in urls.iter().zip(cases) {
        let page = url::Url::parse(url).expect("a URL");
        let expected = page.join(expected).expect("a URL");
        assert!(known.contains_key(expected.as_str()), "{wish}: {expected}");
    }
}
