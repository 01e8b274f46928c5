#!/usr/bin/env python3
"""Main content beside two libraries, on Scrapinghub's article extraction benchmark: bench-main-content.py FOLDER [RECRAWL].

FOLDER is a clone of it (pages, truth, and the evaluation that counts). The pages are served on loopback, crawled, and
exported as Markdown. Libraries that are not installed (trafilatura; readability-lxml with html-text) are left out."""

import gzip
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
from importlib import metadata
from pathlib import Path

folder, recrawl = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "recrawl"
pages = {path.name.split(".")[0]: gzip.open(path).read() for path in sorted((folder / "html").glob("*.html.gz"))}

CONFIG = """
[cycle]
pages = "100%"
period = "1 s"
[politeness]
delay_per_host = "0 s"
delay_per_ip = "0 s"
[fetch]
allow_addresses = ["127.0.0.0/8"]
[hints]
sitemaps = false
[consent]
noindex = false
noarchive = false
[scope]
max_depth = 0
[storage]
reserve = "0 B"
"""


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = pages.get(self.path[1:])
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


def text_of(markdown):
    """The words that a reader of the Markdown sees."""
    markdown = re.sub(r"!\[((?:\\.|[^\]\\])*)\]\((?:\\.|[^)\\])*\)", "", markdown)
    markdown = re.sub(r"\[((?:\\.|[^\]\\])*)\]\((?:\\.|[^)\\])*\)", r"\1", markdown)
    # An emphasis divides no word, and neither does an escape.
    return re.sub(r"\\(?=[^\w\s])|\*\*|(?<!\w)_|_(?!\w)", "", markdown)


def of_recrawl():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as data:
        config, seeds = Path(data, "recrawl.toml"), Path(data, "seeds.txt")
        config.write_text(CONFIG)
        seeds.write_text("".join(f"{site}{page}\n" for page in pages))
        to = ["--config", config, "--data-dir", Path(data, "crawl")]
        run = lambda *words: subprocess.run([recrawl, *words, *to], check=True, stdout=subprocess.PIPE).stdout
        run("crawl", "--cycles", "1", "-q", "--seeds", seeds)
        exported = map(json.loads, run("export", "contents", "--markdown", "--out", "-").splitlines())
        found = {row["url"][len(site):]: text_of(row.get("markdown") or "") for row in exported}
    return {page: {"articleBody": found.get(page, "")} for page in pages}


def of_trafilatura():
    import trafilatura

    read = lambda body: trafilatura.extract(body.decode(), include_comments=False) or ""
    return {page: {"articleBody": read(body)} for page, body in pages.items()}


def of_readability():
    import html_text
    import readability

    read = lambda body: html_text.extract_text(readability.Document(body.decode()).summary(html_partial=True))
    return {page: {"articleBody": read(body)} for page, body in pages.items()}


sys.path.insert(0, str(folder))
import evaluate

truth = evaluate.load_json(folder / "ground-truth.json")
print(f"{len(pages)} pages\n{'':18} {'version':10} {'F1':>5} {'±':>5} {'precision':>9} {'recall':>6}")
for name, found in [("recrawl", of_recrawl), ("trafilatura", of_trafilatura), ("readability-lxml", of_readability)]:
    try:
        scores = evaluate.evaluate(truth, found(), 1000)
    except ImportError as absent:
        print(f"{name:18} not installed: {absent}")
        continue
    version = "" if name == "recrawl" else metadata.version(name)
    print(
        f"{name:18} {version:10} {scores['f1']:5.3f} {scores['f1_std']:5.3f} {scores['precision']:9.3f} "
        f"{scores['recall']:6.3f}"
    )
