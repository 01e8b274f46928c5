use super::super::{ATTRIBUTES, LOOKED_ATTRIBUTES, LOOKED_CLEANER};
use super::*;
use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tokenizer::{StartTag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use proptest::prelude::*;
use std::cell::RefCell;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

fn archived(url: &CanonicalUrl, content_type: &str, body: &[u8]) -> Option<ArchivedRequisite> {
    Some(ArchivedRequisite { url: url.clone(), content_type: Some(content_type.into()), body: body.into() })
}

/// An archive of a few requisites.
fn archive(url: &CanonicalUrl, _kind: RequisiteKind) -> Option<ArchivedRequisite> {
    match url.path_and_query() {
        "/main.css" => archived(
            url,
            "text/css",
            b"@import 'sub/more.css' layer(x.y) supports(display: grid) print; \
              p { background: url(one.png) } q { background: url('//evil.test/leak') }",
        ),
        "/sub/more.css" => {
            archived(url, "text/css", b"i { background: url(../one.png) } @import '/main.css';")
        }
        "/self.css" => archived(url, "text/css", b"@import url(self.css); u { color: red } </style><script>"),
        "/open.css" => archived(url, "text/css", b"x { content: \""),
        "/one.png" | "/two.png" => archived(url, "image/png", PNG),
        "/page.png" => archived(url, "text/html", b"<script>alert(1)</script>"),
        "/sprite.svg" => archived(
            url,
            "image/svg+xml",
            b"<svg xmlns='http://www.w3.org/2000/svg'><symbol id='i' viewBox='0 0 9 9'><path d='M1 1'/></symbol></svg>",
        ),
        "/odd.png" => archived(url, "image/png\" onload=\"x", PNG),
        "/f.woff" => archived(url, "font/woff", b"wOFF"),
        _ => None,
    }
}

fn look(html: &str) -> Looked {
    let url = UrlRules::keep_all().canonicalize("http://a.test/page").unwrap();
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    inert_look(html.as_bytes(), &fields, &url, &MediaTypes::default(), &mut archive).unwrap()
}

#[test]
fn a_page_without_a_document_type_keeps_its_quirks() {
    assert!(look("<p>x").has_quirks && !look("<!doctype html><p>x").has_quirks);
}

#[test]
fn frames_and_labels_are_shown_and_nothing_hidden_asks_for_a_requisite() {
    let looked = look(
        "<p hidden><img src=gone.png></p><div style='display:none'>No</div><input type=submit value=Send>
         <iframe srcdoc='<body bgcolor=red><p style=\"background: url(//evil.test/x)\">inner<img src=one.png>'></iframe>",
    );
    assert_eq!((looked.missing, looked.body_attributes.as_str()), (1, ""), "the background alone");
    assert!(
        looked.body.contains("Send") && looked.body.contains("inner<img src=\"data:image/png"),
        "{}",
        looked.body
    );
    assert!(!looked.body.contains("No") && !looked.body.contains("evil"), "{}", looked.body);
}

#[test]
fn what_stood_in_a_comment_behind_an_open_string_loads_nothing() {
    let page = "<style>@import 'open.css'; /* \";} y { background: url(http://evil.test/x) } */</style>";
    assert!(!look(page).styles.contains("evil.test"));
}

#[test]
fn style_sheets_and_images_are_in_the_document_and_all_else_leads_nowhere() {
    let looked = look(
        "<html lang=de class='x\"y' onload=a()><link rel=stylesheet href=/main.css media='screen and (x)'>
         <style>b { background: url(gone.png) } @font-face { src: url(f.woff) }</style>
         <body style='background: url(one.png)' onclick=b()><h1 class=c id=d style='color: red'>Hi</h1>
         <img src=one.png width=9 onerror=c()><img src=gone.png alt=gone><img srcset='gone.png 1x, two.png 2x'>
         <img src='data:image/gif;base64,R0' data-src=one.png><img data-srcset='two.png 2x'>
         <picture><source srcset='gone.webp'><source srcset='two.png 2x'><img alt=picture></picture>
         <img src=page.png alt='a page'><img src=odd.png alt=odd>
         <img src='data:image/png;base64,AA'><a href=/x style='background:url(http://evil.test/x)'>a</a>",
    );
    let png = format!("data:image/png;base64,{}", BASE64.encode(PNG));
    assert_eq!(
        looked.styles,
        format!(
            "<style media=\"screen and (x)\">@layer x.y {{@supports (display: grid) {{@media print {{\
             i {{ background: url(\"{png}\") }} \n}}\n}}\n}} p {{ background: url(\"{png}\") }} \
             q {{ background: url(\"data:,\") }}</style>\n\
             <style>b {{ background: url(\"data:,\") }} @font-face {{ src: url(\"data:font/woff;base64,{}\") }}</style>\n",
            BASE64.encode(b"wOFF")
        )
    );
    assert_eq!(looked.html_attributes, " class=\"x&quot;y\" lang=\"de\"");
    assert_eq!(looked.body_attributes, format!(" style=\"background: url(&quot;{png}&quot;)\""));
    let body = looked.body.replace(&png, "PNG").replace("\n         ", "\n");
    let shown = "<h1 class=\"c\" id=\"d\" style=\"color: red\">Hi</h1>\n<img width=\"9\" src=\"PNG\">[gone]<img src=\"PNG\">\n\
                 <img src=\"PNG\"><img src=\"PNG\">\n<img alt=\"picture\" src=\"PNG\">\n\
                 [a page]<img alt=\"odd\" src=\"PNG\">\n<img src=\"data:image/png;base64,AA\">\
                 <a title=\"/x\" style=\"background:url(&quot;data:,&quot;)\">a</a>";
    assert_eq!(body, shown);
    assert!(looked.missing >= 4, "{}", looked.missing);
}

#[test]
fn a_drawing_is_an_image_with_all_that_it_names() {
    let looked = look(
        "<svg id=s class=c width=9 onload=a()><defs><g id=own></g></defs><use href='sprite.svg#i'/><use xlink:href='#far'/>
         <use href='#own'/><use href='http://evil.test/x#y'/><image href=one.png x=1 x=2 /><image href=http://evil.test/z />
         <script>b()</script><foreignObject><p>no</p></foreignObject><a href=/x><text fill='url(#g)'>1 &lt; 2 & \u{1}\"</text></a></svg>
         <svg style='display:none'><linearGradient id=far><stop/></linearGradient></svg>",
    );
    let parts: Vec<&str> = looked.body.split('"').filter(|part| part.starts_with("data:")).collect();
    let drawing = |at: usize| {
        let encoded = parts[at].strip_prefix("data:image/svg+xml;base64,").unwrap();
        String::from_utf8(BASE64.decode(encoded.as_bytes()).unwrap()).unwrap().replace("\n         ", "")
    };
    let png = BASE64.encode(PNG);
    assert_eq!(
        drawing(0),
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"c\" id=\"s\" onload=\"a()\" width=\"9\"><defs><g id=\"own\"></g></defs>\
             <use href=\"#i\"></use><use href=\"#far\"></use><use href=\"#own\"></use><use href=\"#y\"></use>\
             <image href=\"data:image/png;base64,{png}\" x=\"1\"></image><image></image><a><text fill=\"url(#g)\">1 &lt; 2 &amp; &quot;</text></a>\
             <defs><symbol id=\"i\" viewBox=\"0 0 9 9\"><path d=\"M1 1\"></path></symbol>\
             <linearGradient id=\"far\"><stop></stop></linearGradient></defs></svg>"
        )
    );
    let boxed = looked.body.split('>').next().unwrap();
    assert!(["id=\"s\"", "class=\"c\"", "width=\"9\""].iter().all(|kept| boxed.contains(kept)), "{boxed}");
    assert!(!boxed.contains("onload"), "{boxed}");
    assert_eq!(parts.len(), 1, "what is hidden is no image: {}", looked.body);
    let large = format!("<svg>{}</svg>x", "<path d='M1 1'/>".repeat(100_000));
    assert_eq!(look(&large).body, "x");
}

#[test]
fn elements_that_do_not_stay_leave_their_place_and_links_their_look() {
    let looked = look(
        "<form class=f action=/x><fieldset><label class=l>a</label><button style='color: red'>b</button></fieldset></form>
         <x-card id=k>c</x-card><table background=one.png style='color: red'><tr><td>d</td></tr></table>
         <picture><source media='(max-width: 900px)' srcset=gone.png><source type=image/odd srcset=two.png>
         <source type=image/png srcset=one.png><img src=gone.png></picture><video class=v poster=one.png src=x.mp4>e</video>
         <object type=image/png data=one.png>f</object><embed type=image/png src=one.png><object data=x.swf>g</object>",
    );
    let png = format!("data:image/png;base64,{}", BASE64.encode(PNG));
    let body = looked.body.replace(&png, "PNG").replace("\n         ", "");
    assert_eq!(
        body,
        "<div class=\"f\"><div><span class=\"l\">a</span><span style=\"color: red\">b</span></div></div><span id=\"k\">c</span>\
         <table style=\"background-image:url(&quot;PNG&quot;);color: red\"><tbody><tr><td>d</td></tr></tbody></table><img src=\"PNG\">\
         <img class=\"v\" src=\"PNG\"><img src=\"PNG\"><img src=\"PNG\">g"
    );
}

#[test]
fn queries_of_pictures_hold_as_on_a_wide_screen() {
    for (media, expected) in [
        ("(min-width: 600px)", true),
        ("screen and (min-width:1280px) and (max-width: 2000px)", true),
        ("(min-width: 1281px)", false),
        ("(max-width: 1279.5px)", false),
        ("(orientation: portrait)", false),
        ("print", false),
        ("(min-width: 40em)", false),
    ] {
        assert_eq!(holds(media), expected, "{media}");
    }
}

#[test]
fn a_style_sheet_that_imports_itself_or_ends_its_element_does_neither() {
    let looked = look("<link rel=stylesheet href=self.css>");
    assert_eq!(looked.styles.matches("color: red").count(), MAX_IMPORTS + 1);
    assert_eq!(looked.styles.matches("</").count(), 1, "its own end: {}", looked.styles);
}

#[test]
fn what_is_put_in_is_bounded() {
    let image = format!("<img src='data:image/png;base64,{}' alt=x>", "A".repeat(1 << 20));
    let looked = look(&image.repeat(20));
    assert!(
        looked.body.len() <= MAX_LOOK + 4000 && looked.body.len() > MAX_LOOK / 2,
        "{}",
        looked.body.len()
    );
    assert!(looked.body.ends_with("[x]") && looked.missing >= 4);
}

/// A tag as the tokenizer of a browser sees it: its name, its attributes with their values.
type SeenTag = (String, Vec<(String, String)>);

#[derive(Default)]
struct Seen(RefCell<Vec<SeenTag>>);

impl TokenSink for Seen {
    type Handle = ();
    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        if let Token::TagToken(tag) = token
            && tag.kind == StartTag
        {
            let attributes = tag.attrs.iter().map(|a| (a.name.local.to_string(), a.value.to_string()));
            self.0.borrow_mut().push((tag.name.to_string(), attributes.collect()));
        }
        TokenSinkResult::Continue
    }
}

fn tags(document: &str) -> Vec<SeenTag> {
    let tokenizer = Tokenizer::new(Seen::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(document));
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

proptest! {
    /// Whatever the markup: a document has no other elements and attributes than the named ones, and no URL but `data:`.
    #[test]
    fn nothing_acts_or_loads(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "<style>", "</style>", "<script>", "</script>", "<img src=", "one.png", "'", "\"", ">", "<p style=", "url(",
            "http://evil.test/x", ")", "<link rel=stylesheet href=", "/self.css", "/main.css", " media=", "<svg>", "</svg>",
            "<svg><style>", "<math>", "<template>", "<noscript>", "<!--", "-->", "<body onload=x ", "<html class=",
            "javascript:alert(1)", "data:text/html,x", "@import ", ";", "{", "}", "\\", "</", "<a href=", "<iframe src=",
            "<textarea>", "<title>", "<font color=", "<table background=", " onerror=x ", " srcset=", "&lt;", "&quot;",
        ]), 0..40)
    ) {
        let looked = look(&pieces.concat());
        let Looked { styles, html_attributes, body_attributes, body, .. } = &looked;
        let elements = LOOKED_CLEANER.clone_tags();
        for (name, attributes) in tags(&format!("<div{html_attributes}></div><div{body_attributes}></div>{body}")) {
            prop_assert!(elements.contains(&*name), "{} of {:?}", name, pieces);
            for (attribute, value) in attributes {
                let is_known = ATTRIBUTES.contains(&&*attribute) || LOOKED_ATTRIBUTES.contains(&&*attribute)
                    || super::super::OF_ELEMENTS.iter().any(|(of, list)| *of == name && list.contains(&&*attribute))
                    || name == "img" && matches!(&*attribute, "src" | "alt");
                prop_assert!(is_known, "{} {} of {:?}", name, attribute, pieces);
                prop_assert!(attribute != "src" || value.to_ascii_lowercase().starts_with("data:"), "{}", value);
                prop_assert!(attribute != "style" || loads_nothing(&value), "{} of {:?}", value, pieces);
            }
        }
        // One after the other, each with text alone.
        let sheets = styles.split_terminator("</style>\n");
        for sheet in sheets {
            prop_assert!(sheet.starts_with("<style") && !sheet[1..].contains("</"), "{} of {:?}", sheet, pieces);
            let text = sheet.split_once('>').unwrap().1;
            prop_assert!(loads_nothing(text), "{} of {:?}", text, pieces);
        }
    }
}

/// Are all URLs of a style ones that hold their data?
fn loads_nothing(css: &str) -> bool {
    let mut is_local = true;
    rewrite(css, &mut |target| {
        is_local &= match target {
            CssTarget::Font(reference) | CssTarget::Image(reference) => {
                reference.to_ascii_lowercase().starts_with("data:") || reference.starts_with('#')
            }
            CssTarget::Nothing => true,
            CssTarget::Import { .. } => false,
        };
        String::new()
    });
    is_local
}
