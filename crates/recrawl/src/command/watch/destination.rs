//! The target of `recrawl watch`: a recipe of `config/targets` for each scheme, filled with the address.

use recrawl_fetcher::guard::is_public;
use recrawl_types::host::literal;
use std::net::Ipv4Addr;

/// The recipes by scheme: keys of `[[notify]]` with `{address}`, `{host}` and `{path}`.
const RECIPES: [(&str, &str); 6] = [
    ("discord", include_str!("../../../../../config/targets/discord.toml")),
    ("http", include_str!("../../../../../config/targets/http.toml")),
    ("https", include_str!("../../../../../config/targets/https.toml")),
    ("mailto", include_str!("../../../../../config/targets/mailto.toml")),
    ("ntfy", include_str!("../../../../../config/targets/ntfy.toml")),
    ("slack", include_str!("../../../../../config/targets/slack.toml")),
];

/// The keys of a target that lead to this address.
///
/// # Errors
/// What is wrong with it.
pub fn keys(to: &str) -> Result<String, String> {
    let all = || RECIPES.map(|(scheme, _)| scheme).join(", ");
    let (scheme, address) =
        to.split_once(':').ok_or_else(|| format!("write one of {}, with an address", all()))?;
    let address = address.trim_start_matches("//");
    let recipe = RECIPES.iter().find(|(known, _)| *known == scheme);
    let (_, recipe) =
        recipe.ok_or_else(|| format!("{scheme:?} is no kind of target; write one of {}", all()))?;
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"\"'\\{}".contains(c);
    if address.is_empty() || !address.chars().all(is_plain) {
        return Err(format!("{address:?} is no address"));
    }
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    if recipe.contains("{path}") && path.is_empty() {
        return Err(format!("{to}: add what follows the host, such as {scheme}://{host}/my-topic"));
    }
    if scheme != "mailto" && host.contains('@') {
        return Err(format!(
            "{scheme}: user and password are keys of [[notify]]: leave them out, and add them there"
        ));
    }
    if scheme == "mailto" && address.contains('?') {
        return Err(format!("{to}: leave out what begins with ?; the subject is a key of [[notify]]"));
    }
    let is_host = host.contains(['.', ':']) || host == "localhost";
    if matches!(scheme, "discord" | "slack") && !is_host {
        let example = recipe.trim_start_matches("# ").split([',', '\n']).next().unwrap_or_default();
        return Err(format!("{to}: {host:?} is no host; write it whole, as in {example}"));
    }
    let lines = recipe.lines().filter(|line| !line.starts_with('#'));
    let mut keys = lines.collect::<Vec<_>>().join("\n") + "\n";
    for (placeholder, value) in [("{address}", address), ("{host}", host), ("{path}", path)] {
        keys = keys.replace(placeholder, value);
    }
    // Who names an address of a private network means it.
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let address = if name == "localhost" { Some(Ipv4Addr::LOCALHOST.into()) } else { literal(name) };
    if let Some(address) = address.filter(|address| !is_public(*address)) {
        if scheme == "ntfy" {
            keys = keys.replace("https://", "http://");
        }
        keys += &format!("allow_addresses = [\"{address}\"]\n");
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::config::Config;
    use recrawl_crawl::settings::Settings;
    use recrawl_notifications::message::Message;
    use recrawl_notifications::template;
    use std::path::Path;

    #[test]
    fn every_recipe_is_in_the_list() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/targets");
        let entries = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort_unstable();
        assert_eq!(files, RECIPES.map(|(scheme, _)| format!("{scheme}.toml")));
    }

    #[test]
    fn every_recipe_is_a_sound_target_whose_messages_are_what_its_receiver_takes() {
        for (to, text) in [
            ("ntfy://ntfy.sh/topic", Some("message")),
            ("slack://hooks.slack.com/services/a/b/c", Some("text")),
            ("discord://discord.com/api/webhooks/1/x", Some("content")),
            ("ntfy://localhost:8080/topic", Some("message")),
            ("mailto:me@example.com", None),
            ("https://example.com/hook", None),
            ("http://127.0.0.1:8000/hook", None),
        ] {
            let keys = keys(to).unwrap();
            let config: Config = toml::from_str(&format!("[[notify]]\nname = \"a\"\n{keys}")).unwrap();
            let target = Settings::check(config).unwrap_or_else(|e| panic!("{to}: {e}")).notify.remove(0);
            let Some(made) = target.template else { continue };
            for message in [Message::of_test("a", 7, false), Message::of_hard_texts("a", false)] {
                let body = template::render(&made, message.fields()).unwrap_or_else(|e| panic!("{to}: {e}"));
                if let Some(text) = text {
                    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
                    assert!(
                        body[text].as_str().is_some_and(|text| text.chars().count() < 4000),
                        "{to}: {body}"
                    );
                }
            }
        }
        assert!(keys("ntfy://ntfy.sh/topic").unwrap().contains("\"topic\": \"topic\""));
        let own = keys("ntfy://localhost:8080/topic").unwrap();
        assert!(own.contains("\"http://localhost:8080/\"") && own.contains("[\"127.0.0.1\"]"), "{own}");
    }

    #[test]
    fn a_wrong_target_is_named() {
        for (to, says) in [
            ("me", "write one of discord"),
            ("gopher://x", "is no kind of target"),
            ("ntfy://ntfy.sh", "such as ntfy://ntfy.sh/my-topic"),
            ("https://a\"b", "is no address"),
            ("mailto:", "is no address"),
            ("mailto:a@b.test?subject=x", "the subject is a key"),
            ("https://me:secret@a.test/hook", "are keys of [[notify]]"),
            (
                "discord://1/abc",
                "\"1\" is no host; write it whole, as in discord://discord.com/api/webhooks/ID/TOKEN",
            ),
            ("slack://T1/B2/x", "as in slack://hooks.slack.com/services/T…/B…/…"),
        ] {
            assert!(keys(to).unwrap_err().contains(says), "{to}");
        }
    }
}
