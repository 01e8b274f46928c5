//! `terms`: the similarities of Assis 2008, Algorithm 2, steps 5 to 9.

use super::{Assessment, Classifier, ClassifierKind, PageWords};
use crate::similarity::{idf, similarity};
use crate::terms::{Matcher, TermSet, Topic, UrlTerms};
use crate::words::{Language, Words};

/// The entry in the list.
pub const KIND: ClassifierKind = ClassifierKind {
    name: "terms",
    about: "similarity to the genre, content and URL terms of a term file; needs no training",
    needs_model: false,
};

/// A topic with its terms in the words of every language.
pub struct Terms {
    topic: Topic,
    matchers: Vec<Matcher>,
    /// By language and set, the weight of each term.
    idf: Vec<[Vec<f64>; 3]>,
}

impl Terms {
    /// Prepares a topic. All terms weigh 1 (section 4.2: as good as counted weights).
    pub fn new(topic: Topic, words: &mut Words) -> Terms {
        let matchers: Vec<Matcher> =
            Language::all().map(|language| Matcher::new(&topic, language, words)).collect();
        let idf =
            matchers.iter().map(|matcher| TermSet::ALL.map(|set| vec![1.0; matcher.size(set)])).collect();
        Terms { topic, matchers, idf }
    }

    /// The same topic with terms weighted by the pages of a collection that have them (equation 3.4). A term counts in
    /// the pages of all languages.
    pub fn weighted<'a>(mut self, collection: impl IntoIterator<Item = &'a PageWords>) -> Terms {
        let mut found = TermSet::ALL.map(|set| vec![0_u32; self.topic.terms(set).len()]);
        let mut pages = 0;
        for page in collection {
            pages += 1;
            let matcher = self.matcher(page.language);
            let counts = matcher.count(&page.words);
            for set in TermSet::ALL {
                for (found, place) in found[set as usize].iter_mut().zip(matcher.places(set)) {
                    *found +=
                        u32::from(place.is_some_and(|place| counts.in_set(set)[usize::from(place)] > 0));
                }
            }
        }
        for (matcher, weights) in self.matchers.iter().zip(&mut self.idf) {
            for set in TermSet::ALL {
                // Of terms with the same stems the last one written counts; they were found in the same pages.
                for (found, place) in found[set as usize].iter().zip(matcher.places(set)) {
                    if let Some(place) = place {
                        weights[set as usize][usize::from(*place)] = idf(pages, *found);
                    }
                }
            }
        }
        self
    }

    /// The topic.
    pub fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Its terms in the words of a language.
    pub fn matcher(&self, language: Language) -> &Matcher {
        &self.matchers[language.place()]
    }

    /// The similarity of a sequence of words and a set.
    pub fn similarity(&self, words: &[u64], language: Language, set: TermSet) -> f64 {
        let counts = self.matcher(language).count(words);
        similarity(counts.in_set(set), &self.idf[language.place()][set as usize])
    }
}

impl Classifier for Terms {
    fn assess(&self, page: &PageWords) -> Assessment {
        let counts = self.matcher(page.language).count(&page.words);
        let idf = &self.idf[page.language.place()];
        let of = |set: TermSet| similarity(counts.in_set(set), &idf[set as usize]);
        let (genre, content) = (of(TermSet::Genre), of(TermSet::Content));
        let url = match self.topic.url_terms {
            _ if self.topic.terms(TermSet::Url).is_empty() => None,
            UrlTerms::Text => Some(of(TermSet::Url)),
            UrlTerms::Url => page.has_url.then(|| self.similarity(&page.url, page.language, TermSet::Url)),
        };
        Assessment { relevance: self.topic.final_score(genre, content, url), genre, content, url }
    }
}
