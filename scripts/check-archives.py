"""Checks recrawl's output with other programs: check-archives.py WARC-FOLDER INDEX.cdxj [PARQUET LINES]...

warcio reads every record and checks its digest; cdxj-indexer creates the same index; pywb replays every capture in it;
pyarrow reads the same rows from Parquet as in the JSON lines. The last line tells what was compared.
"""

import datetime
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile

import pyarrow.parquet
from warcio.archiveiterator import ArchiveIterator


def fail(text):
    sys.exit("check-archives: " + text)


def read_records(folder):
    """Every record of every file, by file and offset: type, address, status, body."""
    records = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            iterator = ArchiveIterator(file, check_digests="raise")
            for record in iterator:
                body = record.content_stream().read()
                status = record.http_headers.get_statuscode() if record.http_headers else None
                place = (name, iterator.get_record_offset())
                records[place] = (record.rec_type, record.rec_headers["WARC-Target-URI"], status, body)
    return records


def parse(line):
    key, time, fields = line.rstrip("\n").split(" ", 2)
    return key, time, json.loads(fields)


def compare_index(folder, index):
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    made = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "cdxj-indexer"), "--sort", *files],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()
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


def main(folder, index, *tables):
    folder, index = os.path.abspath(folder), os.path.abspath(index)
    tables = [os.path.abspath(table) for table in tables]
    records = read_records(folder)
    lines = compare_index(folder, index)
    rows = sum(compare_rows(*pair) for pair in zip(tables[::2], tables[1::2]))
    replayed = replay(folder, index, records, lines)
    print(f"{len(records)} records by warcio, {len(lines)} lines by cdxj-indexer, {replayed} captures by pywb, {rows} rows by pyarrow")
    # pywb's threads would keep the process alive.
    sys.stdout.flush()
    os._exit(0)


main(*sys.argv[1:])
