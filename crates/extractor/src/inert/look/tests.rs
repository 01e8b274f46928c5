use super::super::{ATTRIBUTES, LOOKED_ATTRIBUTES, LOOKED_CLEANER, OF_LOOKED_ELEMENTS, is_one_image};
use super::drawings::{OF_MATHML, OF_SVG};
use super::*;
use crate::requisites::{CssTarget, rewrite};
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
    let path = url.path_and_query();
    match path.split('?').next().unwrap_or_default() {
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
        "/many.svg" => {
            let symbols: String = (0..20_000).map(|i| format!("<symbol id=i{i} />")).collect();
            archived(url, "image/svg+xml", format!("<svg>{symbols}</svg>").as_bytes())
        }
        "/odd.png" => archived(url, "image/png\" onload=\"x", PNG),
        "/frame" => archived(
            url,
            "text/html; charset=utf-8",
            b"<html class=f><link rel=stylesheet href=/self.css><body bgcolor=red onload=a()><b id=\"q\">In it</b>\
              <script>b()</script><img src=one.png><img src=http://evil.test/x><iframe src=/frame></iframe>",
        ),
        "/a" => archived(url, "text/html", b"a<iframe src=/b></iframe>"),
        "/b" => archived(url, "text/html", b"b<iframe src=/a></iframe><iframe src=/page></iframe>"),
        "/notes" => archived(url, "text/plain", b"1 < 2"),
        "/deep" => {
            let next = format!("x<iframe src='/deep?{}'></iframe>", url.to_string().len());
            archived(url, "text/html", next.as_bytes())
        }
        "/long" => archived(url, "text/html", "<p>long".repeat(200_000).as_bytes()),
        "/f.woff" => archived(url, "font/woff", b"wOFF"),
        _ => None,
    }
}

pub(super) fn look(html: &str) -> Looked {
    let url = UrlRules::keep_all().canonicalize("http://a.test/page").unwrap();
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    inert_look(html.as_bytes(), &fields, &url, &MediaTypes::default(), &mut archive).unwrap()
}

#[test]
fn a_page_without_a_document_type_keeps_its_quirks() {
    assert!(look("<p>x").has_quirks && !look("<!doctype html><p>x").has_quirks);
}

#[test]
fn nothing_hidden_asks_for_a_requisite() {
    let looked = look(
        "<p hidden><img src=gone.png></p><div style='display:none'>No</div><iframe style='display:none' src=gone></iframe>
         <canvas hidden>No</canvas><canvas><img src=gone.png></canvas><video><img src=gone.png></video>",
    );
    assert_eq!((looked.missing, looked.body.contains("No")), (0, false), "{}", looked.body);
}

#[test]
fn what_stood_in_a_comment_behind_an_open_string_loads_nothing() {
    let page = "<style>@import 'open.css'; /* \";} y { background: url(http://evil.test/x) } */</style>";
    assert!(!look(page).head.contains("evil.test"));
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
        looked.head,
        LINKS.to_owned()
            + &format!(
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
    let shown = "<h1 class=\"c\" id=\"d\" style=\"color: red\">Hi</h1>\n<img src=\"PNG\" width=\"9\">[gone]<img srcset=\"PNG 2x\">\n\
                 <img src=\"PNG\"><img srcset=\"PNG 2x\">\n<picture><img alt=\"picture\" srcset=\"PNG 2x\"></picture>\n\
                 [a page]<img alt=\"odd\" src=\"PNG\">\n<img src=\"data:image/png;base64,AA\">\
                 <a title=\"/x\" style=\"background:url(&quot;data:,&quot;)\">a</a>";
    assert_eq!(body, shown);
    assert!(looked.missing >= 4, "{}", looked.missing);
}

#[test]
fn a_drawing_is_written_anew_with_all_that_it_names() {
    let looked = look(
        "<svg id=s class=c width=9 onload=a()><defs><g id=own></g></defs><use href='sprite.svg#i'/><use xlink:href='#far'/>\
         <use href='#own'/><use href='http://evil.test/x#y'/><image href=one.png x=1 x=2 /><image href=http://evil.test/z />\
         <script>b()</script><style>c</style><animate attributeName=href to=x /><foreignObject><p>no</p></foreignObject>\
         <a href=/x><text fill='url(#paint)' filter='url(http://evil.test/f)' style='mask: url(//evil.test/m)'>1 &lt; 2 &\"</text></a></svg>\
         <svg style='display:none'><linearGradient id=far><stop/></linearGradient><g id=paint></g></svg>",
    );
    let png = BASE64.encode(PNG);
    assert_eq!(
        looked.body,
        format!(
            "<svg class=\"c\" id=\"s\" width=\"9\"><defs><g id=\"own\"></g></defs>\
             <use href=\"#i\"></use><use href=\"#far\"></use><use href=\"#own\"></use><use href=\"#y\"></use>\
             <image href=\"data:image/png;base64,{png}\" x=\"1\"></image><image></image>\
             <a><text fill=\"url(&quot;#paint&quot;)\" filter=\"url(&quot;data:,&quot;)\" style=\"mask: url(&quot;data:,&quot;)\">\
             1 &lt; 2 &amp;&quot;</text></a>\
             <defs><symbol id=\"i\" viewBox=\"0 0 9 9\"><path d=\"M1 1\"></path></symbol>\
             <linearGradient id=\"far\"><stop></stop></linearGradient><g id=\"paint\"></g></defs></svg>"
        )
    );
    let large = format!("<svg>{}</svg>x", "<path d='M1 1'/>".repeat(100_000));
    assert_eq!(look(&large).body, "x");
}

#[test]
fn many_drawings_of_a_large_one_end_where_the_room_does() {
    let path = "<path d='M1 1'/>".repeat(20_000);
    let looked =
        look(&format!("<svg><g id=g>{path}</g></svg>{}", "<svg><use href='#g'/></svg>".repeat(2_000)));
    assert!(looked.body.len() <= MAX_LOOK && looked.body.len() > MAX_LOOK / 2, "{}", looked.body.len());
}

#[test]
fn many_drawings_cost_no_more_than_what_is_shown() {
    let word = "x".repeat(300_000);
    let shown = |html: &str| {
        let looked = look(html);
        (looked.body.matches("<svg>").count(), looked.missing)
    };
    let symbol = format!("<svg><symbol id=b><text>{word}</text></symbol></svg>");
    // The last drawing has room still.
    assert_eq!(shown(&("<svg><use href=#b></svg>".repeat(20_000) + &symbol)), (55, 19_946));
    assert_eq!(shown(&"<svg><use href=#z></svg>".repeat(40_000)), (40_000, 0));
    // Each takes one of a sprite's many.
    let of_sprite = |i| format!("<svg><use href=many.svg#i{i}></svg>");
    assert_eq!(shown(&(0..10_000).map(of_sprite).collect::<String>()), (10_000, 0));
    // One that stands before its users is there for them, too.
    assert!(look(&(symbol + "<p><svg><use href=#b></svg>")).body.matches(&word).count() == 2);
}

#[test]
fn a_formula_stays_a_formula() {
    let looked = look(
        "<math display=block href=javascript:a()><mfrac><mi>x</mi><mtext>a<img src=gone.png>b</mtext></mfrac>\
         <annotation-xml encoding=text/html><p>no</p></annotation-xml><maction actiontype=x>c</maction></math>",
    );
    assert_eq!(looked.body, "<math display=\"block\"><mfrac><mi>x</mi><mtext>ab</mtext></mfrac></math>");
}

#[test]
fn elements_that_do_not_stay_leave_their_place_and_links_their_look() {
    let looked = look(
        "<x-card id=k>c</x-card><table background=one.png style='color: red'><tr><td>d</td></tr></table>
         <picture><source media='(max-width: 900px)' srcset=gone.png><source type=image/odd srcset=two.png>
         <source type=image/png srcset=one.png><img src=gone.png></picture><video class=v poster=one.png src=x.mp4 controls>e</video>\
         <video class=w poster=one.png>e</video><video>e</video>
         <object type=image/png data=one.png class=o width=9 height=8>f<p>f</object><embed type=image/png src=one.png><object data=x.swf>g</object>
         <audio controls src=x.mp3 autoplay>h</audio><canvas width=9>i</canvas>",
    );
    let png = format!("data:image/png;base64,{}", BASE64.encode(PNG));
    let body = looked.body.replace(&png, "PNG").replace("\n         ", "");
    assert_eq!(
        body,
        "<span id=\"k\">c</span>\
         <table style=\"background-image:url(&quot;PNG&quot;);color: red\"><tbody><tr><td>d</td></tr></tbody></table>\
         <picture><img src=\"PNG\"></picture>\
         <video class=\"v\" controls=\"\" poster=\"PNG\"></video><img class=\"w\" src=\"PNG\"><span></span><object class=\"o\" height=\"8\" width=\"9\"><img height=\"8\" src=\"PNG\" width=\"9\"></object><img src=\"PNG\"><object>g</object>\
         <audio controls=\"\"></audio><canvas width=\"9\"></canvas>"
    );
}

#[test]
fn fields_show_what_they_had_and_send_nothing() {
    let looked = look(
        "<form class=f action=/x method=post target=_top><fieldset><label for=i>a</label>\
         <input id=i value=Ada autofocus onfocus=a() form=x formaction=/y name=n><input type=checkbox checked>\
         <input type=image src=one.png alt=b><input type=image src=gone.png alt=c><input type=submit value=d formmethod=post>\
         <select name=s><optgroup label=g><option>e<option selected>f</select><textarea rows=2>&lt;b&gt;h</textarea>\
         <progress value=.3>no</progress><meter value=.6>no</meter></fieldset><button name=b style='color: red'>k</button></form>",
    );
    let png = format!("data:image/png;base64,{}", BASE64.encode(PNG));
    assert_eq!(
        looked.body.replace(&png, "PNG"),
        "<form class=\"f\" method=\"dialog\"><fieldset><label>a</label><input id=\"i\" value=\"Ada\">\
         <input checked=\"\" type=\"checkbox\"><input alt=\"b\" src=\"PNG\" type=\"image\"><input alt=\"c\" type=\"image\">\
         <input type=\"submit\" value=\"d\"><select><optgroup label=\"g\"><option>e</option><option selected=\"\">f</option></optgroup></select>\
         <textarea rows=\"2\">&lt;b&gt;h</textarea><progress value=\".3\"></progress><meter value=\".6\"></meter></fieldset>\
         <button style=\"color: red\">k</button></form>"
    );
}

#[test]
fn what_is_for_want_of_scripts_is_shown_unless_it_is_there_already() {
    let looked = look(
        "<p>x<noscript><b>none</b></noscript><img data-src=one.png><noscript><img src=two.png></noscript>",
    );
    assert_eq!(looked.body.matches("<img").count(), 1, "{}", looked.body);
    assert!(looked.body.contains("<span><b>none</b></span>"), "{}", looked.body);
}

#[test]
fn a_page_that_scripts_would_show_is_shown() {
    let looked = look(
        "<html style='Visibility: HIDDEN'><body style='color:red; display : none !important;opacity:0.5;opacity:0'>\
         <p style='display:none'>a<p style='opacity:0'>b",
    );
    assert_eq!(looked.html_attributes, " style=\"\"");
    assert_eq!(looked.body_attributes, " style=\"color:red;opacity:0.5\"");
    assert_eq!(looked.body.trim(), "<p style=\"opacity:0\">b</p>");
}

#[test]
fn a_canvas_has_its_size() {
    let page = "<canvas width=40 height=9></canvas><canvas width='1\"}'></canvas><canvas></canvas>";
    let sizes = "<style>:where(canvas) { display: inline-block; width: 300px; height: 150px }\n\
                 :where(canvas[width=\"40\"]) { width: 40px }\n:where(canvas[height=\"9\"]) { height: 9px }\n\
                 :where(canvas[width=\"300\"]) { width: 300px }\n:where(canvas[height=\"150\"]) { height: 150px }</style>\n";
    assert_eq!(look(page).head, LINKS.to_owned() + sizes);
}

#[test]
fn styles_of_links_are_for_those_without_a_target() {
    let looked = look(
        "<style>a:link, a:not(:any-link):hover { color: red } [href^='/x'] { a: b } p { x: link }\
         q::before { content: '[href] a:link' }</style><a href=/x>x</a>",
    );
    assert_eq!(
        looked.head,
        LINKS.to_owned()
            + "<style>a:where(a)[title], a:not(:where(a)[title]):hover { color: red } [title^='/x'] { a: b } \
               p { x: link }q::before { content: '[href] a:link' }</style>\n"
    );
}

#[test]
fn words_of_links_that_are_no_selectors_stay() {
    for rule in [
        "p { grid-area:link }",
        "p{grid-area:link;color:red}",
        "p { grid-template-columns: [href] 1fr; a:/**/link }",
        "p { --x:link { a: b } }",
        "@supports (grid-area:link) { p { a: b } }",
        "@container style(--x:link) { p { a: b } }",
        "p { a: \\3a link; b: 'x' }",
        "/* a:link { [href] */ p { a: \":link {\" }",
    ] {
        assert_eq!(look(&format!("<style>{rule}</style>")).head, format!("{LINKS}<style>{rule}</style>\n"));
    }
    assert!(look("<p style='grid-area:link'>x").body.contains("grid-area:link"));
    let nested = "<style>nav { a:link { c: d } &:/**/any-link, [ href ] { e:link } } @scope (a:link) { p { f: g } }</style>";
    assert_eq!(
        look(nested).head,
        LINKS.to_owned()
            + "<style>nav { a:where(a)[title] { c: d } &:where(a)[title], [ title ] { e:link } } \
               @scope (a:where(a)[title]) { p { f: g } }</style>\n"
    );
}

#[test]
fn styles_of_a_shadow_tree_are_for_it_alone() {
    let looked = look(
        "<div><template shadowrootmode=open><style>p { color: red }</style><p>in it</p><slot></slot></template><b>b</b></div>\
         <template><style>q { color: red }</style></template>",
    );
    let styles = "<style>@scope ([data-shadow=\"0\"]) to ([data-slot]) {p { color: red }\n}</style>\n";
    assert_eq!(looked.head, LINKS.to_owned() + styles);
    assert_eq!(
        looked.body,
        "<div><div data-shadow=\"0\" style=\"display:contents\"><p>in it</p>\
         <span data-slot=\"\" style=\"display:contents\"><b>b</b></span></div></div>"
    );
}

#[test]
fn the_icon_is_in_the_head() {
    let page = "<link rel='shortcut ICON' href=one.png>x";
    let icon = format!("<link rel=\"icon\" href=\"data:image/png;base64,{}\">\n", BASE64.encode(PNG));
    assert_eq!(look(page).head, LINKS.to_owned() + &icon);
}

#[test]
fn a_page_that_writes_the_address_of_a_piece_gets_no_other_and_each_once() {
    let piece = "<img src='data:image/x-piece,0'>";
    let page = format!(
        "{piece}<svg></svg>{piece}<img src='data:image/x-piece,9'><img src='data:image/x-piece,' alt=x>\"data:image/x-piece,0\"\
         \"data:image/x-piece,1\"<p title='\"data:image/x-piece,2'><img src=\"data:image/svg+xml,<b onload=x>\">\"data:image/x-piece,5"
    );
    let looked = look(&page);
    let body = &looked.body;
    assert_eq!(
        (body.matches("<svg>").count(), body.contains("\"data:image/x-piece"), body.contains("<b")),
        (1, false, false),
        "{body}"
    );
    assert_eq!(active(&looked), Vec::<String>::new());
}

#[test]
fn a_style_sheet_that_imports_itself_or_ends_its_element_does_neither() {
    let looked = look("<link rel=stylesheet href=self.css>");
    assert_eq!(looked.head.matches("color: red").count(), MAX_IMPORTS + 1);
    assert_eq!(looked.head.matches("</").count(), 2, "its own end: {}", looked.head);
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

/// All of a document that acts or loads something, also in its frames.
pub(super) fn active(looked: &Looked) -> Vec<String> {
    let Looked { head, html_attributes, body_attributes, body, .. } = looked;
    let mut found = Vec::new();
    // One after the other, each with text alone.
    for sheet in head.split_terminator("</style>\n") {
        let text = sheet.split_once('>').map(|(_, text)| text);
        if !sheet.starts_with("<style") || sheet[1..].contains("</") || !text.is_some_and(loads_nothing) {
            found.push(sheet.to_owned());
        }
    }
    let roots = format!("<div{html_attributes}></div><div{body_attributes}></div>");
    for (name, attributes) in tags(&(roots + body)) {
        // The tokenizer writes them in small letters.
        let mut drawn = OF_SVG.split(' ').chain(OF_MATHML.split(' '));
        let is_drawn = drawn.any(|known| known.eq_ignore_ascii_case(&name));
        if !(is_drawn || name == "iframe" || LOOKED_CLEANER.clone_tags().contains(&*name)) {
            found.push(name.clone());
        }
        if name == "iframe" {
            let value = |wanted| {
                attributes.iter().find(|(attribute, _)| attribute == wanted).map(|(_, value)| &**value)
            };
            let framed = value("srcdoc").unwrap_or("no document");
            found.extend((value("sandbox") != Some("")).then(|| "no sandbox".to_owned()));
            found.extend(active_in_frame(framed));
        }
        for (attribute, value) in attributes {
            let of_element = |list: &[(&str, &[&str])]| {
                list.iter().any(|(of, names)| *of == name && names.contains(&&*attribute))
            };
            let is_known = ATTRIBUTES.contains(&&*attribute)
                || LOOKED_ATTRIBUTES.contains(&&*attribute)
                || attribute.starts_with("data-")
                || of_element(&super::super::OF_ELEMENTS)
                || of_element(&OF_LOOKED_ELEMENTS)
                || (&*name, &*attribute, &*value) == ("form", "method", "dialog")
                || name == "iframe" && ["sandbox", "srcdoc", "scrolling"].contains(&&*attribute)
                || is_drawn && !attribute.starts_with("on") && !LEADING.contains(&&*attribute);
            let value = value.to_ascii_lowercase();
            let leads_nowhere = match &*attribute {
                "src" | "poster" => value.starts_with("data:"),
                "href" => value.starts_with("data:image/") || value.starts_with('#'),
                "srcset" => is_one_image(&value),
                "style" | "fill" => loads_nothing(&value),
                _ => true,
            };
            if !is_known || !leads_nowhere {
                found.push(format!("{name} {attribute}={value}"));
            }
        }
    }
    found
}

/// Attributes with a URL, of any element of HTML.
const LEADING: [&str; 8] =
    ["action", "background", "cite", "data", "formaction", "longdesc", "src", "srcdoc"];

fn active_in_frame(document: &str) -> Vec<String> {
    if document.is_empty() {
        return Vec::new();
    }
    let mut rest = document.strip_prefix("<!doctype html><html").expect(document);
    let mut until = |end: &str| {
        let (part, after) = rest.split_once(end).expect(document);
        rest = after;
        part.to_owned()
    };
    let html_attributes = until("><head>");
    let (head, body_attributes) = (until("</head><body"), until(">"));
    let body = until("</body></html>");
    active(&Looked { head, html_attributes, body_attributes, body, ..Looked::default() })
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
            "<iframe srcdoc=", "/frame", "</iframe>", "<select>", "<option>", "</select>", "</textarea>", "<input type=image src=",
            "<form action=", "<button formaction=", "<use href=", "<image href=", "<path fill=", "<mtext>", "<mglyph>",
            "<foreignObject>", "<desc>", "</p>", "<frameset cols=", "<frame src=", "one.png 2x", "<video poster=",
            "<template shadowrootmode=open>", "<slot>", "data:image/x-piece,0", "\"data:image/x-piece,1", " data-x=", "<object data=", "<noscript><img data-src=",
        ]), 0..40)
    ) {
        prop_assert_eq!(active(&look(&pieces.concat())), Vec::<String>::new(), "{:?}", pieces);
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
            CssTarget::Link | CssTarget::Href | CssTarget::Nothing => true,
            CssTarget::Import { .. } => false,
        };
        String::new()
    });
    is_local
}
