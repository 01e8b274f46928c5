#!/usr/bin/env python3
"""Checks the feed of a daemon: check-feed.py URL VALIDATOR.

VALIDATOR is a checkout of https://github.com/w3c/feedvalidator, which is no package (it needs lxml, html5lib and rdflib). The
feed must also be read without a complaint by feedparser and atoma, which are: pip install feedparser atoma.
"""

import sys
from pathlib import Path
from urllib.request import urlopen

import atoma
import feedparser

url, validator = sys.argv[1:]
sys.path.insert(0, str(Path(validator) / "src"))
import feedvalidator
from feedvalidator import compatibility
from feedvalidator.formatter.text_plain import Formatter

feed = urlopen(url).read()
# As if it came from the Internet: the validator asks nobody for it.
said = feedvalidator.validateString(feed.decode(), firstOccurrenceOnly=1, base=url)["loggedEvents"]
for advice in Formatter(compatibility.AA(said)):
    print(advice)
complaints = list(Formatter([event for event in said if isinstance(event, feedvalidator.logging.Error)]))
read = feedparser.parse(feed)
if read.bozo:
    complaints.append(f"feedparser: {read.bozo_exception}")
entries = atoma.parse_atom_bytes(feed).entries
if len(entries) != len(read.entries):
    complaints.append(f"atoma reads {len(entries)} entries, feedparser {len(read.entries)}")
print("\n".join(complaints) or f"valid, {len(entries)} entries")
sys.exit(bool(complaints))
