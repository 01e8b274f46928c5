#!/usr/bin/env python3
"""Gives `cluster`, `predict`, `simulate` and `learn` data that are bad or odd, and checks how they end.

    scripts/check-bad-input.py target/release/recrawl FOLDER [large]

Writes data sets into FOLDER, which it empties first, and prints each command with its exit status and the last line of
its errors. Ends with 1 if a status or what is said is not as expected, if a program panics, or if a table has NaN. `large`
adds 10^6 pages in one folder and 10^6 folders of one page. Needs `zstd`.
"""

import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()
# The commands of recrawl-lab, which lies beside it.
OF_LAB = {"cluster", "predict", "simulate"}
FAILED = []


def changes(page, cycles):
    """Every second to fifth cycle."""
    return " ".join(f"{cycle}:{n + 1}" for n, cycle in enumerate(range(2 + page % 3, cycles, 2 + page % 4)))


def rarely(page, cycles):
    """In a third of the cycles, of half of the pages."""
    lot = random.Random(page)
    at = [cycle for cycle in range(1, cycles) if page % 2 and lot.random() < 0.3]
    return " ".join(f"{cycle}:{n + 1}" for n, cycle in enumerate(at))


def data(name, urls, text=None, cycles=12, changes=changes):
    """A data set of these pages; `text` gives the content of a page and a version."""
    folder = Path(name)
    folder.mkdir()
    days = "".join(f"{cycle}\t2026-01-{cycle + 1:02}\n" for cycle in range(cycles))
    (folder / "cycles.tsv").write_text("cycle\tdate\n" + days)
    with gzip.open(folder / "pages.tsv.gz", "wt", compresslevel=1) as pages:
        pages.write("page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges\n")
        for page, url in enumerate(urls):
            pages.write(f"{page}\t{url}\t\t\t\t0\t{cycles - 1}\t{changes(page, cycles)}\n")
    if text:
        lines = []
        for page in range(len(urls)):
            for version in ["0:0", *changes(page, cycles).split()]:
                cycle, number = map(int, version.split(":"))
                line = {"page_id": page, "cycle": cycle, "version": number, "text": text(page, number)}
                lines.append(json.dumps(line))
        words = ["zstd", "-q", "-o", str(folder / "content.jsonl.zst")]
        subprocess.run(words, input="\n".join(lines).encode(), check=True)
    return name


def run(why, status, says, *words):
    """Runs the program, which should end with this status and say this in its last line of errors."""
    program = PROGRAM.with_name("recrawl-lab") if words[0] in OF_LAB else PROGRAM
    ran = subprocess.run([program, *words], capture_output=True, text=True)
    said = (ran.stderr.strip().splitlines() or [""])[-1]
    if said.startswith("For more information"):
        said = ran.stderr.splitlines()[0]
    print(f"{why}\n  $ {program.name} {' '.join(words)}\n  {ran.returncode} {said[:400]}", flush=True)
    if ran.returncode != status or says not in said or "panicked" in ran.stderr or re.search(r"\b(NaN|inf)\b", ran.stdout):
        FAILED.append(f"{why}: {' '.join(words)}")


def each(why, name, commands):
    for status, says, command in commands:
        run(why, status, says, *command.split(), "--data", name)


def small():
    urls = [f"http://{'abc'[page % 3]}.test/{page // 9}/{page}" for page in range(60)]
    each("no contents", data("bare", urls), [
        (2, "no file content.jsonl.zst; needed for --features", "cluster fit --features content --out bare.toml"),
        (2, "needed for --policy cls_nad", "simulate --policy cls_nad"),
        (2, "needed for --policy lb", "simulate --policy lb"),
        (2, "need the texts of the pages", "predict --change words:20"),
        (2, "need the texts of the pages", "predict --related graph --days 5"),
        (0, "using features of URLs alone", "cluster fit --clusters 5 --out bare.toml"),
    ])
    each("one page", data("one", ["http://a.test/x"], lambda page, n: f"# Title\n\nwords {n} and more"), [
        (0, "", "cluster fit --out one.toml"), (0, "", "cluster report"),
        (2, "use fewer training days", "predict"), (1, "use fewer --folds", "learn --terminals related"),
        (0, "", "simulate --policy cls_nad --policy sls"), (0, "", "simulate --formula p_next --formula p_burst"),
    ])
    each("empty texts", data("empty", urls, lambda page, n: ""), [
        (0, "", "cluster fit --features content --out empty.toml"), (0, "", "cluster report"),
        (0, "", "predict --days 5 --alpha 0.1"),
        (2, "use a lower --alpha or another --change", "predict --days 5 --change words:20"),
        (0, "", "simulate --policy cls_nad --policy lb --share 0.3"),
        (1, "no queries, since no title has two words", "simulate --policy cls_nad --metric mp_at_10"),
    ])
    alike = [f"http://a.test/p?{page}" for page in range(60)]
    each("all pages alike", data("alike", alike, lambda page, n: "the same words", changes=lambda *_: "3:1 6:2 9:3"), [
        (0, "", "cluster fit --out alike.toml"), (0, "", "cluster report"), (0, "", "predict --days 5 --alpha 0.1"),
        (0, "", "simulate --policy cls_nad --formula p_next --share 0.3"),
    ])
    some = data("some", urls, lambda page, n: " ".join(f"w{(page * 7 + word * n) % 40}" for word in range(30)))
    each("k above the pages", some, [
        (0, "fewer clusters", "cluster fit --clusters 61 --out k.toml"),
        (2, "'4097'", "cluster fit --clusters 4097 --out k2.toml"), (2, "'0'", "cluster fit --clusters 0 --out k3.toml"),
        (2, "use fewer clusters or a greater --share", "simulate --policy cls_nad --clusters 61"),
    ])
    kinds = ["", "a", "![](x) " * 50, "|a|b|\n|-|-|\n" * 30, "\0\ufffd 😀", "x" * 100_000]
    odd = data("odd", urls, lambda page, n: kinds[(page + n) % 6])
    each("features that make NaN: no word, one word, images, tables, symbols, one long word", odd, [
        (0, "", "cluster fit --clusters 8 --out odd.toml"), (0, "", "cluster report"),
        (0, "", "predict --days 5 --alpha 0.1"),
        (2, "use a lower --alpha or another --change", "predict --days 5 --alpha 0.1 --change chi2"),
        (0, "", "simulate --policy cls_nad --policy cls_gad --policy lb --share 0.3"),
    ])
    again = "fit it again"
    run("a model", 0, "", *f"cluster fit --clusters 5 --out model.toml --data {some}".split())
    run("a model of other contents", 2, again, *f"cluster report --model model.toml --data {odd}".split())
    run("a model of other pages", 2, again, *"cluster report --model model.toml --data alike".split())
    model = Path("model.toml").read_text()
    for why, says, changed in [
        ("a model of another version", again, model.replace("version = 1", "version = 99", 1)),
        ("a model of another feature", again, model.replace('"content_rank_1"', '"colour"', 1)),
        ("a model without a closeness", again, re.sub(r"closeness = \[[^,\]]*,", "closeness = [", model, count=1)),
        ("a model with NaN", again, re.sub(r"closeness = \[[^,\]]*,", "closeness = [nan,", model, count=1)),
        ("a model cut in half", "not a model of clusters", model[: len(model) // 2]),
    ]:
        assert changed != model, why
        Path("changed.toml").write_text(changed)
        run(why, 2, says, "cluster", "show", "changed.toml")
    run("no model there", 2, "recrawl-lab cluster fit writes one", "cluster", "show", "absent.toml")
    for name, says in [
        ("content.jsonl.zst", "the file is cut off"), ("pages.tsv.gz", "the file is cut off"),
        ("cycles.tsv", "expected YYYY-MM-DD"),
    ]:
        shutil.copytree(some, "cut", dirs_exist_ok=True)
        whole = Path(some, name).read_bytes()
        Path("cut", name).write_bytes(whole[: len(whole) * 2 // 3])
        each(f"cut {name}", "cut", [
            (1, says, "cluster fit --clusters 5 --out cut.toml"), (1, says, "predict --change words:20 --days 5"),
            (1, says, "simulate --policy cls_nad"),
        ])
    shutil.copytree(some, "cut", dirs_exist_ok=True)
    Path("cut", "content.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(200)))
    damaged = "the compressed data is damaged"
    each("contents that are no zstd", "cut", [(1, damaged, "cluster fit --clusters 5 --out cut.toml")])
    long = [f"http://a.test/{'p/' * 900}{'q' * (180 + page % 10)}{page:03}" for page in range(300)]
    each("URLs of 2,000 bytes", data("long", long), [
        (0, "", "cluster fit --clusters 5 --out long.toml"), (0, "", "predict --days 5 --alpha 0.1"),
        (0, "", "simulate --formula p_next --formula p_burst --rounds 3"),
    ])


def large():
    for name, url in (("flat", "http://a.test/d/{:07}"), ("deep", "http://a.test/{:07}/x")):
        why = {"flat": "10^6 pages in one folder", "deep": "10^6 folders of one page"}[name]
        data(name, [url.format(page) for page in range(10**6)], cycles=10, changes=rarely)
        each(why, name, [
            (0, "", "simulate --formula p_burst --formula p_next --policy sls --policy db --rounds 2"),
            (0, "", f"cluster fit --clusters 20 --out {name}.toml"),
        ])


folder = Path(sys.argv[2])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
os.chdir(folder)
small()
if "large" in sys.argv[3:]:
    large()
print("\n".join(["", "NOT AS EXPECTED:", *FAILED]) if FAILED else "\nall as expected")
sys.exit(bool(FAILED))
