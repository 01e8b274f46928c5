//! `recrawl status --room`: what the archive takes, by month, and what would go.

use super::{counted, print, print_json, print_labelled, print_table, table, thousands};
use recrawl_archive::months::Month;
use recrawl_archive::opener;
use recrawl_archive::thin::{Dropped, MIN_AGE};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::room::Room;
use recrawl_crawl::settings::Settings;
use recrawl_types::{Size, Span};
use serde_json::{Value, json};

const OF_MONTHS: [table::Column; 4] =
    [table::word("month"), table::number("versions"), table::number("same body"), table::number("bytes")];

/// Reads the archive, and prints it.
///
/// # Errors
/// When there is no crawl, or the archive cannot be read.
pub fn run(settings: &Settings, older_than: Option<Span>, as_json: bool) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let storage = &settings.config.storage;
    let in_force = Some(storage.keep_versions).filter(|age| !age.0.is_zero());
    let age = older_than.or(in_force).unwrap_or(Span::millis(MIN_AGE));
    let archive = opener::open(&settings.data_dir)?;
    let now = recrawl_fetcher::system_clock()();
    let Room { months, would_go } = Room::read(&*archive, &generation, age, now)
        .map_err(|e| Failure::Work(format!("cannot read the archive: {e}; if a crawl runs, try again")))?;
    let (Dropped { versions, records, .. }, bytes) = (would_go, would_go.freed());
    let mut all = Month::default();
    for month in months.values() {
        all.versions += month.versions;
        all.revisits += month.revisits;
        all.bytes += month.bytes;
    }
    let pages = generation.summary().visited;
    if as_json {
        let month = |(name, month): (&String, &Month)| json!({"month": name, "versions": month.versions, "revisits": month.revisits, "bytes": month.bytes});
        return print_json(&json!({
            "pages": pages, "versions": all.versions, "revisits": all.revisits, "bytes": all.bytes,
            "archive_max": storage.archive_max.0, "keep_versions": in_force.map(|age| age.0.as_secs()),
            "older_than": age.0.as_secs(),
            "would_go": {"versions": versions, "records": records, "bytes": bytes},
            "months": months.iter().map(month).collect::<Vec<Value>>(),
        }));
    }
    print(format!("pages       {} visited", thousands(pages)))?;
    print(format!(
        "archive     {} in {}, and {} that found the same body",
        Size(all.bytes).rounded(),
        counted(all.versions, "version"),
        counted(all.revisits, "visit")
    ))?;
    let what = format!(
        "{} in {}, and in {} with them",
        Size(bytes).rounded(),
        counted(versions, "version"),
        counted(records - versions, "other record")
    );
    print_labelled(match in_force == Some(age) {
        true => format!("goes next   {what} (storage.keep_versions = \"{age}\")"),
        false => format!("could go    {what}, of those older than {age} (storage.keep_versions)"),
    })?;
    let row = |(name, month): (&String, &Month)| {
        [name.clone(), thousands(month.versions), thousands(month.revisits), Size(month.bytes).rounded()]
    };
    print_table(&OF_MONTHS, &months.iter().map(row).collect::<Vec<_>>())
}
