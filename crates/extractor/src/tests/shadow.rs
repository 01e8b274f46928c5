//! Declarative shadow trees.

use super::seen::{part_of, text};
use super::*;

#[test]
fn the_text_of_a_shadow_tree_is_seen_with_what_its_slots_show() {
    for (html, expected) in [
        ("<x-a><template shadowrootmode=open><p>a</p></template></x-a>", "a"),
        ("<x-a><template shadowrootmode=closed><p>a</p></template></x-a>", "a"),
        ("<x-a><template shadowrootmode=OPEN><p>a</p></template></x-a>", "a"),
        ("<x-a><template shadowrootmode><p>a</p></template>b</x-a>", "b"),
        ("<x-a><template shadowrootmode=none><p>a</p></template>b</x-a>", "b"),
        ("<div><template shadowrootmode=open>a</template></div>", "a"),
        ("<body><template shadowrootmode=open>a <slot></slot> c</template>b", "a b c"),
        // Light children are where their slot is, and nowhere without one.
        ("<x-a><template shadowrootmode=open>a</template>b</x-a>c", "a\nc"),
        ("<x-a><template shadowrootmode=open>a<slot></slot>c</template><b>b</b></x-a>", "abc"),
        ("<x-a>b<template shadowrootmode=open>a<slot></slot></template>c</x-a>", "abc"),
        (
            "<x-a><template shadowrootmode=open><slot name=t></slot><p>a</p><slot></slot></template>\
             <p>c</p><h2 slot=t>b</h2><p slot=none>d</p><p slot=t>e</p></x-a>",
            "b\ne\na\nc",
        ),
        (
            "<x-a><template shadowrootmode=open><slot name=t></slot></template><b slot=t>b</b><i slot=u>c</i></x-a>",
            "b",
        ),
        // Only the first slot of a name counts, and the fallback is seen if nothing is assigned.
        ("<x-a><template shadowrootmode=open><slot>f</slot>-<slot>g</slot></template>b</x-a>", "b-g"),
        ("<x-a><template shadowrootmode=open><slot name=t>f</slot><slot>g</slot></template>b</x-a>", "fb"),
        ("<x-a><template shadowrootmode=open><slot>f</slot></template></x-a>", "f"),
        ("<x-a><template shadowrootmode=open><slot>f</slot></template><!-- c --></x-a>", "f"),
        ("<x-a><template shadowrootmode=open><slot>f</slot></template> </x-a>c", "c"),
        // Only the first template of a host is its shadow tree, and only of an element that may have one.
        (
            "<x-a><template shadowrootmode=open>a</template><template shadowrootmode=open>b</template></x-a>",
            "a",
        ),
        ("<b><template shadowrootmode=open>a</template>b</b>", "b"),
        ("<ul><template shadowrootmode=open>a</template><li>b</ul>", "b"),
        ("<table><template shadowrootmode=open>a</template><tr><td>b</table>", "b"),
        ("<font-face><template shadowrootmode=open>a</template>b</font-face>", "b"),
        ("<svg><x-a><template shadowrootmode=open>a</template></x-a></svg>b", "b"),
        ("<template><x-a><template shadowrootmode=open>a</template></x-a></template>b", "b"),
        ("<x-a><template>a</template>b</x-a>", "b"),
        // Nested, and handed on from slot to slot.
        (
            "<x-a><template shadowrootmode=open>1<x-b><template shadowrootmode=closed>2<slot></slot>4</template>3</x-b>5\
             </template></x-a>",
            "1\n234\n5",
        ),
        (
            "<x-a><template shadowrootmode=open><x-b><template shadowrootmode=open>1<slot></slot>3</template>\
             <slot name=s>f</slot></x-b></template><b slot=s>2</b></x-a>",
            "123",
        ),
        (
            "<x-a><template shadowrootmode=open><slot></slot></template>\
             <x-b><template shadowrootmode=open>1<slot></slot></template>2</x-b></x-a>",
            "12",
        ),
        // What is not shown elsewhere is not shown here.
        (
            "<x-a><template shadowrootmode=open><style>s</style><script>t</script><p hidden>h</p>a</template></x-a>",
            "a",
        ),
        ("<x-a hidden><template shadowrootmode=open>a</template></x-a>b", "b"),
        ("<x-a><template shadowrootmode=open><div hidden><slot></slot></div>a</template>b</x-a>", "a"),
        ("<x-a><template shadowrootmode=open><pre><slot></slot></pre></template>a\nb</x-a>", "a\nb"),
        ("<div><template shadowrootmode=open><nav>m</nav><p>a</p></template></div>", "a"),
        // Without an end, too.
        ("<x-a><template shadowrootmode=open><p>a", "a"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn links_of_a_shadow_tree_count_and_its_title_and_base_do_not() {
    let html = "<base href=/d/><x-a><template shadowrootmode=closed><title>no</title><base href=/no/><a href=1>a</a>\
        <slot><a href=2>fallback</a></slot></template><a href=3>b</a><a href=4 slot=none>c</a>\
        <template><a href=5>d</a></template></x-a><title>Yes</title>";
    let found = page(html);
    let paths: Vec<_> = found.links.iter().map(|link| link.url.as_text()).collect();
    let mut expected = ["1", "2", "3", "4"].map(|path| format!("https://example.com/d/{path}")).to_vec();
    expected.sort_unstable();
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected, "what is not shown is followed, as in other hidden parts");
    assert_eq!((found.title.as_deref(), found.text.as_str()), (Some("Yes"), "ab"));
}

#[test]
fn selectors_see_shadow_trees_and_the_children_of_their_hosts() {
    let html = "<x-a class=c><template shadowrootmode=open><p class=price>12</p><p>x <slot></slot></p></template>\
        <b>light</b></x-a><p>after</p>";
    for (include, ignore, expected) in [
        (&[".price"][..], &[][..], "12"),
        (&["x-a .price"], &[], "12"),
        (&["x-a > b"], &[], "light"),
        (&["x-a"], &[".price"], "x light"),
        (&[], &["x-a"], "after"),
        (&[], &["x-a b"], "12\nx\nafter"),
    ] {
        assert_eq!(part_of(html, include, ignore), expected, "{include:?} {ignore:?}");
    }
}

/// Each node is moved once for each host, and a page may nest hosts at most as deep as elements.
#[test]
fn hostile_shadow_trees_lose_no_links() {
    let n = 2_000;
    let host = |i: usize| {
        format!("<x-a><template shadowrootmode=open><a href=/{i}>a</a><p><slot>f</slot></p></template>")
    };
    for html in [
        (0..n).map(host).collect::<String>(),
        (0..n).map(|i| host(i) + "</x-a>").collect(),
        (0..n).map(|i| format!("<x-a><template shadowrootmode=open><a href=/{i}>a</a>")).collect(),
        format!(
            "{}{}",
            host(0),
            (1..n).map(|i| format!("<b slot=s{i}><a href=/{i}>a</a></b>")).collect::<String>()
        ),
        format!(
            "<x-a><template shadowrootmode=open>{}</template>{}",
            (0..n).map(|i| format!("<slot name=s{i}>")).collect::<String>(),
            (0..n).map(|i| format!("<b slot=s{i}><a href=/{i}>a</a></b>")).collect::<String>()
        ),
    ] {
        assert_eq!(page(&html).links.len(), n, "{}", &html[..60]);
    }
}
