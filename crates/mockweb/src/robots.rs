//! The robots.txt rules of a host, and the check of requests against them.
//!
//! Rules are allowed or disallowed prefixes. The longest match decides, and "allowed" wins a tie
//! (RFC 9309 §2.2.2). This is a small part of the standard on purpose, so that the check is
//! certainly correct. The file itself has more to parse: a group for another robot, comments, and a
//! blank rule.

/// The rules of one host.
#[derive(Clone, Debug, Default)]
pub struct HostRobots {
    /// Prefixes, and whether the paths below may be fetched.
    rules: Vec<(String, bool)>,
    crawl_delay_seconds: Option<u32>,
}

impl HostRobots {
    /// Rules that forbid some prefixes and allow others.
    pub fn new(refused: &[&str], allowed: &[&str], crawl_delay_seconds: Option<u32>) -> HostRobots {
        let rules = refused
            .iter()
            .map(|prefix| (prefix.to_string(), false))
            .chain(allowed.iter().map(|prefix| (prefix.to_string(), true)))
            .collect();
        HostRobots { rules, crawl_delay_seconds }
    }

    /// Whether a crawler may request this target (path and query).
    pub fn allows(&self, target: &str) -> bool {
        self.rules
            .iter()
            .filter(|(prefix, _)| target.starts_with(prefix.as_str()))
            .max_by_key(|(prefix, allowed)| (prefix.len(), *allowed))
            .is_none_or(|(_, allowed)| *allowed)
    }

    /// The file `/robots.txt`; `origin` is `http://name:port`, for the line with the sitemap.
    pub fn text(&self, origin: &str, sitemap: Option<&str>) -> String {
        let mut text = String::from("# What lies below these paths is not for crawlers.\nUser-agent: *\n");
        for (prefix, allowed) in &self.rules {
            text.push_str(if *allowed { "Allow: " } else { "Disallow: " });
            text.push_str(prefix);
            text.push('\n');
        }
        if let Some(seconds) = self.crawl_delay_seconds {
            text.push_str(&format!("Crawl-delay: {seconds}\n"));
        }
        text.push_str("\nUser-agent: unwelcomebot\nDisallow: /\n");
        if let Some(path) = sitemap {
            text.push_str(&format!("\nSitemap: {origin}{path}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_decides() {
        let robots = HostRobots::new(&["/private/", "/search"], &["/private/open"], None);
        for (target, allowed) in [
            ("/", true),
            ("/private", true),
            ("/private/", false),
            ("/private/x.html", false),
            ("/private/open-17.html", true),
            ("/search?q=1", false),
            ("/se", true),
        ] {
            assert_eq!(robots.allows(target), allowed, "{target}");
        }
    }

    #[test]
    fn the_file_says_what_the_judge_thinks() {
        let text = HostRobots::new(&["/private/"], &["/private/open"], Some(2))
            .text("http://127.1.0.1:80", Some("/sitemap.xml"));
        assert!(text.contains("User-agent: *\nDisallow: /private/\nAllow: /private/open\nCrawl-delay: 2\n"));
        assert!(text.ends_with("Sitemap: http://127.1.0.1:80/sitemap.xml\n"));
    }
}
