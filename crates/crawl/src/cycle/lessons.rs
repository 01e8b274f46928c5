//! The lessons of a round: one line for each capability that learns.

use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::parts::dates::LastmodLesson;
use crate::parts::focus::lesson::FocusLesson;
use crate::parts::next_change::NextChangeLesson;
use crate::parts::noise::site::NoiseLesson;
use crate::parts::pings::PingLesson;
use crate::parts::repeated_links::DroppedLinks;
use crate::parts::seed_hosts::SeedHostLesson;
use crate::parts::traps::TrapLesson;
use crate::parts::trust::TrustLesson;
use crate::report::facts::Facts;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{CanonicalUrl, Content, DatedRound, Known, Visit};
use recrawl_verifier::Tried;

/// Makes a struct with one field for each lesson, and its methods, which pass everything on to the lessons that the round
/// has. Calls for each page are static. The methods are its own, not of the trait: so a method of [`RoundLesson`] that is
/// missing here cannot be called, and does not go unnoticed.
macro_rules! lessons {
    ($($name:ident: $lesson:ty,)*) => {
        /// The lessons of a round, in the order in which they are stored.
        pub struct RoundLessons<'r> {
            $(pub $name: Option<$lesson>,)*
        }

        impl RoundLessons<'_> {
            pub fn visited(&mut self, visit: &Visit) {
                $(self.$name.iter_mut().for_each(|lesson| lesson.visited(visit));)*
            }

            pub fn compared(&mut self, url: &CanonicalUrl, is_newer: Option<bool>, is_changed: bool) {
                $(self.$name.iter_mut().for_each(|lesson| lesson.compared(url, is_newer, is_changed));)*
            }

            pub fn visited_first(&mut self, url: &CanonicalUrl, content: &Content) {
                $(self.$name.iter_mut().for_each(|lesson| lesson.visited_first(url, content));)*
            }

            pub fn tried(&mut self, url: &CanonicalUrl, tried: &Tried) {
                $(self.$name.iter_mut().for_each(|lesson| lesson.tried(url, tried));)*
            }

            pub fn found(&mut self, key: &[u8], known: &Known) {
                $(self.$name.iter_mut().for_each(|lesson| lesson.found(key, known));)*
            }

            pub fn dropped(&mut self, key: &[u8], is_linked: bool) {
                $(self.$name.iter_mut().for_each(|lesson| lesson.dropped(key, is_linked));)*
            }

            pub fn store(&mut self, tables: &SledTables, round: DatedRound) -> Result<(), Failure> {
                $(self.$name.iter_mut().try_for_each(|lesson| lesson.store(tables, round))?;)*
                Ok(())
            }

            /// The round is committed, so a failure no longer is one of the round.
            pub fn committed(&mut self, tables: &SledTables) {
                $(if let Some(Err(failure)) = self.$name.as_mut().map(|lesson| lesson.committed(tables)) {
                    tracing::warn!("{} of the round wait on: {failure}", stringify!($name));
                })*
            }
        }
    };
}

lessons! {
    noise: NoiseLesson,
    dates: LastmodLesson,
    pings: PingLesson,
    // After the fetcher has ended: both write the entries of hosts.
    trust: TrustLesson,
    traps: TrapLesson,
    next_change: NextChangeLesson<'r>,
    focus: FocusLesson,
    seed_hosts: SeedHostLesson<'r>,
    repeated_links: DroppedLinks,
}

impl<'r> RoundLessons<'r> {
    /// Begins the lessons of a round.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn begin(crawl: &Crawl, generation: &'r Generation, facts: &Facts) -> Result<Self, Failure> {
        let (tables, round) = (&*crawl.tables, facts.round());
        let (kind, formula) = ((round, facts.kind), facts.formula_toml.as_deref());
        let focus = match &crawl.settings.focus {
            Some(rules) => {
                let survey = crawl.survey(rules, generation, round)?;
                Some(FocusLesson::of_round(rules.clone(), survey, tables, round, facts.focus.as_ref())?)
            }
            None => None,
        };
        Ok(RoundLessons {
            noise: Some(NoiseLesson::default()),
            dates: Some(LastmodLesson::default()),
            pings: Some(PingLesson::new(crawl.pings.clone())),
            trust: Some(TrustLesson::default()),
            traps: Some(TrapLesson::new(&crawl.settings.traps, &crawl.tables, round)),
            next_change: NextChangeLesson::of_round(tables, generation, kind, formula, &|_| {
                crawl.live.moved()
            })?,
            focus,
            seed_hosts: Some(SeedHostLesson::new(generation)),
            repeated_links: Some(DroppedLinks::default()),
        })
    }
}
