use super::*;
use crate::{Truth, open};

fn read(text: &str) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visits.jsonl");
    std::fs::write(&path, text).unwrap();
    open(&path, None).map_err(|e| e.to_string().split_once("visits.jsonl").unwrap().1.to_owned())
}

/// A line as the program writes it, with its last fields, which are ignored here.
fn line(cycle: u32, time: u64, url: &str, outcome: &str, changed: &str) -> String {
    format!(
        "{{\"cycle\":{cycle},\"time\":{time},\"url\":\"http://{url}/\",\"site\":\"{url}\",\"outcome\":\"{outcome}\",\
         \"changed\":{changed},\"share\":\"score\",\"probability\":null}}\n"
    )
}

const DAY: u64 = calendar::DAY;

#[test]
fn visits_become_histories_from_the_first_on_until_a_page_is_gone() {
    let data = read(
        &[
            line(7, DAY, "a", "fetched", "null"),
            line(7, DAY, "b", "failed", "null"),
            line(8, 2 * DAY, "a", "fetched", "true"),
            line(8, 2 * DAY, "b", "fetched", "null"),
            line(8, 2 * DAY, "c", "not_found", "null"),
            line(8, 2 * DAY, "e", "fetched", "null"),
            line(9, 2 * DAY, "e", "not_found", "null"),
            line(10, 3 * DAY, "a", "not_modified", "false"),
            line(10, 3 * DAY, "e", "fetched", "false"),
            // The clock was set back.
            line(10, 2 * DAY, "b", "redirected", "true"),
            line(11, 4 * DAY, "a", "not_found", "null"),
            line(12, 5 * DAY, "b", "fetched", "true"),
            // The content that this visit was compared with is not in the file.
            line(12, 5 * DAY, "d", "fetched", "true"),
        ]
        .concat(),
    )
    .unwrap();
    let page = |url: &str, site, first, last| RecordedPage {
        url: format!("http://{url}/").into(),
        site,
        group: site,
        first,
        last,
        ..RecordedPage::default()
    };
    assert_eq!(
        data.pages,
        [
            // Gone at its last visit; the others exist, visited or not.
            page("a", 0, 0, 3),
            page("b", 1, 1, 5),
            page("e", 2, 1, 5),
            page("d", 3, 5, 5),
        ]
    );
    assert_eq!(data.sites, ["a", "b", "e", "d"]);
    let changes: [&[(u32, u16)]; 4] = [&[(1, 1)], &[(3, 1), (5, 2)], &[], &[]];
    assert_eq!(data.truth, Truth::from_changes(5, changes.into_iter()));
    assert_eq!(
        data.dates,
        ["1970-01-02", "1970-01-03", "1970-01-03", "1970-01-04", "1970-01-05", "1970-01-06"]
    );
}

#[test]
fn what_cannot_be_is_named_by_line() {
    let good = line(7, DAY, "a", "fetched", "null");
    let missing = good.replace("\"changed\":null,", "");
    for (bad, wants) in [
        (good.clone(), "\"http://a/\" was already visited in cycle 7"),
        (line(6, DAY, "b", "fetched", "null"), "cycle 6 after cycle 7"),
        (line(8, DAY, "a", "fetched", "null"), "changed is null, but an earlier visit saw the page"),
        (line(8, DAY, "a", "failed", "true"), "outcome \"failed\" has no content"),
        (line(30_000, DAY, "a", "failed", "null"), "cycle 30000 is more than 20000 after the first"),
        (line(8, u64::MAX, "a", "fetched", "true"), "time 18446744073709551615: expected seconds"),
        (line(8, DAY, "\\u0000", "fetched", "null"), "url \"http://\\0/\": contains control characters"),
        (missing, "\"{\\\"cycle\\\":7"),
        ("{}\n".into(), "\"{}\": missing field `cycle`"),
        ("[]\n".into(), "\"[]\": "),
        (line(8, DAY, "a", "fetched", "1"), "\"{\\\"cycle\\\":8"),
        (good.replace('7', "-7"), "\"{\\\"cycle\\\":-7"),
        ("\n".into(), "\"\": EOF"),
    ] {
        let message = read(&format!("{good}{bad}")).unwrap_err();
        assert!(message.starts_with(&format!(":2: {wants}")), "{bad}: {message}");
    }
    let nothing = read(&line(7, DAY, "a", "failed", "null")).unwrap_err();
    assert_eq!(nothing, ": no pages");
}
