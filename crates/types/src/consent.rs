//! What the owner of a page wants done with it: robots directives, and the address that the page gives as
//! its own. Recorded at every visit; docs/consent.md says what is done about each.

use crate::CanonicalUrl;

/// What a page said of itself at the last visit, by its headers and its markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// It is not to be shown by an index.
    pub noindex: bool,
    /// None of its links is to be followed.
    pub nofollow: bool,
    /// No copy of it is to be kept.
    pub noarchive: bool,
    /// From then on, in seconds since 1970, it counts as `noindex`.
    pub unavailable_after: Option<u64>,
    /// Which address it gives as its own.
    pub canonical: Canonical,
}

/// A page's claim about its own address (RFC 6596). It is the page's alone: whether the page named
/// agrees is known by that page's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Canonical {
    /// It says nothing.
    #[default]
    Unclaimed,
    /// The address that it was found at.
    Itself,
    /// Another page, of which it is a duplicate.
    Other(CanonicalUrl),
    /// Several, so that none is believed.
    Contradictory,
}

impl Consent {
    /// Is the page not to be shown by an index at this time, in seconds since 1970?
    pub fn forbids_index(&self, at: u64) -> bool {
        self.noindex || self.unavailable_after.is_some_and(|after| at >= after)
    }

    /// With what an answer without a body (304) adds. It cannot take back what the body may have said.
    pub fn and(&self, added: &Consent) -> Consent {
        let earlier = self.unavailable_after.into_iter().chain(added.unavailable_after).min();
        Consent {
            noindex: self.noindex || added.noindex,
            nofollow: self.nofollow || added.nofollow,
            noarchive: self.noarchive || added.noarchive,
            unavailable_after: earlier,
            canonical: self.canonical.clone(),
        }
    }
}

impl Canonical {
    /// The page that this one is a duplicate of, as it says.
    pub fn other(&self) -> Option<&CanonicalUrl> {
        match self {
            Canonical::Other(url) => Some(url),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_out_of_the_index_from_its_date_on() {
        let dated = Consent { unavailable_after: Some(100), ..Consent::default() };
        assert!(!dated.forbids_index(99) && dated.forbids_index(100));
        assert!(Consent { noindex: true, ..Consent::default() }.forbids_index(0));
    }

    #[test]
    fn an_answer_without_a_body_adds_and_takes_nothing_back() {
        let before = Consent { noindex: true, canonical: Canonical::Itself, ..Consent::default() };
        let added = Consent { nofollow: true, unavailable_after: Some(7), ..Consent::default() };
        let both = before.and(&added);
        assert!(both.noindex && both.nofollow && !both.noarchive);
        assert_eq!((both.unavailable_after, &both.canonical), (Some(7), &Canonical::Itself));
        let sooner = Consent { unavailable_after: Some(5), ..Consent::default() };
        assert_eq!(both.and(&sooner).unavailable_after, Some(5));
    }
}
