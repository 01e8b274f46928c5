use super::*;
use lettre::transport::smtp::extension::ClientId;
use recrawl_crawl::config::Config;
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, StorageFault, Survivors};
use recrawl_repository::{Repository, StoredVisit};
use recrawl_types::{Change as Verdict, Outcome, PageRecord, Share, UrlRules};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

const HOUR: u64 = 3_600_000;

fn settings(text: &str) -> Settings {
    Settings::check(toml::from_str::<Config>(text).unwrap()).unwrap()
}

/// A crawl whose rounds the test commits.
struct CommittedCrawl {
    settings: Mutex<Arc<Settings>>,
    /// How often the notifier took them.
    taken: AtomicU64,
    reloads: AtomicU64,
    repository: Mutex<Repository>,
    storage: Arc<dyn Storage>,
    now: AtomicU64,
    published: Mutex<Deliveries>,
}

impl CommittedCrawl {
    fn new(text: &str) -> CommittedCrawl {
        CommittedCrawl::keeping(100, text)
    }

    /// Keeps the visits of so many cycles.
    fn keeping(cycles: u32, text: &str) -> CommittedCrawl {
        CommittedCrawl::on(Arc::new(MemoryStorage::new()), cycles, text)
    }

    fn on(storage: Arc<dyn Storage>, cycles: u32, text: &str) -> CommittedCrawl {
        CommittedCrawl {
            settings: Mutex::new(Arc::new(settings(text))),
            taken: AtomicU64::new(0),
            reloads: AtomicU64::new(0),
            repository: Mutex::new(Repository::open(storage.clone()).unwrap().keeping_visits(cycles)),
            storage,
            now: AtomicU64::new(1_000),
            published: Mutex::default(),
        }
    }

    /// Commits a round in which so many pages are new.
    fn commit(&self, pages: usize) {
        let mut repository = self.repository.lock().unwrap();
        let base = repository.current();
        let cycle = base.cycle().next();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, cycle).unwrap();
        for page in 0..pages {
            let text = format!("http://a.test/{}/{page:03}", cycle.0);
            let url = UrlRules::keep_all().canonicalize(&text).unwrap();
            writer.push(url.key(), &PageRecord::discovered(cycle, 0)).unwrap();
            let outcome = Outcome::Fetched(Verdict::First);
            let visit = StoredVisit {
                url,
                at: 5,
                share: Share::Score,
                outcome,
                confirmed: 0,
                missed: 0,
                learned: None,
            };
            writer.keep_visit(&visit).unwrap();
        }
        repository.commit(writer, b"report").unwrap();
    }

    async fn tell(&self) {
        run(self, &CancellationToken::new(), Until::Told).await.unwrap();
    }
}

impl Crawled for CommittedCrawl {
    fn settings(&self) -> Arc<Settings> {
        self.taken.fetch_add(1, SeqCst);
        self.settings.lock().unwrap().clone()
    }

    fn reloads(&self) -> u64 {
        self.reloads.load(SeqCst)
    }

    fn generation(&self) -> Arc<Generation> {
        self.repository.lock().unwrap().current()
    }

    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    fn now(&self) -> u64 {
        self.now.load(SeqCst)
    }

    fn publish(&self, deliveries: &Deliveries) {
        self.published.lock().unwrap().clone_from(deliveries);
    }
}

/// A receiver that gives each request this answer and closes the connection: its URL, and the requests so far.
fn receiver(answer: &'static str) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/geheim", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicU64::new(0));
    let counter = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
                line.clear();
            }
            if reader.read_exact(&mut vec![0; length]).is_ok() {
                counter.fetch_add(1, SeqCst);
                _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    (url, asked)
}

fn webhook(url: &str) -> String {
    format!(
        "[[notify]]\nname = \"desk\"\nwebhook = \"{url}\"\nallow_addresses = [\"127.0.0.1\"]\nchanges = [\"new\"]\n\
         timeout = \"3 s\"\n"
    )
}

fn file(name: &str, path: &Path, more: &str) -> String {
    format!("[[notify]]\nname = \"{name}\"\nfile = \"{}\"\nchanges = [\"new\"]\n{more}", path.display())
}

async fn sent(settings: &Settings) -> Result<(), NotTaken> {
    let target = &settings.notify[0];
    let sender = NoticeSender::new(target, &settings.fetch).unwrap();
    sender.send(target, &Message::of_test("desk", 5, false), || 5).await
}

#[tokio::test]
async fn the_status_decides_whatever_follows_it() {
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", Ok(())),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: x-own\r\nContent-Length: 2\r\n\r\nok", Ok(())),
        ("HTTP/1.1 413 .\r\nContent-Length: 9\r\n\r\n", Err(NotTaken::Refused("status 413".into()))),
        ("HTTP/1.1 503 .\r\nContent-Length: 0\r\n\r\n", Err(NotTaken::Failed("status 503".into()))),
        (
            "HTTP/1.1 400 .\r\nContent-Length: 15\r\n\r\nno field \"text\"",
            Err(NotTaken::Refused("status 400: no field \"text\"".into())),
        ),
        (
            "HTTP/1.1 429 .\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n",
            Err(NotTaken::Resting("status 429".into(), std::time::Duration::from_secs(600))),
        ),
        ("", Err(NotTaken::Failed("the connection broke".into()))),
    ] {
        assert_eq!(sent(&settings(&webhook(&receiver(answer).0))).await, expected, "{answer}");
    }
}

#[tokio::test]
async fn a_webhook_does_not_pass_the_proxy_of_the_crawl() {
    let (url, asked) = receiver("HTTP/1.1 204 .\r\n\r\n");
    // Nobody listens there.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!("[proxy]\nurl = \"http://{closed}\"\n{}", webhook(&url));
    assert_eq!(sent(&settings(&text)).await, Ok(()));
    assert_eq!(asked.load(SeqCst), 1);
}

/// A mail server that takes a mail, and never answers what follows.
fn slow_mail_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let reader = BufReader::new(stream.try_clone().unwrap());
            write!(stream, "220 test\r\n").unwrap();
            let mut is_data = false;
            for line in reader.lines().map_while(Result::ok) {
                match &line[..] {
                    "." => is_data = false,
                    _ if is_data => continue,
                    "QUIT" => continue,
                    _ => is_data = line == "DATA",
                }
                write!(stream, "{}\r\n", if is_data { "354 go on" } else { "250 yes" }).unwrap();
            }
        }
    });
    port
}

#[tokio::test]
async fn mail_that_was_taken_does_not_fail_by_a_slow_end() {
    let text = format!(
        "[[notify]]\nname = \"me\"\nsmtp = \"smtp://127.0.0.1:{}\"\nallow_addresses = [\"127.0.0.1\"]\n\
         from = \"a@a.test\"\nto = [\"b@a.test\"]\ntimeout = \"5 min\"\n",
        slow_mail_server()
    );
    // Sooner than by the time limit of the target.
    let sent = tokio::time::timeout(Duration::from_secs(200), sent(&settings(&text))).await;
    assert_eq!(sent, Ok(Ok(())));
}

/// A mail server whose answer to this has no end.
fn endless_mail_server(after_hello: bool, piece: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if after_hello {
                write!(stream, "220 test\r\n").unwrap();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
            }
            // Until the client has enough.
            while stream.write_all(piece.repeat(100).as_bytes()).is_ok() {}
        }
    });
    port
}

#[tokio::test]
async fn a_mail_server_whose_answers_have_no_end_is_left() {
    for (after_hello, piece) in [(false, "220 xxxx"), (false, "220-x\r\n"), (true, "250-X\r\n")] {
        let text = format!(
            "[[notify]]\nname = \"me\"\nsmtp = \"smtp://127.0.0.1:{}\"\nallow_addresses = [\"127.0.0.1\"]\n\
             from = \"a@a.test\"\nto = [\"b@a.test\"]\ntimeout = \"5 min\"\n",
            endless_mail_server(after_hello, piece)
        );
        let sent = sent(&settings(&text)).await;
        assert!(matches!(&sent, Err(why) if why.to_string().contains("no end")), "{piece:?} {sent:?}");
    }
}

/// As that of a server without TLS; its answer has no end of a line either.
#[tokio::test]
async fn a_mail_server_behind_tls_has_the_same_bound() {
    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fetcher/src/net/client/http/certificates");
    let pem = |name: &str| std::fs::read(format!("{FOLDER}/{name}")).unwrap();
    let provider = || Arc::new(rustls::crypto::ring::default_provider());
    let shown = vec![CertificateDer::from_pem_slice(&pem("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(&pem("server.key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(shown, key).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap();
        while stream.write_all(&[b'2'; 1_000]).await.is_ok() {}
    });
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem("authority.pem")).unwrap()).unwrap();
    let tls = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let tls = tls.unwrap().with_root_certificates(roots).with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(server).await.unwrap();
    let stream = mail::encrypted(stream, "h2.test", tls).await.unwrap();
    let told = mail::greeted(stream, server, &ClientId::default()).await.map(drop);
    assert!(matches!(&told, Err(why) if why.contains("no end")), "{told:?}");
}

#[tokio::test]
async fn a_digest_is_delivered_at_the_end_of_its_period() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let crawl = CommittedCrawl::new(&file("desk", &path, "digest = \"hour\"\n"));
    crawl.tell().await;
    crawl.commit(3);
    crawl.tell().await;
    assert!(!path.exists(), "the hour is not over");
    crawl.now.store(HOUR, SeqCst);
    crawl.tell().await;
    crawl.tell().await;
    let text = std::fs::read_to_string(&path).unwrap();
    let message: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(message["type"], "pages.digest");
    assert_eq!(message["data"]["changes"].as_array().unwrap().len(), 3);
    crawl.commit(250);
    crawl.now.store(2 * HOUR, SeqCst);
    crawl.tell().await;
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4, "100, 100 and 50 changes");
}

#[tokio::test]
async fn a_target_that_cannot_be_set_up_keeps_no_other_from_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let bad =
        "[[notify]]\nname = \"bad\"\nsmtp = \"smtp://127.0.0.1\"\nfrom = \"a@a.test\"\nto = [\"b@c@d\"]\n";
    let text = format!("{bad}{}", file("desk", &path, ""));
    let refused = check(&settings(&text)).unwrap_err().to_string();
    assert!(refused.contains("\"bad\"") && refused.contains("b@c@d"), "{refused}");
    let crawl = CommittedCrawl::new(&text);
    crawl.tell().await;
    crawl.commit(2);
    crawl.tell().await;
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
    let published = crawl.published.lock().unwrap();
    assert!(published["bad"].is_failing() && !published["desk"].is_failing());
}

#[tokio::test]
async fn a_reload_reaches_the_notifier_although_the_text_of_its_tables_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("hook");
    let (first, second) = (receiver("HTTP/1.1 204 .\r\n\r\n"), receiver("HTTP/1.1 204 .\r\n\r\n"));
    std::fs::write(&secret, &first.0).unwrap();
    let text = webhook(&format!("file:{}", secret.display()));
    let crawl = CommittedCrawl::new(&text);
    let end = CancellationToken::new();
    let mut is_told = false;
    let until = async |asked: &AtomicU64, number| {
        let begun = Instant::now();
        while asked.load(SeqCst) < number {
            assert!(begun.elapsed() < Duration::from_secs(300), "{} of {number}", asked.load(SeqCst));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let test = async {
        crawl.commit(2);
        until(&first.1, 2).await;
        std::fs::write(&secret, &second.0).unwrap();
        let taken = crawl.taken.load(SeqCst);
        *crawl.settings.lock().unwrap() = Arc::new(settings(&text));
        crawl.reloads.fetch_add(1, SeqCst);
        until(&crawl.taken, taken + 1).await;
        crawl.commit(3);
        until(&second.1, 3).await;
        is_told = true;
        end.cancel();
    };
    let (ran, ()) = tokio::join!(run(&crawl, &end, Until::Cancelled), test);
    ran.unwrap();
    assert!(is_told && first.1.load(SeqCst) == 2);
}

#[tokio::test]
async fn changes_that_are_lost_show_while_a_target_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file_of = folder.path().join("changes.jsonl");
    let crawl = CommittedCrawl::keeping(3, &file("desk", &file_of, ""));
    // A folder is no file.
    std::fs::create_dir(&file_of).unwrap();
    crawl.tell().await;
    let lost = || {
        let published = crawl.published.lock().unwrap();
        (published["desk"].place.lost, published["desk"].lost_at)
    };
    (0..3).for_each(|_| crawl.commit(20));
    crawl.tell().await;
    assert_eq!(lost(), (0, 0));
    (0..2).for_each(|_| crawl.commit(20));
    crawl.tell().await;
    assert_eq!(lost(), (2, 1_000));
}

/// Tells until all is told, or the power fails. What is in flight then ends.
fn tell_until(
    fault: StorageFault,
    files: BTreeMap<String, Vec<u8>>,
    text: &str,
) -> (bool, Arc<FaultyStorage>) {
    let storage = Arc::new(FaultyStorage::with_files(files));
    let crawl = CommittedCrawl::on(storage.clone(), 100, text);
    storage.set_fault(fault);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let is_told = runtime.block_on(async {
        let end = CancellationToken::new();
        let failed = async {
            while !matches!(fault, StorageFault::Stop(point) if storage.points() >= point) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = failed => false,
            told = run(&crawl, &end, Until::Told) => told.is_ok(),
        }
    });
    (is_told, storage)
}

fn ids(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["data"]["id"].as_str().unwrap().into();
    text.lines().map(id).collect()
}

#[test]
fn a_kill_at_any_write_loses_no_message_and_repeats_few() {
    const PAGES: usize = 3 * MAX_NOT_STORED;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let text = file("desk", &path, "");
    let (is_told, storage) = tell_until(StorageFault::None, BTreeMap::new(), &text);
    assert!(is_told);
    CommittedCrawl::on(storage.clone(), 100, &text).commit(PAGES);
    let before = storage.image();
    let (mut kills, mut repeated) = (0, 0);
    for point in 1.. {
        let mut is_told = false;
        for survivors in [Survivors::Synced, Survivors::All] {
            _ = std::fs::remove_file(&path);
            let storage;
            (is_told, storage) = tell_until(StorageFault::Stop(point), before.clone(), &text);
            let taken = ids(&path);
            assert!(tell_until(StorageFault::None, storage.after_power_cut(survivors).image(), &text).0);
            let all = ids(&path);
            let again = taken.iter().filter(|id| all[taken.len()..].contains(id)).count();
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), PAGES, "point {point}, {survivors:?}");
            assert_eq!(all.len(), PAGES + again, "point {point}, {survivors:?}");
            // And the one in flight.
            assert!(again <= MAX_NOT_STORED + 1, "{again} at point {point}, {survivors:?}");
            repeated = repeated.max(again);
            kills += usize::from(!is_told);
        }
        if is_told {
            break;
        }
    }
    assert!(kills > 20 && repeated > 0, "{kills} kills, {repeated} repeated");
}
