//! Scrolling: much of a page loads only when it comes into view.
//!
//! When a page has come to rest, its window and the boxes in it that scroll are moved to their ends, a view each frame, as
//! a reader would. Then it comes to rest again. While it grows, that is repeated up to a limit; an endless list ends
//! there. Last it is moved back to its top, because some lists hold only what is in view.
//!
//! A high window, which shows all at once, was refused: parts as high as the window grow with it, and a list asks for
//! more only when its end comes into view again, which it never leaves there.
//!
//! The same page is moved the same way each time, however fast the machine is: the page's clock stands still, answers
//! wait, and what arrives meanwhile is left to the next time. So a handler that stands still until a request is answered
//! (a synchronous XMLHttpRequest) costs its page [`PATIENCE`].

use crate::RenderError;
use serde_json::Value;
use std::time::Duration;

/// Views that a page is moved by at a time, before it goes straight to its end.
const MAX_VIEWS: u32 = 64;
/// Boxes beside the window that are moved.
const MAX_BOXES: u32 = 16;

/// How much of its own time a page has after it was moved.
pub const SETTLE: Duration = Duration::from_secs(1);
/// How long a page may take to be moved. One that is not shown gets no frames; it is read as it is.
pub const PATIENCE: Duration = Duration::from_secs(20);

const SCRIPT: &str = include_str!("scroll.js");

/// How far a page was scrolled.
#[derive(Debug)]
pub struct Scrolling {
    /// Times it is still moved to its end.
    left: u32,
    /// What the page and its boxes held, in pixels.
    known: f64,
    next: ScrollStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScrollStep {
    Down,
    Back,
    Done,
}

impl Scrolling {
    /// Moves a page to its end this often at most.
    pub fn new(times: u32) -> Scrolling {
        Scrolling {
            left: times,
            known: 0.0,
            next: if times == 0 { ScrollStep::Done } else { ScrollStep::Down },
        }
    }

    /// The script that moves a page at rest; none if it can be read.
    pub fn script(&self) -> Option<String> {
        let is_back = match self.next {
            ScrollStep::Down => false,
            ScrollStep::Back => true,
            ScrollStep::Done => return None,
        };
        Some(format!("({SCRIPT})({MAX_VIEWS}, {MAX_BOXES}, {}, {is_back})", self.known))
    }

    /// Leaves the page where it is.
    pub fn give_up(&mut self) {
        self.next = ScrollStep::Done;
    }

    /// Notes what the script returned.
    ///
    /// # Errors
    /// It returned something else.
    pub fn moved(&mut self, result: &Value) -> Result<(), RenderError> {
        let held = result.as_f64().ok_or(RenderError::Refused)?;
        self.left = self.left.saturating_sub(1);
        self.next = match self.next {
            ScrollStep::Down if self.known == 0.0 && held == 0.0 => ScrollStep::Done,
            ScrollStep::Down if held > self.known && self.left > 0 => ScrollStep::Down,
            ScrollStep::Down => ScrollStep::Back,
            ScrollStep::Back | ScrollStep::Done => ScrollStep::Done,
        };
        self.known = self.known.max(held);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The scripts' turns, by what they return: down or back.
    fn turns(times: u32, extents: &[u32]) -> String {
        let (mut scrolling, mut turns, mut extents) = (Scrolling::new(times), String::new(), extents.iter());
        while let Some(script) = scrolling.script() {
            turns.push(if script.ends_with("true)") { '^' } else { 'v' });
            scrolling.moved(&json!(extents.next().expect("a turn too many"))).unwrap();
        }
        turns
    }

    #[test]
    fn a_page_is_moved_while_it_grows_and_then_back() {
        assert_eq!(turns(8, &[0]), "v", "nothing to scroll");
        assert_eq!(turns(8, &[4000, 4000, 0]), "vv^", "it did not grow");
        assert_eq!(turns(8, &[900, 1800, 1700, 0]), "vvv^", "it shrank");
        assert_eq!(turns(8, &[900, 0, 0]), "vv^", "it is too short to scroll now");
        assert_eq!(turns(3, &[1000, 2000, 3000, 0]), "vvv^", "an endless list");
        assert_eq!(turns(1, &[1000, 0]), "v^");
        assert_eq!(turns(0, &[]), "");
        assert!(Scrolling::new(1).moved(&Value::Null).is_err());
    }
}
