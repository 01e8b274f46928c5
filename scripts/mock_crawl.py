"""Crawls a mock web cycle by cycle and asks it how fresh the copies are. For the benchmarks of this folder."""

import json
import shutil
import statistics
import subprocess
import urllib.request

# A web on this machine needs no rest between requests.
LOOPBACK = """
[politeness]
delay_per_host = "0 s"
delay_per_ip = "0 s"
[fetch]
allow_addresses = ["127.0.0.0/8"]
"""
CONFIGURATION = """
[cycle]
pages = {pages}
rounds = {rounds}
fill = {fill}
warmup = 1
announced_share = {announced}
discovery_share = 0.02
discovery_min = 0
[schedule]
formula = "{formula}"
[politeness]
delay_per_host = "{delay}"
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


def crawled(programs, folder, web, cycles, warm_up, seed, share, formula, rounds=1, announced=0.0, delay="0 s"):
    """Mean freshness and ChangeRate of the cycles after the warm-up, and the violations that the web counts.

    `web` are the arguments of the mock web. The first three cycles visit all pages, later ones `share`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = [programs / "recrawl-mockweb", *web]
    web = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    try:
        info = json.loads(web.stdout.readline())
        port = info["control_port"]
        (folder / "seeds").write_text("\n".join(info["seeds"]))
        fresh, changed = [], []
        for cycle in range(cycles):
            pages, fill = ("100%" if cycle < 3 else share), ("true" if cycle == 0 else "false")
            of = dict(pages=f'"{pages}"', fill=fill, rounds=rounds, announced=announced, formula=formula, delay=delay)
            (folder / "recrawl.toml").write_text(CONFIGURATION.format(**of))
            words = [programs / "recrawl", "crawl", "--json", "--cycles", "1", "--random-seed", seed]
            words += ["--seeds", folder / "seeds", "--config", folder / "recrawl.toml", "--data-dir", folder / "data"]
            crawl = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
            if cycle >= warm_up:
                reports = [json.loads(line) for line in crawl.stdout.splitlines()]
                held = asked(port, "/held")["all"]
                found = [sum(report[name] for report in reports) for name in ("changed", "unchanged")]
                fresh.append(held["fresh"] / held["held"])
                changed.append(found[0] / max(1, sum(found)))
            asked(port, "/advance", b"")
        counted = asked(port, "/violations?delay_ms=1")
        broken = counted["forbidden"] + counted["before_robots"] + (0 if delay == "0 s" else counted["host_gaps_under"])
        return statistics.mean(fresh), statistics.mean(changed), broken
    finally:
        web.kill()
        web.wait()
        shutil.rmtree(folder, ignore_errors=True)
