#!/usr/bin/env python3
"""Compares formulas over data sets, for the choice of the formulas that are shipped.

    scripts/bench-formulas.py target/release/recrawl DATA_SET…

Each formula is replayed on each data set with several shares of the pages a cycle. Measures, relative to the best
of the compared formulas on the same set and share:

    changes    ChangeRate / best ChangeRate
    freshness  freshness / best freshness
    balance    mean of both

The last table chooses on all sets but one and tells what the choice reaches on that one.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SHARES = ["0.02", "0.05", "0.1", "0.2"]
FORMULAS = {
    "t * (X + 0.1) / (n + 1)": "t * (X + 0.1) / (n + 1)",
    "learned on mixed for changes": "max(gad, p_eb) + (p_eb + cg) + exp(p_eb)",
    "learned on mixed for freshness": "u_fresh_site * 6.7 + p_aad * n",
    "moments": "mm * t",
    "gad": "gad * t",
    "p_eb": "p_eb",
    "p_eb_site": "p_eb_site",
    "u_fresh": "u_fresh",
    "u_fresh_site": "u_fresh_site",
    "u_harm": "u_harm",
    "u_harm_site": "u_harm_site",
    "u_age_site": "u_age_site",
    "p_eb_site * sqrt(sqrt(u_harm_site))": "p_eb_site * sqrt(sqrt(u_harm_site))",
    **{f"p_eb_site * pow(u_harm_site, {a})": f"p_eb_site * pow(u_harm_site, {a})" for a in (0.1, 0.5, 0.75, 1, 1.5, 2, 4)},
    **{f"p_eb_site * pow(u_fresh_site, {a})": f"p_eb_site * pow(u_fresh_site, {a})" for a in (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4)},
    **{f"p_eb_site * pow(u_age_site, {a})": f"p_eb_site * pow(u_age_site, {a})" for a in (0.05, 0.1, 0.25, 0.5)},
    **{f"u_harm_site * pow(u_fresh_site, {a})": f"u_harm_site * pow(u_fresh_site, {a})" for a in (0.5, 1, 2)},
}
MEASURES = ["changes", "freshness", "balance"]


def replay(program, data, share):
    words = [program, "simulate", "--json", "--data", data, "--share", share, "--policy", "true_rate"]
    for expression in FORMULAS.values():
        words += ["--formula", expression]
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"{data}: {out.stderr}")
    policies = {p["expression"] or p["name"]: p for p in json.loads(out.stdout)["policies"]}
    return {name: (policies[e]["change_rate"], policies[e]["freshness"]) for name, e in FORMULAS.items()}


def relative(values):
    best = [max(value[at] for value in values.values()) for at in (0, 1)]
    of = {name: [value[0] / best[0], value[1] / best[1]] for name, value in values.items()}
    return {name: [c, f, (c + f) / 2] for name, (c, f) in of.items()}


def mean(rows):
    rows = list(rows)
    return [sum(column) / len(rows) for column in zip(*rows)]


def main():
    program, *sets = sys.argv[1:]
    names = [Path(s).name for s in sets]
    jobs = [(s, share) for s in sets for share in SHARES]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: relative(replay(program, *job)), jobs))
    by_set = {}
    for (s, _), result in zip(jobs, results):
        by_set.setdefault(Path(s).name, []).append(result)
    of_set = {s: {f: mean(r[f] for r in rows) for f in FORMULAS} for s, rows in by_set.items()}
    overall = {f: mean(of_set[s][f] for s in names) for f in FORMULAS}
    width = max(map(len, FORMULAS)) + 2
    print(f"{len(sets)} sets, shares {' '.join(SHARES)}: mean over sets; then balance by set")
    print(f"{'':{width}}" + "".join(f"{m:>10}" for m in MEASURES + [n[:9] for n in names]))
    for f, values in sorted(overall.items(), key=lambda item: -item[1][2]):
        balances = [of_set[s][f][2] for s in names]
        print(f"{f:{width}}" + "".join(f"{v:10.4f}" for v in values + balances))
    for at, measure in enumerate(MEASURES):
        print(f"\n{measure}: chosen on the other sets, and what it reaches on the one left out")
        reached = []
        for left in names:
            choice = max(FORMULAS, key=lambda f: sum(of_set[s][f][at] for s in names if s != left))
            reached.append(of_set[left][choice][at])
            print(f"  {left:12} {choice:{width}} {reached[-1]:.4f}")
        print(f"  mean {sum(reached) / len(reached):.4f}")


main()
