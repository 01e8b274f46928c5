//! Keys of older versions, whose values meant something else.

/// Each with what to write now.
const FORMER_KEYS: &[(&str, &str)] = &[
    (
        "promises.prefix",
        "it is now promises.match, and a prefix ends with *: match = \"https://example.com/news/*\"",
    ),
    (
        "scope.prefixes",
        "it is now scope.include, and a prefix ends with *: include = [\"https://example.com/docs/*\"]",
    ),
    (
        "scope.refuse_prefixes",
        "it is now scope.exclude, and a prefix ends with *: exclude = [\"https://example.com/private/*\"]",
    ),
];

/// The advice for a former key.
pub fn now(key: &str) -> Option<&'static str> {
    FORMER_KEYS.iter().find(|(former, _)| *former == key).map(|(_, now)| *now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, all_keys};

    #[test]
    fn a_former_key_is_refused_with_what_to_write_now() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.toml");
        for (key, now) in FORMER_KEYS {
            let (table, name) = key.split_once('.').unwrap();
            let table = if table == "promises" { "[[promises]]".into() } else { format!("[{table}]") };
            std::fs::write(&file, format!("{table}\n{name} = \"x\"\n")).unwrap();
            let error = Config::read(Some(&file), &[]).unwrap_err().to_string();
            assert!(error.contains(now) && !all_keys().iter().any(|known| known == key), "{error}");
        }
    }
}
