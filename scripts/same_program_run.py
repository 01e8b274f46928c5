"""One crawl of scripts/same-program.py: runs a program on a mock web for 24 cycles, and cuts all that it leaves into items.

An item is a key (artefact and place, separated by tabs) and a JSON text.
"""

import collections
import contextlib
import glob
import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib

from mock_crawl import asked
from same_program_rows import BASE, CONSOLE, CONTROL, HOST, PORT, TOKEN

CYCLES = 24
# Days of January 2026.
CLOCK = "2026-01-{:02} 06:00:00"
# Kinds of visit logs and request logs.
LOGS = (b"\x0a", b"\x10")
FORMATS = ["jsonl", "csv", "parquet"]
PREFIX = HOST.format(1)


class Number(str):
    """A number as it is written."""


def leaves(value, path):
    """The leaves of a JSON value. The names of an object are one as well, in their order."""
    if isinstance(value, dict):
        yield f"{path}.{{}}", json.dumps(",".join(value))
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}")
    elif isinstance(value, list):
        yield f"{path}.[]", str(len(value))
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{path}.{place}")
    else:
        yield path, value if isinstance(value, Number) else json.dumps(value)


def parsed(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def short(text):
    """A text that is long is told by its digest as well."""
    return json.dumps(text if len(text) < 400 else f"{text[:200]}… {hashlib.sha256(text.encode()).hexdigest()}")


def digest(data):
    return json.dumps(f"{len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


def frames(data):
    """The header and the frames of a file of the repository. Those of logs are in the order in which workers ended."""
    yield "header", json.dumps(data[:24].hex())
    at, counts = 24, {}
    is_log = data[12:13] in LOGS
    while at + 16 <= len(data):
        end = at + 16 + struct.unpack_from("<I", data, at)[0]
        frame, at = digest(data[at:end]), end
        counts[frame] = counts.get(frame, 0) + 1
        if not is_log:
            yield f"frame {sum(counts.values())}", frame
    for frame, count in counts.items() if is_log else ():
        yield f"some frame\t{frame}", str(count)
    yield "frames", str(sum(counts.values()))
    yield "end", digest(data[at:])


def members(data):
    """The records of a WARC file, one gzip member each, named by type and page, since workers write them in any order."""
    counts = collections.Counter()
    while data:
        unpack = zlib.decompressobj(31)
        head, _, body = unpack.decompress(data).partition(b"\r\n\r\n")
        fields = [line.partition(": ")[::2] for line in head.decode().split("\r\n")]
        name = " ".join(dict(fields).get(field, "") for field in ("WARC-Type", "WARC-Target-URI"))
        counts[name] += 1
        place = f"{name} {counts[name]}"
        yield f"{place}\tfields", json.dumps(",".join(name for name, _ in fields))
        yield from ((f"{place}\t{name}", short(value)) for name, value in fields)
        yield f"{place}\tbody", digest(body)
        data = unpack.unused_data


def tables(data):
    """The values of sled: frames of kind 12 with a good checksum. Those of older flushes may be there or not."""
    for found in re.finditer(rb"[\0\1]\x0c\0\0", data):
        at = found.start() - 8
        size, = struct.unpack_from("<I", data, max(at, 0))
        end = at + 16 + size
        checksum = data[at + 12:at + 16]
        if at >= 0 and end <= len(data) and zlib.crc32(data[at + 16:end], zlib.crc32(data[at:at + 12])) == int.from_bytes(checksum, "little"):
            yield hashlib.sha256(data[at:end]).hexdigest()[:16], str(size)


def rows(values):
    """The leaves of rows, each named by its page or host and counted."""
    counts = collections.Counter()
    for number, (name, value) in enumerate(values, 1):
        counts[name] += 1
        yield f"row {number}", short(f"{name} {counts[name]}")
        yield from leaves(value, f"{name} {counts[name]}\t")


def row(line):
    """A line that is JSON, or has it behind some words: its name and value. Else nothing."""
    words, bracket, rest = line.partition("{")
    try:
        value = parsed(bracket + rest) if bracket and line.endswith("}") else None
    except ValueError:
        return None
    return value and (words or value.get("url") or value.get("host") or "row", value)


def lines(text):
    """Lines, where one is JSON its leaves."""
    cut = [row(line) for line in text.split("\n")]
    yield from rows(found for found in cut if found)
    for number, (line, found) in enumerate(zip(text.split("\n"), cut), 1):
        if not found:
            # A metric is named, and its line is not its number.
            name, _, figure = line.rpartition(" ") if text.startswith("# HELP") and line[:1] != "#" else (f"line {number}", "", line)
            yield name, short(figure)


def cut(data):
    """The items of a file or an output."""
    if data.startswith(b"recrawl\0"):
        return frames(data)
    if data.startswith(b"\x1f\x8b"):
        return members(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return [("", digest(data))]
    try:
        if text.startswith(("{", "[")):
            return leaves(parsed(text), "")
    except ValueError:
        pass
    return lines(text)


def helps(program):
    """The help of the program and all its commands, and its manual pages and completions."""
    items, waiting = {}, [[]]
    while waiting:
        words = waiting.pop()
        done = subprocess.run([program, *words, "--help"], capture_output=True, text=True)
        items |= {f"{' '.join(words)} --help\t{place}": value for place, value in lines(done.stdout + done.stderr)}
        commands = done.stdout.partition("\nCommands:\n")[2].partition("\n\n")[0]
        waiting += [[*words, name] for name in re.findall(r"^  ([a-z-]+)", commands, re.M) if name != "help"]
    for shell in ("bash", "elvish", "fish", "powershell", "zsh"):
        done = subprocess.run([program, "completions", shell], capture_output=True)
        items |= {f"completions {shell}\t{place}": value for place, value in cut(done.stdout)}
    return items


class Run:
    def __init__(self, row, rounds, program, mockweb, folder):
        self.row, self.program, self.mockweb, self.data = row, program, mockweb, folder / "data"
        self.out, self.seen, self.cycle, self.asked = {}, {}, 0, 0
        os.chdir(folder)
        # The program starts a worker for each processor: one worker keeps an order.
        os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
        keys = BASE | {"cycle.rounds": rounds} | row.keys
        settings = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        files = {"recrawl.toml": "\n".join(settings) + "\n" + row.tables, "tokens": f"anna {TOKEN}\n"} | row.files
        for name, text in files.items():
            (folder / name).write_text(text)
        os.chmod("tokens", 0o600)
        os.mkdir("caught")

    def put(self, artefact, items):
        """Keeps items. The random part of the names of WARC files is left out."""
        for place, value in items:
            key = f"{artefact}\t{place}" if place else artefact
            self.out[self.tagless(key)] = self.tagless(value)

    @staticmethod
    def tagless(text):
        return re.sub(r"(recrawl-\d{14}-\d{6})-[0-9a-f]{12}", r"\1-TAG", text) if "recrawl-2" in text else text

    def environment(self):
        library = next(iter(glob.glob("/usr/lib*/**/faketime/libfaketime.so.1")), None)
        if not library:
            sys.exit("libfaketime is missing: install the Debian package faketime")
        clock = {"LD_PRELOAD": library, "FAKETIME": CLOCK.format(max(1, self.cycle)), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        return os.environ | clock | {"TZ": "UTC"}

    def run(self, *words, at=True):
        """Runs a command of the program and keeps what it says."""
        where = ["--config", "recrawl.toml", "--data-dir", "data"] if at else []
        words = [str(word) for word in words]
        done = subprocess.run([self.program, *words, *where], capture_output=True, env=self.environment(), timeout=120)
        artefact = f"{self.cycle:02} {' '.join(words)}"
        self.put(artefact, [("exit", str(done.returncode))])
        self.put(f"{artefact} (error)", cut(done.stderr))
        self.put(artefact, cut(done.stdout))
        return done

    def crawl(self):
        """Crawls a cycle. A daemon does it by itself, since the clock has moved on."""
        if self.row.is_daemon:
            with self.catching(), self.daemon():
                return
        with self.catching():
            done = self.run("crawl", "--cycles", 1, "--random-seed", 1, "--json", "--seeds", "seeds", *self.row.crawl)
        if done.returncode:
            sys.exit(f"cycle {self.cycle}: {done.stderr.decode()}")

    @contextlib.contextmanager
    def catching(self):
        """Keeps the files of rounds before a commit removes them."""
        over = threading.Event()
        catcher = threading.Thread(target=self.catch, args=[over])
        catcher.start()
        try:
            yield
        finally:
            over.set()
            catcher.join()

    def catch(self, over):
        """Links the files of rounds to another folder as soon as they appear."""
        while not over.is_set():
            with contextlib.suppress(FileNotFoundError):
                for name in os.listdir("data"):
                    if name.startswith("cycle-") and not re.search(r"\.part|spill", name) and not os.path.exists(f"caught/{name}"):
                        os.link(f"data/{name}", f"caught/{name}")
            time.sleep(0.001)

    def files(self):
        """Keeps the files that are new or other than after the cycle before."""
        places = [("file", "data", name) for name in os.listdir("data")] + [("round", "caught", name) for name in os.listdir("caught")]
        if self.cycle == CYCLES:
            places += [("left", ".", name) for name in self.row.leaves]
        for what, folder, name in places:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
                if self.seen.get(path) != data:
                    self.seen[path] = data
                    self.put(f"{self.cycle:02} {what} {name}", cut(data))

    def step(self, kind, *words):
        if kind == "run":
            self.run(*words)
        elif kind == "web":
            asked(self.web["control_port"], words[0], words[1].encode())
        elif kind == "write":
            with open(words[0], "w") as file:
                file.write(words[1])
        else:
            with self.catching(), self.daemon():
                for words in words:
                    self.ask(*words)
                    self.settle()

    @contextlib.contextmanager
    def daemon(self):
        """A daemon that is ended when it has nothing more to do."""
        words = [self.program, "serve", "--config", "recrawl.toml", "--data-dir", "data", "--random-seed", "1", "--seeds", "seeds"]
        serving = subprocess.Popen(words, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            while self.get("/ready")[0] != 200 and serving.poll() is None:
                time.sleep(0.02)
            self.settle()
            yield
        finally:
            serving.terminate()
            said, _ = serving.communicate(timeout=60)
            self.put(f"{self.cycle:02} serve", cut(said))

    def settle(self):
        """Waits until the daemon has waited for half a second."""
        last, since, began = None, time.monotonic(), time.monotonic()
        while time.monotonic() - since < 0.5:
            status = json.loads(self.get("/api/v1/status")[2])
            now = (status["state"], status["generation"])
            is_busy = status["state"] not in ("waiting", "paused") or (status.get("pings") or {}).get("checking")
            if now != last or is_busy:
                last, since = now, time.monotonic()
            if time.monotonic() - began > 60:
                sys.exit(f"the daemon does not come to rest: {status}")
            time.sleep(0.02)

    def get(self, path, method="GET", body=None):
        head = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{CONSOLE}{path}", data=data, headers=head, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers.items(), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.items(), error.read()
        except OSError:
            return 0, [], b""

    def ask(self, method, path, body=None):
        """Keeps an answer. Its length follows from the rest, which may be noisy."""
        status, head, data = self.get(path, method, body)
        self.asked += 1
        artefact = f"{self.cycle:02} {method} {path} (question {self.asked})"
        self.put(artefact, [("status", str(status))] + [(f"field {name}", json.dumps(value)) for name, value in head if name != "content-length"])
        self.put(artefact, cut(data))
        return data

    def items(self):
        words = ["procedural", "--seed", "1", "--port", str(PORT), "--control-port", str(CONTROL), *self.row.web]
        web = subprocess.Popen([self.mockweb, *words], env=self.environment(), stdout=subprocess.PIPE, text=True)
        try:
            self.web = json.loads(web.stdout.readline())
            with open("seeds", "w") as file:
                file.write("\n".join(self.web["seeds"] + self.row.seeds))
            for self.cycle in range(1, CYCLES + 1):
                for step in self.row.steps.get(self.cycle, []):
                    self.step(*step)
                self.crawl()
                for step in self.row.steps.get("after each", []):
                    self.step(*step)
                self.files()
                asked(CONTROL, "/advance", b"")
            self.read()
            self.console()
            self.requests()
        finally:
            web.kill()
            web.wait()
        return self.out

    def requests(self):
        """What the web was asked, by host and in the order of its requests."""
        with urllib.request.urlopen(f"http://127.0.0.1:{CONTROL}/log?from=0") as answer:
            hosts = {}
            for line in answer.read().decode().splitlines():
                entry = parsed(line)
                host = hosts.setdefault(entry["host"], [])
                host.append(entry)
        for host, entries in hosts.items():
            self.put(f"web {host}", leaves(entries, ""))

    def pages(self):
        """The known pages, and some of them of all kinds."""
        text = self.run("export", "pages", "--out", "-").stdout.decode()
        known = [json.loads(line)["url"] for line in text.splitlines()]
        return known[::max(1, len(known) // 6)]

    def read(self):
        """What commands show, and the exports."""
        pages, host = self.pages(), urllib.parse.urlsplit(PREFIX).hostname
        for words in ["status", f"status --host {host}", f"report {host}", "promises", "improve status", "improve history", "whatif", "savings",
                      "repository stats", "repository verify", f"takedown --dry-run --prefix {PREFIX}/"]:
            self.run(*words.split())
            self.run(*words.split(), "--json")
        for words in ["config show", "config check", "notify status", "formula list"]:
            self.run(*words.split(), at=False) if words == "formula list" else self.run(*words.split())
        for page in pages:
            for words in [["explain"], ["explain", "--json"], ["show"], ["show", "--headers"], ["show", "--list"], ["show", "--diff"], ["page", "test"]]:
                self.run(*words, page)
        for what in ["pages", "contents", "visits", "hosts"]:
            for form in FORMATS if what != "pages" else FORMATS[1:]:
                self.run("export", what, "--format", form, "--out", "-")
        for what in ["cycles", "rounds", "cdxj", "wacz", "contents --text"]:
            self.run("export", *what.split(), "--out", "-")
        if os.path.isdir("data/warc"):
            for name in sorted(os.listdir("data/warc")):
                with open(f"data/warc/{name}", "rb") as file:
                    self.put(f"warc {name}", cut(file.read()))
        for path in sorted(glob.glob("data/hosts.sled/db") + glob.glob("data/hosts.sled/blobs/*")):
            with open(path, "rb") as file:
                self.put("hosts.sled", tables(file.read()))
        self.page = pages[len(pages) // 2]

    def console(self):
        """All routes that answer GET, by the OpenAPI document."""
        page = urllib.parse.quote(self.page, safe="")
        with self.daemon():
            document = json.loads(self.ask("GET", "/openapi.json"))
            versions = json.loads(self.get(f"/api/v1/versions?url={page}")[2]).get("versions") or [{}]
            version = "&".join(f"{name}={versions[0].get(name, 0)}" for name in ("warc_file", "warc_offset"))
            values = {"host": urllib.parse.quote(PREFIX, safe=""), "id": "1", "kind": "invalid",
                      "digits": "20260115060000", "url": self.page, "*url": self.page}
            query = {"/api/v1/page": f"url={page}", "/api/v1/versions": f"url={page}", "/api/v1/pages": "limit=200",
                     "/api/v1/cycles": "last=100", "/api/v1/version": f"url={page}&{version}", "/archived": f"url={page}&{version}"}
            for path, methods in document["paths"].items():
                # Events have no end.
                if "get" in methods and path not in ("/api/v1/events", "/assets/{name}", "/openapi.json"):
                    self.ask("GET", path.format_map(values) + "?" * (path in query) + query.get(path, ""))
            for name in sorted(set(re.findall(r"assets/([a-z.-]+)", self.get("/")[2].decode()))):
                self.ask("GET", f"/assets/{name}")
