#!/usr/bin/env python3
"""Asks recrawl's console for versions of a page by two public Memento clients: check-memento.py target/debug FOLDER

The clients are memento-client and pywb, which browses the console as a remote archive:

    bash scripts/python-packages.sh memento 3.9 memento-client==0.6.1 lxml==6.0.2 requests==2.32.5 pywb==2.10.0
    target/memento/bin/python scripts/check-memento.py target/debug /tmp/memento

A page changes five times. Each client must find the version of each time, the first and the last, and its bytes; and no
version after a takedown.
"""

import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from memento_client import MementoClient

VERSIONS = 5
SITE, CONSOLE, PYWB = 18491, 18492, 18493
PAGE = f"http://127.0.0.1:{SITE}/page?q=1"
CONFIGURATION = f"""
[cycle]
pages = "100%"
[politeness]
delay_per_host = "0 s"
[fetch]
allow_addresses = ["127.0.0.0/8"]
[serve]
listen = "127.0.0.1:{CONSOLE}"
"""
COLLECTION = f"""
collections:
  console:
    index:
      type: memento
      timegate_url: http://127.0.0.1:{CONSOLE}/timegate/{{url}}
      timemap_url: http://127.0.0.1:{CONSOLE}/timemap/link/{{url}}
      replay_url: http://127.0.0.1:{CONSOLE}/memento/{{timestamp}}/{{url}}
"""
served = "version 0"


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        is_page = self.path == "/page?q=1"
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<p>{served}</p>".encode() if is_page else b"")

    def log_message(self, *_):
        pass


def got(url):
    """Status and body."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def listening(port):
    for _ in range(600):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
        except urllib.error.HTTPError:
            return None
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing answers at port {port}")


def check(is_so, what):
    if not is_so:
        sys.exit(f"check-memento: {what}")


def of_client(moments):
    """What memento-client finds."""
    client = MementoClient(timegate_uri=f"http://127.0.0.1:{CONSOLE}/timegate/", check_native_timegate=False)
    for number, moment in enumerate(moments):
        found = client.get_memento_info(PAGE, moment)
        mementos = found["mementos"]
        check(found["original_uri"] == PAGE, found)
        check(mementos["closest"]["datetime"] == moment, (moment, mementos))
        check((mementos["first"]["datetime"], mementos["last"]["datetime"]) == (moments[0], moments[-1]), mementos)
        status, body = got(mementos["closest"]["uri"][0])
        check((status, body) == (200, f"<p>version {number}</p>".encode()), (status, body))
        check(client.get_original_uri(mementos["closest"]["uri"][0]) == PAGE, mementos)
    # Between two versions, the earlier one was there; before all, there is only the first.
    early = client.get_memento_info(PAGE, moments[0] - datetime.timedelta(days=9))["mementos"]
    check(early["closest"]["datetime"] == moments[0], early)


def of_pywb(moments):
    """What pywb replays."""
    for number, moment in enumerate(moments):
        status, body = got(f"http://127.0.0.1:{PYWB}/console/{moment:%Y%m%d%H%M%S}id_/{PAGE}")
        check((status, body) == (200, f"<p>version {number}</p>".encode()), (status, body))
    status, body = got(f"http://127.0.0.1:{PYWB}/console/timemap/link/{PAGE}")
    check((status, body.count(b"datetime=")) == (200, len(moments)), (status, body))


def main(programs, folder):
    global served
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "recrawl.toml").write_text(CONFIGURATION)
    (folder / "config.yaml").write_text(COLLECTION)
    site = ThreadingHTTPServer(("127.0.0.1", SITE), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    at = ["--config", str(folder / "recrawl.toml"), "--data-dir", str(folder / "data")]

    def run(*words):
        return subprocess.run([str(programs / "recrawl"), *words, *at], check=True, capture_output=True, text=True).stdout

    for number in range(VERSIONS):
        served = f"version {number}"
        run("crawl", PAGE, "--cycles", "1")
        # A memento is named by its second.
        time.sleep(1.1)
    running = [subprocess.Popen([str(programs / "recrawl"), "serve", *at], stderr=subprocess.DEVNULL)]
    wayback = pathlib.Path(sys.executable).parent / "wayback"
    try:
        running.append(subprocess.Popen([str(wayback), "-b", "127.0.0.1", "-p", str(PYWB)], cwd=folder, stderr=subprocess.DEVNULL))
        listening(CONSOLE)
        listening(PYWB)
        query = urllib.parse.quote(PAGE, safe="")
        times = json.loads(got(f"http://127.0.0.1:{CONSOLE}/api/v1/version-times?url={query}")[1])["times"]
        moments = [datetime.datetime.fromtimestamp(second, datetime.timezone.utc).replace(tzinfo=None) for second in times][::-1]
        # While the daemon runs, it may have visited the page again, to find it as it was.
        check(len(moments) == VERSIONS, moments)
        of_client(moments)
        of_pywb(moments)
        run("takedown", "--page", PAGE)
        status, _ = got(f"http://127.0.0.1:{CONSOLE}/timemap/link/{PAGE}")
        check(status == 404, f"a TimeMap after the takedown: {status}")
        status, body = got(f"http://127.0.0.1:{PYWB}/console/{moments[0]:%Y%m%d%H%M%S}id_/{PAGE}")
        check(status == 404, f"pywb still has it: {status} {body[:200]}")
    finally:
        for process in running:
            process.terminate()
            process.wait()
    print(f"memento-client and pywb find each of {VERSIONS} versions by its time, and none after the takedown")


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
