#!/usr/bin/env python3
"""Tells what an archive would save if equal bodies of different URLs were kept once: same-bodies.py DATA_DIR...

Bodies are compared by SHA-256, empty ones left out. A body that an earlier record of the same URL has is a revisit record
already. Bytes are those of whole compressed records; a revisit record in place of each would take some 500.
"""

import collections
import hashlib
import pathlib
import sys
import urllib.parse
import zlib

REVISIT = 500
CHUNK = 1 << 16


def records(path):
    """The fields, the body and the compressed length of each record."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        member, text, start = zlib.decompressobj(31), b"", at
        while not member.eof:
            text += member.decompress(data[at : at + CHUNK])
            at = min(at + CHUNK, len(data)) - len(member.unused_data)
        head, _, block = text.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode("utf-8", "replace").split("\r\n")[1:])
        yield fields, block.partition(b"\r\n\r\n")[2][:-4], at - start


def main(folders):
    for folder in folders:
        first, taken, saved = {}, collections.Counter(), collections.Counter()
        for path in sorted(pathlib.Path(folder).glob("warc/*.warc.gz")):
            for fields, body, length in records(path):
                taken[fields["WARC-Type"]] += length
                if fields["WARC-Type"] != "response" or not body:
                    continue
                url = fields["WARC-Target-URI"]
                before = first.setdefault(hashlib.sha256(body).digest(), url)
                if before != url:
                    host = urllib.parse.urlsplit(before).netloc == urllib.parse.urlsplit(url).netloc
                    saved["of the same host" if host else "of other hosts"] += max(0, length - REVISIT)
        total = sum(taken.values())
        shares = ", ".join(f"{100 * saved[of] / total:.2f} % {of}" for of in ("of the same host", "of other hosts"))
        print(f"{folder}: {total:,} bytes, {taken['response']:,} of them responses; equal bodies: {shares}")


main(sys.argv[1:])
