#!/usr/bin/env python3
"""Crawls a web twice, undisturbed and with kill -9 in the rounds of its cycles, and compares what both know.

    scripts/check-kills.py target/release FOLDER KILLS

Cycles have three rounds by `p_next_section`, which learns at each commit. Up to KILLS kills fall on each of the last 13 of 16
cycles. All pages as exported must be equal after each cycle, and so the numbers of pages that each round scheduled.
What a kill loses is asked for again, so more requests reach the hosts.
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

from mock_crawl import CONFIGURATION, asked

WEB = ["procedural", "--pages", "1500", "--hosts", "6", "--seed", "3", "--port", "18471"]
WHOLE, CYCLES, ROUNDS = 3, 16, 3


def crawled(programs, folder, kills):
    """The pages after each cycle, the pages scheduled by each round, and the number of kills."""
    lot, killed, pages = random.Random(1), 0, []
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    web = subprocess.Popen([programs / "recrawl-mockweb", *WEB], stdout=subprocess.PIPE, text=True)

    def rounds_of(cycle):
        return [json.loads(line)["scheduled"] for line in export("rounds").splitlines() if json.loads(line)["cycle"] == cycle]

    def export(what):
        words = [programs / "recrawl", "export", what, "--data-dir", folder / "data", "--out", "-"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    try:
        info = json.loads(web.stdout.readline())
        (folder / "seeds").write_text("\n".join(info["seeds"]))
        words = [programs / "recrawl", "crawl", "--cycles", "1", "--random-seed", "1", "--seeds", folder / "seeds"]
        words += ["--config", folder / "recrawl.toml", "--data-dir", folder / "data"]
        for cycle in range(CYCLES):
            of = dict(pages='"100%"' if cycle < WHOLE else '"20%"', fill="true" if cycle == 0 else "false")
            of |= dict(rounds=ROUNDS, announced=0.0, formula="p_next_section", delay="2 ms")
            (folder / "recrawl.toml").write_text(CONFIGURATION.format(**of))
            left = kills if cycle >= WHOLE else 0
            status = None
            while status is None:
                crawl = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                if left:
                    time.sleep(lot.uniform(0.02, 0.35))
                    if crawl.poll() is None:
                        crawl.kill()
                        crawl.wait()
                        killed, left = killed + 1, left - 1
                        # Once its last round is committed, another start would begin the next cycle.
                        if len(rounds_of(cycle + 1)) == ROUNDS:
                            status = 0
                        continue
                status = crawl.wait()
            if status:
                sys.exit(f"a crawl ended with {status}")
            pages.append(export("pages"))
            asked(info["control_port"], "/advance", b"")
        return pages, [rounds_of(cycle + 1) for cycle in range(CYCLES)], killed
    finally:
        web.kill()
        web.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    programs, folder, kills = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    pages, scheduled, _ = crawled(programs, folder, 0)
    again, scheduled_again, killed = crawled(programs, folder, kills)
    for cycle, (a, b) in enumerate(zip(pages, again)):
        if a != b:
            sys.exit(f"cycle {cycle}: pages differ")
    if scheduled != scheduled_again:
        sys.exit(f"rounds differ: {scheduled}, {scheduled_again}")
    count = len(pages[-1].splitlines())
    print(f"{killed} kills in {sum(map(len, scheduled))} rounds: {count} pages are equal after each of {CYCLES} cycles")


main()
