#!/usr/bin/env python3
"""Freshness of crawls of recorded webs, by formula and by rounds a cycle.

    cargo build --workspace && python3 scripts/bench-crawl.py target/debug FOLDER RECORDING…

Each line: recording, formula, rounds, mean share of fresh copies, share of compared visits that found a change, and
requests that broke robots.txt or came too early, over the cycles after the warm-up. k is 5 % of the known pages. The
figures do not depend on the machine.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import urllib.request

HOSTS, WARM_UP, CYCLES = 4, 10, 80
CASES = [
    ("u_fresh_site", 1), ("u_fresh_sib", 1), ("u_fresh_sib", 2), ("u_fresh_sib", 5),
    ("p_eb_site", 1), ("p_burst", 1), ("p_burst", 2), ("p_burst", 5),
]
CONFIGURATION = """
[cycle]
pages = {pages}
rounds = {rounds}
fill = {fill}
warmup = 1
announced_share = 0.0
discovery_share = 0.02
discovery_min = 0
[schedule]
formula = "{formula}"
[politeness]
delay_per_host = "1 ms"
delay_per_ip = "0 s"
[scope]
hosts = ["*"]
[storage]
archive = false
[fetch]
allow_addresses = ["127.0.0.0/8"]
"""


def asked(port, path, data=None):
    """Asks the control interface of the mock web."""
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data)) as answer:
        return json.load(answer)


def measured(programs, folder, recording, formula, rounds):
    """Mean freshness and ChangeRate of one crawl, and its violations."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = [programs / "recrawl-mockweb", "replay", recording, "--hosts", HOSTS]
    web = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    try:
        info = json.loads(web.stdout.readline())
        port = info["control_port"]
        (folder / "seeds").write_text("\n".join(info["seeds"]))
        fresh, changed = [], []
        for cycle in range(CYCLES):
            of = dict(rounds=rounds, formula=formula, fill="true" if cycle == 0 else "false")
            of["pages"] = '"100%"' if cycle < 3 else '"5%"'
            (folder / "recrawl.toml").write_text(CONFIGURATION.format(**of))
            words = [programs / "recrawl", "crawl", "--json", "--cycles", "1", "--random-seed", "1"]
            words += ["--seeds", folder / "seeds", "--config", folder / "recrawl.toml", "--data-dir", folder / "data"]
            crawl = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
            if cycle >= WARM_UP:
                reports = [json.loads(line) for line in crawl.stdout.splitlines()]
                held = asked(port, "/held")["all"]
                found = [sum(report[name] for report in reports) for name in ("changed", "unchanged")]
                fresh.append(held["fresh"] / held["held"])
                changed.append(found[0] / max(1, sum(found)))
            asked(port, "/advance", b"")
        violations = asked(port, "/violations?delay_ms=1")
        broken = violations["forbidden"] + violations["before_robots"] + violations["host_gaps_under"]
        return statistics.mean(fresh), statistics.mean(changed), broken
    finally:
        web.kill()
        web.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    programs, folder = (pathlib.Path(word) for word in sys.argv[1:3])
    for recording in map(pathlib.Path, sys.argv[3:]):
        for formula, rounds in CASES:
            freshness, change_rate, broken = measured(programs, folder, recording, formula, rounds)
            print(f"{recording.name:12} {formula:14} {rounds} {freshness:.4f} {change_rate:.4f} {broken}", flush=True)


main()
