"""Makes cases of robots.txt × path, and asks Protego about each.

    python3 -m venv VENV && VENV/bin/pip install protego==0.7.0
    VENV/bin/python crates/fetcher/src/robots/differential/generate.py |
        cargo run -p recrawl-fetcher --example robots_oracle > crates/fetcher/src/robots/differential/corpus.jsonl

One line is one file: its pieces as [text, repetitions], Protego's Crawl-delay, and [path, verdict] for
each path, 1 for allowed. The example adds the verdict of the crate robotstxt. The same seed makes the
same cases with any Python 3.
"""

import json
import math
import random

from protego import Protego

SEED = 9309
FILES = 1000
PATHS = 5
AGENT = "recrawl"

WORDS = ["a", "b", "ab", "fish", "page", "x", "private", "img", "q"]
ENCODED = ["%62", "%7Ejoe", "%7e", "%2F", "%2f", "%3F", "%24", "%2A", "%E3%83%84", "%e3%83%84", "%20", "%"]
RAW = ["ツ", "é", "~joe", "$", "&", "=", "!", "'", "(", ",", ";", ":", "@", "+", "|", "{", " ", '"', "[", "^"]
OTHERS = ["other", "googlebot", "recrawl-images", "rec", "crawl", "xrecrawl", "bing bot", "re*", "*bot"]
US = ["recrawl", "Recrawl", "RECRAWL", "recrawl/1.0", "recrawl 2.0 beta", "recrawl # us", "recrawl*"]


def segment(rng, exotic):
    part = rng.choice(WORDS)
    if rng.random() < exotic:
        part += rng.choice(ENCODED if rng.random() < 0.5 else RAW)
    return part


def pattern(rng, exotic):
    text = "/" + "/".join(segment(rng, exotic) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3])))
    if rng.random() < 0.3:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(["*", "*", "*", "**"]) + text[at:]
    if rng.random() < 0.12:
        text += rng.choice(["?", "?a=", "?a=1&b=2", "?q=*", ".php", "/index.html", "/index.htm"])
    if rng.random() < 0.12:
        text += "$"
    if rng.random() < 0.02:
        text = rng.choice(["", "*", "$", "page", "a/b", "http://a.test/page", "*.gif", "/*$", "//"])
    return text


def rule(rng, exotic):
    allow = rng.random() < 0.4
    key = rng.choice(["Allow"] * 6 + ["allow", "ALLOW"]) if allow else rng.choice(["Disallow"] * 6 + ["disallow", "DISALLOW"])
    if rng.random() < exotic / 8:
        key = rng.choice(["Disalow", "Dissallow", "Allowed", "Disallowed"])
    colon = rng.choice([": "] * 8 + [":", " : ", ":\t"])
    if rng.random() < exotic / 8:
        colon = rng.choice([" ", "\t", "  "])
    tail = rng.choice([""] * 12 + [" ", " # why", "#why", "\t"])
    return key + colon + pattern(rng, exotic) + tail


def agent(rng, exotic):
    roll = rng.random()
    if roll < 0.4:
        name = rng.choice(US if rng.random() < exotic else US[:3])
    elif roll < 0.75:
        name = "*"
    else:
        name = rng.choice(OTHERS if rng.random() < exotic else OTHERS[:5])
    key = rng.choice(["User-agent"] * 8 + ["user-agent", "USER-AGENT", "User-Agent"])
    if rng.random() < exotic / 10:
        key = rng.choice(["User agent", "Useragent"])
    return f"{key}: {name}"


def other(rng):
    return rng.choice([
        "", "", "", "# a comment", "Sitemap: https://a.test/s.xml", "Noindex: /x", "Host: a.test", "nonsense",
        "Crawl-delay: 3", "Crawl-delay: 0.5", "crawl-delay: ten", "Crawl-delay: inf", "Crawl-delay: -1",
        "Crawl-delay: 1e3", "Crawl-delay: 5s", "<html>", ":", ": /x", "Clean-param: a /b",
    ])


def robots(rng):
    exotic = rng.choice([0.0, 0.1, 0.1, 0.3])
    lines = []
    if rng.random() < 0.1:
        lines += [rule(rng, exotic) for _ in range(rng.randrange(3))]
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        lines += [agent(rng, exotic) for _ in range(rng.choice([1, 1, 1, 2]))]
        for _ in range(rng.randrange(6)):
            lines.append(other(rng) if rng.random() < 0.15 else rule(rng, exotic))
    end = rng.choice(["\n"] * 6 + ["\r\n"] * 3 + ["\r"])
    text = end.join(lines) + rng.choice([end, ""])
    if rng.random() < 0.05:
        text = "\ufeff" + text
    return text


def plain(text):
    """As a canonical URL spells it."""
    keep = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?[]@!$&'()*+,;=%|^"
    return "".join(c if c in keep else "".join(f"%{b:02X}" for b in c.encode()) for c in text)


def path(rng, file):
    """A path near one of the file's patterns, so that it often matches."""
    values = [line.split(":", 1)[-1].split("#")[0].strip() for line in file.splitlines() if "llow" in line]
    values = [v for v in values if v.startswith("/")]
    if values and rng.random() < 0.85:
        text = rng.choice(values)
        while "*" in text:
            text = text.replace("*", rng.choice(["", "", "x", "a/b", "fish", "*"]), 1) if rng.random() < 0.9 else text.replace("*", "-")
        if text.endswith("$") and rng.random() < 0.8:
            text = text[:-1]
        roll = rng.random()
        if roll < 0.3:
            text += rng.choice(["x", "/", "/page", "?a=1", ".php", "$"])
        elif roll < 0.4:
            text = text[: rng.randrange(1, len(text) + 1)]
        elif roll < 0.5:
            text = text.replace("%7E", "~").replace("%7e", "~").replace("%62", "b").replace("%2f", "%2F").replace("~", "%7e")
        elif roll < 0.55:
            text = text.replace("%2F", "/").replace("%3F", "?").replace("%24", "$").replace("%2A", "*")
    else:
        text = "/" + "/".join(segment(rng, 0.1) for _ in range(rng.randrange(3)))
    return plain(text) if text.startswith("/") else "/"


HANDWRITTEN = [
    # RFC 9309 section 5.1 and 5.2.
    ("User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n",
     ["/", "/a.gif", "/a.gif?x", "/example/", "/example/page.html", "/publications/a", "/publications/a.gif"]),
    ("User-Agent: recrawl\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
     ["/example/page/", "/example/page/disallowed.gif", "/example"]),
    # Section 2.2.1: groups of one token are one; the star is for those without a group.
    ("user-agent: recrawl\ndisallow: /a\nuser-agent: *\ndisallow: /b\nuser-agent: recrawl\ndisallow: /c\n", ["/a", "/b", "/c"]),
    ("User-agent: *\nDisallow: /\n\nUser-agent: recrawl\n", ["/", "/a"]),
    ("User-agent: *\nDisallow: /\n\nUser-agent: recrawl\nDisallow:\n", ["/", "/a"]),
    ("User-agent: recrawl\nSitemap: https://a.test/s.xml\nUser-agent: other\nDisallow: /x\n", ["/x", "/"]),
    ("User-agent: recrawl\nCrawl-delay: 3\nUser-agent: other\nDisallow: /x\n", ["/x", "/"]),
    ("User-agent: recrawl\nNoindex: /y\nUser-agent: other\nDisallow: /x\n", ["/x", "/"]),
    # Section 2.2.2: encodings.
    ("User-agent: *\nDisallow: /foo/bar?baz=quz\nDisallow: /foo/bar/ツ\nDisallow: /foo/bar/%62%61%7A\n",
     ["/foo/bar?baz=quz", "/foo/bar/%E3%83%84", "/foo/bar/baz", "/foo/bar/%62%61%7A", "/foo/bar/x"]),
    ("User-agent: *\nDisallow: /foo/bar?baz=https://foo.bar\n", ["/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"]),
    # Section 2.2.3.
    ("User-agent: *\nAllow: /this/path/exactly$\nDisallow: /this/\n", ["/this/path/exactly", "/this/path/exactly/x", "/this/*/"]),
    ("User-agent: *\nDisallow: /path/file-with-a-%2A.html\nDisallow: /path/foo-%24\n",
     ["/path/file-with-a-*.html", "/path/file-with-a-%2A.html", "/path/file-with-a-x.html", "/path/foo-$", "/path/foo-%24", "/path/foo-"]),
    # Google's table of matches.
    ("User-agent: *\nAllow: /p\nDisallow: /\n", ["/page", "/"]),
    ("User-agent: *\nAllow: /folder\nDisallow: /folder\n", ["/folder/page"]),
    ("User-agent: *\nAllow: /page\nDisallow: /*.htm\n", ["/page.htm"]),
    ("User-agent: *\nAllow: /page\nDisallow: /*.ph\n", ["/page.php5"]),
    ("User-agent: *\nAllow: /$\nDisallow: /\n", ["/", "/page.htm"]),
    ("User-agent: *\nDisallow: /fish*.php\n", ["/fish.php", "/fishheads/catfish.php?p=1", "/Fish.PHP"]),
    # Ends of lines, marks, emptiness, garbage.
    ("\ufeffUser-agent: *\nDisallow: /x\n", ["/x", "/"]),
    ("\ufeff\ufeffUser-agent: *\nDisallow: /x\n", ["/x", "/"]),
    ("User-agent: *\rDisallow: /x\rAllow: /x/y", ["/x", "/x/y"]),
    ("User-agent: *\n\rDisallow: /x\r\n\r\nAllow: /x/y", ["/x", "/x/y"]),
    ("User-agent: *\u2028Disallow: /x\nDisallow: /y\n", ["/x", "/y"]),
    ("User-agent: *\x0bDisallow: /x\nDisallow: /y\n", ["/x", "/y"]),
    ("User-agent: *\x00Disallow: /x\nDisallow: /y\n", ["/x", "/y"]),
    ("", ["/"]), ("\n\n\n", ["/"]), ("<!DOCTYPE html>\n<html><body>Disallow: /</body></html>\n", ["/"]),
    ("Disallow: /\n", ["/", "/a"]), ("Disallow: /\nUser-agent: *\nDisallow: /x\n", ["/", "/x"]),
    ("User-agent:\nDisallow: /\n", ["/"]), ("User-agent: *\nDisallow:\n", ["/"]),
    ("User-agent: *\nAllow:\nDisallow: /x\n", ["/x", "/"]), ("User-agent: * foo\nDisallow: /x\n", ["/x"]),
    ("User-agent: *\nDisallow: /\nAllow: /robots.txt\n", ["/robots.txt", "/robots.txt?x", "/robots.txt2"]),
    ("User-agent: *\nDisallow: /a#b\n", ["/a", "/ab"]),
    ("User-agent: recrawl other\nDisallow: /x\n", ["/x"]), ("User-agent: recrawl,other\nDisallow: /x\n", ["/x"]),
    ("User-agent: Mozilla/5.0 recrawl\nDisallow: /x\n", ["/x"]), ("User-agent: recrawl2\nDisallow: /x\n", ["/x"]),
]

# Huge files, as pieces: a comment beyond 500 KiB before a rule, 20,000 rules, one endless line.
HUGE = [
    ([["User-agent: *\nDisallow: /first\n", 1], ["# filler filler filler filler filler\n", 20_000], ["Disallow: /last\n", 1]], ["/first", "/last"]),
    ([["User-agent: *\n", 1], ["Disallow: /a*b$\n", 20_000], ["Allow: /aab\n", 1]], ["/ab", "/aab", "/x"]),
    ([["User-agent: *\nDisallow: /", 1], ["a", 20_000], ["\nDisallow: /x\n", 1]], ["/a", "/x", "/" + "a" * 1_990]),
    ([["User-agent: *\nDisallow: /", 1], ["*a", 30], ["$\n", 1]], ["/" + "a" * 29, "/" + "a" * 30, "/" + "a" * 200 + "b"]),
]


def ask(pieces, paths):
    text = "".join(piece * n for piece, n in pieces)
    protego = Protego.parse(text)
    verdict = lambda p: int(protego.can_fetch("http://a.test" + p, AGENT))
    delay = protego.crawl_delay(AGENT)
    assert delay is None or math.isfinite(delay)
    line = {"file": pieces, "delay": delay, "paths": [[p, verdict(p)] for p in dict.fromkeys(paths)]}
    print(json.dumps(line, separators=(",", ":")))


def main():
    rng = random.Random(SEED)
    for file, paths in HANDWRITTEN:
        ask([[file, 1]], paths)
    for pieces, paths in HUGE:
        ask(pieces, paths)
    for _ in range(FILES):
        file = robots(rng)
        ask([[file, 1]], [path(rng, file) for _ in range(PATHS)])


main()
