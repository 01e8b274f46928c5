//! Pages in every encoding of the Encoding Standard, and the same pages in UTF-8.

use super::{Action, FaultKind, page};
use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE,
};

/// A page in some encoding.
pub const CHARSET: FaultKind = FaultKind {
    name: "charset",
    help: "a page in another encoding; value: its label, then where it is declared: /header, /meta, /mark (byte \
           order mark) or /not (nowhere), or /twin for the same text in UTF-8; default windows-1252/header",
    parse: |value| {
        let value = value.unwrap_or("windows-1252");
        let (label, told) = value.split_once('/').unwrap_or((value, "header"));
        let encoding = Encoding::for_label_no_replacement(label.as_bytes())
            .ok_or_else(|| format!("unknown encoding {label:?}"))?;
        let (media, meta) = match told {
            "header" => (format!("text/html; charset={label}"), String::new()),
            "meta" => ("text/html".into(), format!("<meta charset=\"{label}\">")),
            "mark" | "not" => ("text/html".into(), String::new()),
            "twin" => ("text/html; charset=utf-8".into(), String::new()),
            other => {
                return Err(format!("unknown declaration {other:?}; use header, meta, mark, not or twin"));
            }
        };
        let text =
            format!("<p>{}</p>\n<p><a href=\"/private/open-charset\">a link</a></p>", sample(encoding));
        let text = page("Charset", &text).replace("<head>", &format!("<head>{meta}"));
        let mark = if told == "mark" { "\u{feff}" } else { "" };
        let written = if told == "twin" { UTF_8 } else { encoding };
        let body = encoded(written, &format!("{mark}{text}"));
        let fields = vec![("content-type", media)];
        Ok(Box::new(move |_| Action::Page { fields: fields.clone(), body: body.clone() }))
    },
};

/// Words that need the encoding: all letters of small encodings, a few of large ones.
fn sample(encoding: &'static Encoding) -> String {
    const JAPANESE: [&Encoding; 3] = [SHIFT_JIS, EUC_JP, ISO_2022_JP];
    const CHINESE: [&Encoding; 3] = [GBK, GB18030, BIG5];
    const ALL: [&Encoding; 3] = [UTF_8, UTF_16LE, UTF_16BE];
    if JAPANESE.contains(&encoding) {
        return "日本語 の 文字 コード テスト".into();
    } else if CHINESE.contains(&encoding) {
        return "中文 文字 人民 大學".into();
    } else if encoding == EUC_KR {
        return "한국어 문자 부호화 시험".into();
    } else if ALL.contains(&encoding) {
        return "grüße мир 日本語 한국어 😀".into();
    }
    let letters: Vec<char> = (0x80..=0xff_u8)
        .filter_map(|byte| {
            let byte = [byte];
            let (text, _) = encoding.decode_without_bom_handling(&byte);
            text.chars().next().filter(|c| c.is_alphanumeric())
        })
        .collect();
    letters.chunks(7).map(String::from_iter).collect::<Vec<_>>().join(" ")
}

fn encoded(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    // Forms are never sent in UTF-16, so the standard has no encoder for it.
    if encoding == UTF_16LE {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    } else if encoding == UTF_16BE {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    } else {
        encoding.encode(text).0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_need_their_encoding_and_survive_it() {
        for label in
            ["koi8-r", "iso-8859-8-i", "macintosh", "shift_jis", "big5", "gb18030", "euc-kr", "utf-16be"]
        {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let text = sample(encoding);
            assert!(text.chars().filter(|c| !c.is_ascii()).count() >= 8, "{label}: {text}");
            let bytes = encoded(encoding, &text);
            let (back, had_errors) = encoding.decode_without_bom_handling(&bytes);
            assert!(!had_errors && back == text, "{label}: {back}");
        }
    }
}
