#!/usr/bin/env python3
"""Measures a vault and a fleet on a web of this machine: bench-fleet.py PROGRAMS FOLDER [PART…]

PROGRAMS has recrawl and recrawl-mockweb. Parts: vault (a crawl of RECRAWL_BENCH_PAGES with a vault beside one without,
restore), burn (what a burnt disk loses), fleet (three processes beside one), takeover, requests (what a store is asked for,
and its price; RECRAWL_WEED names SeaweedFS, which must run alone on the machine: its sockets have fixed names). Only ratios of
one run are figures."""

import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from mock_crawl import LOOPBACK, asked

PROGRAMS, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
RECRAWL = PROGRAMS / "recrawl"
# Requests of S3 Standard, in dollars.
WRITE, READ = 5e-6, 0.4e-6
# A lease of 12 s bears no longer one.
QUICK = LOOPBACK + 'timeout = "4 s"\n'
SERVE = '[serve]\nlisten = "127.0.0.1:0"\n'


def program(*words, **options):
    """Starts recrawl, with its log in a pipe or file."""
    return subprocess.Popen([str(word) for word in (RECRAWL, *words)], text=True, **options)


def done(*words):
    """Runs recrawl to its end, in the folder; its output."""
    ended = subprocess.run([str(word) for word in (RECRAWL, *words)], cwd=FOLDER, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(f"{ended.args}: {ended.stderr}")
    return ended.stdout


def spent(child):
    """Waits for a program; its processor seconds, and the most memory that it had, in MiB."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{child.args}: exit status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Web:
    """A mock web, with its seeds in a file."""

    def __init__(self, pages, hosts=12, page_bytes=10000):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        words = ["procedural", "--pages", pages, "--hosts", hosts, "--page-bytes", page_bytes]
        words = [str(word) for word in (PROGRAMS / "recrawl-mockweb", *words)]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        info = json.loads(self.child.stdout.readline())
        self.control, self.seeds = info["control_port"], FOLDER / "seeds"
        self.seeds.write_text("\n".join(info["seeds"]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()

    def requests(self):
        """Requests so far, those for robots.txt included."""
        return sum(host["requests"] for host in asked(self.control, "/violations?delay_ms=1")["hosts"])


def configured(name, text):
    """A configuration of that name: `text` goes over what loopback needs."""
    path = FOLDER / f"{name}.toml"
    path.write_text(text)
    return path


def vault_and_none():
    """A crawl with a vault beside one without, in turns; then a restore."""
    cycle = '[cycle]\npages = "100%"\nfill = false\n'
    with Web(int(os.environ.get("RECRAWL_BENCH_PAGES", 3000)), hosts=64) as web:
        bucket = FOLDER / "bucket"
        vault = f'[storage]\nvault = "file://{bucket}"\n'
        kinds = {"none": configured("none", cycle + LOOPBACK), "vault": configured("vault", cycle + LOOPBACK + vault)}
        seconds, memory, pages = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}, {}
        for turn in range(4):
            for kind, config in kinds.items():
                for folder in (FOLDER / "data", bucket):
                    shutil.rmtree(folder, ignore_errors=True)
                bucket.mkdir()
                words = ["crawl", "--json", "--cycles", 5, "--random-seed", 1, "--seeds", web.seeds]
                before, begun = web.requests(), time.monotonic()
                child = program(*words, "--config", config, "--data-dir", FOLDER / "data", stdout=subprocess.DEVNULL)
                processor, most = spent(child)
                pages[kind] = web.requests() - before
                seconds[kind].append(processor / pages[kind] * 1000)
                memory[kind].append(most)
                print(
                    f"{kind:6} turn {turn}: {pages[kind]} requests, {processor:.2f} s of processor, {most:.0f} MiB at most, "
                    f"{time.monotonic() - begun:.1f} s",
                    flush=True,
                )
        middle = {kind: statistics.median(seconds[kind]) for kind in kinds}
        print(f"vault / none: processor a request {middle['vault'] / middle['none']:.3f}, ", end="")
        print(f"memory {statistics.median(memory['vault']) / statistics.median(memory['none']):.3f}")
        size = sum(file.stat().st_size for file in bucket.rglob("*") if file.is_file())
        for _ in range(3):
            shutil.rmtree(FOLDER / "data")
            begun = time.monotonic()
            done("restore", "--vault", f"file://{bucket}", "--data-dir", FOLDER / "data")
            print(f"restore: {size / 1e6:.1f} MB in {time.monotonic() - begun:.2f} s", flush=True)


def burnt_disks():
    """The time of the last visit that a vault has, beside that of the kill."""
    with Web(2000) as web:
        bucket, data = FOLDER / "bucket", FOLDER / "data"
        for ship in (1, 5):
            lost = []
            for _ in range(5):
                for folder in (data, bucket):
                    shutil.rmtree(folder, ignore_errors=True)
                bucket.mkdir()
                slow = LOOPBACK.replace('delay_per_host = "0 s"', 'delay_per_host = "200 ms"')
                text = f'[storage]\nvault = "file://{bucket}"\n[vault]\nship = "{ship} s"\n'
                words = ["crawl", "--cycles", 2, "--seeds", web.seeds, "--config", configured("burn", slow + text)]
                child = program(*words, "--data-dir", data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(3 + ship + random.uniform(0, 2 * ship))
                child.kill()
                killed = time.time()
                child.wait()
                shutil.rmtree(data)
                done("restore", "--vault", f"file://{bucket}", "--data-dir", data)
                shutil.rmtree(FOLDER / "whole", ignore_errors=True)
                lost.append(killed - last_visit(data))
            print(f"ship = {ship} s: lost {', '.join(f'{seconds:.1f}' for seconds in lost)} s before the kill", flush=True)


def last_visit(data):
    """When the last object of the log of the vault was made, by the file that a restore wrote: the visits of a round in
    progress are no rows of an export yet."""
    return max(warc_date(file) for file in (data / "warc").glob("*.warc.gz"))


def warc_date(file):
    """The time of the newest record of a WARC file that may be cut."""
    words = subprocess.run(["gzip", "-dcq", file], capture_output=True, check=False).stdout
    dates = re.findall(rb"WARC-Date: (\d+-\d+-\d+T\d+:\d+:\d+(?:\.\d+)?)Z", words)
    newest = max(dates, default=b"1970-01-01T00:00:00").decode()
    from datetime import datetime, timezone

    return datetime.fromisoformat(newest[:26]).replace(tzinfo=timezone.utc).timestamp()


def fleet_begun(address, lease, cuts=("127.1.0.5", "127.1.0.9")):
    """Begins a fleet."""
    words = [word for cut in cuts for word in ("--cut", cut)]
    done("fleet", "begin", address, "--lease", lease, *words, "--config", FOLDER / "fleet.toml")


def node(web, address, name):
    """Starts a process of a fleet; its log is a file."""
    words = ["serve", "--fleet", address, "--name", name, "--config", FOLDER / "fleet.toml", "--seeds", web.seeds]
    log = open(FOLDER / f"{name}.log", "a")
    return program(*words, "--data-dir", FOLDER / name, stderr=log)


def said(name, text, since=0):
    """Waits until a process says this; how often it did."""
    for _ in range(6000):
        told = (FOLDER / f"{name}.log").read_text().count(text)
        if told > since:
            return told
        time.sleep(0.02)
    raise SystemExit(f"{name} does not say {text!r}")


def three_and_one():
    """Processor of a request: three processes of a fleet beside one of its own, in turns."""
    ratios = []
    for turn in range(3):
        costs = {}
        for kind in ("one", "three"):
            with Web(3000) as web:
                text = SERVE + '[cycle]\nperiod = "1 s"\npages = "100%"\nfill = false\nrounds = 1\n' + QUICK
                configured("fleet", text)
                bucket = FOLDER / "bucket"
                bucket.mkdir()
                if kind == "one":
                    alone = configured("one", text + f'[storage]\nvault = "file://{bucket}"\n')
                    words = ["serve", "--config", alone, "--seeds", web.seeds, "--data-dir", FOLDER / "data"]
                    nodes = [program(*words, stderr=subprocess.DEVNULL)]
                else:
                    address = f"file://{bucket}"
                    fleet_begun(address, "12 s")
                    nodes = [node(web, address, name) for name in "abc"]
                while web.requests() < 9000:
                    time.sleep(0.2)
                for child in nodes:
                    child.send_signal(signal.SIGTERM)
                used = [spent(child) for child in nodes]
                requests = web.requests()
                costs[kind] = sum(seconds for seconds, _ in used) / requests * 1000
                most = ", ".join(f"{memory:.0f}" for _, memory in used)
                print(f"{kind:5} turn {turn}: {requests} requests, {costs[kind]:.3f} ms of processor each, {most} MiB", flush=True)
        ratios.append(costs["three"] / costs["one"])
    print(f"three / one: processor a request {statistics.median(ratios):.3f}")


def owned(address):
    """The partitions of a fleet, once each is owned."""
    while True:
        partitions = json.loads(done("fleet", "status", address, "--json"))["partitions"]
        if all(one["state"] == "owned" for one in partitions):
            return partitions
        time.sleep(0.2)


def takeovers():
    """Seconds from the kill of an owner to the line by which another owns its partition."""
    with Web(600) as web:
        configured("fleet", SERVE + '[cycle]\nperiod = "1 s"\npages = "100%"\n' + QUICK)
        bucket = FOLDER / "bucket"
        bucket.mkdir()
        address, lease = f"file://{bucket}", 12
        fleet_begun(address, f"{lease} s", ("127.1.0.7",))
        nodes = {name: node(web, address, name) for name in "abc"}
        took, owns = [], "owns partition"
        for kill in range(5):
            partitions = owned(address)
            owner = partitions[kill % 2]["owner"]
            spare = next(name for name in nodes if all(one["owner"] != name for one in partitions))
            count = (FOLDER / f"{spare}.log").read_text().count(owns)
            nodes[owner].kill()
            nodes[owner].wait()
            begun = time.monotonic()
            said(spare, owns, count)
            took.append(time.monotonic() - begun)
            shutil.rmtree(FOLDER / owner)
            nodes[owner] = node(web, address, owner)
            time.sleep(8)
        for child in nodes.values():
            child.send_signal(signal.SIGTERM)
        print(f"lease {lease} s: taken over after {', '.join(f'{seconds:.1f}' for seconds in took)} s (aim: at most {lease + 5})")


def metrics():
    """Requests to SeaweedFS so far, by kind."""
    with urllib.request.urlopen("http://127.0.0.1:9327/metrics") as answer:
        lines = re.findall(r's3_request_total\{.*type="(\w+)"\} (\d+)', answer.read().decode())
    counts = {}
    for kind, count in lines:
        counts[kind] = counts.get(kind, 0) + int(count)
    return counts


def store_requests():
    """Requests of three processes at the usual lease and ship: at rest, with short cycles, and within a long round."""
    with Web(6000) as web:
        (FOLDER / "weed").mkdir()
        words = [os.environ["RECRAWL_WEED"], "server", f"-dir={FOLDER / 'weed'}", "-ip=127.0.0.1", "-metricsPort=9327"]
        words += ["-s3", "-s3.port=8333", "-master.volumeSizeLimitMB=64", "-volume.max=20"]
        weed = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.environ.update(AWS_ENDPOINT_URL="http://127.0.0.1:8333", AWS_REGION="us-east-1")
        os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret")
        try:
            put = lambda path: urllib.request.Request(f"http://127.0.0.1:8333/{path}", method="PUT", data=b"x")
            for path in ("bucket", "bucket/ready"):
                for _ in range(600):
                    try:
                        urllib.request.urlopen(put(path), timeout=5)
                        break
                    except OSError as error:
                        if getattr(error, "code", 0) == 409:
                            break
                        time.sleep(0.2)
            slow = LOOPBACK.replace('delay_per_host = "0 s"', 'delay_per_host = "1 s"')
            for what, period, pages in (("rest", "1 h", "1%"), ("cycles", "30 s", "1%"), ("round", "1 s", "100%")):
                configured("fleet", SERVE + f'[cycle]\nperiod = "{period}"\npages = "{pages}"\nfill = false\n' + slow)
                address = f"s3://bucket/fleet-{what}"
                for name in "abc":
                    shutil.rmtree(FOLDER / name, ignore_errors=True)
                fleet_begun(address, "90 s")
                nodes = [node(web, address, name) for name in "abc"]
                # Until a round of all pages is under way, if there is one.
                time.sleep(60)
                cycles = lambda: [one["cycle"] for one in json.loads(done("fleet", "status", address, "--json"))["partitions"]]
                first, before, begun = cycles(), metrics(), time.monotonic()
                time.sleep(150)
                after, took = metrics(), time.monotonic() - begun
                last = cycles()
                day = {kind: (after[kind] - before.get(kind, 0)) * 86400 / took for kind in after}
                writes = day.get("PUT", 0) + day.get("LIST", 0)
                price = writes * WRITE + day.get("GET", 0) * READ
                shown = ", ".join(f"{kind} {count:,.0f}" for kind, count in sorted(day.items()))
                print(f"{what}: cycles {first} to {last} in {took:.0f} s; a day: {shown}; $ {price:.2f}", flush=True)
                for child in nodes:
                    child.send_signal(signal.SIGTERM)
                    child.wait()
        finally:
            weed.kill()
            weed.wait()


PARTS = {
    "vault": vault_and_none,
    "burn": burnt_disks,
    "fleet": three_and_one,
    "takeover": takeovers,
    "requests": store_requests,
}
for part in sys.argv[3:] or PARTS:
    print(f"== {part}", flush=True)
    PARTS[part]()
shutil.rmtree(FOLDER)
