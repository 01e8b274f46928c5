"""Checks recrawl's output with other programs: check-archives.py WARC-FOLDER INDEX.cdxj FILE.wacz [PARQUET LINES]...

warcio reads every record and checks its digest; cdxj-indexer creates the same index; pywb replays every capture in it;
py-wacz validates the WACZ file, and pywb replays what is in it; pyarrow reads the same rows from Parquet as in the JSON
lines. The last line tells what was compared.
"""

import datetime
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

import pyarrow.parquet
from warcio.archiveiterator import ArchiveIterator


def fail(text):
    sys.exit("check-archives: " + text)


def read_records(folder):
    """Every record of every file, by file and offset: type, address, status, body."""
    records, ids = {}, set()
    for name in sorted(os.listdir(folder)):
        before = None
        with open(os.path.join(folder, name), "rb") as file:
            iterator = ArchiveIterator(file, check_digests="raise")
            for record in iterator:
                headers, kind = record.rec_headers, record.rec_type
                if kind == "warcinfo" and headers["WARC-Filename"] != name:
                    fail(f"{name} calls itself {headers['WARC-Filename']}")
                if (kind == "warcinfo") != (before is None):
                    fail(f"{name} begins with {kind}, or has a second warcinfo record")
                if headers["WARC-Record-ID"] in ids:
                    fail(f"{name} has the id {headers['WARC-Record-ID']} twice")
                ids.add(headers["WARC-Record-ID"])
                if kind == "request":
                    check_request(name, record, before)
                body = record.content_stream().read()
                status = record.http_headers.get_statuscode() if kind in ("response", "revisit") else None
                place = (name, iterator.get_record_offset())
                records[place] = (kind, headers["WARC-Target-URI"], status, body)
                before = record
    return records


def check_request(name, record, response):
    """A request stands behind its response and has its address and time."""
    url = urllib.parse.urlsplit(record.rec_headers["WARC-Target-URI"])
    path = url.path + ("?" + url.query if url.query else "")
    if record.http_headers.statusline != f"{path} HTTP/1.1" or record.http_headers.protocol != "GET":
        fail(f"{name} has a request {record.http_headers.protocol} {record.http_headers.statusline} for {url.geturl()}")
    if record.http_headers["host"] != url.netloc or not record.http_headers["user-agent"].startswith("recrawl/"):
        fail(f"{name} has a request for {url.geturl()} with {record.http_headers.headers}")
    for field in ("WARC-Target-URI", "WARC-Date", "WARC-IP-Address"):
        if record.rec_headers[field] != response.rec_headers[field]:
            fail(f"{name} has a request whose {field} is not that of its response")
    if record.rec_headers["WARC-Concurrent-To"] != response.rec_headers["WARC-Record-ID"]:
        fail(f"{name} has a request that does not follow its response")


def parse(line):
    key, time, fields = line.rstrip("\n").split(" ", 2)
    return key, time, json.loads(fields)


def compare_index(folder, index):
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    made = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "cdxj-indexer"), "--sort", *files],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()
    # A 304 has no body to replay: recrawl leaves it out.
    made = [line for line in made if parse(line)[2].get("status") != "304"]
    with open(index) as file:
        ours = file.read().splitlines()
    if len(made) != len(ours):
        fail(f"{len(ours)} lines in the index, but {len(made)} from cdxj-indexer")
    for line, other in zip(ours, made):
        if line != other:
            fail(f"the index has\n{line}\nbut cdxj-indexer has\n{other}")
    return ours


def replay(folder, index, records, lines):
    """Every capture with a body, and every revisit of one, through pywb, byte for byte."""
    from pywb.apps.frontendapp import FrontEndApp  # import late: it starts threads

    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        config = {"collections": {"recrawl": {"index_paths": index, "archive_paths": folder + "/"}}}
        app = FrontEndApp(custom_config=config)
        bodies, captures = {}, {}
        for line in lines:
            _, time, fields = parse(line)
            kind, url, _, body = records[fields["filename"], int(fields["offset"])]
            if kind == "response":
                bodies[url, fields["digest"]] = body
        for line in lines:
            _, time, fields = parse(line)
            body = bodies.get((fields["url"], fields.get("digest")))
            if body is not None and fields["status"] == "200":
                # Several cycles of a test can be within one second.
                captures.setdefault((fields["url"], time), []).append(body)
        replayed = 0
        for line in lines:
            _, time, fields = parse(line)
            expected = captures.get((fields["url"], time))
            if expected is None or fields["status"] != "200":
                continue
            status, body = get(app, f"/recrawl/{time}id_/{fields['url']}")
            if status != "200" or body not in expected:
                fail(f"pywb replays {fields['url']} of {time} with {status}, {len(body)} bytes")
            replayed += 1
        if replayed == 0:
            fail("nothing to replay")
        return replayed


def check_wacz(wacz, records):
    """Validates the file, and compares what is in it with the WARC files that it was made of."""
    command = [os.path.join(os.path.dirname(sys.executable), "wacz"), "validate", "--file", wacz]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or "fail" in (done.stdout + done.stderr).lower():
        fail(f"py-wacz finds {wacz} invalid:\n{done.stdout}{done.stderr}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wacz) as package:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in package.infolist()):
            fail(f"{wacz} has compressed entries")
        package.extractall(folder)
        copied = os.path.join(folder, "archive")
        copies = read_records(copied)
        known = {record[1:] for record in records.values() if record[0] in ("response", "revisit")}
        found = {record[1:] for record in copies.values() if record[0] in ("response", "revisit")}
        if not found or found - known:
            fail(f"{wacz} has records that the archive lacks, or none")
        with gzip.open(os.path.join(folder, "indexes", "index.cdx.gz"), "rt") as file:
            lines = file.read().splitlines()
        check_parts(folder)
        plain = os.path.join(folder, "index.cdxj")
        with open(plain, "w") as file:
            file.write("".join(line + "\n" for line in lines))
        replayed = replay(copied, plain, copies, lines)
        with open(os.path.join(folder, "pages", "pages.jsonl")) as file:
            pages = [json.loads(line) for line in file][1:]
        captured = {parse(line)[2]["url"] for line in lines}
        if not pages or any(page["url"] not in captured for page in pages):
            fail(f"{wacz} lists pages that it does not hold, or none")
    return replayed, len(pages)


def check_parts(folder):
    """Each line of the second index leads to the part of the index that begins with its key."""
    with open(os.path.join(folder, "indexes", "index.cdx.gz"), "rb") as file:
        index = file.read()
    with open(os.path.join(folder, "indexes", "index.idx")) as file:
        lines = file.read().splitlines()[1:]
    end = 0
    for line in lines:
        key, time, place = parse(line)
        part = gzip.decompress(index[place["offset"]:place["offset"] + place["length"]]).decode()
        if place["offset"] != end or not part.startswith(f"{key} {time} "):
            fail(f"the second index has {line} for a part that begins with {part[:80]}")
        end += place["length"]
    if end != len(index):
        fail("the second index does not cover the index")


def get(app, path):
    path, _, query = path.partition("?")
    told = []
    environ = {
        "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "localhost",
        "REQUEST_URI": path + ("?" + query if query else ""), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr, "wsgi.version": (1, 0), "wsgi.multithread": False, "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    body = b"".join(app.handle_request(environ, lambda status, headers, exc=None: told.append((status, headers))))
    status, headers = told[0]
    if dict((n.lower(), v) for n, v in headers).get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return status.split(" ")[0], body


def compare_rows(table, lines):
    """Compares rows; timestamps are dates in Parquet, and seconds since 1970 in the JSON lines."""
    rows = pyarrow.parquet.read_table(table).to_pylist()
    with open(lines) as file:
        expected = [json.loads(line) for line in file]
    if len(rows) != len(expected):
        fail(f"{len(rows)} rows in {table}, {len(expected)} lines in {lines}")
    for row, line in zip(rows, expected):
        for name, value in row.items():
            if isinstance(value, datetime.datetime):
                row[name] = int(value.timestamp())
        if row != line:
            fail(f"{table} has {row}, {lines} {line}")
    return len(rows)


def main(folder, index, wacz, *tables):
    folder, index, wacz = os.path.abspath(folder), os.path.abspath(index), os.path.abspath(wacz)
    tables = [os.path.abspath(table) for table in tables]
    records = read_records(folder)
    lines = compare_index(folder, index)
    rows = sum(compare_rows(*pair) for pair in zip(tables[::2], tables[1::2]))
    replayed = replay(folder, index, records, lines)
    packed, pages = check_wacz(wacz, records)
    requests = sum(record[0] == "request" for record in records.values())
    print(
        f"{len(records)} records by warcio ({requests} requests), {len(lines)} lines by cdxj-indexer, "
        f"{replayed} captures by pywb, {packed} of a WACZ file with {pages} pages by py-wacz and pywb, {rows} rows by pyarrow"
    )
    # pywb's threads would keep the process alive.
    sys.stdout.flush()
    os._exit(0)


main(*sys.argv[1:])
