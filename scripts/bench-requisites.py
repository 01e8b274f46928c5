#!/usr/bin/env python3
"""How much the archive grows by pages that change while their requisites do not, with and without `requisites = true`.

    scripts/bench-requisites.py target/release FOLDER

Ten sites of the mock web, 1,000 pages, five cycles that visit all of them. Servers send no validator, one that they never
confirm, or confirm it. Prints the archive's bytes after each cycle, the requests of the last one, and what cycles 3 to 5 add with
the rule as a multiple of what they add without it.
"""

import json
import pathlib
import shutil
import subprocess
import sys

from mock_crawl import LOOPBACK, asked

WEB = ["procedural", "--pages", "1000", "--hosts", "10", "--seed", "7", "--requisites", "--mix", "poisson=1"]
CYCLES = 5
CONFIGURATION = f"""
[cycle]
pages = "100%"
rounds = 1
{LOOPBACK}
[storage]
reserve = "0 B"
"""
RULE = """
[[pages]]
match = "*"
requisites = true
"""


def crawled(programs, folder, validators, rule):
    """The archive's bytes after each cycle, and the last report."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "recrawl.toml").write_text(CONFIGURATION + rule)
    web = subprocess.Popen([programs / "recrawl-mockweb", *WEB, "--validators", validators], stdout=subprocess.PIPE, text=True)
    try:
        info = json.loads(web.stdout.readline())
        words = [programs / "recrawl", "crawl", *info["seeds"], "--config", folder / "recrawl.toml"]
        words += ["--data-dir", folder / "data", "--cycles", "1", "--json"]
        sizes = []
        for _ in range(CYCLES):
            crawl = subprocess.run(words, capture_output=True, text=True, check=True)
            sizes.append(sum(file.stat().st_size for file in (folder / "data" / "warc").iterdir()))
            asked(info["control_port"], "/advance", b"")
        return sizes, json.loads(crawl.stdout.splitlines()[-1])
    finally:
        web.kill()
        web.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    programs, folder = map(pathlib.Path, sys.argv[1:])
    for validators in ["none", "restless", "strong"]:
        added = []
        for rule in ["", RULE]:
            sizes, report = crawled(programs, folder, validators, rule)
            added.append(sizes[-1] - sizes[1])
            requests = report["fetched"] + report.get("requisites_requested", 0)
            print(validators, "with" if rule else "without", *sizes, f"{requests} requests of {report['fetched']} pages")
        print(validators, f"{added[1] / added[0]:.3f} times")


main()
