//! The standard's steps, one case for each.

use super::*;

fn name(encoding: Option<&'static Encoding>) -> &'static str {
    encoding.map_or("-", Encoding::name)
}

#[test]
fn what_declares_an_encoding_in_html_and_what_does_not() {
    for (page, encoding) in [
        ("<meta charset=koi8-r>", "KOI8-R"),
        ("<META CHARSET = 'KOI8-R' >", "KOI8-R"),
        ("<meta/charset=koi8-r>", "KOI8-R"),
        ("<meta charset=koi8-r/>", "-"),
        ("<meta charset=\"koi8-r\"/>", "KOI8-R"),
        ("<meta charset=\" koi8-r\n\">", "KOI8-R"),
        ("<meta\x0Ccharset=koi8-r>", "KOI8-R"),
        ("<meta content='text/html; charset=koi8-r' http-equiv=content-type>", "KOI8-R"),
        ("<meta http-equiv=\"Content-Type\" content=\"text/html; Charset = 'koi8-r' \">", "KOI8-R"),
        ("<meta http-equiv=content-type content='charset charset=koi8-r;x'>", "KOI8-R"),
        ("<meta http-equiv=content-type content='charset=\"koi8-r'>", "-"),
        ("<meta http-equiv=content-type content='text/html'>", "-"),
        // Without the pragma, and with another one.
        ("<meta content='text/html; charset=koi8-r'>", "-"),
        ("<meta name=description content='why charset=koi8-r is old'>", "-"),
        ("<meta property=og:title content='What does charset=koi8-r mean?'>", "-"),
        ("<meta http-equiv=x-note content='text; charset=koi8-r'>", "-"),
        ("<meta http-equiv=refresh content='0; url=/?charset=koi8-r'>", "-"),
        ("<meta http-equiv=' content-type' content='charset=koi8-r'>", "-"),
        // Attributes that only look so.
        ("<meta data-charset=koi8-r>", "-"),
        ("<meta x=charset=koi8-r>", "-"),
        ("<meta x charset=koi8-r>", "KOI8-R"),
        ("<meta x='>' charset=koi8-r>", "KOI8-R"),
        ("<meta charset=bogus charset=koi8-r>", "-"),
        ("<meta charset=koi8-r charset=gbk>", "KOI8-R"),
        ("<meta =charset=koi8-r>", "-"),
        // Other tags.
        ("<link title='<meta charset=koi8-r>'>", "-"),
        ("<a title=\"<meta charset='koi8-r'>\" href=x>", "-"),
        ("</a title='<meta charset=koi8-r>'>", "-"),
        ("<metadata charset=koi8-r>", "-"),
        ("<meta-x charset=koi8-r>", "-"),
        ("</meta charset=koi8-r>", "-"),
        ("< meta charset=koi8-r>", "-"),
        ("<b<meta charset=koi8-r>", "-"),
        ("<1<meta charset=koi8-r>", "KOI8-R"),
        ("<!x <meta charset=koi8-r>", "-"),
        ("<?x <meta charset=koi8-r>", "-"),
        ("</ <meta charset=koi8-r>", "-"),
        ("<!doctype html><meta charset=koi8-r>", "KOI8-R"),
        ("<noscript><meta charset=gbk></noscript><meta charset=koi8-r>", "KOI8-R"),
        ("<noscript><!-- </noscript><meta charset=koi8-r>", "KOI8-R"),
        // Comments.
        ("<!-- <meta charset=koi8-r> -->", "-"),
        ("<!--><meta charset=koi8-r>", "KOI8-R"),
        ("<!---><meta charset=koi8-r>", "KOI8-R"),
        ("<!-- > -- > <meta charset=gbk> --><meta charset=koi8-r>", "KOI8-R"),
        ("<!-- <meta charset=koi8-r>", "-"),
        // The parser ends this one, too, and it reads references.
        ("<!-- --!><meta charset=koi8-r>", "KOI8-R"),
        ("<!-- --! ><meta charset=koi8-r>", "-"),
        ("<!--!><meta charset=koi8-r>", "-"),
        ("<meta charset='&#107;oi8&#x2D;r'>", "KOI8-R"),
        ("<meta charset=koi8&#45r>", "KOI8-R"),
        ("<meta http-equiv='&#x63;ontent-type' content='text/html&semi; charset&equals;koi8-r'>", "KOI8-R"),
        ("<meta charset='koi8-r&amp;'>", "-"),
        // The first one that is known counts.
        ("<meta charset=bogus><meta charset=koi8-r><meta charset=gbk>", "KOI8-R"),
        ("<meta charset=utf-16><meta charset=koi8-r>", "UTF-8"),
        ("<meta charset=utf-16be>", "UTF-8"),
        ("<meta charset=x-user-defined>", "windows-1252"),
        // An end within the tag.
        ("<meta charset=koi8-r", "-"),
        ("<meta charset='koi8-r", "-"),
        // An XML declaration, which any other outranks.
        ("<?xml version='1.0' encoding='koi8-r'?><p>", "KOI8-R"),
        ("<?xml version=\"1.0\" encoding \n=\n \"koi8-r\"?>", "KOI8-R"),
        ("<?xml encoding='koi8-r'?><meta charset=gbk>", "GBK"),
        ("<?xml encoding='utf-16'?>", "UTF-8"),
        ("<?xml encoding='x-user-defined'?>", "x-user-defined"),
        ("<?xml encoding=' koi8-r'?>", "-"),
        ("<?xml encoding=koi8-r?>", "-"),
        ("<?xml encoding='koi8-r\"?>", "-"),
        ("<?xml version='1.0'?><x encoding='koi8-r'>", "-"),
        ("<?XML encoding='koi8-r'?>", "-"),
        (" <?xml encoding='koi8-r'?>", "-"),
        ("<?xml encoding='koi8-r'", "-"),
    ] {
        assert_eq!(name(in_html(page.as_bytes())), encoding, "{page}");
    }
}

#[test]
fn the_parser_finds_a_late_one_and_knows_contents() {
    let long = "x".repeat(2 * PRESCAN);
    for (page, encoding) in [
        (format!("<!--{long}--><meta charset=koi8-r>"), "KOI8-R"),
        (format!("<script>{long}</script><meta charset=koi8-r>"), "KOI8-R"),
        (format!("<p>{long}<p><meta charset=koi8-r>"), "KOI8-R"),
        (format!("<?xml encoding='gbk'?><!--{long}--><meta charset=koi8-r>"), "KOI8-R"),
        (format!("<script>'{long}<meta charset=koi8-r>'</script>"), "-"),
        (format!("<title>{long}<meta charset=koi8-r></title>"), "-"),
        (format!("<textarea>{long}</textareas><meta charset=koi8-r></textarea>"), "-"),
        (format!("{long}<plaintext><meta charset=koi8-r>"), "-"),
        (format!("{long}<script/><meta charset=koi8-r></script>"), "-"),
        // The prescan takes what stands in a title for a tag, until the parser meets another.
        ("<title><meta charset=koi8-r></title>".into(), "KOI8-R"),
        ("<title><meta charset=koi8-r></title><meta charset=gbk>".into(), "GBK"),
        ("<meta charset=bogus http-equiv=content-type content='charset=koi8-r'>".into(), "KOI8-R"),
    ] {
        assert_eq!(name(in_html(page.as_bytes())), encoding, "{page}");
    }
}

#[test]
fn wide_text_shows_by_its_xml_declaration() {
    let wide =
        |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let text = "<?xml version='1.0' encoding='koi8-r'?>";
    for read in [in_html, in_xml] {
        assert_eq!(name(read(&wide(text, u16::to_le_bytes))), "UTF-16LE");
        assert_eq!(name(read(&wide(text, u16::to_be_bytes))), "UTF-16BE");
        assert_eq!(name(read(&wide("<html>", u16::to_le_bytes))), "-");
    }
    assert_eq!(name(in_xml(b"<meta charset=koi8-r>")), "-", "XML has no meta");
    assert_eq!(name(in_xml(text.as_bytes())), "KOI8-R");
}

/// Each of these would be searched again from each of its tags.
#[test]
fn no_page_costs_more_than_its_bytes() {
    for piece in [
        "<meta ",
        "<meta charset=",
        "<!--",
        "<!---->",
        "<!-- --!>",
        "<meta charset=&",
        "</",
        "<script>",
        "<title></titl",
        "<a '",
        "<a b='",
    ] {
        assert_eq!(name(in_html(piece.repeat(300_000).as_bytes())), "-", "{piece}");
    }
}
