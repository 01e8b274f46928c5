//! Configuration keys in environment variables: `RECRAWL__TABLE__KEY=VALUE` sets `table.key`, and `RECRAWL__HOSTS` the
//! list of hosts. They override the file; the command line overrides them.
//!
//! A key whose default is a text takes the value as it is: `RECRAWL__CYCLE__PERIOD=1 h`. Other keys take TOML:
//! `RECRAWL__SCOPE__HOSTS=["example.com"]`, `RECRAWL__CYCLE__FILL=false`.

use super::{Config, ConfigError, all_keys, complete, nearest};

/// Begins the name of each such variable. RECRAWL_LOG has one underscore.
pub const PREFIX: &str = "RECRAWL__";

/// The variables that set keys, in order of their names.
///
/// # Errors
/// A value that is not UTF-8.
pub fn variables() -> Result<Vec<(String, String)>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        match value.into_string() {
            Ok(value) => found.push((name.to_owned(), value)),
            Err(_) => return Err(ConfigError::Variable(name.to_owned(), "not UTF-8".into())),
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Sets keys in the tables of a file, which are a configuration.
///
/// # Errors
/// The first variable that names no key, or has no value for it.
pub fn overlaid(mut tables: toml::Table, variables: &[(String, String)]) -> Result<Config, ConfigError> {
    let defaults = toml::Table::try_from(complete()).expect("the configuration is a table of tables");
    let read = |tables: &toml::Table| tables.clone().try_into();
    let mut merged = read(&tables).expect("the file was checked");
    for (name, value) in variables {
        let wrong = |what: String| ConfigError::Variable(name.clone(), what);
        let key = name[PREFIX.len()..].to_ascii_lowercase().replace("__", ".");
        let (table, inner) = match key.split_once('.') {
            Some((table, inner)) if table != "hosts" => (table, Some(inner)),
            None if key == "hosts" => ("hosts", None),
            _ => return Err(wrong(unknown(&key))),
        };
        let default = match inner {
            Some(inner) => defaults.get(table).and_then(|table| table.get(inner)),
            None => defaults.get(table),
        };
        let value = match default {
            None => return Err(wrong(unknown(&key))),
            Some(toml::Value::String(_)) => toml::Value::String(value.clone()),
            Some(_) => as_toml(value).map_err(wrong)?,
        };
        match inner {
            Some(inner) => {
                let table = tables.entry(table).or_insert_with(|| toml::Table::new().into());
                table.as_table_mut().expect("the file was checked").insert(inner.to_owned(), value);
            }
            None => _ = tables.insert(table.to_owned(), value),
        }
        merged = read(&tables).map_err(|e: toml::de::Error| wrong(e.message().replace('\n', "; ")))?;
    }
    Ok(merged)
}

fn as_toml(text: &str) -> Result<toml::Value, String> {
    let mut table: toml::Table = toml::from_str(&format!("value = {text}"))
        .map_err(|_| format!("{text:?} is not a TOML value, such as 7, false or [\"a\", \"b\"]"))?;
    match (table.remove("value"), table.is_empty()) {
        (Some(value), true) => Ok(value),
        _ => Err(format!("{text:?} is more than one TOML value")),
    }
}

/// The complaint about a variable that names no key.
fn unknown(key: &str) -> String {
    let variable = |key: &str| match key.split_once('.') {
        Some(("hosts", _)) => format!("{PREFIX}HOSTS"),
        _ => format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase()),
    };
    match nearest(&all_keys(), key) {
        Some(near) => format!("no configuration key; did you mean `{}`?", variable(&near)),
        None => "no configuration key; docs/configuration.md lists all keys".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::units::{Amount, Span};

    fn with(variables: &[(&str, &str)]) -> Result<Config, String> {
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).into())).collect();
        overlaid("cycle.pages_min = 7\nhosts = [{ headers = { a = \"b\" } }]".parse().unwrap(), &variables)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_variable_overrides_its_key_and_no_other() {
        let config = with(&[
            ("CRAWLER__CONTACT", "me@example.org"),
            ("CYCLE__DEADLINE", "20 h"),
            ("CYCLE__FILL", "false"),
            ("CYCLE__PAGES", "100"),
            ("DNS__OVERRIDES", "{ \"a.test\" = \"127.0.0.1\" }"),
            ("HOSTS", "[{ host = \"a.test\", bearer = \"env:TOKEN\" }]"),
            ("SCOPE__HOSTS", "[\"example.com\", \"*.example.com\"]"),
            ("STORAGE__DATA_DIR", "2026"),
        ])
        .unwrap();
        assert_eq!((&*config.crawler.contact, config.cycle.fill), ("me@example.org", false));
        assert_eq!(config.cycle.deadline, Some(Span::millis(20 * 3_600_000)));
        assert_eq!((config.cycle.pages, config.cycle.pages_min), (Amount::Pages(100), 7));
        assert_eq!((config.scope.hosts.len(), config.dns.overrides.len()), (2, 1));
        assert_eq!((config.storage.data_dir.to_str(), &*config.hosts[0].host), (Some("2026"), "a.test"));
        let none = with(&[]).unwrap();
        let secret = none.hosts[0].headers["a"].value();
        assert_eq!((none.cycle.pages_min, secret.as_deref()), (7, Ok("b")), "as the file has it");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_variable() {
        for (name, value, wants) in [
            ("CYCLE__PAGE", "1", "did you mean `RECRAWL__CYCLE__PAGES`?"),
            ("CYCLE", "1", "RECRAWL__CYCLE: no configuration key"),
            ("HOSTS__HOST", "a", "did you mean `RECRAWL__HOSTS`?"),
            ("", "1", "RECRAWL__: no configuration key"),
            ("CYCLE__PERIOD", "5", "RECRAWL__CYCLE__PERIOD"),
            ("CYCLE__FILL", "yes", "\"yes\" is not a TOML value"),
            ("CYCLE__FILL", "7", "boolean"),
            ("CYCLE__FILL", "true\nfill = 1", "more than one"),
            ("HOSTS", "[{ hots = 1 }]", "hots"),
        ] {
            let error = with(&[(name, value)]).unwrap_err();
            assert!(error.contains(wants) && !error.contains('\n'), "{name}={value}: {error}");
        }
    }

    /// One systematic way for all keys: each default, given by its variable, is the default.
    #[test]
    fn every_key_has_a_variable() {
        for (table, values) in toml::Table::try_from(complete()).unwrap() {
            let toml::Value::Table(values) = values else { continue };
            for (key, value) in values {
                let text = match &value {
                    toml::Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let name = format!("{PREFIX}{}__{}", table.to_uppercase(), key.to_uppercase());
                let set = overlaid(toml::Table::new(), &[(name.clone(), text)]);
                let set = toml::Table::try_from(set.unwrap_or_else(|e| panic!("{name}: {e}"))).unwrap();
                assert_eq!(set[&table][&key], value, "{name}");
            }
        }
    }
}
