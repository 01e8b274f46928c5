//! The format of a fleet: the form and meaning of all objects that its processes read of each other.
//!
//! `format/N` is created once each process that told of itself knows format N; the highest one is in force. A newer program
//! goes on in the format in force until then, and an older one refuses: it would misread what others write. A process that
//! starts at the same moment may not have been heard; it asks again with each beat, so it goes on for a beat at most.

use crate::epoch::is_there;
use crate::key;
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed, read_framed};
use serde::{Deserialize, Serialize};

/// The newest format that this program knows. Fleets without an object of formats have the first one.
pub const FORMAT: u32 = 1;

/// A format in force, as its object says. Older programs read it: fields are only added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetFormat {
    /// Its number.
    pub format: u32,
    /// The version of the program that put it in force; empty if that cannot be read.
    pub version: String,
}

/// A format in force that a program does not know which knows all up to `knows`; none if it knows the one in force.
///
/// # Errors
/// When the store does not answer.
pub fn unknown_format(store: &dyn Store, knows: u32) -> Result<Option<FleetFormat>, VaultError> {
    let next = knows + 1;
    if !is_there(store, &key::format(next))? {
        return Ok(None);
    }
    // The form of this object may be another by then: that it is there is enough.
    let version = read_framed::<FleetFormat>(store, &key::format(next)).ok().flatten();
    Ok(Some(FleetFormat { format: next, ..version.unwrap_or_default() }))
}

/// Puts each format in force that all know: this process, which knows all up to `knows`, and others, each by the newest that it
/// told. Gives the format in force.
///
/// # Errors
/// When the store does not answer.
pub fn agree_on_format(
    store: &dyn Store,
    (knows, version): (u32, &str),
    others: impl IntoIterator<Item = u32>,
) -> Result<u32, VaultError> {
    // A program from before formats were told knows the first one.
    let all_know = others.into_iter().map(|newest| newest.max(1)).fold(knows, u32::min);
    for format in 1..=all_know {
        if !is_there(store, &key::format(format))? {
            let object = FleetFormat { format, version: version.to_owned() };
            match create_or_find(store, &key::format(format), &framed(&key::format(format), &object, b"")) {
                // Another process of another version was faster.
                Err(StoreError::Exists(_)) => {}
                done => done?,
            }
        }
    }
    let mut in_force = all_know;
    while is_there(store, &key::format(in_force + 1))? {
        in_force += 1;
    }
    Ok(in_force)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_vault::store::MemoryStore;

    #[test]
    fn a_format_is_in_force_once_all_know_it_and_stays_so() {
        let store = MemoryStore::new();
        assert_eq!(unknown_format(&store, 1).unwrap(), None, "a fleet from before has the first one");
        // One of three is new, then two: both go on in the old format.
        assert_eq!(agree_on_format(&store, (2, "2.0"), [0, 1]).unwrap(), 1);
        assert_eq!(agree_on_format(&store, (2, "2.0"), [2, 1]).unwrap(), 1);
        assert_eq!(unknown_format(&store, 1).unwrap(), None);
        assert_eq!(agree_on_format(&store, (3, "3.0"), [2, 3]).unwrap(), 2);
        let told = unknown_format(&store, 1).unwrap();
        assert_eq!(told, Some(FleetFormat { format: 2, version: "3.0".into() }));
        assert_eq!(unknown_format(&store, 2).unwrap(), None);
        assert_eq!(agree_on_format(&store, (2, "2.1"), [2, 2]).unwrap(), 2, "another version, one format");
        assert_eq!(unknown_format(&store, 1).unwrap(), told, "an object is never written again");
        assert_eq!(agree_on_format(&store, (3, "3.0"), [1]).unwrap(), 2, "an old process changes nothing");
    }

    #[test]
    fn an_object_of_a_form_that_nobody_here_can_read_is_a_format_nobody_here_knows() {
        let store = MemoryStore::new();
        store.create(&key::format(FORMAT + 1), b"of the future").unwrap();
        let told = unknown_format(&store, FORMAT).unwrap().unwrap();
        assert_eq!(told, FleetFormat { format: FORMAT + 1, version: String::new() });
    }
}
