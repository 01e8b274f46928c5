//! The `[[notify]]` tables that tell of watched pages already, and their conditions.

use super::revision::{KeyChange, Told, WrittenTables, line};
use recrawl_crawl::failure::Failure;
use std::path::Path;
use toml::{Spanned, Table, Value};

/// A condition of `--below`, before its number.
const CONDITION: &str = "kind != 'changed' or not number >= ";

/// The tables of a configuration, and the pages of a watch, as patterns.
pub struct Targets<'a> {
    pub tables: &'a WrittenTables,
    pub text: &'a str,
    pub file: &'a Path,
    pub pages: &'a [String],
}

impl Targets<'_> {
    /// The pages of which no target at the address of these keys tells yet, and the changes of conditions that `--below`
    /// asks for: of such targets, or without keys of all targets of the pages.
    ///
    /// # Errors
    /// When nobody is told of the pages, or a condition is not of these pages alone or not by a watch.
    pub fn changed(
        &self,
        to: Option<&str>,
        below: Option<f64>,
    ) -> Result<(Vec<String>, Vec<KeyChange>), Failure> {
        let keys: Option<Table> = to.map(|to| toml::from_str(to).expect("a recipe is TOML"));
        let (mut untold, mut edits) = (self.pages.to_vec(), Vec::new());
        for number in self.telling() {
            if keys.as_ref().is_some_and(|keys| !self.leads_to(number, keys)) {
                continue;
            }
            let named = self.named(number);
            untold.retain(|page| !named.contains(&page.as_str()));
            edits.extend(below.map(|below| self.condition(number, below)).transpose()?.flatten());
        }
        match (to, below) {
            (None, Some(below)) if !untold.is_empty() => Err(Failure::Usage(format!(
                "--below {below}: nobody is told of {} yet; say whom with --to",
                untold.join(", ")
            ))),
            _ => Ok((untold, edits)),
        }
    }

    /// The names of all targets that tell of the pages.
    pub fn names(&self) -> Vec<&str> {
        let name = |number: usize| self.tables.notify[number].get("name")?.get_ref().as_str();
        self.telling().filter_map(name).collect()
    }

    /// The numbers of the tables that name one of the pages.
    fn telling(&self) -> impl Iterator<Item = usize> {
        (0..self.tables.notify.len()).filter(|number| self.tells(*number))
    }

    fn tells(&self, number: usize) -> bool {
        self.named(number).iter().any(|named| self.pages.iter().any(|page| page == named))
    }

    fn named(&self, number: usize) -> Vec<&str> {
        let list = self.tables.notify[number].get("pages").and_then(|pages| pages.get_ref().as_array());
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    fn leads_to(&self, number: usize, keys: &Table) -> bool {
        let table = &self.tables.notify[number];
        keys.iter().all(|(key, value)| table.get(key).is_some_and(|written| written.get_ref() == value))
    }

    /// The change to this number; none if it is below it already.
    fn condition(&self, number: usize, below: f64) -> Result<Option<KeyChange>, Failure> {
        let when = self.tables.notify[number].get("when");
        let now = when.and_then(|when| when.get_ref().as_str()).unwrap_or_default();
        let then = condition(below);
        if now == then {
            return Ok(None);
        }
        let others: Vec<&str> = self
            .named(number)
            .into_iter()
            .filter(|named| !self.pages.iter().any(|page| page == named))
            .collect();
        let refused = |why: String| {
            let place = when.map(Spanned::span).or(self.tables.notify[number].get("name").map(Spanned::span));
            let line = line(self.text, place.map_or(0, |place| place.start));
            Err(Failure::Usage(format!(
                "{}, line {line}: {why}: set `when = {}` there, then run `recrawl reload`",
                self.file.display(),
                Value::from(then.clone())
            )))
        };
        if !others.is_empty() {
            return refused(format!("this [[notify]] also tells of {}", others.join(", ")));
        }
        let so_far = match now.strip_prefix(CONDITION) {
            Some(number) => number,
            None if now.is_empty() => "none",
            None => return refused(format!("`when = {}` is not by a watch", Value::from(now))),
        };
        let told = Told { name: "below", now: so_far.to_owned(), then: below.to_string() };
        Ok(Some(KeyChange { list: "notify", number, key: "when", value: then.into(), told }))
    }
}

/// The condition of messages about a page whose number is to be below this one. A page without a number is told of too: it
/// may be gone, redirect, or have a new design.
pub fn condition(below: f64) -> String {
    format!("{CONDITION}{below}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "# mine\n[[notify]]\nname = \"a\"\npages = [\"http://a.test/\"]\nwhen = \"kind != 'changed' or not number \
                       >= 15\"\nfile = \"x\"\n\n[[notify]]\nname = \"b\"\npages = [\"http://a.test/\"]\nfile = \"y\"\n\n\
                       [[notify]]\nname = \"all\"\nfile = \"z\"\n";

    fn changed(
        text: &str,
        pages: &[&str],
        to: Option<&str>,
        below: Option<f64>,
    ) -> Result<(usize, Vec<String>), String> {
        let pages: Vec<String> = pages.iter().map(|page| (*page).to_owned()).collect();
        let tables = WrittenTables::read(text);
        let targets = Targets { tables: &tables, text, file: Path::new("recrawl.toml"), pages: &pages };
        let (untold, edits) = targets.changed(to, below).map_err(|e| e.to_string())?;
        Ok((untold.len(), edits.iter().map(|edit| format!("{} {}", edit.number, edit.told)).collect()))
    }

    #[test]
    fn a_threshold_changes_where_a_watch_wrote_it() {
        let page = &["http://a.test/"];
        let becomes = |number: usize, now: &str| format!("{number} below       {now} becomes 20");
        let both = Ok((0, vec![becomes(0, "15"), becomes(1, "none")]));
        assert_eq!(changed(TWO, page, None, Some(20.0)), both);
        assert_eq!(changed(TWO, page, Some("file = \"y\""), Some(20.0)), Ok((0, vec![becomes(1, "none")])));
        assert_eq!(changed(TWO, page, Some("file = \"x\""), Some(15.0)), Ok((0, vec![])), "as it was");
        assert_eq!(
            changed(TWO, page, Some("file = \"new\""), Some(20.0)),
            Ok((1, vec![])),
            "one more target"
        );
        let both = &["http://a.test/", "http://b.test/"];
        assert_eq!(changed(TWO, both, Some("file = \"y\""), None), Ok((1, vec![])), "of the other page");
        assert_eq!(changed(TWO, page, None, None), Ok((0, vec![])));
    }

    #[test]
    fn the_line_of_what_a_person_wrote_is_named() {
        let page = &["http://a.test/"];
        let nobody = changed(TWO, &["http://b.test/"], None, Some(20.0)).unwrap_err();
        assert!(nobody.contains("nobody is told of http://b.test/ yet"), "{nobody}");
        let own = TWO.replace("kind != 'changed' or not number >= 15", "number < 3");
        let refused = changed(&own, page, None, Some(20.0)).unwrap_err();
        assert!(
            refused.starts_with(
                "recrawl.toml, line 5: `when = \"number < 3\"` is not by a watch: set `when = \""
            ),
            "{refused}"
        );
        let more = TWO.replace("pages = [\"http://a.test/\"]", "pages = [\"http://a.test/\", \"b.test\"]");
        let refused = changed(&more, page, None, Some(20.0)).unwrap_err();
        assert!(refused.contains("line 5: this [[notify]] also tells of b.test"), "{refused}");
    }
}
