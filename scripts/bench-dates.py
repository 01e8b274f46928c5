#!/usr/bin/env python3
"""Freshness of a crawl on the mock web, by the dates in its sitemaps and by what uses them.

    cargo build --workspace && python3 scripts/bench-dates.py target/debug FOLDER

Each line: seed, dates, policy, mean share of fresh copies, and share of compared visits that found a change, over
the cycles after the warm-up. The figures do not depend on the machine.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import urllib.request

PAGES, HOSTS, WARM_UP, CYCLES, SEEDS = 1500, 15, 12, 30, (1, 2, 3)
DATES = ("true", "late", "none", "never", "today")
# Formula, and announced_share.
POLICIES = {
    "u_fresh_site": ("u_fresh_site", 0.0),
    "announced": ("u_fresh_site", 0.1),
    "u_fresh_signal": ("u_fresh_signal", 0.0),
    "both": ("u_fresh_signal", 0.1),
}
CONFIGURATION = """
[cycle]
pages = {pages}
fill = {fill}
warmup = 1
announced_share = {announced}
discovery_share = 0.02
discovery_min = 0
[schedule]
formula = "{formula}"
[politeness]
delay_per_host = "0 s"
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


def measured(programs, folder, dates, policy, seed):
    """Mean freshness and ChangeRate of one crawl."""
    formula, announced = POLICIES[policy]
    words = [programs / "recrawl-mockweb", "procedural", "--pages", PAGES, "--hosts", HOSTS, "--seed", seed]
    words += ["--page-bytes", 2000, "--mix", "static=40,poisson=60"]
    words += [] if dates == "none" else ["--sitemaps", "--lastmod", dates]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    web = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    try:
        info = json.loads(web.stdout.readline())
        port = info["control_port"]
        (folder / "seeds").write_text("\n".join(info["seeds"]))
        fresh, changed = [], []
        for cycle in range(CYCLES):
            pages, fill = ('"100%"' if cycle < 3 else '"6%"'), ("true" if cycle == 0 else "false")
            config = CONFIGURATION.format(pages=pages, fill=fill, announced=announced, formula=formula)
            (folder / "recrawl.toml").write_text(config)
            words = [programs / "recrawl", "crawl", "--json", "--cycles", "1", "--random-seed", seed]
            words += ["--seeds", folder / "seeds", "--config", folder / "recrawl.toml", "--data-dir", folder / "data"]
            crawl = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
            if cycle >= WARM_UP:
                rounds = [json.loads(line) for line in crawl.stdout.splitlines()]
                held = asked(port, "/held")["all"]
                found = [sum(report[name] for report in rounds) for name in ("changed", "unchanged")]
                fresh.append(held["fresh"] / held["held"])
                changed.append(found[0] / max(1, sum(found)))
            asked(port, "/advance", b"")
        return statistics.mean(fresh), statistics.mean(changed)
    finally:
        web.kill()
        web.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    programs, folder = (pathlib.Path(word) for word in sys.argv[1:3])
    for seed in SEEDS:
        for dates in DATES:
            for policy in POLICIES:
                freshness, change_rate = measured(programs, folder, dates, policy, seed)
                print(f"{seed} {dates:5} {policy:14} {freshness:.4f} {change_rate:.3f}", flush=True)


main()
