#!/usr/bin/env python3
"""Documents of recorded sets that [[deliver]] sends, beside an index that is rebuilt each night: bench-delivery.py SET…

A crawl that visits every page in every cycle sends each page once, each change, and a delete for each page that ends. A
rebuild sends all pages of the cycle. Sets without texts have no bytes."""

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path

print(f"{'set':12} {'cycles':>6} {'sent':>9} {'rebuilt':>9} {'share':>6} {'MB sent':>9} {'rebuilt':>9} {'share':>6}")
for folder in map(Path, sys.argv[1:]):
    cycles = sum(1 for _ in open(folder / "cycles.tsv")) - 1
    content, sizes = folder / "content.jsonl.zst", {}
    if content.exists():
        with subprocess.Popen(["zstd", "-dc", "--long=27", content], stdout=subprocess.PIPE) as texts:
            for line in texts.stdout:
                text = json.loads(line)
                sizes[text["page_id"], text["version"]] = len(text["text"].encode())
    sent = rebuilt = sent_bytes = rebuilt_bytes = 0
    with gzip.open(folder / "pages.tsv.gz", "rt") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            page, first, last = (int(row[name]) for name in ("page_id", "first_cycle", "last_cycle"))
            versions = [(first, 0)] + [tuple(map(int, pair.split(":"))) for pair in row["changes"].split()]
            ends = [cycle for cycle, _ in versions[1:]] + [last + 1]
            sent += len(versions) + (last + 1 < cycles)
            rebuilt += last + 1 - first
            for (begin, version), end in zip(versions, ends):
                size = sizes.get((page, version), 0)
                sent_bytes, rebuilt_bytes = sent_bytes + size, rebuilt_bytes + size * (end - begin)
    share = lambda some, all: f"{some / all:6.3f}" if all else f"{'-':>6}"
    megabytes = [f"{size / 1e6:9.1f}" if sizes else f"{'-':>9}" for size in (sent_bytes, rebuilt_bytes)]
    print(
        f"{folder.name:12} {cycles:6} {sent:9} {rebuilt:9} {share(sent, rebuilt)} "
        f"{' '.join(megabytes)} {share(sent_bytes, rebuilt_bytes)}"
    )
