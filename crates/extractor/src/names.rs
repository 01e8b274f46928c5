//! The names of elements and attributes that some rule reads.
//!
//! A page has a name every few dozen bytes, so they are looked up in a table made at compile time.

use std::fmt::Debug;

/// Slots of a table; a power of two, several times the number of names.
const SLOTS: usize = 512;
/// Longest name of a table. Longer ones are no rule's.
const LONGEST: usize = 16;

/// Declares an enum of names. Its first variant stands for all other names.
macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($name:ident $spelling:literal)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum $kind {
            Other,
            $($name),*
        }

        impl $kind {
            const ALL: &[($kind, &str)] = &[$(($kind::$name, $spelling)),*];
            const KEYS: [u128; Self::ALL.len()] = {
                let mut keys = [0; Self::ALL.len()];
                let mut i = 0;
                while i < keys.len() {
                    keys[i] = exact_key(Self::ALL[i].1.as_bytes());
                    i += 1;
                }
                keys
            };
            const TABLE: [u8; SLOTS] = table(&Self::KEYS);

            /// Looks a name up. ASCII letters match in either case. Names have no null characters.
            #[inline]
            pub(crate) fn lookup(name: &[u8]) -> $kind {
                let Some(key) = key(name) else { return $kind::Other };
                let mut slot = slot(key);
                loop {
                    let Some(i) = Self::TABLE[slot].checked_sub(1) else { return $kind::Other };
                    if Self::KEYS[usize::from(i)] == key {
                        return Self::ALL[usize::from(i)].0;
                    }
                    slot = (slot + 1) % SLOTS;
                }
            }
        }
    };
}

/// A short name as a number; ASCII letters as they are.
const fn exact_key(name: &[u8]) -> u128 {
    let mut key = 0;
    let mut i = name.len();
    while i > 0 {
        i -= 1;
        key = key << 8 | name[i] as u128;
    }
    key
}

/// A short name as a number, in lower case.
#[inline]
fn key(name: &[u8]) -> Option<u128> {
    let mut bytes = [0; LONGEST];
    bytes.get_mut(..name.len())?.copy_from_slice(name);
    let key = u128::from_le_bytes(bytes);
    const ONES: u128 = u128::MAX / 0xFF;
    // The high bit of each byte that is a letter from A to Z; no sum crosses a byte.
    let low = key & (ONES * 0x7F);
    let is_upper = (low + ONES * (0x80 - 0x41)) & !(low + ONES * (0x80 - 0x5B)) & !key & (ONES * 0x80);
    Some(key | is_upper >> 2)
}

/// The first slot of a key.
#[inline]
const fn slot(key: u128) -> usize {
    let mixed = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 48) as usize % SLOTS
}

/// One more than the place of each key, in its first free slot; 0 in free ones.
const fn table(keys: &[u128]) -> [u8; SLOTS] {
    let mut table = [0; SLOTS];
    let mut i = 0;
    while i < keys.len() {
        let mut slot = slot(keys[i]);
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        i += 1;
        table[slot] = i as u8;
    }
    table
}

names! {
    /// The elements that some rule names.
    Name {
        A "a" Abbr "abbr" Address "address" Annotation "annotation" AnnotationXml "annotation-xml" Applet "applet" Area "area"
        Article "article" Aside "aside" Audio "audio" B "b" Base "base" Basefont "basefont" Bdi "bdi" Bdo "bdo"
        Bgsound "bgsound" Big "big" Blockquote "blockquote" Body "body" Br "br" Button "button" Canvas "canvas"
        Caption "caption" Center "center" Cite "cite" ClipPath "clippath" Code "code" Col "col" Colgroup "colgroup" Data "data"
        Datalist "datalist" Dd "dd" Defs "defs" Del "del" Desc "desc" Details "details" Dfn "dfn" Dialog "dialog" Dir "dir"
        Div "div" Dl "dl" Dt "dt" Em "em" Embed "embed" Fieldset "fieldset" Figcaption "figcaption"
        Figure "figure" Filter "filter" Font "font" Footer "footer" ForeignObject "foreignobject" Form "form" Frame "frame"
        Frameset "frameset" H1 "h1" H2 "h2" H3 "h3" H4 "h4" H5 "h5" H6 "h6" Head "head" Header "header"
        Hgroup "hgroup" Hr "hr" Html "html" I "i" Iframe "iframe" Image "image" Img "img" Input "input" Ins "ins"
        Isindex "isindex" Kbd "kbd" Keygen "keygen" Label "label" Li "li" LinearGradient "lineargradient" Link "link" Listing "listing"
        Main "main" Mark "mark" Marker "marker" Marquee "marquee" Mask "mask" Math "math" Menu "menu" Meta "meta" Metadata "metadata" Meter "meter" Mfrac "mfrac" Mi "mi" Mlabeledtr "mlabeledtr" Mn "mn" Mo "mo"
        Mover "mover" Mroot "mroot" Ms "ms" Msub "msub" Msubsup "msubsup" Msup "msup" Mtext "mtext" Mtr "mtr" Munder "munder" Munderover "munderover" Nav "nav" Nobr "nobr" Noembed "noembed" Noframes "noframes" Noscript "noscript"
        Object "object" Ol "ol" Optgroup "optgroup" Opt "option" P "p" Param "param" Pattern "pattern" Picture "picture"
        Plaintext "plaintext" Pre "pre" Progress "progress" Q "q" RadialGradient "radialgradient" Rb "rb" Rp "rp" Rt "rt" Rtc "rtc" Ruby "ruby" S "s" Samp "samp"
        Script "script" Search "search" Section "section" Select "select" ShadowRoot "#shadow-root" Slot "slot" Small "small" Source "source"
        Span "span" Strike "strike" Strong "strong" Style "style" Sub "sub" Summary "summary" Sup "sup" Svg "svg"
        Symbol "symbol" Table "table" Tbody "tbody" Td "td" Template "template" Text "text" Textarea "textarea" TextPath "textpath" Tfoot "tfoot" Th "th"
        Thead "thead" Time "time" Title "title" Tr "tr" Track "track" Tspan "tspan" Tt "tt" U "u" Ul "ul" Unassigned "#unassigned" Var "var"
        Video "video" Wbr "wbr" Xmp "xmp"
    }
}

names! {
    /// The attributes that some rule reads.
    Attr {
        Alt "alt" AriaLabel "aria-label" Color "color" Content "content" Data "data"
        Display "display" Encoding "encoding" Face "face" Hidden "hidden" Href "href" Hreflang "hreflang" HttpEquiv "http-equiv"
        Lang "lang" Media "media" Name "name" Open "open" Popover "popover" Rel "rel" Role "role" ShadowRootMode "shadowrootmode" Size "size" Slot "slot" Src "src"
        Srcdoc "srcdoc" Style "style" Type "type" Value "value" Visibility "visibility" X "x" XlinkHref "xlink:href"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_either_case_and_no_other() {
        for (name, spelling) in Name::ALL {
            assert_eq!(Name::lookup(spelling.as_bytes()), *name, "{spelling}");
            assert_eq!(Name::lookup(spelling.to_uppercase().as_bytes()), *name, "{spelling}");
            let longer = format!("{spelling}-");
            assert_eq!(Name::lookup(longer.as_bytes()), Name::Other, "{longer}");
        }
        for (name, spelling) in Attr::ALL {
            assert_eq!(Attr::lookup(spelling.to_uppercase().as_bytes()), *name, "{spelling}");
        }
        for other in ["", "@", "[", "`", "{", "\u{e1}", "my-element", "a-very-long-name-of-an-element"] {
            assert_eq!(Name::lookup(other.as_bytes()), Name::Other, "{other}");
        }
    }
}
