#!/usr/bin/env python3
"""Compares policies that read other pages or learn from their visits with all others, over data sets.

    scripts/bench-siblings.py target/release/recrawl DATA_SET…

Each policy is replayed on each data set at 5 %, with three seeds. Those that read siblings are also replayed with
two and five rounds a cycle, and clusters of pages where the data set has contents. Printed are ChangeRate, freshness,
age, the 95th percentile of the delay and the longest neglect in cycles, means over the seeds. Then each of
them is tested against the best of the others in each of the first three, in as many rounds, with the first seed:
+ better, - worse, = no difference by the paired tests (over cycles and over groups, both p < .05). More rounds change
the others by .003 at most.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SEEDS = ["0", "1", "2"]
NEW = ["p_sib", "p_burst", "u_fresh_sib", "u_harm_sib", "p_next", "u_fresh_next", "u_harm_next"]
CLUSTERS = ["cls_nad", "cls_sad", "cls_aad", "cls_gad", "cls_threshold", "lb"]
BOUNDS = ["bayes_greedy", "true_rate", "oracle"]
MEASURES = {"change_rate": 1, "freshness": 1, "age": -1}
PRINTED = [*MEASURES, "delay_p95", "longest_neglect"]


def replay(program, data, rounds, seed, policies):
    words = [program, "simulate", "--json", "--data", data, "--rounds", rounds, "--random-seed", seed]
    for policy in policies:
        words += ["--policy", policy]
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"{data}: {out.stderr}")
    return {p["name"]: p for p in json.loads(out.stdout)["policies"]}


def means(runs):
    return {name: [sum(run[name][m] for run in runs) / len(runs) for m in PRINTED] for name in runs[0]}


def verdict(program, data, rounds, measure, new, rival):
    both = replay(program, data, rounds, "0", [new, rival])
    better = (both[new][measure] - both[rival][measure]) * MEASURES[measure] > 0
    tested = both[rival if better else new]["against_best"][measure]
    if tested["p_cycles"] is None or max(tested["p_cycles"], tested["p_sites"]) >= 0.05:
        return "="
    return "+" if better else "-"


def report(program, data):
    with ThreadPoolExecutor(2) as pool:
        def seeds(rounds, policies):
            return means(list(pool.map(lambda seed: replay(program, data, rounds, seed, policies), SEEDS)))

        figures = {("1", name): v for name, v in seeds("1", []).items()}
        old = [name for _, name in figures if name not in NEW + BOUNDS]
        clusters = CLUSTERS if (Path(data) / "content.jsonl.zst").exists() else []
        if clusters:
            figures |= {("1", name): v for name, v in seeds("1", clusters).items()}
        for rounds in ["2", "5"]:
            figures |= {(rounds, name): v for name, v in seeds(rounds, NEW).items()}
        best = {m: max(old, key=lambda name: figures["1", name][i] * MEASURES[m]) for i, m in enumerate(MEASURES)}
        keys = [(rounds, name) for rounds in ["1", "2", "5"] for name in NEW]
        keys += [("1", name) for name in clusters]
        tests = {(key, m): pool.submit(verdict, program, data, key[0], m, key[1], best[m]) for key in keys for m in MEASURES}
        lines = [f"{Path(data).name}: best of the others: " + ", ".join(f"{m} {best[m]}" for m in MEASURES)]
        for key, (rate, fresh, age, delay, neglect) in figures.items():
            signs = "".join(tests[key, m].result() for m in MEASURES) if key in keys else ""
            rounds, name = key
            lines.append(f"  {name:<24} {rounds} {rate:.4f} {fresh:.4f} {age:8.3f} {delay:5.0f} {neglect:5.0f}  {signs}")
    return "\n".join(lines)


if __name__ == "__main__":
    for data in sys.argv[2:]:
        print(report(sys.argv[1], data), flush=True)
