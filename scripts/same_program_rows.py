"""The rows of scripts/same-program.py: capabilities, each with its configuration and signs that it was at work."""

import dataclasses

PORT, CONTROL, CONSOLE = 18491, 18492, 18493
TOKEN = "0123456789abcdef" * 4
HOST = f"http://127.1.0.{{}}:{PORT}"
WEB = ["--pages", "300", "--hosts", "6"]
FAULTS = [f"/={kind}" for kind in ("status@0.02:500", "status@0.04:404", "reset@0.01", "truncated@0.01", "redirect@0.02:/")]
FAULTS = [word for rule in FAULTS for word in ("--fault", rule)]
# One connection: requests of hosts have an order.
BASE = {
    "cycle.pages": "30%",
    "cycle.pages_min": 20,
    "cycle.discovery_min": 1000,
    "cycle.audit_share": 0.05,
    "cycle.fill": False,
    "politeness.delay_per_host": "0 s",
    "politeness.delay_per_ip": "0 s",
    "fetch.connections": 1,
    "fetch.allow_addresses": ["127.0.0.0/8"],
    "scope.hosts": ["*"],
    "storage.archive": False,
    "storage.reserve": "0 B",
    "serve.listen": f"127.0.0.1:{CONSOLE}",
    "serve.tokens": "tokens",
    "serve.requests": 100000,
    "log.format": "json",
    "log.filter": "info",
}


@dataclasses.dataclass
class Row:
    """A capability. `tables` is TOML behind `keys`; `web` and `crawl` are further arguments; `steps` come before a cycle or after
    each; `leaves` are files beside the data directory to compare; each of `signs` must match an item of OLD.
    """

    keys: dict = dataclasses.field(default_factory=dict)
    tables: str = ""
    web: list = dataclasses.field(default_factory=lambda: [*WEB, *FAULTS])
    crawl: list = dataclasses.field(default_factory=list)
    is_daemon: bool = False
    seeds: list = dataclasses.field(default_factory=list)
    steps: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    leaves: list = dataclasses.field(default_factory=list)
    signs: list = dataclasses.field(default_factory=list)


def formula(name, *web, signs=()):
    """A row of a formula, which must not rank as the default does."""
    return Row({"schedule.formula": name}, web=[*WEB, *FAULTS, *web], signs=[report("score_visits"), *signs])


def report(field):
    """A number in the report of a cycle that is not 0."""
    return rf"crawl .*\.{field}=[0-9.]*[1-9]"


ARCHIVE = {"storage.archive": True}
SITEMAPS = ["--sitemaps", "--sitemap-formats", "urlset,index,gzip,rss,atom,feed"]
TERMS = 'genre = ["syllabus", "homework", "grading", "midterm exam"]\ncontent = ["databases", "SQL", "transactions", "relational model"]\n'
NOTIFY = """
[[notify]]
name = "all"
pages = ["*"]
changes = ["new", "changed", "gone", "back"]
file = "all.jsonl"
[[notify]]
name = "digest"
pages = ["127.1.0.2", "127.1.0.3"]
changes = ["changed"]
digest = "day"
file = "digest.jsonl"
"""
RULES = """
[[pages]]
match = "127.1.0.1"
include = ["main"]
[[pages]]
match = "*"
ignore = [".ad"]
ignore_text = ["^It is "]
"""
PROMISES = f"""
[[promises]]
match = "{HOST.format(1)}/*"
within = "3 d"
share = 0.9
"""

CLIENT = {"urls": [HOST.format(6) + "/console-1", HOST.format(6) + "/console-2"]}
KEY = "0123456789abcdef"


# Pages that change often.
PINGED = [HOST.format(1) + "/catalog/quartz-umber-19.html", HOST.format(2) + "/caf%25C3%25A9/violet-birch-19.html"]
PINGS = [("GET", f"/indexnow?url={page}&key={KEY}") for page in PINGED]


# Pages of host 1 are gone, which takes three confirmations in two weeks. Then an import revives some.
GONE = {4: [("web", "/faults", '["1/p=status:404"]')], 21: [("web", "/faults", "[]"), ("run", "import", "list", "back.txt")]}
BACK = [HOST.format(1) + path for path in ("/press/zephyr-beacon-76.html", "/people/juniper-saffron-50.html", "/people/raven-amber-91")]
WISHES = ["2/=wishes@0.1:x-robots-tag: noindex", "3/=wishes@0.1:x-robots-tag: nofollow", "4/=wishes@0.1:<meta name=robots content=noarchive>"]
LIST = "".join(f"{HOST.format(1 + n % 6)}/imported/{n}\t2025-12-{1 + n % 30:02}\n" for n in range(60))
CDXJ = "".join(f'1,0,1,127:{PORT})/cdx/{n} 20251201000000 {{"url": "{HOST.format(1)}/cdx/{n}", "status": "200", "digest": "sha1:{n}"}}\n' for n in range(10, 20))
OPERATOR = {
    5: [("run", "pause"), ("run", "status"), ("run", "resume"), ("run", "block", "127.1.0.5")],
    7: [("write", "opt-out.txt", "127.1.0.2\n")],
    9: [("run", "takedown", "--host", "127.1.0.3", "--json")],
    11: [("run", "unblock", "127.1.0.5"), ("run", "takedown", "--prefix", HOST.format(4) + "/", "--keep-crawling")],
    13: [("run", "takedown", "--host", "127.1.0.3", "--end"), ("run", "formula", "use", "age"), ("write", "opt-out.txt", "")],
    15: [("run", "formula", "rollback"), ("run", "repository", "snapshot", "copy")],
}
ROUTE = "/api/v1"
BLOCK = HOST.format(2).replace(":", "%3A").replace("/", "%2F") + "%2Fprivate%2F"
CHANGES = {
    4: [("ask", ("POST", f"{ROUTE}/seeds", CLIENT))],
    6: [("ask", ("POST", f"{ROUTE}/recrawl", {"url": HOST.format(1) + "/"}), ("PUT", f"{ROUTE}/blocks/{BLOCK}"))],
    8: [("ask", ("PUT", f"{ROUTE}/formula", {"formula": "age"}), ("POST", f"{ROUTE}/formulas/check", {"formula": "t * X"}),
         ("POST", f"{ROUTE}/formulas/compare", {"formula": "t * X"}), ("PUT", f"{ROUTE}/hosts/127.1.0.4/pause"), ("GET", f"{ROUTE}/controls"),
         ("DELETE", f"{ROUTE}/hosts/127.1.0.4/pause"))],
    10: [("ask", ("DELETE", f"{ROUTE}/formula"), ("PUT", f"{ROUTE}/pause"), ("GET", f"{ROUTE}/status"), ("DELETE", f"{ROUTE}/pause"))],
    12: [("ask", ("DELETE", f"{ROUTE}/blocks/{BLOCK}"), ("POST", f"{ROUTE}/seeds", {"urls": ["no url"]}), ("GET", f"{ROUTE}/page?url=x"))],
}

ROWS = {
    "plain": Row(signs=[report("changed"), report("failed"), report("redirected"), report("not_found"), report("audit_visits")]),
    "fill": Row({"cycle.fill": True, "cycle.fill_pages": 100}, signs=[r'\.kind="fill"']),
    "connections": Row({"fetch.connections": 16, "storage.keep_hosts": True}, web=WEB),
    "limits": Row({"schedule.max_per_host": 20, "budget.bytes_per_cycle": "400 kB", "budget.bytes_per_host": "100 kB", "schedule.ties": "index"},
                  signs=['why="byte_budget"']),
    "rand": Row({"schedule.policy": "rand", "cycle.warmup": 1}),
    "age": Row({"schedule.policy": "age", "cycle.warmup": 1}),
    "promises": Row(tables=PROMISES, signs=[r'visits.*share="promised"', r"\.promises\.0"]),
    "focus": Row({"focus.enabled": True, "focus.terms": "terms.toml", "focus.rounds": 3, "cycle.discovery_min": 0, "focus.threshold": 0.3},
                 web=[*WEB, "--syllabi", "0.4"], files={"terms.toml": TERMS},
                 steps={20: [("run", "focus", "sample", "--pages", "20")]},
                 signs=[r"export pages.*\.relevance=0\.[5-9]", 'share="explored"']),
    "focus-fill": Row({"focus.enabled": True, "focus.terms": "terms.toml", "cycle.fill": True, "cycle.fill_pages": 20, "cycle.discovery_min": 0,
                       "cycle.discovery_share": "auto", "focus.threshold": 0.3},
                      web=[*WEB, "--syllabi", "0.4"], files={"terms.toml": TERMS}, signs=[r'\.kind="fill"', 'share="explored"']),
    "dates": formula("u_fresh_signal", *SITEMAPS, signs=[report("announced_visits"), r'kind="hints"']),
    "pings": Row({"pings.indexnow": True}, is_daemon=True, web=[*WEB, "--ping-key", KEY],
                 steps={cycle: [("ask", *PINGS * 2)] for cycle in range(6, 24, 2)}, signs=[r"indexnow.*status=200", r"indexnow.*pages=1"]),
    "next": formula("u_fresh_next"),
    "siblings": formula("u_fresh_sib"),
    "site": formula("u_fresh_site", "--liveliness", "4"),
    "expression": formula("t * (X + 0.1) / (n + 1)"),
    "improve": Row({"improve.mode": "promote", "improve.min_gain": 0.0001, "improve.shadow_cycles": 3, "improve.guard_cycles": 4, "cycle.audit_share": 0.1},
                   steps={18: [("run", "improve", "run", "--threads", "1", "--cpu", "3 s", "--json")], 22: [("run", "improve", "promote")]},
                   signs=[r'visits.*\.above_cutoff=true', 'share="panel"', "improve.*candidate"]),
    "watch": Row({"improve.mode": "watch", "cycle.audit_share": 0.1}, signs=['share="panel"', r'visits.*\.above_cutoff=true']),
    # Crawls of a trap differ, even on one host, so this row compares little. The reason is not known.
    "traps": Row({"traps.min_pages": 10, "scope.max_pages_per_host": 400}, web=["--pages", "100", "--hosts", "1", "--fault", "/all=everything:5"],
                 seeds=[HOST.format(1) + "/all/"], signs=[report("links_trapped")]),
    "notify": Row(ARCHIVE, tables=NOTIFY, steps=GONE | {"after each": [("run", "notify", "send"), ("run", "notify", "status")]},
                  leaves=["all.jsonl", "digest.jsonl"], files={"back.txt": "\n".join(BACK)},
                  signs=["all.jsonl.*page.changed", "all.jsonl.*page.gone", "all.jsonl.*page.new", "digest.jsonl.*pages.digest"]),
    "events": Row({"events.max_bytes": "20 kB", "events.keep": 2}, crawl=["--events", "events.jsonl"], leaves=[f"events.jsonl{n}" for n in ("", ".1", ".2")],
                  signs=["events.jsonl.2 .*end_of_cycle"]),
    "pages": Row(ARCHIVE, tables=RULES, web=[*WEB, "--noise"], signs=["page test.*rule"]),
    "noise": Row(ARCHIVE, web=[*WEB, "--noise", "0.5"], signs=[r"\.noise"]),
    "simhash": Row({"change.detector": "simhash", "change.max_distance": 3, "change.features": "words"}),
    "validators": Row({"fetch.validator_checks": 0.5}, web=[*WEB, "--validators", "lying"], signs=[r"valid|lying"]),
    "keep": Row({"storage.keep_visits": 5, "storage.keep_hosts": True}, signs=[r"export hosts .*requests=[1-9]", r"report 127.*requests=[1-9]"]),
    "keep-none": Row({"storage.keep_visits": 0}),
    "archive": Row(ARCHIVE | {"storage.archive_requests": True, "storage.archive_file": "1 MiB", "storage.archive_max": "3 MiB"},
                   signs=["warc .*WARC/1.1.*", 'body="removed"', 'WARC-Type="request"', 'WARC-Type="revisit"']),
    "consent": Row(ARCHIVE, web=[*WEB, *[word for rule in WISHES for word in ("--fault", rule)]], signs=[report("noindex"), report("nofollow"), report("noarchive")]),
    "operator": Row(ARCHIVE | {"scope.opt_out": "opt-out.txt", "storage.keep_hosts": True}, steps=OPERATOR, files={"opt-out.txt": ""},
                    signs=[report("opted_out"), r"\.blocked=[1-9]", r'taken_down']),
    "import": Row(steps={6: [("run", "import", "list", "list.tsv")], 9: [("run", "import", "cdx", "list.cdxj")]}, files={"list.tsv": LIST, "list.cdxj": CDXJ},
                  signs=["import.*[1-9]", r"\.lastmod=[1-9]"]),
    "console": Row(ARCHIVE, steps=CHANGES, signs=["recrawl.*status=202", 'share="asked"', r'PUT.*"done']),
    "serve": Row(ARCHIVE, is_daemon=True),
    "console-fill": Row({"cycle.fill": True}, steps=CHANGES, signs=['share="asked"']),
}
