#!/usr/bin/env python3
"""Compares the objectives with the formula `default`, and all policies with each other, over data sets.

    scripts/bench-objectives.py target/release/recrawl-lab DATA_SET… [-- FORMULA…]

Each formula is replayed with 5 % of the pages a cycle: `default` in one round, all others in two. For each set the mean
ChangeRate and freshness of a cycle, and their differences from `default` with Student's t over blocks of consecutive
cycles, an eighth of all each. Then the same of the first 14 cycles after the warm-up, when little is learned.

Then each objective beside `default` in as many rounds, with the p of both paired tests: over cycles and over sites. Last,
all policies in one round: ChangeRate and freshness, marked where they differ from the best one (which is marked *) by both
tests (p < .05), with the objectives beside the best policy in freshness and the bound in ChangeRate.
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
BOUNDS = ["oracle", "true_rate", "bayes_greedy"]


def replay(program, data, formula, rounds):
    found = simulated(program, data, "--policy", "oracle", "--rounds", str(rounds), "--formula", formula)
    policy = next(p for p in found.values() if p["kind"] == "formula")
    return {metric: policy["per_cycle"][metric] for metric in METRICS}


def simulated(program, data, *words):
    words = [program, "simulate", "--json", "--data", data, "--share", SHARE, "--ties", "index", *words]
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"{data}: {out.stderr}")
    return {policy["name"]: policy for policy in json.loads(out.stdout)["policies"]}


def paired(program, data):
    """Each objective beside `default`, two rounds each."""
    for name in OBJECTIVES:
        both = simulated(program, data, "--rounds", "2", "--policy", "oracle", "--formula", "default", "--formula", name)
        cells = []
        for metric in METRICS:
            before, now = both["default"], both[name]
            tested = next(p["against_best"][metric] for p in (before, now) if p["against_best"][metric]["best"] != p["name"])
            p = " ".join("  –  " if tested[test] is None else f"{tested[test]:.3f}" for test in ("p_cycles", "p_sites"))
            cells.append(f"{before[metric]:.4f} {now[metric]:.4f} {now[metric] - before[metric]:+.4f} p {p}")
        print(f"  {name:9} {'   '.join(cells)}")


def policies(program, data):
    """All policies in one round, then the objectives in two; the objectives beside the best policy and the bound."""
    one = simulated(program, data)
    two = simulated(program, data, "--rounds", "2", "--policy", "oracle", *(f"--formula={name}" for name in OBJECTIVES))
    print(f"\n{Path(data).name}")
    for name, policy in one.items():
        cells = []
        for metric in METRICS:
            tested = policy["against_best"][metric]
            known = tested["p_cycles"] is not None and tested["p_sites"] is not None
            differs = known and max(tested["p_cycles"], tested["p_sites"]) < 0.05
            mark = "" if name in BOUNDS else "*" if tested["best"] == name else "-" if differs else "="
            cells.append(f"{policy[metric]:.4f}{mark:1}")
        print(f"  {name:24} {' '.join(cells)}")
    for name in OBJECTIVES:
        print(f"  {name + ', two rounds':24} {'  '.join(f'{two[name][metric]:.4f}' for metric in METRICS)}")
    best = max((policy["freshness"], name) for name, policy in one.items() if name not in BOUNDS)
    return two["changes"]["change_rate"] / one["bayes_greedy"]["change_rate"], two["fresh"]["freshness"] - best[0], best[1]


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
    print("\nobjectives beside `default` in two rounds: ChangeRate, freshness; p over cycles and over sites")
    for data in sets:
        print(f"\n{Path(data).name}")
        paired(program, data)
    print("\nall policies: ChangeRate, freshness")
    beside = {Path(data).name: policies(program, data) for data in sets}
    print("\n`changes` beside the bound `bayes_greedy` in ChangeRate; `fresh` beside the best policy of one round in freshness")
    for name, (rate, fresh, best) in beside.items():
        print(f"  {name:11} {rate:.4f}   {fresh:+.4f} ({best})")
    rates, fresh = [rate for rate, *_ in beside.values()], [fresh for _, fresh, _ in beside.values()]
    print(f"  mean · minimum {mean(rates):.4f} · {min(rates):.4f}   {mean(fresh):+.4f} · {min(fresh):+.4f}")


main()
