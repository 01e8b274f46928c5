//! The stage between fetcher and readers for pages whose document is made first, and for those that load more than it:
//! they are rendered or converted, then their requisites are archived.
//!
//! A page that loads keeps the round going, since its requests are requests of the round. It gives back its connection at
//! once, for it may need its own host. So pages that wait are bounded elsewhere: the fetcher requests no more like them.
//! A page that is converted needs no host, and keeps its connection, which is the bound.

use crate::failure::Failure;
use crate::parts::convert::Converts;
use crate::parts::render::{RenderChoice, RenderRules, Renders};
use crate::parts::requisites::{RequisiteWait, Requisites, WaitingPages};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use recrawl_extractor::Requisite;
use recrawl_fetcher::{
    FetchResult, FetchedPage, Fetcher, Hold, LoadingPages, PageLoad, Resources, StoppedBy,
};
use recrawl_types::CanonicalUrl;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender};

/// The stage of one round.
pub struct LoadingStage<'c> {
    renders: Option<Renders<'c>>,
    converts: Option<Converts>,
    requisites: Option<Requisites<'c>>,
    resources: Arc<Resources>,
}

/// For the fetcher: which pages load more.
struct Loading {
    rendered: Option<Arc<RenderRules>>,
    waiting: Option<Arc<WaitingPages>>,
}

impl LoadingPages for Loading {
    fn is_rendered(&self, url: &CanonicalUrl) -> bool {
        self.rendered.as_ref().is_some_and(|rules| rules.is_rendered(url))
    }

    fn waits(&self, url: &CanonicalUrl) -> bool {
        self.rendered.as_ref().is_some_and(|rules| rules.waits(url))
            || self.waiting.as_ref().is_some_and(|waiting| waiting.waits(url))
    }
}

impl<'c> LoadingStage<'c> {
    /// The stage of the next round; none if no page needs it.
    pub fn of_round(
        fetcher: &Fetcher,
        renders: Option<Renders<'c>>,
        converts: Option<Converts>,
        requisites: Option<Requisites<'c>>,
    ) -> Option<LoadingStage<'c>> {
        if renders.is_none() && converts.is_none() && requisites.is_none() {
            return None;
        }
        let loading = Loading {
            rendered: renders.as_ref().map(Renders::rules),
            waiting: requisites.as_ref().map(Requisites::waiting_pages),
        };
        Some(LoadingStage { renders, converts, requisites, resources: fetcher.resources(Box::new(loading)) })
    }

    /// For the fetcher.
    pub fn resources(&self) -> Arc<Resources> {
        self.resources.clone()
    }

    /// Passes pages on, with what they load, until there are no more.
    ///
    /// # Errors
    /// When no browser starts, or what was learned cannot be stored.
    pub async fn run(
        self,
        mut pages: Receiver<FetchedPage>,
        out: Sender<FetchedPage>,
    ) -> Result<(), Failure> {
        let (mut rendering, mut loading) = (FuturesUnordered::new(), FuturesUnordered::new());
        let mut converting = FuturesUnordered::new();
        let mut is_open = true;
        loop {
            let page = tokio::select! {
                page = pages.recv(), if is_open => match page {
                    Some(mut page) => {
                        let turn = self.renders.as_ref().map_or(RenderChoice::AsSent, |all| all.turn(&page));
                        let renders = self.renders.as_ref().filter(|_| turn != RenderChoice::AsSent);
                        match renders {
                            None => match self.converts.as_ref().and_then(|converts| converts.begin(&page)) {
                                None => self.begin(page, None, LoadedAnswers::default()),
                                Some(conversion) => {
                                    converting.push(conversion.run(page));
                                    continue;
                                }
                            },
                            Some(renders) => {
                                let (load, waiting) = (self.resources.begin(), renders.begin());
                                page.hold = Hold::default();
                                rendering.push(async move {
                                    let rendered = renders.render(page, turn, waiting, &load).await?;
                                    Ok::<_, Failure>(rendered.map(|(page, loaded)| (page, loaded, load)))
                                });
                                continue;
                            }
                        }
                    }
                    None => {
                        is_open = false;
                        // Nothing that they ask for would come. Those of a round that was cut short are left to the next.
                        if !matches!(self.resources.ended(), Some(StoppedBy::Deadline | StoppedBy::ByteBudget)) {
                            rendering.clear();
                        }
                        if self.resources.ended() == Some(StoppedBy::Stop) {
                            converting.clear();
                        }
                        continue;
                    }
                },
                Some(rendered) = rendering.next(), if !rendering.is_empty() => match rendered? {
                    Some((page, loaded, load)) => self.begin(page, Some(load), loaded),
                    None => continue,
                },
                Some(page) = converting.next(), if !converting.is_empty() => self.begin(page, None, LoadedAnswers::default()),
                Some(page) = loading.next(), if !loading.is_empty() => Begun::Done(Box::new(page)),
                else => break,
            };
            match page {
                Begun::Done(page) => {
                    if out.send(*page).await.is_err() {
                        break;
                    }
                }
                Begun::Loads(page, waiting, load, loaded) => {
                    let requisites = self.requisites.as_ref().expect("one of them has begun");
                    loading.push(requisites.load(*page, waiting, load, loaded));
                }
            }
        }
        drop((rendering, converting, loading));
        match &self.renders {
            Some(renders) => renders.finish().await,
            None => Ok(()),
        }
    }

    /// Begins to load the requisites of a page, if it has any. `load` was begun before the page's hold ended.
    fn begin(&self, mut page: FetchedPage, load: Option<PageLoad>, loaded: LoadedAnswers) -> Begun {
        match self.requisites.as_ref().and_then(|requisites| requisites.begin(&page)) {
            None => Begun::Done(Box::new(page)),
            Some(waiting) => {
                let load = load.unwrap_or_else(|| self.resources.begin());
                page.hold = Hold::default();
                Begun::Loads(Box::new(page), waiting, load, loaded)
            }
        }
    }
}

/// A page that goes on, or loads its requisites.
enum Begun {
    Done(Box<FetchedPage>),
    Loads(Box<FetchedPage>, RequisiteWait, PageLoad, LoadedAnswers),
}

/// The answers that a browser got for a page, and what it was refused.
type LoadedAnswers = (Vec<(CanonicalUrl, FetchResult)>, Vec<Requisite>);
