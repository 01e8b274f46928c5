//! The scope of the crawl: hosts, globs, depth and shapes of URLs.

use crate::admission::filters::{Filters, TooMuch};
use crate::admission::glob::{Glob, LowerCaseUrl};
use crate::admission::opt_out::OptOut;
use crate::admission::pattern::Pattern;
use recrawl_extractor::Extracted;
use recrawl_types::{CanonicalUrl, HostPattern, MediaTypes, Site, UrlRules};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The checked scope, which is applied to every link.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Host patterns in scope; if empty, `seed_sites` decides.
    hosts: Vec<HostPattern>,
    refuse_hosts: Vec<HostPattern>,
    /// Globs of which one must match; none for all URLs.
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    /// Media types, which only answers tell; none for all.
    types: Option<MediaTypes>,
    /// Maximum links from a seed.
    max_depth: u16,
    /// The sites of all seeds so far; used only if no host is configured.
    seed_sites: BTreeSet<String>,
    /// Hosts that opted out, which overrides all else.
    opt_out: Arc<OptOut>,
    /// Patterns of takedowns, never fetched again.
    taken_down: Arc<[Pattern]>,
    /// Limits on the shapes of URLs.
    filters: Filters,
    /// How URLs of pages are read.
    rules: UrlRules,
}

/// Why a URL is out of scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeRefusal {
    /// Its host is not configured, and no seed is on its site.
    Host,
    /// `scope.refuse_hosts` matches its host.
    RefusedHost,
    /// Its host opted out, with the line that says so.
    OptedOut(String),
    /// It was taken down, with the pattern.
    TakenDown(Pattern),
    /// Nothing in `scope.include` matches.
    NotIncluded,
    /// `scope.exclude` matches, with its glob.
    Excluded(String),
    /// Its shape exceeds a limit.
    Shape(TooMuch),
}

impl fmt::Display for ScopeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScopeRefusal::Host => f.write_str("its host is not in scope.hosts, and no seed is on its site"),
            ScopeRefusal::RefusedHost => f.write_str("its host is in scope.refuse_hosts"),
            ScopeRefusal::OptedOut(why) => f.write_str(why),
            ScopeRefusal::TakenDown(pattern) => write!(f, "taken down (recrawl takedown, {pattern})"),
            ScopeRefusal::NotIncluded => f.write_str("nothing in scope.include matches"),
            ScopeRefusal::Excluded(glob) => write!(f, "{glob} in scope.exclude matches"),
            ScopeRefusal::Shape(rule) => rule.fmt(f),
        }
    }
}

impl Scope {
    /// Checks the `[scope]` table.
    ///
    /// # Errors
    /// The key, and what is not a host or URL.
    pub fn new(config: &crate::config::Scope, rules: &UrlRules) -> Result<Scope, String> {
        let types = MediaTypes::new(config.types.iter().map(String::as_str));
        let types = types.map_err(|e| format!("scope.types: {e}"))?;
        Ok(Scope {
            hosts: HostPattern::all("scope.hosts", &config.hosts)?,
            refuse_hosts: HostPattern::all("scope.refuse_hosts", &config.refuse_hosts)?,
            include: Glob::all("scope.include", &config.include, rules)?,
            exclude: Glob::all("scope.exclude", &config.exclude, rules)?,
            types: Some(types).filter(|_| !config.types.is_empty()),
            max_depth: config.max_depth,
            seed_sites: BTreeSet::new(),
            opt_out: Arc::new(OptOut::read(&config.opt_out)?),
            taken_down: Arc::default(),
            filters: Filters::new(config),
            rules: rules.clone(),
        })
    }

    /// Admits these sites, which count if the configuration names no hosts.
    pub fn admit_sites(&mut self, sites: impl IntoIterator<Item = String>) {
        self.seed_sites.extend(sites);
    }

    /// Sets the patterns of takedowns.
    pub fn refuse_taken_down(&mut self, patterns: Vec<Pattern>) {
        self.taken_down = patterns.into();
    }

    /// The patterns of takedowns.
    pub fn taken_down(&self) -> &[Pattern] {
        &self.taken_down
    }

    /// Reads the opt-out list again.
    ///
    /// # Errors
    /// The file, and its bad lines.
    pub fn read_opt_out(&mut self) -> Result<(), String> {
        self.opt_out = Arc::new(self.opt_out.again()?);
        Ok(())
    }

    /// Hosts that opted out.
    pub fn opt_out(&self) -> &Arc<OptOut> {
        &self.opt_out
    }

    /// The media types in scope; none for all.
    pub fn types(&self) -> Option<&MediaTypes> {
        self.types.as_ref()
    }

    /// The same scope for all media types.
    #[must_use]
    pub fn of_all_types(self) -> Scope {
        Scope { types: None, ..self }
    }

    /// The media type of an answer, if it is out of scope. Sitemaps and feeds of any type are in scope, and so is an empty
    /// body: it has no type, and a page is not given up for one.
    pub fn refuse_type(
        &self,
        content_type: Option<&str>,
        body: &[u8],
        extracted: &Extracted,
    ) -> Option<String> {
        let types = self.types.as_ref().filter(|_| !matches!(extracted, Extracted::Listing(..)))?;
        if body.is_empty() {
            return None;
        }
        let essence = recrawl_extractor::media_type(content_type, body);
        (!types.admits(&essence)).then_some(essence)
    }

    /// The limits on the shapes of URLs.
    pub fn filters(&self) -> &Filters {
        &self.filters
    }

    /// Is the host in scope?
    pub fn admits_host(&self, host: &str) -> bool {
        self.refuse_host(host).is_none()
    }

    fn refuse_host(&self, host: &str) -> Option<ScopeRefusal> {
        let named = |list: &[HostPattern]| list.iter().any(|p| p.matches(host));
        let host_belongs = if self.hosts.is_empty() {
            self.seed_sites.contains(Site::of_host(host).as_str())
        } else {
            named(&self.hosts)
        };
        match () {
            () if self.opt_out.line(host).is_some() => self.opt_out.because(host).map(ScopeRefusal::OptedOut),
            () if !host_belongs => Some(ScopeRefusal::Host),
            () if named(&self.refuse_hosts) => Some(ScopeRefusal::RefusedHost),
            () => None,
        }
    }

    fn refuse_place(&self, url: &CanonicalUrl) -> Option<ScopeRefusal> {
        if let Some(pattern) = self.taken_down.iter().find(|pattern| pattern.matches(url)) {
            return Some(ScopeRefusal::TakenDown(pattern.clone()));
        }
        let refusal = self.refuse_host(&url.host());
        if refusal.is_some() || self.include.is_empty() && self.exclude.is_empty() {
            return refusal;
        }
        let compared = LowerCaseUrl::new(url);
        let first = |list: &'_ [Glob]| list.iter().position(|glob| glob.matches(&compared));
        match first(&self.exclude) {
            Some(at) => Some(ScopeRefusal::Excluded(self.exclude[at].to_string())),
            None if !self.include.is_empty() && first(&self.include).is_none() => {
                Some(ScopeRefusal::NotIncluded)
            }
            None => None,
        }
    }

    /// Is no request to be sent there, not even to a service that is no page of the crawl: opted out, refused by
    /// host, or taken down?
    pub fn forbids(&self, url: &CanonicalUrl) -> bool {
        let host = url.host();
        self.opt_out.line(&host).is_some()
            || self.refuse_hosts.iter().any(|pattern| pattern.matches(&host))
            || self.taken_down.iter().any(|pattern| pattern.matches_requisite(url, &self.rules))
    }

    /// The same for what a page asks for while it is rendered: an excluded URL may be one that acts, such as a logout.
    pub fn forbids_resource(&self, url: &CanonicalUrl) -> bool {
        self.forbids(url) || matches!(self.refuse_place(url), Some(ScopeRefusal::Excluded(_)))
    }

    /// A digest that changes with the scope.
    pub fn digest(&self) -> u64 {
        let lists = (&self.hosts, &self.refuse_hosts, &self.include, &self.exclude);
        let rest = (&self.seed_sites, &self.taken_down, &self.filters, self.opt_out.digest());
        let types = self.types.as_ref().map_or(String::new(), |types| format!("{types:?}"));
        xxhash_rust::xxh3::xxh3_64(format!("{lists:?}{rest:?}{types}").as_bytes())
    }

    /// Why the URL is out of scope, if it is.
    pub fn refuse(&self, url: &CanonicalUrl) -> Option<ScopeRefusal> {
        self.refuse_place(url).or_else(|| self.filters.refuse(url).map(ScopeRefusal::Shape))
    }

    /// Is the URL in scope?
    pub fn admits(&self, url: &CanonicalUrl) -> bool {
        self.refuse(url).is_none()
    }

    /// Does a link at this depth lead into the scope? Its shape is checked later, where skipped
    /// links are counted.
    pub fn admits_link(&self, url: &CanonicalUrl, depth: u16) -> bool {
        depth <= self.max_depth && self.refuse_place(url).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use recrawl_extractor::Listing;
    use recrawl_types::Consent;

    fn scope(edit: impl FnOnce(&mut config::Scope)) -> Scope {
        let mut raw = config::Scope::default();
        edit(&mut raw);
        Scope::new(&raw, &UrlRules::default()).unwrap()
    }

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::default().canonicalize(text).unwrap()
    }

    #[test]
    fn without_hosts_the_sites_of_the_seeds_belong() {
        let mut scope = scope(|_| {});
        assert!(!scope.admits(&url("http://example.com/")));
        scope.admit_sites([Site::from_url(&url("https://www.example.com/")).to_string()]);
        assert!(scope.admits(&url("http://example.com/")));
        assert!(scope.admits(&url("http://other.example.com/")));
        assert!(!scope.admits(&url("http://example.org/")));
    }

    #[test]
    fn hosts_and_globs_admit_and_refuse() {
        let scope = scope(|s| {
            s.hosts = vec!["*.Example.com".into(), "a.org".into()];
            s.refuse_hosts = vec!["bad.example.com".into()];
            s.exclude = vec!["http://a.org/private/*".into(), "*.pdf".into()];
            s.include = vec!["*.com/*".into(), "http://a.org/p*".into()];
            s.max_depth = 3;
        });
        for (text, admitted) in [
            ("http://example.com/", true),
            ("http://x.y.example.com/", true),
            ("http://notexample.com/", false),
            ("http://bad.example.com/", false),
            ("http://a.org/public", true),
            ("http://a.org/private/x", false),
            ("http://a.org/public.pdf?x", false),
            ("http://a.org/other", false),
            ("http://b.a.org/", false),
        ] {
            assert_eq!(scope.admits(&url(text)), admitted, "{text}");
        }
        assert!(scope.admits_link(&url("http://a.org/p"), 3));
        assert!(!scope.admits_link(&url("http://a.org/p"), 4));
        let told = |text: &str| scope.refuse(&url(text)).map(|refusal| refusal.to_string());
        assert_eq!(told("http://a.org/p.PDF").as_deref(), Some("*.pdf in scope.exclude matches"));
        assert_eq!(told("http://a.org/x").as_deref(), Some("nothing in scope.include matches"));
    }

    #[test]
    fn media_types_belong_to_the_digest_only_if_there_are_any() {
        let digest = |types: &[&str]| {
            let scope = scope(|s| s.types = types.iter().map(ToString::to_string).collect());
            let opaque = Extracted::Opaque(Consent::default(), Vec::new());
            let listing = Extracted::Listing(Listing::default(), Consent::default());
            let refused =
                |content_type, extracted| scope.refuse_type(content_type, b"\x89PNG\r\n\x1a\n", extracted);
            let expected = types.contains(&"text/html").then(|| "image/png".to_owned());
            assert_eq!(refused(Some("Image/PNG"), &opaque), expected, "{types:?}");
            assert_eq!(refused(None, &opaque), expected, "its first bytes tell");
            assert_eq!(refused(Some("image/png"), &listing), None);
            scope.digest()
        };
        let (all, html, images) = (digest(&[]), digest(&["text/html"]), digest(&["image/*"]));
        assert!(all != html && html != images && all != images);
        let wrong = config::Scope { types: vec!["pdf".into()], ..config::Scope::default() };
        let wrong = Scope::new(&wrong, &UrlRules::default()).unwrap_err();
        assert!(wrong.contains("scope.types: \"pdf\" is not a media type; write"), "{wrong}");
    }

    #[test]
    fn what_is_no_host_is_refused_by_name() {
        let raw = config::Scope { hosts: vec!["http://a/b".into()], ..config::Scope::default() };
        assert!(Scope::new(&raw, &UrlRules::default()).unwrap_err().contains("scope.hosts"));
    }
}
