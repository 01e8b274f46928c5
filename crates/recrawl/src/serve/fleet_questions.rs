//! Reads of other partitions of a fleet: each owner answers those of its pages, through the store.

use super::shared_state::SharedState;
use super::ticker::Ticker;
use crate::fleet::{FleetWatch, OwnerPatience, silent, too_long, unowned};
use crate::process::random_tag;
use recrawl_console::view::{FleetAnswer, FleetQuestion, PartitionFigures, Refusal, SoughtPages};
use recrawl_console::{FleetAnswers, RunningConsole};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::partition::boot_clock;
use recrawl_fleet::{MAX_ANSWER, QuestionBox, QuestionEnd};
use recrawl_vault::VaultError;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Interval of checks whether a look is due.
const TICK: Duration = Duration::from_millis(250);

/// The other partition that has what is sought.
pub fn elsewhere(shared: &SharedState, sought: &SoughtPages) -> Result<Option<u32>, Refusal> {
    let partition = shared.partition.as_deref();
    match sought {
        SoughtPages::Page(url) => {
            let Some(partition) = partition else { return Ok(None) };
            // Another text is refused where it is read.
            let url = shared.settings().named_page(url).ok();
            Ok(url.filter(|url| !partition.owns(url.key())).map(|url| partition.owner_of(url.key())))
        }
        SoughtPages::Partition(id) => {
            let Some(partition) = partition else {
                let what = "this crawl is no partition of a fleet";
                return Err(Refusal::invalid("partition", what, "leave it out"));
            };
            let ids: Vec<u32> = partition.map().ranges().iter().map(|range| range.id).collect();
            if !ids.contains(id) {
                let known: Vec<String> = ids.iter().map(u32::to_string).collect();
                let todo = format!("use one of {}", known.join(", "));
                return Err(Refusal::invalid("partition", format!("the fleet has no partition {id}"), todo));
            }
            Ok((*id != partition.id()).then_some(*id))
        }
    }
}

/// Asks the owner of another partition.
pub fn ask(shared: &SharedState, other: u32, question: &FleetQuestion) -> Result<FleetAnswer, Refusal> {
    let (Some(partition), Some(fleet)) = (&shared.partition, &shared.place.fleet) else {
        return Err(Refusal::failed("this crawl is no partition of a fleet"));
    };
    let patience = OwnerPatience::new(shared.stop.clone());
    let away = |error: VaultError| Refusal::Busy(format!("the store of the fleet does not answer: {error}"));
    let heir = partition.heir_of(other).map_err(away)?;
    let (unowned_ms, why) = why_nobody(fleet, heir, shared.now());
    if unowned_ms > partition.map().lease() {
        return Err(Refusal::Busy(why));
    }
    let nonce = random_tag().map_err(Refusal::failed)?;
    match partition.ask(heir, &nonce, question, &patience).map_err(away)? {
        QuestionEnd::Answered(answer) => Ok(answer),
        QuestionEnd::TooLong => {
            Err(Refusal::conflict(too_long(heir), "ask for less, or at the console of its owner"))
        }
        QuestionEnd::Unanswered if shared.stop.is_cancelled() => {
            Err(Refusal::Busy("this process stops; try again".into()))
        }
        QuestionEnd::Unanswered => Err(Refusal::Busy(why_nobody(fleet, heir, shared.now()).1)),
    }
}

/// For how long a partition has had no owner, as this process sees the fleet at `now`, and why nobody answers for it.
fn why_nobody(fleet: &FleetWatch, partition: u32, now: u64) -> (u64, String) {
    let figures = fleet.figures(boot_clock());
    match figures.partitions.into_iter().find(|one| one.partition == partition) {
        Some(PartitionFigures { owner: None, unowned_ms, epoch, .. }) => {
            let since = (epoch > 0).then(|| now.saturating_sub(unowned_ms));
            (unowned_ms, unowned(partition, since, &figures.address))
        }
        // Of a map that this process does not know yet, it sees no owner.
        one => (0, silent(partition, &one.and_then(|one| one.owner).unwrap_or_else(|| "a process".into()))),
    }
}

/// Answers the questions of others by the routes of the console, as the process of this name; none of a crawl that is
/// alone. It must end before the console does.
///
/// # Errors
/// When the system gives no thread.
pub fn answer(
    shared: &SharedState,
    console: &RunningConsole,
    name: Option<&String>,
) -> Result<Option<Ticker>, Failure> {
    let questions = shared.partition.as_ref().and_then(|partition| partition.questions());
    let Some(mut questions) = questions else { return Ok(None) };
    let (answers, stop) = (console.fleet_answers(name.cloned().unwrap_or_default()), shared.stop.clone());
    let mut due = 0;
    let answer_all = move || {
        if boot_clock() < due {
            return;
        }
        // An error of the store is told by the beats.
        if let Ok(asked) = questions.look(boot_clock()) {
            give(&questions, &answers, asked, &stop);
        }
        due = boot_clock() + questions.wait(boot_clock());
    };
    Ticker::start("questions", TICK, answer_all).map(Some).map_err(Failure::work)
}

fn give(
    questions: &QuestionBox,
    answers: &FleetAnswers,
    asked: Vec<(String, FleetQuestion)>,
    stop: &CancellationToken,
) {
    let (names, asked): (Vec<String>, Vec<FleetQuestion>) = asked.into_iter().unzip();
    if asked.is_empty() {
        return;
    }
    for (name, answer) in names.iter().zip(answers.to(&asked, MAX_ANSWER, stop)) {
        if let Err(error) = questions.answer(name, answer.as_ref()) {
            tracing::warn!("cannot answer another process of the fleet: {error}");
        }
    }
}
