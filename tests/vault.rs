//! A disk that burns: the crawl goes on from its vault alone.

use crate::crash::{Moment, setting};
use crate::daemon::{self, Daemon};
use crate::harness::{PATIENCE, Pages, World, count, fails, host_of, json_lines, succeeds, web};
use flate2::read::MultiGzDecoder;
use rand::SeedableRng;
use rand::rngs::StdRng;
use recrawl_repository::VisitLog;
use recrawl_repository::storage::FileStorage;
use recrawl_types::{LogRecord, Round};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A world whose crawl ships to a folder beside it, each synced page at once.
fn shipped(web: recrawl_mockweb::Config, extra: &str) -> (World, String) {
    let world = World::new(web, "");
    let bucket = world.folder.path().join("bucket");
    fs::create_dir(&bucket).unwrap();
    let vault = format!("file://{}", bucket.display());
    configure(&world, &vault, extra);
    (world, vault)
}

fn configure(world: &World, vault: &str, extra: &str) {
    world.configure(&format!(
        "[storage]\nvault = \"{vault}\"\nsync_every = \"0 s\"\n[vault]\nship = \"1 ms\"\n{extra}"
    ));
}

fn bucket(world: &World) -> PathBuf {
    world.folder.path().join("bucket")
}

/// The data directory is lost, and made again from the vault.
fn burn(world: &World, vault: &str) {
    fs::remove_dir_all(&world.data_dir).unwrap();
    succeeds(world.run(&["restore", "--vault", vault]));
    let lineage = fs::read_to_string(world.data_dir.join("vault.json")).unwrap();
    assert!(lineage.contains("\"restored\":\"00"), "a start compares it: {lineage}");
}

/// All files in a folder and those in it.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_in(&path)),
            false => _ = files.insert(path.display().to_string(), fs::read(&path).unwrap()),
        }
    }
    files
}

/// A row without what tells when it was made, and where its body lies.
fn timeless(row: &Value) -> Value {
    let mut row = row.clone();
    let fields = row.as_object_mut().expect("a row is an object");
    let is_of_time = |name: &str| name.starts_with("warc_") || name == "time" || name == "milliseconds";
    fields.retain(|name, _| !is_of_time(name));
    row
}

fn timeless_pages(pages: &Pages) -> BTreeMap<&String, Value> {
    pages.iter().map(|(url, row)| (url, timeless(row))).collect()
}

fn visits(world: &World) -> Vec<Value> {
    json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"]))).iter().map(timeless).collect()
}

#[test]
fn a_crawl_whose_disk_burns_after_each_cycle_equals_one_that_was_left_alone() {
    let (mut world, vault) = shipped(web(60, 3), "[cycle]\npages = \"100%\"");
    let (burning, calm) = (world.data_dir.clone(), world.folder.path().join("calm"));
    for _ in 0..4 {
        world.server.advance().unwrap();
        configure(&world, &vault, "[cycle]\npages = \"100%\"");
        world.crawl(1);
        let before = world.pages();
        burn(&world, &vault);
        assert_eq!(world.pages(), before, "bodies have their places, too");
        world.is_sound();
        world.data_dir = calm.clone();
        world.configure("[cycle]\npages = \"100%\"");
        world.crawl(1);
        world.data_dir = burning.clone();
    }
    let (of_burnt, visits_of_burnt) = (world.pages(), visits(&world));
    let status: Value =
        serde_json::from_str(&succeeds(world.run(&["vault", "status", "--vault", &vault, "--json"])))
            .unwrap();
    assert_eq!(count(&status, "epoch"), Some(4), "each start takes an epoch: {status}");
    let told = succeeds(world.run(&["vault", "verify", "--vault", &vault]));
    assert!(told.starts_with("ok: "), "{told}");
    world.data_dir = calm.clone();
    let alone = world.pages();
    assert!(alone.values().any(|page| page["warc_file"].is_u64()), "something is archived");
    assert_eq!(timeless_pages(&of_burnt), timeless_pages(&alone));
    assert_eq!(visits_of_burnt, visits(&world));
    // Without the key nothing of a vault is on the disk.
    let names: Vec<String> = files_in(&calm).into_keys().filter(|name| name.contains("vault")).collect();
    assert_eq!((names, calm.join("vault.json").exists()), (Vec::new(), false));
    assert!(burning.join("vault.json").exists());
}

#[test]
fn a_daemon_says_how_far_its_vault_is_and_why_it_waits() {
    let world = daemon::world(20, 2, "");
    let bucket = bucket(&world);
    fs::create_dir(&bucket).unwrap();
    let vault = format!("file://{}", bucket.display());
    let settings = "[storage]\nsync_every = \"0 s\"\n";
    daemon::configure(&world, &format!("{settings}vault = \"{vault}\"\n[vault]\nship = \"1 ms\"\n"));
    let serve = Daemon::start(&world);
    let urls: Vec<String> = world.server.seeds().to_vec();
    serve.seed(&urls);
    let is_whole = |status: &Value| status["vault"]["waiting_since"].is_null();
    let status = serve.until("shipped", |status| count(status, "visited") > Some(0) && is_whole(status));
    assert_eq!(status["vault"]["address"], *vault);
    assert!(
        count(&status["vault"], "shipped_at") > Some(0) && status["vault"]["error"].is_null(),
        "{status}"
    );
    assert!(succeeds(world.run(&["status"])).contains(&format!("vault       {vault} had all ")));
    // Its disk is taken away, and something is decided.
    fs::rename(&bucket, world.folder.path().join("away")).unwrap();
    fs::write(&bucket, "no folder").unwrap();
    serve.change("PUT", "/api/v1/pause", None);
    let status = serve.until("waiting", |status| !is_whole(status) && status["vault"]["error"].is_string());
    assert!(count(&status["vault"], "failures") > Some(0), "{status}");
    fs::remove_file(&bucket).unwrap();
    fs::rename(world.folder.path().join("away"), &bucket).unwrap();
    serve.until("shipped again", is_whole);
    serve.stop();
    let told = succeeds(world.run(&["status"]));
    assert!(told.contains("ask it by `recrawl vault status`"), "{told}");
    // Without the key nothing is shown.
    daemon::configure(&world, "");
    let serve = Daemon::start(&world);
    assert_eq!(serve.status().get("vault"), None);
    assert!(!succeeds(world.run(&["status"])).contains("vault "));
    serve.stop();
}

/// The pages in the log of the round in progress.
fn logged(data_dir: &Path) -> BTreeSet<String> {
    let storage = FileStorage::existing(data_dir).unwrap();
    let round = |name: &str| name.strip_prefix("cycle-")?.strip_suffix(".visits")?.parse().ok().map(Round);
    let names =
        fs::read_dir(data_dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut urls = BTreeSet::new();
    for round in names.filter_map(|name| round(&name)) {
        let mut log = VisitLog::read(&storage, round).unwrap();
        while let Ok(Some(record)) = log.next_record() {
            if let LogRecord::Visit(visit) = record {
                urls.insert(visit.url.to_string());
            }
        }
    }
    urls
}

/// RECRAWL_VAULT_KILLS sets how often the crawl is killed and its disk wiped, RECRAWL_KILL_SEED when.
#[test]
fn killed_and_its_disk_wiped_again_and_again_it_loses_only_what_was_not_shipped() {
    let (kills, seed) = (setting("RECRAWL_VAULT_KILLS", 20), setting("RECRAWL_KILL_SEED", 1));
    let mut lot = StdRng::seed_from_u64(seed);
    let extra = "[cycle]\npages = \"50%\"\n[politeness]\ndelay_per_host = \"2 ms\"";
    let (world, vault) = shipped(web(150, 4), extra);
    let (mut killed, mut generation, mut in_log, mut blocked) = (0, 0, 0, None);
    let mut starts = 0;
    while killed < kills {
        starts += 1;
        assert!(starts <= 20 * (kills + 1), "no progress");
        let mut child = world.spawn_crawl(1);
        let moment = Moment::draw(&mut lot, 60);
        moment.wait(&world, &mut child);
        child.kill().unwrap();
        let is_whole = child.wait_with_output().unwrap().status.success();
        world.forgets_the_killed();
        killed += u64::from(!is_whole);
        let committed = match world.data_dir.join("MANIFEST").exists() {
            true => count(&world.status(), "generation").unwrap(),
            false => 0,
        };
        if !files_in(&bucket(&world)).keys().any(|name| name.contains("/manifest/")) {
            // Killed before the first step: there is nothing to lose yet.
            continue;
        }
        burn(&world, &vault);
        world.is_sound();
        let now = count(&world.status(), "generation").unwrap();
        assert!(now >= generation, "kill {killed}, {moment:?}: generation {now} after {generation}");
        // The newest commit may have been on its way.
        assert!(now == committed || now + 1 == committed, "kill {killed}: {now} of {committed}");
        generation = now;
        if let Some(host) = &blocked {
            let decided = fs::read_to_string(world.data_dir.join("decisions.json")).unwrap();
            assert!(decided.contains(host), "kill {killed}: a decision that the vault confirmed is lost");
        } else if killed >= kills / 2 {
            let host = host_of(&world.server.seeds()[0]);
            let told = succeeds(world.run(&["block", &host]));
            assert!(told.contains("the vault has it"), "{told}");
            blocked = Some(host);
            burn(&world, &vault);
        }
        // What was shipped of the round is not asked again: the next start finishes it.
        let shipped = logged(&world.data_dir);
        let asked: BTreeMap<&String, usize> = shipped.iter().map(|url| (url, world.asked(url))).collect();
        if !shipped.is_empty() {
            succeeds(world.run(&["crawl", "--json", "--rounds", "1"]));
            in_log += shipped.len();
            for (url, before) in asked {
                assert_eq!(world.asked(url), before, "kill {killed}: {url} was in the vault's log");
            }
            generation = count(&world.status(), "generation").unwrap();
        }
        world.server.set_clock(generation as u32).unwrap();
    }
    println!(
        "seed {seed}: {kills} kills in {starts} starts, {generation} generations, {in_log} visits from logs"
    );
    assert!(in_log > 0, "some kill came within a round");
    assert!(succeeds(world.run(&["vault", "verify"])).starts_with("ok: "));
    // Nor is anything left of what is taken down now: many processes wrote into the bucket, and none of them ended well.
    let page = &world.server.seeds()[1];
    let record = format!("WARC-Target-URI: {page}");
    println!("{} objects have a body of {page}", objects_with(&world, record.as_bytes()).len());
    succeeds(world.run(&["takedown", "--host", &host_of(page)]));
    assert_eq!(objects_with(&world, record.as_bytes()), Vec::<String>::new());
    burn(&world, &vault);
    assert!(succeeds(world.run(&["vault", "verify"])).starts_with("ok: "));
}

/// A disk that burns loses what `vault.ship` says, although the disk itself is synced less often.
#[test]
fn pages_are_shipped_in_time_also_if_the_disk_is_synced_less_often() {
    let (world, vault) = shipped(web(250, 1), "");
    // A round of a minute.
    let pages: Vec<String> = (0..250).map(|page| world.server.url(page)).collect();
    world.seeds(&pages);
    world.configure(&format!(
        "[storage]\nvault = \"{vault}\"\nsync_every = \"1 h\"\n[vault]\nship = \"1 ms\"\n\
         [cycle]\npages = \"100%\"\n[politeness]\ndelay_per_host = \"200 ms\""
    ));
    let mut child = world.spawn_crawl(1);
    let copy = world.folder.path().join("copy");
    loop {
        let _ = fs::remove_dir_all(&copy);
        let mut restore = crate::harness::program();
        restore.args(["restore", "--vault", &vault, "--data-dir"]).arg(&copy);
        // At first there is nothing to restore.
        if restore.output().unwrap().status.success() && !logged(&copy).is_empty() {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let shipped = logged(&copy).len();
    assert!(shipped < pages.len() / 2, "{shipped} pages were shipped at once, at the end of the round");
}

/// The bodies in an object, as far as it has them: it may begin and end within one.
fn unpacked(object: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for at in (0..object.len()).filter(|at| object[*at..].starts_with(&[0x1f, 0x8b, 8])) {
        let mut body = Vec::new();
        // Up to where it is cut.
        let _ = MultiGzDecoder::new(&object[at..]).read_to_end(&mut body);
        all.extend(body);
    }
    all
}

fn objects_with(world: &World, text: &[u8]) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    let objects = files_in(&bucket(world)).into_iter();
    objects.filter(|(_, bytes)| holds(bytes) || holds(&unpacked(bytes))).map(|(name, _)| name).collect()
}

#[test]
fn the_whole_bucket_loses_what_is_taken_down_and_the_takedown_survives_the_disk() {
    let (world, vault) = shipped(web(40, 2), "[cycle]\npages = \"100%\"");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let (beginning, host) = (world.server.seeds()[0].clone(), host_of(&world.server.seeds()[0]));
    let record = format!("WARC-Target-URI: {beginning}");
    assert!(!objects_with(&world, record.as_bytes()).is_empty());
    let others = files_in(&bucket(&world)).len();
    succeeds(world.run(&["takedown", "--host", &host]));
    assert_eq!(objects_with(&world, record.as_bytes()), Vec::<String>::new());
    assert!(files_in(&bucket(&world)).len() < others, "old steps are gone");
    let before = world.pages();
    burn(&world, &vault);
    assert_eq!(world.pages(), before);
    world.is_sound();
    let asked = world.server.log(0).unwrap().len();
    world.next_cycle();
    let later = world.server.log(asked as u64).unwrap();
    assert!(!later.is_empty() && later.iter().all(|access| access.host != host), "it is asked no more");
    assert_eq!(objects_with(&world, record.as_bytes()), Vec::<String>::new());
}

/// The key is removed, or another address set: nobody removes anything from the bucket, so it must be told.
#[test]
fn a_takedown_tells_of_a_bucket_that_is_not_configured_any_more() {
    let (world, vault) = shipped(web(20, 2), "[cycle]\npages = \"100%\"");
    drop(world.next_cycle());
    let (beginning, host) = (world.server.seeds()[0].clone(), host_of(&world.server.seeds()[0]));
    let record = format!("WARC-Target-URI: {beginning}");
    world.configure("");
    let told = succeeds(world.run(&["takedown", "--host", &host]));
    assert!(told.contains(&vault) && told.contains("`storage.vault`") && told.contains("set it"), "{told}");
    assert!(!objects_with(&world, record.as_bytes()).is_empty());
    let told = succeeds(world.run(&["takedown", "--host", &host, "--json"]));
    assert!(told.contains(&vault), "{told}");
    // What it says helps.
    configure(&world, &vault, "");
    let told = succeeds(world.run(&["takedown", "--host", &host]));
    assert!(!told.contains(&vault), "{told}");
    assert_eq!(objects_with(&world, record.as_bytes()), Vec::<String>::new());
    let other = world.folder.path().join("other-bucket");
    fs::create_dir(&other).unwrap();
    configure(&world, &format!("file://{}", other.display()), "");
    let told = succeeds(world.run(&["takedown", "--host", &host]));
    assert!(told.contains(&vault) && told.contains("remove the objects there"), "{told}");
}

#[test]
fn a_vault_that_is_not_this_crawls_is_refused_and_nothing_is_done() {
    let (mut world, vault) = shipped(web(10, 1), "");
    world.crawl(1);
    let before = files_in(&bucket(&world));
    let refused = |world: &World, why: &str| {
        let mut command = world.command(&["crawl", "--cycles", "1"]);
        let output = command.arg("--seeds").arg(world.seed_file()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("storage.vault") && told.contains(why), "{told}");
    };
    let mine = world.data_dir.clone();
    let copy = world.folder.path().join("copy");
    succeeds(Command::new("cp").arg("-a").arg(&mine).arg(&copy).output().unwrap());
    world.data_dir = world.folder.path().join("new");
    refused(&world, "holds another crawl");
    assert!(!world.data_dir.exists(), "nothing is made");
    assert_eq!(files_in(&bucket(&world)), before);
    // A copy from before another start is older than the vault.
    world.data_dir = mine.clone();
    world.crawl(1);
    let told = fails(world.run(&["restore", "--vault", &vault]), 2);
    assert!(told.contains("not empty"), "{told}");
    world.data_dir = copy;
    refused(&world, "is older than its vault");
    world.data_dir = mine.clone();
    fs::rename(bucket(&world), world.folder.path().join("moved")).unwrap();
    refused(&world, "no such folder; create it");
    fs::create_dir(bucket(&world)).unwrap();
    refused(&world, "is empty, although");
    world.data_dir = world.folder.path().join("other");
    let told = fails(world.run(&["restore", "--vault", &vault]), 2);
    assert!(told.contains("there is no vault here"), "{told}");
    assert!(!world.data_dir.exists());
    configure(&world, "ftp://a/b", "");
    refused(&world, "ftp:// is not supported");
}

#[test]
fn damage_in_the_bucket_is_told_by_object_and_no_restore_begins_a_crawl() {
    let (world, vault) = shipped(web(10, 1), "");
    world.crawl(1);
    let (object, mut bytes) =
        files_in(&bucket(&world)).into_iter().find(|(name, _)| name.contains("/data/")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&object, bytes).unwrap();
    let told = fails(world.run(&["vault", "verify"]), 1);
    assert!(told.contains("1 damaged place"), "{told}");
    let json = world.run(&["vault", "verify", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (json["damage"][0]["object"].as_str(), json["damage"][0]["offset"].as_u64()),
        (Some(&*object), Some(0))
    );
    fs::remove_dir_all(&world.data_dir).unwrap();
    let told = fails(world.run(&["restore", "--vault", &vault]), 1);
    assert!(told.contains(&object) && told.contains("differ from what was written"), "{told}");
    assert!(!world.data_dir.join("MANIFEST").exists());
}

/// A server that speaks S3, from the wheel `moto[server]`.
struct Moto {
    child: Child,
    port: u16,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts it with a bucket `bucket`; none if it is not installed. RECRAWL_MOTO names the program (scripts/s3-tests.sh).
#[expect(
    clippy::disallowed_methods,
    reason = "a component that may be installed is named by a documented variable"
)]
fn moto() -> Option<Moto> {
    let program = std::env::var("RECRAWL_MOTO").unwrap_or_else(|_| "moto_server".into());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(program);
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let moto = Moto { child: command.spawn().ok()?, port };
    let begun = Instant::now();
    let made = loop {
        assert!(begun.elapsed() < PATIENCE, "moto does not answer");
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let head =
                "PUT /bucket HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            break answer;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(made.contains(" 200 "), "{made}");
    Some(moto)
}

impl Moto {
    fn object(&self, key: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        // moto takes any signature.
        let signed = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let head = format!(
            "GET /bucket/{key} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {signed}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(" 200 "), "{answer}");
        answer
    }

    /// Under load, two threads of moto may create one object, so that a start refuses it, as it must. Then it starts again.
    fn run(&self, world: &World, words: &[&str]) -> Output {
        let begun = Instant::now();
        loop {
            let mut command = world.command(words);
            command
                .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port))
                .env("AWS_REGION", "us-east-1");
            command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
            let ended = command.output().unwrap();
            let is_refused =
                String::from_utf8_lossy(&ended.stderr).contains("racing creates of one object succeeded");
            if !is_refused || begun.elapsed() > PATIENCE {
                return ended;
            }
        }
    }
}

#[test]
fn a_crawl_on_s3_goes_on_from_its_bucket_and_a_missing_bucket_is_named() {
    let Some(moto) = moto() else {
        eprintln!("SKIPPED, 1 test: no moto_server; scripts/s3-tests.sh installs it");
        return;
    };
    let vault = "s3://bucket/crawl";
    let world = World::new(web(20, 2), "");
    configure(&world, vault, "");
    let seeds = world.seed_file();
    let seeds = seeds.to_str().unwrap();
    succeeds(moto.run(&world, &["crawl", "--cycles", "2", "--seeds", seeds]));
    let before = world.pages();
    fs::remove_dir_all(&world.data_dir).unwrap();
    succeeds(moto.run(&world, &["restore", "--vault", vault]));
    assert_eq!(world.pages(), before);
    succeeds(moto.run(&world, &["crawl", "--cycles", "1"]));
    assert!(succeeds(moto.run(&world, &["vault", "verify"])).starts_with("ok: "));
    let host = host_of(&world.server.seeds()[0]);
    succeeds(moto.run(&world, &["takedown", "--host", &host]));
    let status = succeeds(moto.run(&world, &["vault", "status", "--json"]));
    assert_eq!(count(&serde_json::from_str(&status).unwrap(), "epoch"), Some(3), "{status}");
    configure(&world, "s3://none/crawl", "");
    let told = fails(moto.run(&world, &["crawl", "--cycles", "1"]), 2);
    assert!(told.contains("storage.vault") && told.contains("no such bucket"), "{told}");
}

/// Lines of documents are objects of a bucket, leave it after a takedown, and never lie where the vault does.
#[test]
fn documents_are_lines_in_a_bucket() {
    let Some(moto) = moto() else {
        eprintln!("SKIPPED, 1 test: no moto_server; scripts/s3-tests.sh installs it");
        return;
    };
    let vault = "s3://bucket/crawl";
    let world = World::new(web(20, 2), "");
    let deliver = |to: &str| {
        configure(&world, vault, &format!("[[deliver]]\nname = \"lines\"\nto = \"jsonl+{to}\"\nbatch = 5\n"));
    };
    deliver("s3://bucket/crawl/docs");
    let seeds = world.seed_file();
    let crawl = ["crawl", "--cycles", "2", "--seeds", seeds.to_str().unwrap()];
    assert!(fails(moto.run(&world, &crawl), 2).contains("the vault lies there"));
    deliver("s3://bucket/docs");
    succeeds(moto.run(&world, &crawl));
    let sent = succeeds(moto.run(&world, &["deliver", "send"]));
    let documents = |told: &str| told.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    let all = documents(&sent);
    assert!(all > 15 && sent.contains("documents sent, 0 removed"), "{sent}");
    let verified = succeeds(moto.run(&world, &["deliver", "verify", "lines"]));
    assert_eq!(verified, format!("lines: {all} documents as delivered\n"));
    assert!(succeeds(moto.run(&world, &["deliver", "test", "lines"])).contains("its objects can be written"));

    let host = host_of(&world.server.seeds()[0]);
    succeeds(moto.run(&world, &["takedown", "--host", &host]));
    succeeds(moto.run(&world, &["deliver", "send"]));
    let left = succeeds(moto.run(&world, &["deliver", "verify", "lines"]));
    assert!(left.contains("documents as delivered") && (1..all).contains(&documents(&left)), "{left}");
    let texts: String = (1..=4).map(|number| moto.object(&format!("docs/{number:012}.jsonl"))).collect();
    assert!(!texts.contains(&format!("//{host}/")) && texts.contains("\"op\":\"put\""), "{texts}");
}
