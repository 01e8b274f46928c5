//! Addresses in a module: of `import`, of `export … from`, and of `import()` with a text.
//!
//! The script is not parsed, so a comment or a text that looks like an import counts, too. Bare names are left out: they
//! stand in an import map.

/// Beginnings of addresses.
const ADDRESSES: [&str; 5] = ["/", "./", "../", "http://", "https://"];

/// Passes each address on.
pub(super) fn scan<'s>(script: &'s str, found: &mut dyn FnMut(&'s str)) {
    for (at, word) in script.match_indices("import").chain(script.match_indices("from")) {
        let is_part_of_name = |before: char| before.is_alphanumeric() || matches!(before, '_' | '$' | '.');
        if script[..at].chars().next_back().is_some_and(is_part_of_name) {
            continue;
        }
        let behind = script[at + word.len()..].trim_start();
        let called = behind.strip_prefix('(').filter(|_| word == "import");
        let text = called.map_or(behind, str::trim_start);
        let Some(quote) = text.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else { continue };
        let Some((address, _)) = text[1..].split_once(quote) else { continue };
        let is_address = ADDRESSES.iter().any(|begin| address.starts_with(begin));
        if is_address && !address.contains(['\\', '\n']) {
            found(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_all_forms_are_found_and_bare_names_are_not() {
        let script = r#"import a from "./a.js"; import {b as c}from'../b.js';import"/c.js";
            export * from "./d.js"; export{e}from"./e.js"; const f = await import( "./f.js" );
            import * as g from "https://cdn.test/g.js"; import vue from "vue"; import(name); import(`./no.js`);
            Array.from("./no.js"); reimport"./no.js"; const text = "from"; x.import("./no.js"); import "./\x6eo.js"; import '"#;
        let mut found = Vec::new();
        scan(script, &mut |address| found.push(address));
        let all = ["./a.js", "../b.js", "/c.js", "./d.js", "./e.js", "./f.js", "https://cdn.test/g.js"];
        found.sort_unstable();
        let mut expected = all.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
