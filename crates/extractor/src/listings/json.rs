//! JSON Feed (jsonfeed.org, versions 1 and 1.1), in one pass: only one item is in memory.

use super::EntryCollector;
use super::values::{EntryValues, MAX_TEXT, ValueRank, cut};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

const VERSION: &str = "https://jsonfeed.org/version/";

/// Reads a feed to its end, or up to the first damage. False if it is none.
pub(super) fn read(text: &str, found: &mut EntryCollector<'_>) -> bool {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut feed = JsonFeed { found, is_feed: false };
    let damage = reader.deserialize_any(&mut feed).err();
    let is_feed = feed.is_feed;
    found.listing.damage = found.listing.damage.take().or(damage.map(|error| error.to_string()));
    is_feed
}

struct JsonFeed<'a, 'r> {
    found: &'a mut EntryCollector<'r>,
    is_feed: bool,
}

impl<'de> Visitor<'de> for &mut JsonFeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON Feed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => self.is_feed = map.next_value::<LenientText>()?.0.starts_with(VERSION),
                "next_url" => self.found.link("next", &map.next_value::<LenientText>()?.0, false, ""),
                "feed_url" => self.found.hub.link("self", &map.next_value::<LenientText>()?.0),
                "hubs" => map.next_value_seed(EachElement::new(|hub: JsonHub| {
                    if hub.kind.0.eq_ignore_ascii_case("WebSub") {
                        self.found.hub.link("hub", &hub.url.0);
                    }
                }))?,
                "items" => {
                    map.next_value_seed(EachElement::new(|item: JsonItem| self.found.take(&item.values())))?
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonHub {
    #[serde(rename = "type")]
    kind: LenientText,
    url: LenientText,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonItem {
    url: LenientText,
    id: LenientText,
    date_modified: LenientText,
    date_published: LenientText,
    title: LenientText,
    summary: LenientText,
    content_html: LenientText,
    content_text: LenientText,
}

impl JsonItem {
    fn values(self) -> EntryValues {
        let mut values = EntryValues::default();
        values.addresses.add(ValueRank::Own, false, self.url.0);
        values.identifier(false, &self.id.0);
        values.dates.add(ValueRank::Own, false, self.date_modified.0);
        values.dates.add(ValueRank::Published, false, self.date_published.0);
        values.titles.add(ValueRank::Own, false, as_html(&self.title.0));
        let content = match self.content_html.0.is_empty() {
            true => as_html(&self.content_text.0),
            false => cut(&self.content_html.0, MAX_TEXT).into(),
        };
        values.texts = vec![as_html(&self.summary.0), content];
        values
    }
}

/// A plain text as HTML, with its lines.
fn as_html(text: &str) -> String {
    cut(text, MAX_TEXT).replace('&', "&amp;").replace('<', "&lt;").replace('\n', "<br>")
}

/// A string; empty if another value stands there, as `null` or a number.
#[derive(Default)]
struct LenientText(String);

impl<'de> Deserialize<'de> for LenientText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LenientText, D::Error> {
        struct AnyValue;
        impl<'de> Visitor<'de> for AnyValue {
            type Value = LenientText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_str<E>(self, text: &str) -> Result<LenientText, E> {
                Ok(LenientText(text.trim().into()))
            }

            fn visit_unit<E>(self) -> Result<LenientText, E> {
                Ok(LenientText::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<LenientText, E> {
                Ok(LenientText::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<LenientText, E> {
                Ok(LenientText::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<LenientText, E> {
                Ok(LenientText::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<LenientText, E> {
                Ok(LenientText::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<LenientText, A::Error> {
                while values.next_element::<IgnoredAny>()?.is_some() {}
                Ok(LenientText::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<LenientText, A::Error> {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(LenientText::default())
            }
        }
        from.deserialize_any(AnyValue)
    }
}

/// Gives each element of an array away as soon as it is read; `null` has none.
struct EachElement<T, F>(F, PhantomData<T>);

impl<T, F: FnMut(T)> EachElement<T, F> {
    fn new(take: F) -> EachElement<T, F> {
        EachElement(take, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> DeserializeSeed<'de> for EachElement<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for EachElement<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut values: A) -> Result<(), A::Error> {
        while let Some(value) = values.next_element()? {
            self.0(value);
        }
        Ok(())
    }
}
