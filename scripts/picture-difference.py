#!/usr/bin/env python3
"""Draws docs/pictures/difference.svg: a change that recrawl found, as `recrawl show --json` tells it: picture-difference.py
[RECRAWL]. It serves a page on loopback, crawls it, changes it and crawls it again."""

import json
import subprocess
import sys
import tempfile
import threading
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mock_crawl import LOOPBACK

PORT = 8099
PAGE = f"http://127.0.0.1:{PORT}/kettle"
BEFORE = "<h1>Blue kettle</h1><p>Enamelled steel, 1.7 litres, for gas and induction.</p><p>Price: 39.90 euros. In stock, ships tomorrow.</p>"
AFTER = BEFORE.replace("39.90", "34.90").replace("In stock, ships tomorrow", "Only two left, ships on Monday")
CONFIGURATION = f"""
[cycle]
pages = "100%"
warmup = 1
{LOOPBACK}
[storage]
reserve = "1 MiB"
"""
# Columns of a line, width of a column, height of a line, and the space around the text.
COLUMNS, WIDE, HIGH, AROUND = 76, 8.6, 22, 18
STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; fill: #1a1f28 }
.ground { fill: #ffffff; stroke: #d5d9e0 } .quiet { fill: #565e6c }
.removed { fill: #a3211b; text-decoration: line-through } .added { fill: #0d6b3d; font-weight: 700; text-decoration: underline }
@media (prefers-color-scheme: dark) {
text { fill: #e8ebf0 } .ground { fill: #191d24; stroke: #323946 } .quiet { fill: #a3acba }
.removed { fill: #ff9c93 } .added { fill: #5fd39a }
}
"""


def served():
    """A web of one page; its body is that of the attribute `body`."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            is_page = self.path == "/kettle"
            body = f"<!doctype html><title>Blue kettle</title>{self.server.body}".encode() if is_page else b""
            self.send_response(200 if is_page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", PORT), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def found(recrawl):
    """The parts of the difference that recrawl finds."""
    with tempfile.TemporaryDirectory() as folder:
        config, at = Path(folder, "recrawl.toml"), ["--data-dir", f"{folder}/data"]
        config.write_text(CONFIGURATION)
        at += ["--config", str(config)]
        server = served()
        for body in (BEFORE, AFTER):
            server.body = body
            subprocess.run([recrawl, "crawl", PAGE, "--cycles", "1", *at], check=True, stdout=subprocess.DEVNULL)
        server.shutdown()
        shown = subprocess.run([recrawl, "show", PAGE, "--json", *at], check=True, capture_output=True, text=True)
        return json.loads(shown.stdout)["difference"]


def lines(parts):
    """Lines of `(kind, text)`, broken between words and where the page breaks."""
    rows, left = [[]], COLUMNS
    for part in parts:
        for at, piece in enumerate(part.get("text", "…").split("\n")):
            if at > 0:
                rows.append([])
                left = COLUMNS
            if rows[-1] and not rows[-1][-1][1].endswith(" "):
                rows[-1].append(("same", " "))
            for word in filter(None, piece.replace(" ", " \0").split("\0")):
                if len(word.rstrip()) > left:
                    rows.append([])
                    left = COLUMNS
                rows[-1].append((part["kind"], word))
                left -= len(word)
    return [row for row in rows if any(word.strip() for _, word in row)]


def drawn(difference):
    """The picture."""
    counts = f"{difference['words_added']} words added, {difference['words_removed']} removed"
    rows = [[("quiet", PAGE)], *lines(difference["parts"]), [("quiet", counts)]]
    width, height = 2 * AROUND + COLUMNS * WIDE, 2 * AROUND + HIGH * len(rows)
    text = "".join(
        f'<text x="{AROUND}" y="{AROUND + HIGH * at + 15}">'
        + "".join(f'<tspan class="{kind}">{escape(word)}</tspan>' for kind, word in row)
        + "</text>\n"
        for at, row in enumerate(rows)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" xml:space="preserve" role="img">\n'
        f"<title>A difference that recrawl found: {counts}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="ground" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1}" rx="8"/>\n{text}</svg>\n'
    )


if __name__ == "__main__":
    recrawl = sys.argv[1] if len(sys.argv) > 1 else "target/release/recrawl"
    picture = Path(__file__).parent.parent / "docs/pictures/difference.svg"
    picture.write_text(drawn(found(recrawl)))
    print(picture)
