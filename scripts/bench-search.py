#!/usr/bin/env python3
"""Prints the last texts of recorded sets (content.jsonl.zst, text.jsonl.zst) as lines for the example `measure`.

    scripts/bench-search.py [--piece BYTES] [--times N] SET… | cargo run --release -p recrawl-search --example measure -- DIR

--piece cuts texts into pages of so many bytes at most; --times repeats all under other URLs."""

import argparse
import gzip
import json
import subprocess
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--piece", type=int, default=0)
parser.add_argument("--times", type=int, default=1)
parser.add_argument("sets", nargs="+", type=Path)
asked = parser.parse_args()

for time in range(asked.times):
    for folder in asked.sets:
        with gzip.open(folder / "pages.tsv.gz", "rt") as lines:
            names = next(lines).rstrip("\n").split("\t")
            pages = {row["page_id"]: row for row in (dict(zip(names, line.rstrip("\n").split("\t"))) for line in lines)}
        content = next(path for name in ("content", "text") if (path := folder / f"{name}.jsonl.zst").exists())
        last = {}
        with subprocess.Popen(["zstd", "-dc", "--long=27", content], stdout=subprocess.PIPE, text=True) as texts:
            for line in texts.stdout:
                text = json.loads(line)
                last[text["page_id"]] = text["text"]
        for page, text in last.items():
            row = pages[str(page)]
            size = asked.piece or len(text) or 1
            for at in range(0, len(text) or 1, size):
                url = row["url"] or f"https://{folder.name}.example/{page}"
                piece = f"#{time}-{at}" if asked.piece or time else ""
                print(json.dumps({"url": url + piece, "title": row["title"], "text": text[at : at + size]}))
