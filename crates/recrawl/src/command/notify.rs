//! `recrawl notify`: tests the targets of `[[notify]]`, delivers to them, and shows what is pending.

use super::{counted, print, print_json, thousands};
use crate::cli::{NotifyCommand, OnCrawl, Where};
use crate::daemon::Daemon;
use crate::notifier::{self, Crawled, Until};
use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::parts::notify::{NotifyPace, NotifyTarget};
use recrawl_crawl::settings::Settings;
use recrawl_notifications::delivery::{Delivery, Failing};
use recrawl_notifications::store::{self, Deliveries};
use recrawl_repository::Generation;
use recrawl_repository::storage::Storage;
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

pub fn run(command: &NotifyCommand) -> Result<(), Failure> {
    match command {
        NotifyCommand::Test { target, on } => test(on, target),
        NotifyCommand::Send(on) => send(on),
        NotifyCommand::Status(on) => status(on),
        NotifyCommand::Skip { target, on } => skip(on, target),
    }
}

/// The settings, with at least one target.
fn settings(at: &Where) -> Result<Settings, Failure> {
    let settings = at.settings()?;
    match settings.notify.is_empty() {
        true => Err(Failure::Usage("no target is configured: add [[notify]] to the configuration".into())),
        false => Ok(settings),
    }
}

fn named<'s>(settings: &'s Settings, name: &str) -> Result<&'s NotifyTarget, Failure> {
    settings.notify.iter().find(|target| target.name == name).ok_or_else(|| {
        let names: Vec<&str> = settings.notify.iter().map(|target| target.name.as_str()).collect();
        Failure::Usage(format!("no target is named {name:?}; there are: {}", names.join(", ")))
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
    let done = runtime.block_on(work);
    // A disk that stands still is not waited for.
    runtime.shutdown_background();
    done
}

fn test(on: &OnCrawl, name: &str) -> Result<(), Failure> {
    let settings = settings(&on.at)?;
    let target = named(&settings, name)?;
    notifier::check(&settings)?;
    block_on(notifier::test(&settings, target, now()))?;
    if on.json {
        return print_json(&json!({"target": name, "delivered": true}));
    }
    print(format!("delivered a test message to target {name}"))
}

fn now() -> u64 {
    recrawl_fetcher::system_clock()()
}

/// A crawl that no process runs.
struct IdleCrawl {
    settings: Arc<Settings>,
    generation: Arc<Generation>,
    storage: Arc<dyn Storage>,
    deliveries: Mutex<Deliveries>,
}

impl Crawled for IdleCrawl {
    fn settings(&self) -> Arc<Settings> {
        self.settings.clone()
    }

    fn reloads(&self) -> u64 {
        0
    }

    fn generation(&self) -> Arc<Generation> {
        self.generation.clone()
    }

    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    fn now(&self) -> u64 {
        now()
    }

    fn publish(&self, deliveries: &Deliveries) {
        self.deliveries.lock().expect("no panic under the lock").clone_from(deliveries);
    }
}

fn send(on: &OnCrawl) -> Result<(), Failure> {
    let mut settings = settings(&on.at)?;
    notifier::check(&settings)?;
    Daemon::refuse_beside(
        &settings.data_dir,
        "it delivers by itself; `recrawl notify status` shows what is pending",
    )?;
    // It holds the lock, so no daemon tells the same.
    let StoppedCrawl { storage, repository, tables, decided } = StoppedCrawl::open(&settings)?;
    drop(tables);
    settings.scope.refuse_taken_down(decided.taken_down);
    let generation = repository.current();
    let stopped =
        IdleCrawl { settings: Arc::new(settings), generation, storage, deliveries: Mutex::default() };
    let before = store::read(&*stopped.storage).map_err(Failure::work)?;
    block_on(notifier::run(&stopped, &CancellationToken::new(), Until::Told))?;
    let after = stopped.deliveries.into_inner().expect("no panic under the lock");
    let (mut failed, mut is_failing, mut said) = (0, false, Vec::new());
    for (name, delivery) in &after {
        let delivered = delivery.delivered - before.get(name).map_or(0, |before| before.delivered);
        said.push(json!({"target": name, "delivered": delivered, "pending": delivery.held.len(), "failing": delivery.failing}));
        if !on.json {
            print(format!("{name}: {} delivered{}", counted(delivered, "message"), problem(delivery)))?;
        }
        failed += delivery.held.len() as u64;
        is_failing |= delivery.failing.is_some();
    }
    if on.json {
        print_json(&said)?;
    }
    match (failed, is_failing) {
        (0, false) => Ok(()),
        (0, true) => Err(Failure::Work(
            "some changes could not be delivered and will be retried; `recrawl notify status` says why"
                .into(),
        )),
        (failed, _) => {
            Err(Failure::Work(format!("{} failed and will be retried", counted(failed, "message"))))
        }
    }
}

/// What is wrong with a target.
fn problem(delivery: &Delivery) -> String {
    let mut text = String::new();
    let Delivery { held, given_up, place, failing, .. } = delivery;
    for (number, what) in
        [(held.len() as u64, "pending"), (*given_up, "dropped, since the target refused them for a day")]
    {
        if number > 0 {
            text += &format!(", {} {what}", thousands(number));
        }
    }
    if place.lost > 0 {
        text += &format!(
            ", {} lost, since their visits were removed (storage.keep_visits) or damaged",
            counted(place.lost, "round")
        );
    }
    if let Some(Failing { since, error, .. }) = failing {
        text += &format!("; failing since {}: {error}", timestamp(*since));
    }
    text
}

fn status(on: &OnCrawl) -> Result<(), Failure> {
    let settings = settings(&on.at)?;
    let repository = open_read::repository(&settings)?;
    let deliveries = store::read(&**repository.storage()).map_err(Failure::work)?;
    if on.json {
        return print_json(&deliveries);
    }
    for target in &settings.notify {
        let name = &target.name;
        match deliveries.get(name) {
            None => print(format!("{name}: new; it gets what the next round finds"))?,
            Some(delivery) => {
                let last = match delivery.delivered_at {
                    0 => String::new(),
                    at => format!(", the last at {}", timestamp(at)),
                };
                let delivered = counted(delivery.delivered, "message");
                let digest = match target.pace {
                    NotifyPace::Digest(_) if delivery.digest_at > 0 => {
                        format!("; the next digest is due at {}", timestamp(delivery.digest_at))
                    }
                    _ => String::new(),
                };
                print(format!("{name}: {delivered} delivered{last}{digest}{}", problem(delivery)))?;
            }
        }
    }
    Ok(())
}

fn skip(on: &OnCrawl, name: &str) -> Result<(), Failure> {
    let settings = settings(&on.at)?;
    named(&settings, name)?;
    Daemon::refuse_beside(&settings.data_dir, "stop it first")?;
    let StoppedCrawl { storage, repository, .. } = StoppedCrawl::open(&settings)?;
    let committed = repository.current().number();
    let names = settings.notify.iter().map(|target| target.name.as_str());
    let (mut deliveries, _) = store::of_targets(&*storage, names, committed).map_err(Failure::work)?;
    let delivery = deliveries.get_mut(name).expect("it is configured");
    let dropped = delivery.held.len() as u64;
    delivery.skip_to(committed);
    store::write(&*storage, &deliveries).map_err(Failure::work)?;
    if on.json {
        return print_json(&json!({"target": name, "dropped": dropped}));
    }
    let dropped = counted(dropped, "pending message");
    print(format!("dropped {dropped} of target {name}; it gets what the next round finds"))
}
