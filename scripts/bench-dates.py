#!/usr/bin/env python3
"""Freshness of a crawl on the mock web, by the dates in its sitemaps and by what uses them.

    cargo build --workspace && python3 scripts/bench-dates.py target/debug FOLDER

Each line: seed, dates, policy, mean share of fresh copies, and share of compared visits that found a change, over
the cycles after the warm-up. The figures do not depend on the machine.
"""

import pathlib
import sys

from mock_crawl import crawled

PAGES, HOSTS, WARM_UP, CYCLES, SEEDS = 1500, 15, 12, 30, (1, 2, 3)
DATES = ("true", "late", "none", "never", "today")
# Formula, and announced_share.
POLICIES = {
    "u_fresh_site": ("u_fresh_site", 0.0),
    "announced": ("u_fresh_site", 0.1),
    "u_fresh_signal": ("u_fresh_signal", 0.0),
    "both": ("u_fresh_signal", 0.1),
}


def measured(programs, folder, dates, policy, seed):
    """Mean freshness and ChangeRate of one crawl."""
    formula, announced = POLICIES[policy]
    web = ["procedural", "--pages", PAGES, "--hosts", HOSTS, "--seed", seed]
    web += ["--page-bytes", 2000, "--mix", "static=40,poisson=60"]
    web += [] if dates == "none" else ["--sitemaps", "--lastmod", dates]
    return crawled(programs, folder, web, CYCLES, WARM_UP, seed, "6%", formula, announced=announced)[:2]


def main():
    programs, folder = (pathlib.Path(word) for word in sys.argv[1:3])
    for seed in SEEDS:
        for dates in DATES:
            for policy in POLICIES:
                freshness, change_rate = measured(programs, folder, dates, policy, seed)
                print(f"{seed} {dates:5} {policy:14} {freshness:.4f} {change_rate:.3f}", flush=True)


main()
