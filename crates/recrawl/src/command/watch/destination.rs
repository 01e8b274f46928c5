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
    let (scheme, address) = (&*scheme.to_ascii_lowercase(), address.trim_start_matches("//"));
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
    use recrawl_crawl::parts::notify::NotifyTarget;
    use recrawl_crawl::settings::Settings;
    use recrawl_notifications::message::Message;
    use recrawl_notifications::template;
    use serde_json::Value;
    use std::path::Path;

    const NTFY: &str = "ntfy://ntfy.sh/topic";
    const SLACK: &str = "slack://hooks.slack.com/services/a/b/c";
    const DISCORD: &str = "discord://discord.com/api/webhooks/1/x";

    #[test]
    fn every_recipe_is_in_the_list() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/targets");
        let entries = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort_unstable();
        assert_eq!(files, RECIPES.map(|(scheme, _)| format!("{scheme}.toml")));
    }

    fn target(to: &str) -> NotifyTarget {
        let config = format!("[[notify]]\nname = \"a\"\n{}", keys(to).unwrap());
        let settings =
            Settings::check(toml::from_str(&config).unwrap()).unwrap_or_else(|e| panic!("{to}: {e}"));
        settings.notify.into_iter().next().unwrap()
    }

    #[test]
    fn every_recipe_is_a_sound_target_whose_messages_are_what_its_receiver_takes() {
        for (to, text) in [
            (NTFY, Some("message")),
            (SLACK, Some("text")),
            (DISCORD, Some("content")),
            ("ntfy://localhost:8080/topic", Some("message")),
            ("mailto:me@example.com", None),
            ("https://example.com/hook", None),
            ("http://127.0.0.1:8000/hook", None),
        ] {
            let Some(made) = target(to).template else { continue };
            for message in [Message::of_test("a", 7, false), Message::of_hard_texts("a", false)] {
                let body = template::render(&made, message.fields()).unwrap_or_else(|e| panic!("{to}: {e}"));
                if let Some(text) = text {
                    let body: Value = serde_json::from_str(&body).unwrap();
                    assert!(body[text].as_str().is_some_and(|text| text.contains("after")), "{to}: {body}");
                }
            }
        }
        assert!(keys(NTFY).unwrap().contains("\"topic\": \"topic\""));
        let own = keys("ntfy://localhost:8080/topic").unwrap();
        assert!(own.contains("\"http://localhost:8080/\"") && own.contains("[\"127.0.0.1\"]"), "{own}");
    }

    /// The body for a change with this URL and difference.
    fn body(target: &NotifyTarget, url: &str, difference: &str) -> Value {
        let mut fields = Message::of_test("a", 7, false).fields();
        (fields["url"], fields["difference"]) = (url.into(), difference.into());
        let body = template::render(target.template.as_ref().unwrap(), fields).unwrap();
        serde_json::from_str(&body).unwrap()
    }

    #[test]
    fn what_a_page_says_pings_nobody_and_hides_no_link() {
        let said =
            "+<!channel> <https://evil.example/|Log in> & @everyone [Log in](https://evil.example) ``` x\n";
        let slack = body(&target(SLACK), "https://a.test/?a=1&b=2", said);
        let text = slack["text"].as_str().unwrap();
        assert!(
            text.starts_with("changed: https://a.test/?a=1&amp;b=2\n+&lt;!channel&gt; &lt;https:"),
            "{text}"
        );
        assert!(!text.contains(['<', '>']), "{text}");
        let discord = body(&target(DISCORD), "https://a.test/", said);
        assert_eq!(discord["allowed_mentions"], serde_json::json!({"parse": []}));
        let text = discord["content"].as_str().unwrap();
        assert!(text.starts_with("changed: https://a.test/\n```diff\n+<!channel>"), "{text}");
        // The block of the difference ends behind it, and nowhere else.
        assert!(text.ends_with(" x\n```") && text.matches("```").count() == 2, "{text}");
        let without = body(&target(DISCORD), "https://a.test/", "");
        assert_eq!(without["content"], "changed: https://a.test/");
    }

    #[test]
    fn messages_have_the_room_that_their_receiver_gives() {
        let ntfy = target(NTFY);
        // Each text of a message is cut at so many bytes.
        let message = body(&ntfy, "https://a.test/", &"円".repeat(ntfy.max_text / 3));
        assert!((3_000..4_096).contains(&message["message"].as_str().unwrap().len()));
        let discord = target(DISCORD);
        for (url, whole) in [(8, true), (450, true), (900, false), (5_000, false)] {
            let url = format!("https://a.test/{}", "x".repeat(url));
            let text = body(&discord, &url, &format!("{}\n", "-".repeat(discord.max_text - 1)));
            let text = text["content"].as_str().unwrap();
            assert!(text.chars().count() <= 2_000 && text.ends_with("```"), "{}", text.chars().count());
            assert_eq!(text.ends_with("-\n```"), whole, "{}", url.len());
        }
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
