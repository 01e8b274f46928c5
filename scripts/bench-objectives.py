#!/usr/bin/env python3
"""Compares the objectives with the formula `default` over data sets.

    scripts/bench-objectives.py target/release/recrawl DATA_SET… [-- FORMULA…]

Each formula is replayed with 5 % of the pages a cycle: `default` in one round, all others in two. For each set the mean
ChangeRate and freshness of a cycle, and their differences from `default` with Student's t over blocks of consecutive
cycles, an eighth of all each. Then the same of the first 14 cycles after the warm-up, when little is learned.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SHARE = "0.05"
BLOCKS = 8
YOUNG = 14
OBJECTIVES = {
    "balanced": "p_next_section * sqrt(u_fresh_next_section)",
    "fresh": "u_fresh_next_section",
    "changes": "p_next_section",
}
METRICS = ["change_rate", "freshness"]


def replay(program, data, formula, rounds):
    words = [program, "simulate", "--json", "--data", data, "--share", SHARE, "--ties", "index", "--policy", "oracle"]
    out = subprocess.run(words + ["--rounds", str(rounds), "--formula", formula], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"{data}: {out.stderr}")
    found = json.loads(out.stdout)
    policy = next(p for p in found["policies"] if p["kind"] == "formula")
    return {metric: policy["per_cycle"][metric] for metric in METRICS}


def mean(values):
    return sum(values) / len(values)


def t_of_blocks(differences):
    """Neighbouring cycles are alike, blocks of them hardly."""
    size = max(1, len(differences) // BLOCKS)
    blocks = [mean(differences[at : at + size]) for at in range(0, size * (len(differences) // size), size)]
    middle = mean(blocks)
    variance = sum((b - middle) ** 2 for b in blocks) / (len(blocks) - 1) / len(blocks)
    return middle / variance**0.5 if variance > 0 else 0.0


def rows(before, now, cycles=None):
    cells = []
    for metric in METRICS:
        a, b = before[metric][:cycles], now[metric][:cycles]
        differences = [y - x for x, y in zip(a, b)]
        cells.append(f"{mean(b):.4f} {mean(differences):+.4f} {t_of_blocks(differences):+6.1f}")
    return "   ".join(cells)


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    (program, *sets), further = arguments[:split], arguments[split + 1 :]
    named = {"default": ("default", 1)}
    named |= {name: (formula, 2) for name, formula in (OBJECTIVES | {text: text for text in further}).items()}
    jobs = [(data, *formula) for data in sets for formula in named.values()]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(jobs, pool.map(lambda job: replay(program, *job), jobs)))
    for title, cycles in (("all cycles", None), (f"the first {YOUNG} cycles", YOUNG)):
        print(f"\n{title}: ChangeRate, difference, t; freshness, difference, t")
        for data in sets:
            before = found[(data, "default", 1)]
            print(f"\n{Path(data).name} ({len(before['freshness'])} cycles)")
            for name, formula in named.items():
                print(f"  {name:29} {rows(before, found[(data, *formula)], cycles)}")


main()
