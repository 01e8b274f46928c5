#!/usr/bin/env python3
"""Freshness of crawls of recorded webs, by formula and by rounds a cycle.

    cargo build --workspace && python3 scripts/bench-crawl.py target/debug FOLDER RECORDING…

Each line: recording, formula, rounds, mean share of fresh copies, share of compared visits that found a change, and
requests that broke robots.txt or came too early, over the cycles after the warm-up. k is 5 % of the known pages. The
figures do not depend on the machine.
"""

import pathlib
import sys

from mock_crawl import crawled

HOSTS, WARM_UP, CYCLES = 4, 10, 80
CASES = [
    ("u_fresh_site", 1), ("u_fresh_sib", 1), ("u_fresh_sib", 2), ("u_fresh_sib", 5),
    ("u_fresh_next", 1), ("u_fresh_next", 2), ("u_fresh_next", 5),
    ("p_eb_site", 1), ("p_burst", 1), ("p_burst", 2), ("p_burst", 5),
    ("p_next", 1), ("p_next", 2), ("p_next", 5),
]


def main():
    programs, folder = (pathlib.Path(word) for word in sys.argv[1:3])
    for recording in map(pathlib.Path, sys.argv[3:]):
        for formula, rounds in CASES:
            web = ["replay", recording, "--hosts", HOSTS]
            of = crawled(programs, folder, web, CYCLES, WARM_UP, 1, "5%", formula, rounds, delay="1 ms")
            freshness, change_rate, broken = of
            print(f"{recording.name:12} {formula:14} {rounds} {freshness:.4f} {change_rate:.4f} {broken}", flush=True)


main()
