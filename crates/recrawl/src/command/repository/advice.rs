//! Advice about a damaged data directory: how to go on, with which copy, and what is lost.

use super::last_backup::LastBackup;
use recrawl_archive::timestamp;
use recrawl_crawl::data_dir::TABLES;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_crawl::settings::Settings;
use recrawl_delivery::name_of;
use recrawl_notifications::store::NAME;
use recrawl_repository::{Damage, copy_file};
use std::path::Path;

/// The loss by damage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DamageCost {
    /// Visits of a round that a crawl does not read.
    Visits,
    /// Bodies of the archive.
    Bodies,
    /// The tables of hosts.
    Hosts,
    /// How far targets of notifications were told.
    Notices,
    /// The documents that a target of deliveries holds.
    Documents,
    /// All without which a crawl cannot go on.
    Crawl,
}

impl DamageCost {
    fn by_file(file: &str) -> DamageCost {
        match file {
            _ if file.ends_with(".kept") => DamageCost::Visits,
            _ if file.ends_with(".warc.gz") => DamageCost::Bodies,
            _ if file.contains(TABLES) => DamageCost::Hosts,
            _ if file.ends_with(NAME) => DamageCost::Notices,
            _ if file.ends_with(".copy") => DamageCost::Documents,
            _ => DamageCost::Crawl,
        }
    }
}

/// The lines for people; none without damage. `generation` is that of the directory, if it can be read.
pub fn lines(settings: &Settings, damage: &[Damage], generation: Option<u32>) -> Vec<String> {
    let files =
        |cost: DamageCost| damage.iter().filter(move |place| DamageCost::by_file(&place.file) == cost);
    let mut lines = Vec::new();
    let mut kept: Vec<&str> = files(DamageCost::Visits).map(|place| &*place.file).collect();
    kept.dedup();
    for file in kept {
        lines.push(format!("visits      the crawl goes on without {file}: remove it"));
        lines.push(
            "            lost: what exports, `recrawl changes` and notifications tell of that round".into(),
        );
    }
    if files(DamageCost::Bodies).next().is_some() {
        lines.push("archive     the crawl goes on".into());
        lines.push("            lost: these bodies, until a visit finds their pages changed".into());
    }
    if files(DamageCost::Hosts).next().is_some() {
        let tables = settings.data_dir.join(TABLES);
        let tables = tables.display();
        lines.push(format!(
            "hosts       stop the crawl, then: mv {tables} {tables}.damaged; start it with its seeds"
        ));
        lines.push("            lost: delays and robots.txt, which it learns again, and queued seeds".into());
    }
    if let Some(place) = files(DamageCost::Notices).next() {
        lines.push(format!("messages    stop the crawl, then remove {}", place.file));
        lines.push("            lost: messages that wait, and changes that were not told yet".into());
    }
    for place in files(DamageCost::Documents) {
        let is_of =
            |target: &&DeliverTarget| place.file.ends_with(&copy_file(&name_of(&target.place.address)));
        lines.push(match settings.deliver.iter().find(is_of) {
            Some(target) => {
                format!("documents   stop the crawl, then: recrawl deliver rebuild {}", target.name)
            }
            None => format!("documents   no target of [[deliver]] has {}: remove it", place.file),
        });
        lines.push("            lost: nothing; a target gets all documents again".into());
    }
    if let Some(first) = files(DamageCost::Crawl).next() {
        lines.extend(for_the_crawl(settings, first, generation));
    }
    lines
}

/// How to go on where the crawl cannot.
fn for_the_crawl(settings: &Settings, place: &Damage, generation: Option<u32>) -> Vec<String> {
    let folder = &settings.data_dir;
    let (here, aside) = (folder.display(), format!("{}.damaged", folder.display()));
    let mut lines = vec![
        format!(
            "crawl       it cannot go on with {}; look for disk errors first, as with `dmesg`",
            place.file
        ),
        format!("aside       stop the crawl, then: mv {here} {aside}"),
    ];
    let vault = &settings.config.storage.vault;
    if !vault.is_empty() {
        lines.push(format!("restore     recrawl restore --vault {vault} --data-dir {here}"));
        lines.push("            lost: the last seconds before the damage".into());
    }
    match LastBackup::read(folder) {
        Some(backup) if backup.shares(Path::new(&place.file)) => {
            let backup = backup.folder.display();
            lines.push(format!("no backup   {backup} has the same file by a hard link, so the same damage"));
        }
        Some(LastBackup { folder: backup, at, generation: copied }) => {
            let behind = generation.map(|now| format!(", {} generations ago", now.saturating_sub(copied)));
            let (backup, behind) = (backup.display(), behind.unwrap_or_default());
            lines.push(format!("restore     recrawl restore {backup} --data-dir {here}"));
            lines.push(format!("            lost: what was crawled since {}{behind}", timestamp(at)));
        }
        None if vault.is_empty() => {
            lines.push(format!(
                "restore     recrawl restore BACKUP --data-dir {here}, if you have one elsewhere"
            ));
            lines.push("            lost: what was crawled since it was made".into());
        }
        None => {}
    }
    lines.push(format!("or salvage  recrawl repository verify --salvage {here} --data-dir {aside}"));
    lines.push(
        "            lost: what cannot be read; URLs are kept where they can be, and visited again".into(),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::config::Config;

    #[test]
    fn each_kind_of_damage_has_its_cost_and_a_vault_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::check(Config::default()).unwrap();
        settings.data_dir = folder.path().join("data");
        settings.config.storage.vault = "s3://bucket/crawl".into();
        let place = |file: &str| Damage { file: file.into(), offset: 7, what: "wrong".into() };
        let of = |files: &[&str]| {
            lines(&settings, &files.iter().map(|file| place(file)).collect::<Vec<_>>(), Some(9)).join("\n")
        };
        let small = of(&["data/visits-1.kept", "data/visits-1.kept", "data/warc/a.warc.gz"]);
        assert_eq!(small.matches("goes on without data/visits-1.kept: remove it").count(), 1, "{small}");
        assert!(small.contains("these bodies") && !small.contains("restore"), "{small}");
        let documents = of(&["data/search.copy"]);
        assert!(
            documents.contains("has data/search.copy: remove it") && !documents.contains("restore"),
            "{documents}"
        );
        let tables = of(&["data/hosts.sled"]);
        assert!(tables.contains("start it with its seeds") && !tables.contains("restore"), "{tables}");
        let pages = of(&["data/MANIFEST"]);
        assert!(pages.contains("recrawl restore --vault s3://bucket/crawl --data-dir"), "{pages}");
        assert!(!pages.contains("BACKUP"), "{pages}");
        assert_eq!(of(&[]), "");
    }
}
