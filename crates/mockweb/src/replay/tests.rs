//! Tests of the bundled recording without a server.

use super::*;

fn bundled() -> ReplayedWeb {
    ReplayedWeb::new(&ReplayConfig::default()).unwrap()
}

#[test]
fn groups_stay_together_and_hosts_are_all_used() {
    let web = bundled();
    let mut host_of: HashMap<&str, u32> = HashMap::new();
    for (id, page) in web.recording.pages.iter().enumerate() {
        let host = web.address(id as u32).host;
        assert_eq!(*host_of.entry(page.group.as_str()).or_insert(host), host, "{}", page.group);
        assert_eq!(web.find(host, &web.address(id as u32).target), Some(id as u32));
        assert_eq!(web.find((host + 1) % 16, &web.address(id as u32).target), None);
    }
    assert!(web.by_host.iter().all(|pages| !pages.is_empty()));
}

#[test]
fn links_are_recognised_in_every_recorded_form() {
    let web = bundled();
    let names: Vec<String> = (1..=16).map(|h| format!("h{h}:1")).collect();
    let page = &web.recording.pages[0];
    let PageAddress { host, target } = web.address(0);
    let local = format!("http://{}{target}", names[host as usize]);
    assert_eq!(web.local_link(&page.url, &names), Some(local.clone()));
    assert_eq!(web.local_link(&page.path, &names), Some(local.clone()));
    assert_eq!(web.local_link(&format!("{}#part", page.url), &names), Some(format!("{local}#part")));
    assert_eq!(web.local_link("https://elsewhere.example/", &names), None);
}

#[test]
fn paths_are_encoded_so_that_nobody_spells_them_differently() {
    assert_eq!(target_of("ASKfm/Terms of Service"), "/ASKfm/Terms%20of%20Service");
    assert_eq!(target_of("/content/a/README.md"), "/content/a/README.md");
    assert_eq!(target_of("engity's-bifröst?#%"), "/engity's-bifr%C3%B6st%3F%23%25");
}

#[test]
fn versions_differ_on_the_page_as_they_do_in_the_recording() {
    let web = bundled();
    let names: Vec<String> = (1..=16).map(|h| format!("h{h}:1")).collect();
    for page in (0..web.pages()).step_by(5) {
        let versions = web.recording.pages[page as usize].versions();
        let distinct: std::collections::HashSet<Vec<u8>> = (0..versions)
            .map(|version| {
                let mut html = Vec::new();
                web.write_page(page, version, "", &names, &mut html);
                html
            })
            .collect();
        assert_eq!(distinct.len() as u32, versions, "{}", web.recording.pages[page as usize].path);
    }
}

#[test]
fn a_recording_without_contents_gets_texts_that_change_when_it_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cycles.tsv"), "cycle\tdate\n0\t2026-01-01\n1\t2026-01-02\n").unwrap();
    let table = "page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges\n0\t\ta\t\t\t0\t1\t1:1\n";
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, table.as_bytes()).unwrap();
    std::fs::write(folder.path().join("pages.tsv.gz"), gz.finish().unwrap()).unwrap();
    let source = RecordingSource::Folder(folder.path().to_path_buf());
    let web = ReplayedWeb::new(&ReplayConfig { sources: vec![source], ..ReplayConfig::default() }).unwrap();
    assert_eq!(web.markdown(0, 0), web.markdown(0, 0));
    assert_ne!(web.markdown(0, 0), web.markdown(0, 1));
    assert_eq!(web.title(0), "a");
}
