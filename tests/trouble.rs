//! Bad disks, other versions, a directory in use.

use crate::harness::{World, count, fails, web};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file of the data directory with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// A file system in memory, for a test of what a disk can do. Only root can have one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, options: &str) -> Option<SmallDisk> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at);
        mount.output().is_ok_and(|o| o.status.success()).then(|| SmallDisk(at.into()))
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().ok();
    }
}

/// A crawl of three cycles to do something to.
fn crawled() -> World {
    let world = World::new(web(40, 2), "");
    world.crawl(3);
    world
}

/// n + 1 of every page is what the web gave out, or less by what the troubles in between cost.
fn agrees_with_the_web(world: &World, lost: u64) {
    let (pages, mut over) = (world.pages(), 0);
    for counted in world.server.counts() {
        let recorded = count(&pages[&counted.url], "n").map_or(0, |n| n + 1);
        assert!(recorded <= counted.count, "{}", counted.url);
        over += counted.count - recorded;
    }
    assert!(over <= lost, "{over} visits are not recorded");
    world.is_sound();
}

#[test]
fn a_directory_of_another_version_is_left_alone() {
    let world = crawled();
    let manifest = world.data_dir.join("MANIFEST");
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[8..12].copy_from_slice(&4711u32.to_le_bytes());
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[..20]);
    bytes[20..24].copy_from_slice(&crc.sum().to_le_bytes());
    std::fs::write(&manifest, bytes).unwrap();
    let before = contents(&world.data_dir);
    for line in [
        fails(world.crawl_command(1).output().unwrap(), 1),
        fails(world.run(&["status"]), 1),
        fails(world.run(&["repository", "verify"]), 1),
        fails(world.run(&["export", "pages", "--out", "-"]), 1),
    ] {
        assert!(line.contains("version 4711") && line.contains("versions 1 to 11"), "both are named: {line}");
    }
    assert!(contents(&world.data_dir) == before, "nothing is touched");
}

#[test]
fn a_directory_in_use_is_refused_and_can_be_read() {
    let world = World::new(web(60, 2), "[politeness]\ndelay_per_host = \"20 ms\"");
    world.crawl(1);
    let mut running = world.spawn_crawl(1000);
    let asked = || world.server.log(0).unwrap().len();
    let before = asked();
    while asked() == before {
        assert!(running.try_wait().unwrap().is_none(), "the crawl goes on");
        std::thread::yield_now();
    }
    let line = fails(world.crawl_command(1).output().unwrap(), 1);
    assert!(line.contains("in use") && line.contains("data"), "{line}");
    assert!(count(&world.status(), "generation") >= Some(1), "it can be read meanwhile");
    assert!(world.pages().len() >= 2);
    assert!(running.try_wait().unwrap().is_none(), "the crawl is not disturbed");
    running.kill().unwrap();
    running.wait().unwrap();
    world.crawl(1);
}

#[test]
fn a_flipped_byte_is_found_and_named() {
    let world = crawled();
    let names: Vec<PathBuf> = contents(&world.data_dir)
        .into_keys()
        .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("generation-")))
        .collect();
    assert!(names.len() > 3, "{names:?}");
    for path in names {
        let name = path.file_name().unwrap().to_str().unwrap();
        let sound = std::fs::read(&path).unwrap();
        let mut broken = sound.clone();
        // The index stands twice in its file; who crawls reads the first.
        let place = broken.len() * 2 / if name.ends_with(".index") { 6 } else { 3 };
        broken[place] ^= 0x10;
        std::fs::write(&path, broken).unwrap();
        let before = contents(&world.data_dir);
        let output = world.run(&["repository", "verify"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = fails(output, 1);
        assert!(format!("{said}{line}").contains(name), "{name}: {said}{line}");
        assert!(format!("{said}{line}").contains("byte "), "{name}: {said}{line}");
        let line = fails(world.crawl_command(1).output().unwrap(), 1);
        assert!(line.contains(name) && line.contains("damaged at byte"), "{name}: {line}");
        for (path, bytes) in &before {
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with("generation-") || name == "MANIFEST" || name == "reports" {
                assert!(std::fs::read(path).unwrap() == *bytes, "{name} is as it was");
            }
        }
        if name.ends_with(".index") {
            let mut broken = sound.clone();
            broken[sound.len() * 2 / 3] ^= 0x10;
            std::fs::write(&path, broken).unwrap();
            let output = world.run(&["repository", "verify"]);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let line = fails(output, 1);
            assert!(format!("{said}{line}").contains(name), "the copy is read too: {said}{line}");
        }
        std::fs::write(&path, sound).unwrap();
        world.is_sound();
    }
    world.crawl(2);
    agrees_with_the_web(&world, u64::MAX);
}

#[test]
fn garbage_for_a_formula_is_named() {
    let world = crawled();
    let file = world.data_dir.join("formula.toml");
    for garbage in ["\u{1}\u{2}", "expression = \"t * (\"\n", "name = 5\n"] {
        std::fs::write(&file, garbage).unwrap();
        let line = fails(world.crawl_command(1).output().unwrap(), 1);
        assert!(line.contains("formula.toml"), "{garbage:?}: {line}");
    }
    std::fs::remove_file(&file).unwrap();
    world.crawl(1);
    agrees_with_the_web(&world, 0);
}

#[test]
fn what_is_no_directory_cannot_be_one() {
    let mut world = World::new(web(20, 2), "");
    let file = world.folder.path().join("occupied");
    std::fs::write(&file, "mine").unwrap();
    for place in [file.clone(), file.join("below")] {
        world.data_dir = place;
        let line = fails(world.crawl_command(1).output().unwrap(), 1);
        assert!(line.contains("data directory") && line.contains("occupied"), "{line}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
    assert_eq!(world.server.log(0).unwrap(), []);
}

#[test]
fn a_read_only_disk_is_named_and_can_be_read() {
    let mut world = World::new(web(40, 2), "");
    let disk = SmallDisk::mount(&world.data_dir, "size=32m");
    world.crawl(2);
    let asked = world.server.log(0).unwrap().len();
    match &disk {
        Some(disk) => disk.remount("ro"),
        None => set_writable(&world.data_dir, false),
    }
    if std::fs::File::create(world.data_dir.join("probe")).is_ok() {
        // Root that may not mount: nothing binds it but a file system that takes no folders.
        set_writable(&world.data_dir, true);
        world.data_dir = PathBuf::from("/proc/recrawl");
        let line = fails(world.crawl_command(1).output().unwrap(), 1);
        assert!(line.contains("data directory /proc/recrawl"), "{line}");
        return;
    }
    let before = contents(&world.data_dir);
    let line = fails(world.crawl_command(1).output().unwrap(), 1);
    assert!(line.contains("data"), "{line}");
    assert!(line.contains("Read-only") || line.contains("Permission denied"), "{line}");
    assert_eq!(count(&world.status(), "generation"), Some(2));
    world.is_sound();
    assert!(contents(&world.data_dir) == before);
    assert_eq!(world.server.log(0).unwrap().len(), asked, "nothing was asked in vain");
    match &disk {
        Some(disk) => disk.remount("rw"),
        None => set_writable(&world.data_dir, true),
    }
    world.crawl(1);
    agrees_with_the_web(&world, 0);
}

fn set_writable(folder: &Path, is_writable: bool) {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &Path, mode| {
        let mode = if is_writable { mode | 0o200 } else { mode };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(folder, 0o555);
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            set_writable(&path, is_writable);
        } else {
            set(&path, 0o444);
        }
    }
}

/// Everything that a crawl writes to a full disk fails in the end; with room again it goes on.
#[test]
fn a_full_disk_loses_nothing() {
    let world = World::new(web(300, 4), "");
    let Some(disk) = SmallDisk::mount(&world.data_dir, "size=16k") else {
        return a_full_file(&world);
    };
    let mut stops = 0;
    for step in 1..100 {
        disk.remount(&format!("size={}k", 48 * step));
        let output = world.crawl_command(3).output().unwrap();
        if output.status.success() {
            break;
        }
        stops += 1;
        let line = fails(output, 1);
        assert!(line.contains("free disk space"), "{line}");
        if world.data_dir.join("MANIFEST").exists() {
            world.is_sound();
        }
    }
    assert!(stops > 5, "the disk was full {stops} times");
    disk.remount("size=64m");
    world.crawl(3);
    // What was asked for and not written was in flight when the disk was found full.
    agrees_with_the_web(&world, stops * 100);
    assert_eq!(world.server.counts().len() as u32, 304, "every page was found");
}

/// A WACZ file that does not fit leaves nothing, and an older one stays.
#[test]
fn an_archive_that_does_not_fit_on_the_disk_is_not_written_in_part() {
    let world = crawled();
    let folder = world.folder.path().join("exports");
    let Some(disk) = SmallDisk::mount(&folder, "size=64k") else {
        println!("not root, so there is no small disk");
        return;
    };
    let out = folder.join("archive.wacz");
    std::fs::write(&out, "older").unwrap();
    let export = || world.run(&["export", "wacz", "--out", out.to_str().unwrap()]);
    let line = fails(export(), 1);
    assert!(line.contains("archive.wacz") && line.contains("No space left"), "{line}");
    let files = contents(&folder);
    assert_eq!(files.into_values().collect::<Vec<_>>(), [b"older"], "only the older file");
    disk.remount("size=64m");
    assert!(export().status.success());
    assert!(std::fs::read(&out).unwrap().starts_with(b"PK"));
}

/// Below the reserve nothing is asked for, and above it the crawl goes on as if nothing had been.
#[test]
fn a_disk_that_is_about_to_be_full_stops_the_crawl_in_time() {
    let world = World::new(web(40, 2), "[storage]\nreserve = \"900000000 GiB\"");
    for _ in 0..2 {
        let line = fails(world.crawl_command(2).output().unwrap(), 1);
        assert!(line.contains("storage.reserve") && line.contains("free disk space"), "{line}");
    }
    assert_eq!(world.server.log(0).unwrap(), [], "nothing was asked");
    world.configure("[storage]\nreserve = \"0 B\"");
    world.crawl(3);
    agrees_with_the_web(&world, 0);
}

#[test]
fn a_disk_that_fills_while_pages_are_fetched_is_noticed_before_it_is_full() {
    let world = World::new(web(300, 4), "[storage]\nreserve = \"512 KiB\"\n[fetch]\nconnections = 2");
    // What only root can have; the watch itself is tested without.
    let Some(disk) = SmallDisk::mount(&world.data_dir, "size=3m") else {
        return a_full_file(&world);
    };
    world.crawl(1);
    let mut stops = 0;
    for step in 0..40 {
        disk.remount(&format!("size={}k", 1200 + 150 * step));
        let output = world.crawl_command(4).output().unwrap();
        if output.status.success() {
            break;
        }
        stops += 1;
        let line = fails(output, 1);
        assert!(
            line.contains(" free, less than storage.reserve (") && line.contains("free disk space"),
            "noticed, not met: {line}"
        );
        world.is_sound();
    }
    assert!(stops > 1, "it was noticed {stops} times");
    disk.remount("size=64m");
    world.crawl(1);
    // A clean stop records what was in flight.
    agrees_with_the_web(&world, 0);
}

#[test]
fn a_file_that_takes_no_more_loses_nothing() {
    a_full_file(&World::new(web(300, 4), ""));
}

/// A limit on the size of files, which needs no right to mount a disk: the archive meets it first.
fn a_full_file(world: &World) {
    let crawl = world.crawl_command(4);
    let mut limited = Command::new("sh");
    // In blocks of 512 bytes. The signal is ignored so that the write fails in place of the process.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1100; exec \"$0\" \"$@\""]);
    limited.arg(crawl.get_program()).args(crawl.get_args());
    let line = fails(limited.output().unwrap(), 1);
    assert!(line.contains(".warc.gz") && line.contains("File too large"), "{line}");
    world.is_sound();
    world.crawl(4);
    agrees_with_the_web(world, 100);
    assert_eq!(world.server.counts().len() as u32, 304, "every page was found");
}
