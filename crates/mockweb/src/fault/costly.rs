//! Small pages that are slow to parse.

use super::{Action, FaultKind, page};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// Bytes of such a page after decompression.
const BYTES: usize = 2 << 20;
/// Number of open elements around it.
const OPEN: usize = 500;

/// Markup that is slow to parse.
pub const COSTLY: FaultKind = FaultKind {
    name: "costly",
    help: "2 MiB of markup in a few kB of gzip, whose every tag makes a parser search all open elements; value: \
           hr (rules inside 500 div), misnested (formatting elements closed in the wrong order), table (text \
           between table rows), deep (nested elements), default hr",
    parse: |value| {
        let (before, again) = match value.unwrap_or("hr") {
            "hr" => ("<div>".repeat(OPEN), "<hr>".to_owned()),
            "misnested" => ("<div>".repeat(OPEN), "<b><i><p></b></i>x".to_owned()),
            "table" => ("<table>".repeat(OPEN), "<tr>x<td>y".to_owned()),
            "deep" => (String::new(), "<p><span><b>x".to_owned()),
            other => return Err(format!("unknown markup {other:?}")),
        };
        let again = again.repeat((BYTES - before.len()) / again.len());
        let body = packed(&page("Costly", &format!("{before}{again}")));
        let fields = vec![("content-type", "text/html".into()), ("content-encoding", "gzip".into())];
        Ok(Box::new(move |_| Action::Page { fields: fields.clone(), body: body.clone() }))
    },
};

fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes()).and_then(|()| packed.finish()).expect("memory takes every byte")
}

#[cfg(test)]
mod tests {
    use super::super::{Action, FaultRule};
    use std::io::Read;

    #[test]
    fn a_costly_page_is_a_few_kb_on_the_wire_and_2_mib_behind() {
        for value in ["hr", "misnested", "table", "deep"] {
            let rule: FaultRule = format!("/=costly:{value}").parse().unwrap();
            let Some(Action::Page { body, .. }) = rule.strike(0, "/", 0) else { panic!("{value}") };
            assert!(body.len() < 16 << 10, "{value}: {} bytes", body.len());
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut text).unwrap();
            assert!((1_900_000..2_200_000).contains(&text.len()), "{value}: {} bytes", text.len());
        }
    }
}
