#!/usr/bin/env python3
"""Lets a daemon improve its formula on a mock web, and tells the events of the loop and the freshness by cycle.

    scripts/bench-loop.py FOLDER_OF_PROGRAMS FOLDER CYCLES FORMULA procedural --pages 4000 --hosts 100 --seed 1
    scripts/bench-loop.py FOLDER_OF_PROGRAMS FOLDER CYCLES FORMULA replay DATA_SET --hosts 100

A cycle of the daemon is a cycle of the web's clock. Freshness is the web's truth: the share of held pages whose copy is
that of now. It is asked for at the end of a cycle, before the clock moves on.
"""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PERIOD = 3
CONFIGURATION = """
[cycle]
period = "{period} s"
pages = "10%"
audit_share = 0.2
[schedule]
formula = "{formula}"
[improve]
mode = "promote"
objective = "balanced"
learn_cpu = "3 s"
[politeness]
delay_per_host = "0 s"
delay_per_ip = "0 s"
[scope]
hosts = ["*"]
[storage]
archive = false
[serve]
listen = "127.0.0.1:0"
[fetch]
allow_addresses = ["127.0.0.0/8"]
"""


def asked(address, path, data=None):
    with urllib.request.urlopen(urllib.request.Request(f"http://{address}{path}", data=data)) as answer:
        return json.load(answer)


def started(programs, folder, formula, web):
    folder.mkdir(parents=True)
    web = subprocess.Popen([programs / "recrawl-mockweb", *web], stdout=subprocess.PIPE, text=True)
    info = json.loads(web.stdout.readline())
    (folder / "seeds").write_text("\n".join(info["seeds"]))
    (folder / "recrawl.toml").write_text(CONFIGURATION.format(period=PERIOD, formula=formula))
    words = ["serve", "--config", folder / "recrawl.toml", "--seeds", folder / "seeds", "--data-dir", folder / "data"]
    log = (folder / "log").open("w")
    daemon = subprocess.Popen([programs / "recrawl", *words], stdout=log, stderr=log)
    while "the console is at http://" not in (folder / "log").read_text():
        if daemon.poll() is not None:
            sys.exit((folder / "log").read_text())
        time.sleep(0.05)
    console = (folder / "log").read_text().split("the console is at http://")[1].split("/")[0].split()[0]
    return web, daemon, console, f"127.0.0.1:{info['control_port']}"


def freshness_by_cycle(console, control, cycles):
    """At the end of each cycle, asks the web how fresh the copies are, and moves its clock on."""
    fresh, last = [], None
    while len(fresh) < cycles:
        status = asked(console, "/api/v1/status")
        ended = (status["last"] or {}).get("cycle")
        if ended != last:
            last = ended
            held = asked(control, "/held")["all"]
            fresh.append(held["fresh"] / max(1, held["held"]))
            asked(control, "/advance", b"")
        time.sleep(0.05)
    return fresh


def main():
    programs, folder, cycles, formula, *web = sys.argv[1:]
    programs, folder = Path(programs), Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    web, daemon, console, control = started(programs, folder, formula, web)
    try:
        fresh = freshness_by_cycle(console, control, int(cycles))
        print("in force at the end:", asked(console, "/api/v1/status")["formula"]["expression"], flush=True)
    finally:
        for child in (daemon, web):
            child.terminate()
            child.wait()
    subprocess.run([programs / "recrawl", "improve", "history", "--data-dir", folder / "data"], check=True)
    print("freshness by cycle:", " ".join(f"{share:.3f}" for share in fresh))


main()
