//! The list of rules. A new rule is one file in this folder and one line here.

mod assertion;
mod book;
mod crate_map;
pub mod dependency;
pub mod file_length;
mod heading;
mod import;
mod leftover;
mod limit;
mod machine_path;
mod manner;
mod module_doc;
mod name;
pub mod ratchet;

use super::Complaint;
use crate::workspace::Workspace;

/// A house rule.
pub struct HouseRule {
    /// Name of the rule's file, which also ends each complaint.
    pub name: &'static str,
    /// Finds the complaints.
    pub check: fn(&Workspace) -> Vec<Complaint>,
}

/// All rules, in the order of output.
pub const RULES: &[HouseRule] = &[
    HouseRule { name: "module_doc", check: module_doc::check },
    HouseRule { name: "name", check: name::check },
    HouseRule { name: "file_length", check: file_length::check },
    HouseRule { name: "leftover", check: leftover::check },
    HouseRule { name: "assertion", check: assertion::check },
    HouseRule { name: "crate_map", check: crate_map::check },
    HouseRule { name: "import", check: import::check },
    HouseRule { name: "dependency", check: dependency::check },
    HouseRule { name: "limit", check: limit::check },
    HouseRule { name: "manner", check: manner::check },
    HouseRule { name: "book", check: book::check },
    HouseRule { name: "heading", check: heading::check },
    HouseRule { name: "machine_path", check: machine_path::check },
    HouseRule { name: "ratchet", check: ratchet::check },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_file_is_in_the_list() {
        let workspace = Workspace::read(&crate::tidy::repository_root()).expect("the repository can be read");
        let folder = "crates/xtask/src/tidy/rule/";
        let files: BTreeSet<&str> = workspace
            .rust()
            .filter_map(|f| f.path.strip_prefix(folder)?.strip_suffix(".rs"))
            .filter(|name| !name.contains('/'))
            .collect();
        let listed: BTreeSet<&str> = RULES.iter().map(|r| r.name).collect();
        assert_eq!(files, listed, "add the missing line to RULES in {folder}../rule.rs");
    }
}
