//! Messages: one change, or a digest of several.

use crate::kind::ChangeKind;
use crate::number::numbers;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use recrawl_repository::StoredVisit;
use recrawl_types::{CanonicalUrl, Change, Cycle, DatedRound, Round, UrlRules, url};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

/// Bytes of SHA-256 in an id.
const ID_BYTES: usize = 16;

/// A change that a target is told of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeNotice {
    /// The same whenever the change is told to this target.
    pub id: String,
    /// What the visit found.
    pub kind: ChangeKind,
    /// The page.
    #[serde(with = "url::text")]
    pub url: CanonicalUrl,
    /// The cycle of the visit.
    pub cycle: Cycle,
    /// Its round.
    pub round: Round,
    /// When the fetch ended, in seconds since 1970.
    pub time: u64,
    /// The HTTP status, where the outcome has one.
    #[serde(default)]
    pub status: Option<u16>,
    /// Why the page is missing, if it is.
    #[serde(default)]
    pub reason: Option<String>,
    /// Is the page back with the content that it had before?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_same: bool,
}

impl ChangeNotice {
    /// What a visit of this round is to a target.
    pub fn new(target: &str, round: DatedRound, kind: ChangeKind, visit: &StoredVisit) -> ChangeNotice {
        ChangeNotice {
            id: id("msg_", [target, &visit.url.as_text(), &format!("{} {}", round.round.0, visit.at)]),
            kind,
            url: visit.url.clone(),
            cycle: round.cycle,
            round: round.round,
            time: visit.at,
            status: visit.outcome.status(),
            reason: kind.is_missing().then(|| visit.outcome.to_string()),
            is_same: visit.outcome.change() == Some(Change::Unchanged),
        }
    }
}

/// An id of these parts.
fn id<'p>(prefix: &str, parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part.as_bytes());
        // No part has it, so the parts cannot be divided otherwise.
        context.update(&[0]);
    }
    format!("{prefix}{}", HEXLOWER.encode(&context.finish().as_ref()[..ID_BYTES]))
}

/// What the archive has of a changed page. Texts are bounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChangeContents {
    /// The page's title.
    pub title: Option<String>,
    /// The first number of the text at this visit.
    pub number: Option<Number>,
    /// The first number of the text at the visit before.
    pub old_number: Option<Number>,
    /// The visible text at the visit before.
    pub old_text: Option<String>,
    /// The visible text at this visit.
    pub new_text: Option<String>,
    /// What differs, as lines that begin with `+` or `-`.
    pub difference: Option<String>,
    /// Was a text or the difference cut?
    pub is_cut: bool,
    /// Why a text is missing.
    pub no_text: Option<String>,
    /// What to do about a page that differs at nearly every visit.
    pub hint: Option<String>,
}

impl ChangeContents {
    /// Reads the numbers of the texts, before these are cut.
    pub fn read_numbers(&mut self) {
        let first = |text: &Option<String>| {
            let number = *numbers(text.as_deref()?).first()?;
            // A template writes 15, and not 15.0.
            let is_whole = number.fract() == 0.0 && number.abs() < 2_f64.powi(53);
            if is_whole { Some((number as i64).into()) } else { Number::from_f64(number) }
        };
        (self.number, self.old_number) = (first(&self.new_text), first(&self.old_text));
    }
}

/// A change with what the archive has of it.
#[derive(Clone, Debug, Serialize)]
pub struct ToldChange {
    /// The change.
    #[serde(flatten)]
    pub change: ChangeNotice,
    /// What the archive has.
    #[serde(flatten)]
    pub contents: ChangeContents,
}

/// A message as it is sent: the fields `type`, `timestamp` and `data` that standard-webhooks recommends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// The same whenever it is sent.
    #[serde(skip)]
    pub id: String,
    /// `page.` and the kind of the change, `pages.digest`, or `test`.
    #[serde(rename = "type")]
    pub name: String,
    /// When the visit ended; of a digest, when its last one did.
    pub timestamp: String,
    /// The change, or a list of them.
    pub data: Value,
}

impl Message {
    /// Tells of one change.
    pub fn of_change(target: &str, told: &ToldChange) -> Message {
        let mut data = json!(told);
        data["target"] = target.into();
        let ChangeNotice { id, kind, time, .. } = &told.change;
        Message { id: id.clone(), name: format!("page.{}", kind.name()), timestamp: timestamp(*time), data }
    }

    /// Tells of several changes; the id is theirs.
    pub fn of_digest(target: &str, told: &[ToldChange]) -> Message {
        let id = id("digest_", told.iter().map(|told| told.change.id.as_str()));
        let last = told.iter().map(|told| told.change.time).max().unwrap_or_default();
        let data = json!({"id": id, "target": target, "changes": told});
        Message { id, name: "pages.digest".into(), timestamp: timestamp(last), data }
    }

    /// A message that only shows whether a target takes messages: one change, or a digest of one. `now`: seconds since
    /// 1970.
    pub fn of_test(target: &str, now: u64, is_digest: bool) -> Message {
        Message::of_example(target, now, is_digest, "Example", "")
    }

    /// A message with texts that are hard to quote.
    pub fn of_hard_texts(target: &str, is_digest: bool) -> Message {
        let hard = "\"\\\n\t\u{e9}\u{1f310}<&";
        Message::of_example(target, 0, is_digest, hard, hard)
    }

    /// `more`: what each text begins with.
    fn of_example(target: &str, now: u64, is_digest: bool, title: &str, more: &str) -> Message {
        let url = UrlRules::keep_all().canonicalize("https://example.com/").expect("it is a URL");
        let change = ChangeNotice {
            id: id("test_", [target, &now.to_string()]),
            kind: ChangeKind::Changed,
            url,
            cycle: Cycle(0),
            round: Round(0),
            time: now,
            status: None,
            reason: None,
            is_same: false,
        };
        let contents = ChangeContents {
            title: Some(title.into()),
            number: Some(15.into()),
            old_number: Some(20.into()),
            old_text: Some(format!("{more}before\n")),
            new_text: Some(format!("{more}after\n")),
            difference: Some(format!("{more}-before\n+after\n")),
            ..ChangeContents::default()
        };
        let told = ToldChange { change, contents };
        let message =
            if is_digest { Message::of_digest(target, &[told]) } else { Message::of_change(target, &told) };
        Message { name: "test".into(), ..message }
    }

    /// The fields for a template: `type`, `timestamp`, and those of `data`. One without value is an empty text.
    pub fn fields(&self) -> Value {
        let mut fields = self.data.clone();
        blank_nulls(&mut fields);
        fields["type"] = self.name.clone().into();
        fields["timestamp"] = self.timestamp.clone().into();
        fields
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a message is plain data")
    }
}

fn blank_nulls(value: &mut Value) {
    match value {
        Value::Null => *value = Value::String(String::new()),
        Value::Array(values) => values.iter_mut().for_each(blank_nulls),
        Value::Object(fields) => fields.values_mut().for_each(blank_nulls),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn timestamp(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// Cuts a text at a number of bytes, between characters. True if something was cut.
pub fn cut(text: &mut String, max: usize) -> bool {
    let is_longer = text.len() > max;
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    is_longer
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Outcome, Share};

    fn visit(url: &str, at: u64) -> StoredVisit {
        let url = UrlRules::keep_all().canonicalize(url).unwrap();
        let outcome = Outcome::NotFound(404);
        StoredVisit { url, at, share: Share::Score, outcome, confirmed: 3, missed: 0, learned: None }
    }

    fn change(target: &str, url: &str, at: u64) -> ChangeNotice {
        ChangeNotice::new(target, DatedRound::only_of(Cycle(7)), ChangeKind::Gone, &visit(url, at))
    }

    #[test]
    fn an_id_tells_target_page_and_visit_apart_and_nothing_else() {
        let first = change("desk", "http://a.test/x", 5);
        assert_eq!(first.id, change("desk", "http://a.test/x", 5).id);
        assert_eq!(first.id.len(), 4 + 2 * ID_BYTES);
        for other in [
            change("des", "http://a.test/x", 5),
            change("desk", "http://a.test/y", 5),
            change("desk", "http://a.test/x", 6),
        ] {
            assert_ne!(first.id, other.id);
        }
    }

    #[test]
    fn a_change_survives_its_file() {
        let first = change("desk", "http://a.test:81/x?q=1", 5);
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<ChangeNotice>(&text).unwrap(), first);
        assert!(serde_json::from_str::<ChangeNotice>(&text.replace("http:", "no")).is_err());
    }

    #[test]
    fn a_message_has_the_fields_of_standard_webhooks() {
        let told =
            ToldChange { change: change("desk", "http://a.test/x", 5), contents: ChangeContents::default() };
        let message = Message::of_change("desk", &told);
        let found: Value = serde_json::from_str(&message.to_json()).unwrap();
        assert_eq!(found["type"], "page.gone");
        assert_eq!(found["timestamp"], "1970-01-01T00:00:05Z");
        assert_eq!(found["data"]["url"], "http://a.test/x");
        assert_eq!((&found["data"]["status"], &found["data"]["target"]), (&json!(404), &json!("desk")));
        let digest = Message::of_digest("desk", &[told]);
        assert_eq!(
            (digest.data["changes"][0]["id"].as_str().unwrap(), digest.name.as_str()),
            (message.id.as_str(), "pages.digest")
        );
    }

    #[test]
    fn numbers_are_written_as_short_as_they_are() {
        let text = |text: &str| Some(text.to_owned());
        let mut contents =
            ChangeContents { old_text: text("19.90 EUR"), new_text: text("15,00"), ..Default::default() };
        contents.read_numbers();
        assert_eq!((json!(contents.number), json!(contents.old_number)), (json!(15), json!(19.9)));
        let mut none = ChangeContents { new_text: text("sold out"), ..Default::default() };
        none.read_numbers();
        assert_eq!((none.number, none.old_number), (None, None));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let mut text = String::from("aé");
        assert!(!cut(&mut text, 3));
        assert!(cut(&mut text, 2));
        assert_eq!(text, "a");
    }
}
