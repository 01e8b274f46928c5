//! Targets of documents (`[[deliver]]`), as checked. What differs and how targets are spoken to is the business of the
//! crate `delivery`; the program sends.

use crate::admission::address_block::address_block;
use crate::admission::pattern::Pattern;
use crate::config::target::{authorization, check_name, rate};
use crate::config::{Config, DeliverTable};
use ipnet::IpNet;
use recrawl_delivery::document;
use recrawl_delivery::protocol::{TargetPlace, TargetProtocol};
use recrawl_extractor::{PageExtent, PageFields};
use recrawl_fetcher::RequestRate;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Targets at most: for each, all pages are compared with its copy after each round.
const MAX_TARGETS: usize = 20;

/// The text of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentContent {
    /// The visible text.
    Text,
    /// Markdown of so much of the page.
    Markdown(PageExtent),
    /// None.
    None,
}

/// A checked target.
#[derive(Clone)]
pub struct DeliverTarget {
    /// Its name.
    pub name: String,
    /// Where it is, and how it is spoken to.
    pub place: TargetPlace,
    /// The text of a document.
    pub content: DocumentContent,
    /// Are pages left out that are duplicates of others, as they say?
    pub folds: bool,
    /// Are documents deleted of pages that were not found when they were last looked for?
    pub deletes_missing: bool,
    /// Its further fields.
    pub fields: PageFields,
    /// Another number if documents are made in another way.
    pub shape: u64,
    /// `Authorization`, if any.
    pub authorization: Option<String>,
    /// Addresses that are allowed although they are not on the public Internet.
    pub allow_addresses: Vec<IpNet>,
    /// Maximum documents of a request.
    pub batch: usize,
    /// Maximum bytes of the documents of a request.
    pub batch_bytes: usize,
    /// The rate of requests with documents, if it is limited.
    pub rate: Option<Arc<RequestRate>>,
    /// Time limit of one request.
    pub timeout: Duration,
    patterns: Vec<Pattern>,
}

/// Nothing that may be secret.
impl fmt::Debug for DeliverTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeliverTarget({})", self.name)
    }
}

impl DeliverTarget {
    /// Checks the `[[deliver]]` tables.
    ///
    /// # Errors
    /// The target and the key, and what is wrong.
    pub fn all(config: &Config, urls: &UrlRules) -> Result<Vec<DeliverTarget>, String> {
        let tables = &config.deliver;
        if tables.len() > MAX_TARGETS {
            return Err(format!("at most {MAX_TARGETS} [[deliver]] can be given, not {}", tables.len()));
        }
        if !tables.is_empty() && !config.storage.archive {
            return Err("[[deliver]] makes documents from the archive: set storage.archive = true".into());
        }
        let mut targets: Vec<DeliverTarget> = Vec::new();
        for table in tables {
            let name = &table.name;
            check_name("deliver", name)?;
            let target = DeliverTarget::new(table, urls).map_err(|e| format!("[[deliver]] {name:?}: {e}"))?;
            if target.lies_at(&config.storage.vault) {
                return Err(format!("[[deliver]] {name:?}: to: the vault lies there; name another folder"));
            }
            let is_same = |other: &&DeliverTarget| {
                other.name == *name
                    || other.place.address == target.place.address
                    || other.is_file_of(&target)
            };
            if let Some(other) = targets.iter().find(is_same) {
                let other = &other.name;
                return Err(format!("[[deliver]] {name:?}: {other:?} before it has the same name or `to`"));
            }
            targets.push(target);
        }
        Ok(targets)
    }

    fn new(table: &DeliverTable, urls: &UrlRules) -> Result<DeliverTarget, String> {
        let named = |key: &'static str| move |e: String| format!("{key}: {e}");
        let place = TargetPlace::parse(&table.to).map_err(|e| format!("to: {e}"))?;
        let patterns = table.pages.iter().map(|text| Pattern::parse(text, urls).map_err(|e| e.to_string()));
        let patterns: Vec<Pattern> = patterns.collect::<Result<_, _>>().map_err(named("pages"))?;
        if patterns.is_empty() {
            return Err("pages is empty, so the target would get nothing".into());
        }
        let content = match (table.content.as_str(), table.whole) {
            ("text", false) => DocumentContent::Text,
            ("markdown", false) => DocumentContent::Markdown(PageExtent::Main),
            ("markdown", true) => DocumentContent::Markdown(PageExtent::Whole),
            ("none", false) => DocumentContent::None,
            ("text" | "none", true) => return Err("whole is for content = \"markdown\": remove it".into()),
            (other, _) => {
                return Err(format!("content is {other:?}; write \"text\", \"markdown\" or \"none\""));
            }
        };
        let folds = match table.canonical.as_str() {
            "keep" => false,
            "fold" => true,
            other => return Err(format!("canonical is {other:?}; write \"keep\" or \"fold\"")),
        };
        let deletes_missing = match table.missing.as_str() {
            "keep" => false,
            "delete" => true,
            other => return Err(format!("missing is {other:?}; write \"keep\" or \"delete\"")),
        };
        let fields = PageFields::new(&table.fields).map_err(named("fields"))?;
        if let Some(name) = table.fields.keys().find(|name| document::FIELDS.contains(&name.as_str())) {
            return Err(format!("fields: {name:?} is a field of every document; choose another name"));
        }
        if let Some(name) = table.fields.keys().find(|name| name.starts_with('_')) {
            return Err(format!(
                "fields: {name:?} begins with `_`, which servers keep for themselves; choose another name"
            ));
        }
        let shape = format!("{content:?} {:?}", table.fields);
        if table.batch == 0 || table.timeout.0.is_zero() {
            return Err("batch and timeout must not be 0".into());
        }
        let authorization = authorization(&table.user, &table.password, &table.bearer)?;
        match &place.protocol {
            TargetProtocol::Server(server) if server.key_field().is_some() && table.bearer.is_empty() => {
                return Err("set bearer to its API key".into());
            }
            TargetProtocol::Server(_) => {}
            _ if authorization.is_some() => {
                return Err("only servers need user, password or bearer: remove them".into());
            }
            _ => {}
        }
        let allow = table.allow_addresses.iter().map(|text| address_block(text));
        Ok(DeliverTarget {
            name: table.name.clone(),
            place,
            content,
            folds,
            deletes_missing,
            fields,
            shape: xxh3_64(shape.as_bytes()),
            authorization,
            allow_addresses: allow.collect::<Result<_, _>>().map_err(named("allow_addresses"))?,
            batch: table.batch as usize,
            batch_bytes: usize::try_from(table.batch_bytes.0).unwrap_or(usize::MAX),
            rate: rate(&table.rate)?,
            timeout: table.timeout.0,
            patterns,
        })
    }

    /// The file whose lines the target is.
    pub fn file(&self) -> Option<&Path> {
        match &self.place.protocol {
            TargetProtocol::Lines(path) => Some(path),
            TargetProtocol::Server(_)
            | TargetProtocol::Objects(_)
            | TargetProtocol::Program(_)
            | TargetProtocol::Index => None,
        }
    }

    /// Are its objects in this folder of a bucket, or that in theirs?
    pub fn lies_at(&self, folder: &str) -> bool {
        let TargetProtocol::Objects(store) = &self.place.protocol else { return false };
        let parts =
            |folder: &str| folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let [own, other]: [Vec<String>; 2] = [store, folder].map(parts);
        !other.is_empty() && own.iter().zip(&other).all(|(own, other)| own == other)
    }

    /// Does a link lead both to one file?
    fn is_file_of(&self, other: &DeliverTarget) -> bool {
        let real = |target: &DeliverTarget| {
            let path = target.file()?;
            let folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
            path.canonicalize().ok().or_else(folder)
        };
        real(self).is_some_and(|file| real(other) == Some(file))
    }

    /// Is the page one of the target's?
    pub fn wants(&self, url: &CanonicalUrl) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(url))
    }
}
