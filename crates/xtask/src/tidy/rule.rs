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
pub struct Rule {
    /// Name of the rule's file, which also ends each complaint.
    pub name: &'static str,
    /// Finds the complaints.
    pub check: fn(&Workspace) -> Vec<Complaint>,
}

/// All rules, in the order of output.
pub const RULES: &[Rule] = &[
    Rule { name: "module_doc", check: module_doc::check },
    Rule { name: "name", check: name::check },
    Rule { name: "file_length", check: file_length::check },
    Rule { name: "leftover", check: leftover::check },
    Rule { name: "assertion", check: assertion::check },
    Rule { name: "crate_map", check: crate_map::check },
    Rule { name: "import", check: import::check },
    Rule { name: "dependency", check: dependency::check },
    Rule { name: "limit", check: limit::check },
    Rule { name: "manner", check: manner::check },
    Rule { name: "book", check: book::check },
    Rule { name: "heading", check: heading::check },
    Rule { name: "machine_path", check: machine_path::check },
    Rule { name: "ratchet", check: ratchet::check },
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
