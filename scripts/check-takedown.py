#!/usr/bin/env python3
"""Takes a host down, with kill -9 at every call that changes a file, and looks what is left of it.

    scripts/check-takedown.py target/release FOLDER

Each run begins with the same data directory: pages, visits, an archive with requisites, and notifications that wait for a
dead receiver.
`strace` kills `recrawl takedown` at its first call of a kind in one thread, its second, and so on, kind by kind. After each kill the same command must end
the work: then no visit, no archived record and no waiting message of the host may be left, and the data must be sound. If the
kill came after the decision was stored, nothing may show the host's pages even before.
"""

import gzip
import json
import pathlib
import shutil
import subprocess
import sys
import time

from mock_crawl import LOOPBACK, asked

WEB = ["procedural", "--pages", "60", "--hosts", "3", "--seed", "7", "--requisites", "--port", "18481"]
CALLS = ["write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir"]
# These must be hit.
NEEDED = {"write", "fsync", "rename", "unlink"}
CONFIGURATION = f"""
[cycle]
pages = "100%"
{LOOPBACK}
[storage]
reserve = "0 B"
keep_hosts = true
[[pages]]
match = "*"
requisites = true
[[notify]]
name = "dead"
pages = ["*"]
changes = ["new", "changed"]
webhook = "http://127.0.0.1:18482/"
allow_addresses = ["127.0.0.0/8"]
"""


class Crawl:
    """A data directory and the programs."""

    def __init__(self, programs, folder):
        self.program, self.folder, self.data = programs / "recrawl", folder, folder / "data"

    def run(self, *words, before=()):
        at = ["--config", self.folder / "recrawl.toml", "--data-dir", self.data]
        words = [str(word) for word in (*before, self.program, *words, *at)]
        return subprocess.run(words, capture_output=True, text=True, timeout=120)

    def must(self, *words):
        begun = time.monotonic()
        done = self.run(*words)
        # A process that was killed gives its locks back when its last thread has ended.
        while "in use by" in done.stderr and time.monotonic() - begun < 60:
            time.sleep(0.05)
            done = self.run(*words)
        if done.returncode:
            sys.exit(f"recrawl {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def archived(self):
        """The URLs of the archive's records."""
        for file in (self.data / "warc").iterdir():
            if file.name.endswith(".part"):
                sys.exit(f"{file.name} is left")
            for line in gzip.decompress(file.read_bytes()).split(b"\r\n"):
                if line.startswith(b"WARC-Target-URI: "):
                    yield line.decode()

    def left(self, host):
        """What still names the host."""
        places = {what: self.must("export", what, "--out", "-") for what in ("visits", "contents", "hosts")}
        # Of a known page, the address stays.
        visited = [line for line in self.must("export", "pages", "--out", "-").splitlines() if json.loads(line)["n"]]
        places["pages"] = "\n".join(visited)
        places["archive"] = "\n".join(self.archived())
        places["messages"] = (self.data / "notify.json").read_text()
        return [place for place, text in places.items() if host in text]


def crawled(programs, folder):
    """A crawl of two cycles, its notifications waiting."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "recrawl.toml").write_text(CONFIGURATION)
    crawl = Crawl(programs, folder)
    web = subprocess.Popen([programs / "recrawl-mockweb", *WEB], stdout=subprocess.PIPE, text=True)
    try:
        info = json.loads(web.stdout.readline())
        (folder / "seeds").write_text("\n".join(info["seeds"]))
        for _ in range(2):
            crawl.must("crawl", "--cycles", "1", "--seeds", str(folder / "seeds"))
            asked(info["control_port"], "/advance", b"")
        crawl.run("notify", "send")
        return crawl, info["seeds"][0].split("/")[2]
    finally:
        web.kill()
        web.wait()


def main():
    programs, folder = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    crawl, host = crawled(programs, folder)
    page = next(line for line in crawl.must("export", "contents", "--out", "-").splitlines() if host in line)
    page, name = json.loads(page)["url"], host.split(":")[0]
    before = crawl.left(host)
    if len(before) != 6:
        sys.exit(f"the host is only in {before}")
    whole = folder / "whole"
    crawl.data.rename(whole)
    killed = dict.fromkeys(CALLS, 0)
    decided = 0
    kinds = iter(CALLS)
    call = next(kinds)
    while call:
        shutil.rmtree(crawl.data, ignore_errors=True)
        shutil.copytree(whole, crawl.data)
        at = f"{call} {killed[call] + 1}"
        kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
        kill += ["-e", f"inject={call}:signal=KILL:when={killed[call] + 1}"]
        done = crawl.run("takedown", "--host", name, before=kill)
        if done.returncode == 0:
            if left := crawl.left(host):
                sys.exit(f"without a kill, {left} name the host")
            call = next(kinds, None)
            continue
        if done.returncode not in (-9, 137):
            sys.exit(f"at {at} it ended with {done.returncode}: {done.stderr}")
        killed[call] += 1
        if name in (crawl.data / "decisions.json").read_text():
            decided += 1
            for words in (["show", page], ["export", "contents", "--text", "--out", "-"]):
                if f'"url":"{page}"' in (shown := crawl.run(*words)).stdout or words[0] == "show" and not shown.returncode:
                    sys.exit(f"after a kill at {at}, {words} still show {page}")
        crawl.must("takedown", "--host", name)
        if left := crawl.left(host):
            sys.exit(f"after a kill at {at} and another run, {left} name the host")
        if sound := crawl.run("repository", "verify").returncode:
            sys.exit(f"after a kill at {at}, the data are not sound: {sound}")
    if missed := {call for call in NEEDED if not killed[call]}:
        sys.exit(f"no kill at {missed}")
    shutil.rmtree(folder)
    kinds = ", ".join(f"{kills} at {call}" for call, kills in killed.items() if kills)
    print(f"{sum(killed.values())} kills ({kinds}), {decided} of them after the decision: nothing is left of the host after each")


main()
