//! Robots directives of a page, in header fields and in `<head>`.

use super::{Action, FaultKind, page};

/// Fields that hold directives or decide how they are read.
const FIELDS: [&str; 5] = ["x-robots-tag", "link", "content-type", "x-content-type-options", "refresh"];

/// Robots directives, canonical URLs, media types.
pub const DIRECTIVES: FaultKind = FaultKind {
    name: "wishes",
    help: "robots directives; value: parts separated by |, each NAME: VALUE for a header field, or <…> for the \
           <head> of a page of four links (plain, nofollow, ugc, sponsored) that replaces the correct page; \
           default x-robots-tag: noindex",
    parse: |value| {
        let (mut fields, mut head) = (Vec::new(), String::new());
        for part in value.unwrap_or("x-robots-tag: noindex").split('|').map(str::trim) {
            if part.starts_with('<') {
                head.push_str(part);
                continue;
            }
            let (name, value) =
                part.split_once(':').ok_or_else(|| format!("{part:?} is not a field NAME: VALUE"))?;
            let name = FIELDS.into_iter().find(|known| name.trim().eq_ignore_ascii_case(known));
            let name = name.ok_or_else(|| format!("unknown field {part:?}; use {}", FIELDS.join(", ")))?;
            fields.push((name, value.trim().to_owned()));
        }
        if head.is_empty() {
            return Ok(Box::new(move |_| Action::Relabel(fields.clone())));
        }
        if !fields.iter().any(|(name, _)| *name == "content-type") {
            fields.push(("content-type", "text/html; charset=utf-8".into()));
        }
        let links = ["", "nofollow", "ugc", "sponsored"].map(|rel| {
            let path = if rel.is_empty() { "plain" } else { rel };
            format!("<p><a rel=\"{rel}\" href=\"/private/open-{path}\">{path}</a></p>")
        });
        let body = page("Wishes", &links.concat()).replace("<head>", &format!("<head>{head}"));
        Ok(Box::new(move |_| Action::Page { fields: fields.clone(), body: body.clone().into_bytes() }))
    },
};

#[cfg(test)]
mod tests {
    use super::super::{Action, FaultRule};

    #[test]
    fn wishes_are_told_in_header_and_head() {
        let strike = |rule: &str| rule.parse::<FaultRule>().unwrap().strike(0, "/x", 0);
        let both =
            strike("/x=wishes:X-Robots-Tag: a: b | <meta name=robots content='c=d:e'> | link: <f>; rel=g");
        let Some(Action::Page { fields, body }) = both else { panic!("{both:?}") };
        assert_eq!(fields[..2], [("x-robots-tag", "a: b".to_owned()), ("link", "<f>; rel=g".to_owned())]);
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains("<head><meta name=robots content='c=d:e'><title>"), "{body}");
        assert_eq!(body.matches("href=").count(), 4);
        let fields = vec![("x-robots-tag", "noindex".to_owned())];
        assert_eq!(strike("/x=wishes"), Some(Action::Relabel(fields)));
        for wrong in ["/x=wishes:set-cookie: a", "/x=wishes:noindex"] {
            assert!(wrong.parse::<FaultRule>().is_err(), "{wrong}");
        }
    }
}
