"""A client of a recrawl daemon: one module, the standard library alone.

    import recrawl

    crawl = recrawl.connect("http://127.0.0.1:8420")
    for page in crawl.search("opening hours", host="*.example.com")["results"]:
        print(page["title"], page["url"])
    for change in crawl.all_changes(pages="docs.example.com"):
        print(change["kind"], change["url"])

Generated from /openapi.json by `make generated`: edit that, not this file.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, TypedDict, Union
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen


class RecrawlError(Exception):
    """The daemon refused a request. `problem` is its problem document (RFC 9457), if it sent one."""

    def __init__(self, status: int, problem: Dict[str, Any]) -> None:
        self.status, self.problem = status, problem
        said = [problem.get(key) for key in ("title", "detail", "todo")]
        super().__init__(f"{status}: " + "; ".join(text for text in said if text))


def connect(url: str = "http://127.0.0.1:8420", token: Optional[str] = None, timeout: float = 60) -> Client:
    """The daemon at a URL. Changes need a token of `serve.tokens`; reading needs none."""
    return Client(url, token, timeout)


def _part(value: str) -> str:
    return quote(value, safe="")


class Client:
    """A daemon. Each method is an operation of its API."""

    def __init__(self, url: str, token: Optional[str], timeout: float) -> None:
        self._url, self._token, self._timeout = url.rstrip("/"), token, timeout

    def _ask(self, verb: str, path: str, query: Dict[str, Any], body: Optional[Dict[str, Any]]) -> Any:
        asked = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in query.items() if value is not None}
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
        url = self._url + path + ("?" + urlencode(asked) if asked else "")
        try:
            with urlopen(Request(url, data, headers, method=verb), timeout=self._timeout) as answer:
                return json.load(answer)
        except HTTPError as refused:
            try:
                problem = json.load(refused)
            except ValueError:
                problem = {"title": refused.reason}
            raise RecrawlError(refused.code, problem) from None

    def _all(self, list_of: Callable[..., Any], entries: str, asked: Dict[str, Any]) -> Iterator[Any]:
        part = list_of(**asked)
        while True:
            yield from part[entries]
            if not part["next"]:
                return
            part = list_of(**asked, cursor=part["next"])

    def unblock(self, pattern: str) -> "Accepted":
        """Remove a block."""
        return self._ask("DELETE", "/api/v1/blocks/" + _part(pattern), {}, None)

    def block(self, pattern: str) -> "Accepted":
        """Block the pages of a pattern."""
        return self._ask("PUT", "/api/v1/blocks/" + _part(pattern), {}, None)

    def changes(self, *, pages: Optional[str] = None, changes: Optional[str] = None, since: Optional[int] = None, diff: Optional[bool] = None, partition: Optional[int] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> "PageChangeList":
        """List changes, newest first.

        Read from the kept visits (`storage.keep_visits`) of committed rounds. A part may have fewer rows than asked for
        where more are left: `next` is null only at the end."""
        return self._ask("GET", "/api/v1/changes", {"pages": pages, "changes": changes, "since": since, "diff": diff, "partition": partition, "cursor": cursor, "limit": limit}, None)

    def all_changes(self, *, pages: Optional[str] = None, changes: Optional[str] = None, since: Optional[int] = None, diff: Optional[bool] = None, partition: Optional[int] = None, limit: Optional[int] = None) -> Iterator["PageChange"]:
        """All entries of `changes`; `limit` is that of one request."""
        return self._all(self.changes, "changes", dict(pages=pages, changes=changes, since=since, diff=diff, partition=partition, limit=limit))

    def controls(self) -> "Controls":
        """Operator decisions in force."""
        return self._ask("GET", "/api/v1/controls", {}, None)

    def cycles(self, *, last: Optional[int] = None) -> List[Dict[str, Any]]:
        """The reports of the last cycles, newest first.

        Each is the object that `recrawl crawl --json` prints, plus `promise`: the expected
        `change_rate` and its `basis`."""
        return self._ask("GET", "/api/v1/cycles", {"last": last}, None)

    def errors(self) -> "Errors":
        """The last failed pages, and counts by outcome."""
        return self._ask("GET", "/api/v1/errors", {}, None)

    def roll_back(self) -> "Accepted":
        """Roll back to the formula chosen before; without formula.toml, `schedule.formula` is in force."""
        return self._ask("DELETE", "/api/v1/formula", {}, None)

    def use_formula(self, text: str) -> "Accepted":
        """Use another formula from the next cycle on."""
        return self._ask("PUT", "/api/v1/formula", {}, {"text": text})

    def formulas(self) -> "Formulas":
        """Formulas: in force, next, previous and built-in."""
        return self._ask("GET", "/api/v1/formulas", {}, None)

    def check(self, text: str) -> "FormulaCheck":
        """Check a formula: terminals, cost, warnings. Changes nothing."""
        return self._ask("POST", "/api/v1/formulas/check", {}, {"text": text})

    def compare(self, text: str) -> "RankChanges":
        """Compare the ranking of a formula with the one in force. Changes nothing.

        Only one comparison runs at a time, because it scores all pages."""
        return self._ask("POST", "/api/v1/formulas/compare", {}, {"text": text})

    def hosts(self, *, sort: Optional[Literal["name", "pages", "queue", "delay", "latency", "failures", "changes"]] = None, state: Optional[Literal["asking", "waiting", "idle", "backed_off", "blocked", "paused"]] = None, search: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> "HostList":
        """List the known hosts."""
        return self._ask("GET", "/api/v1/hosts", {"sort": sort, "state": state, "search": search, "cursor": cursor, "limit": limit}, None)

    def all_hosts(self, *, sort: Optional[Literal["name", "pages", "queue", "delay", "latency", "failures", "changes"]] = None, state: Optional[Literal["asking", "waiting", "idle", "backed_off", "blocked", "paused"]] = None, search: Optional[str] = None, limit: Optional[int] = None) -> Iterator["HostRow"]:
        """All entries of `hosts`; `limit` is that of one request."""
        return self._all(self.hosts, "hosts", dict(sort=sort, state=state, search=search, limit=limit))

    def host(self, host: str) -> List[Dict[str, Any]]:
        """Politeness and figures of one host.

        Same document as `recrawl status --host HOST --json`: one object per origin. A name has several
        origins if the crawl knows it with several schemes or ports. With `Accept: text/plain`, the text of that
        command without `--json`."""
        return self._ask("GET", "/api/v1/hosts/" + _part(host), {}, None)

    def resume_host(self, host: str) -> "Accepted":
        """Resume a host."""
        return self._ask("DELETE", "/api/v1/hosts/" + _part(host) + "/pause", {}, None)

    def pause_host(self, host: str) -> "Accepted":
        """Pause a host: no new requests to it."""
        return self._ask("PUT", "/api/v1/hosts/" + _part(host) + "/pause", {}, None)

    def host_report(self, host: str, *, cycles: Optional[int] = None) -> Dict[str, Any]:
        """What a host was asked, for its owner.

        Same document as `recrawl report HOST --json`: the crawler and its contact, the requests of each cycle beside
        the delay that was in force, robots.txt, and ways to opt out. With `Accept: text/plain`, the text of that
        command without `--json`."""
        return self._ask("GET", "/api/v1/hosts/" + _part(host) + "/report", {"cycles": cycles}, None)

    def improve(self) -> "Improve":
        """What the crawl measures of its formula, and the step of its loop."""
        return self._ask("GET", "/api/v1/improve", {}, None)

    def candidate(self, id: str) -> "CandidateDocument":
        """One candidate: its back-test, and what happened to it."""
        return self._ask("GET", "/api/v1/improve/candidates/" + _part(id), {}, None)

    def history(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> "EventList":
        """What the loop tried, put in force and took back, newest first."""
        return self._ask("GET", "/api/v1/improve/history", {"cursor": cursor, "limit": limit}, None)

    def all_history(self, *, limit: Optional[int] = None) -> Iterator["LoopEvent"]:
        """All entries of `history`; `limit` is that of one request."""
        return self._all(self.history, "events", dict(limit=limit))

    def release(self) -> "Accepted":
        """Let the loop go on."""
        return self._ask("DELETE", "/api/v1/improve/hold", {}, None)

    def hold(self) -> "Accepted":
        """Hold the loop: nothing is tried. A trial ends; what is in force stays."""
        return self._ask("PUT", "/api/v1/improve/hold", {}, None)

    def promote(self) -> "Accepted":
        """Put the candidate in force from the next cycle on."""
        return self._ask("POST", "/api/v1/improve/promote", {}, None)

    def take_back(self) -> "Accepted":
        """Take the promoted formula back from the next cycle on."""
        return self._ask("POST", "/api/v1/improve/rollback", {}, None)

    def learn(self) -> "Accepted":
        """Learn a formula from the crawl's own visits now, in a process of the lowest priority."""
        return self._ask("POST", "/api/v1/improve/run", {}, None)

    def page(self, url: str, *, formula: Optional[str] = None) -> Dict[str, Any]:
        """Record, score and scheduling of a page.

        Same document as `recrawl explain URL --json`, with stored visits and the difference of the last
        two texts. With `Accept: text/plain`, the text of that command without `--json`."""
        return self._ask("GET", "/api/v1/page", {"url": url, "formula": formula}, None)

    def pages(self, *, prefix: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> "PageList":
        """List pages by URL prefix, in URL order."""
        return self._ask("GET", "/api/v1/pages", {"prefix": prefix, "cursor": cursor, "limit": limit}, None)

    def all_pages(self, *, prefix: Optional[str] = None, limit: Optional[int] = None) -> Iterator[Dict[str, Any]]:
        """All entries of `pages`; `limit` is that of one request."""
        return self._all(self.pages, "pages", dict(prefix=prefix, limit=limit))

    def resume(self) -> "Accepted":
        """Resume the crawl. Hosts paused separately stay paused."""
        return self._ask("DELETE", "/api/v1/pause", {}, None)

    def pause(self) -> "Accepted":
        """Pause the crawl: no new requests."""
        return self._ask("PUT", "/api/v1/pause", {}, None)

    def promises(self) -> Dict[str, Any]:
        """Whether pages are visited as promised.

        Same document as `recrawl promises --json`: what is kept now, and what was kept when the last cycles began. Reads all
        pages below the prefixes. With `Accept: text/plain`, the text of that command without `--json`."""
        return self._ask("GET", "/api/v1/promises", {}, None)

    def recent(self, *, since: Optional[int] = None) -> "Recent":
        """Rates, answers and response times of the last hour.

        A point every 10 seconds, since the process started. Quantiles are estimated from a histogram."""
        return self._ask("GET", "/api/v1/recent", {"since": since}, None)

    def recrawl(self, url: "Name") -> "Accepted":
        """Fetch a page now, within robots.txt and politeness."""
        return self._ask("POST", "/api/v1/recrawl", {}, {"url": url})

    def reload(self) -> "Accepted":
        """Read the configuration again: in force after the round in progress."""
        return self._ask("POST", "/api/v1/reload", {}, None)

    def savings(self) -> Union["Computing", "Savings"]:
        """Revisits that plain revisiting would need for the same freshness. Computed once a cycle, in the background."""
        return self._ask("GET", "/api/v1/savings", {}, None)

    def search(self, q: str, *, host: Optional[str] = None, since: Optional[int] = None, sort: Optional[Literal["best", "newest"]] = None, partition: Optional[int] = None, limit: Optional[int] = None) -> "SearchList":
        """Search the texts of the pages.

        The best pages that have all words, or, if none has, some. Needs a target `to = "index"` of `[[deliver]]`. Words count
        in all their forms, in the language of the page."""
        return self._ask("GET", "/api/v1/search", {"q": q, "host": host, "since": since, "sort": sort, "partition": partition, "limit": limit}, None)

    def seeds(self, urls: List["Name"]) -> "Accepted":
        """Add seed URLs. They are crawled within seconds; known URLs are ignored."""
        return self._ask("POST", "/api/v1/seeds", {}, {"urls": urls})

    def status(self) -> "Status":
        """Status of the crawl."""
        return self._ask("GET", "/api/v1/status", {}, None)

    def version(self, url: str, *, warc_file: Optional[int] = None, warc_offset: Optional[int] = None, at: Optional[int] = None) -> "VersionContent":
        """One archived version: text, headers, and the difference to the one before."""
        return self._ask("GET", "/api/v1/version", {"url": url, "warc_file": warc_file, "warc_offset": warc_offset, "at": at}, None)

    def times(self, url: str) -> "MementoList":
        """The times of the archived versions of a page, newest first: the last 1000. No body is read."""
        return self._ask("GET", "/api/v1/version-times", {"url": url}, None)

    def versions(self, url: str, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> "VersionList":
        """List the archived versions of a page, newest first."""
        return self._ask("GET", "/api/v1/versions", {"url": url, "cursor": cursor, "limit": limit}, None)

    def all_versions(self, url: str, *, limit: Optional[int] = None) -> Iterator["Version"]:
        """All entries of `versions`; `limit` is that of one request."""
        return self._all(self.versions, "versions", dict(url=url, limit=limit))

    def what_if(self) -> Union["Computing", "WhatIf"]:
        """Freshness at other budgets. Computed once a cycle, in the background."""
        return self._ask("GET", "/api/v1/whatif", {}, None)


class Accepted(TypedDict):
    """Result of an accepted change."""

    detail: str
    did: "Effect"


class CandidateDocument(TypedDict, total=False):
    """All that is known of one candidate."""

    beside: Optional[str]
    candidate: Optional["Candidate"]
    events: List["LoopEvent"]
    formula: Optional[str]
    id: str
    quarantined_until: Optional[int]
    state: "CandidateState"


class Candidate(TypedDict):
    """A candidate with its back-test."""

    back_test: "BackTest"
    cycle: int
    expression: str
    id: str
    name: str


class BackTest(TypedDict):
    """Figures of a back-test."""

    alpha: float
    candidate: float
    closed_forms: List["Scored"]
    coverage: "Split"
    cycles: int
    fitness: str
    gain_high: float
    gain_low: float
    groups: int
    in_force: "Scored"
    pages: int


class Computing(TypedDict):
    """A forecast is being computed."""

    cycle: int
    since: int
    state: "ComputingState"


class Controls(TypedDict, total=False):
    """Operator decisions in force."""

    blocks: List["Decision"]
    paused: Optional["Decision"]
    paused_hosts: List["Decision"]
    recrawls_waiting: int
    seeds_waiting: int
    taken_down: List[str]
    waiting: List["WaitingPage"]


class Decision(TypedDict):
    """A pause or block."""

    at: int
    what: str
    who: str


class Errors(TypedDict):
    """Failures."""

    kinds: List["ErrorCount"]
    last: List["PageError"]


class ErrorCount(TypedDict, total=False):
    """A kind of failure and its number of pages."""

    group: "ErrorGroup"
    outcome: str
    pages: int
    status: Optional[int]
    why: Optional[str]


class EventList(TypedDict, total=False):
    """A part of the history of the loop."""

    events: List["LoopEvent"]
    next: Optional[str]


class FormulaCheck(TypedDict, total=False):
    """Terminals, cost and warnings of a formula."""

    cost: int
    depth: int
    expression: str
    name: str
    nodes: int
    simplified: Optional[str]
    terminals: List[str]
    warnings: List[str]


class Formulas(TypedDict, total=False):
    """The formulas of a crawl."""

    built_in: List["FormulaText"]
    history: List["FormulaUse"]
    in_force: "FormulaText"
    next: Optional["FormulaText"]


class FormulaText(TypedDict, total=False):
    """A formula."""

    description: str
    expression: str
    name: str
    provenance: Optional[Dict[str, Any]]


class FormulaUse(TypedDict, total=False):
    """A formula in the history."""

    at: int
    description: str
    expression: str
    from_cycle: Optional[int]
    name: str
    provenance: Optional[Dict[str, Any]]
    who: str


class HostList(TypedDict, total=False):
    """A part of the list of hosts."""

    hosts: List["HostRow"]
    next: Optional[str]


class HostRow(TypedDict, total=False):
    """A host in a list."""

    changed: int
    delay_because: str
    delay_ms: int
    done: int
    failures: int
    host: str
    latency_ms: Optional[int]
    left_alone: Optional[str]
    left_alone_until: Optional[int]
    pages: int
    queue: int
    requests: int
    robots_denied: int
    state: "HostState"
    visited: int


class Improve(TypedDict, total=False):
    """What a crawl measures of its formula, and where its loop stands."""

    cycles: List["CycleFreshness"]
    loop: Optional["Loop"]
    mode: "ImproveMode"
    todo: Optional[str]
    watch: Optional["Watch"]


class CycleFreshness(TypedDict, total=False):
    """Freshness before the visits of one cycle."""

    cycle: int
    ended: int
    freshness: Optional["Estimate"]


class Estimate(TypedDict):
    """An estimated share with its 95 % interval."""

    high: float
    low: float
    pages: int
    share: float


class Loop(TypedDict, total=False):
    """Where the loop stands."""

    alarm: Optional[int]
    alpha: float
    asked: Optional["Asked"]
    beside: Optional[str]
    candidate: Optional["Candidate"]
    ends: Optional[int]
    is_held: bool
    learner: "LearnerNow"
    needs: List[str]
    quarantine: List["Quarantined"]
    refused: Optional[str]
    rests_until: Optional[int]
    shadow: Optional["ShadowSoFar"]
    since: Optional[int]
    step: "LoopStep"
    terms: "LoopTerms"
    trial: Optional["TrialSoFar"]
    tries: int
    waiting: Optional["Candidate"]


class Asked(TypedDict):
    """A decision that waits for the next cycle."""

    at: int
    what: "AskedFor"
    who: str


class LearnerNow(TypedDict, total=False):
    """The learner, a process of the lowest priority."""

    cpu_seconds: float
    cycles_since: int
    ended: Optional["LearnerEnd"]
    failures: int
    is_asked: bool
    last: Optional[int]
    next: int
    running_since: Optional[int]


class LearnerEnd(TypedDict, total=False):
    """How learning ended."""

    at: int
    has_learned: bool
    why: Optional[str]


class LoopEvent(TypedDict, total=False):
    """Something that happened in the loop."""

    at: int
    candidate: Optional[str]
    cycle: int
    id: Optional[str]
    what: "LoopEventKind"
    why: str


class LoopTerms(TypedDict):
    """The terms of the loop (`[improve]`), in cycles unless said otherwise."""

    before: int
    calm: int
    every: int
    guard: int
    longest: int
    max_loss: float
    min_gain: float
    min_sites: int
    settling: int
    shadow: int
    trial: int


class MementoList(TypedDict):
    """The times of a page's archived versions."""

    times: List[int]
    url: str


class PageChange(TypedDict, total=False):
    """A change that a visit found. The fields are those of a message of `[[notify]]`."""

    cycle: int
    difference: Optional[str]
    hint: Optional[str]
    id: str
    is_cut: bool
    kind: str
    no_text: Optional[str]
    reason: Optional[str]
    round: int
    status: Optional[int]
    time: int
    title: Optional[str]
    url: str


class PageChangeList(TypedDict, total=False):
    """A part of the list of changes."""

    changes: List["PageChange"]
    next: Optional[str]
    since_cycle: Optional[int]
    since_time: Optional[int]


class PageError(TypedDict, total=False):
    """A failed page."""

    at: int
    detail: str
    host: str
    outcome: str
    status: Optional[int]
    url: str
    why: Optional[str]


class PageList(TypedDict, total=False):
    """A part of the list of pages."""

    next: Optional[str]
    pages: List[Dict[str, Any]]


class Quarantined(TypedDict):
    """A candidate that failed."""

    id: str
    until: int


class RankChanges(TypedDict, total=False):
    """Ranking differences between two formulas."""

    basis: str
    expected: List["Choice"]
    expression: str
    fall: List["RankChange"]
    k: int
    observed_change_rate: Optional[float]
    overlap: float
    pages: int
    rise: List["RankChange"]


class Choice(TypedDict, total=False):
    """A choice of k pages, and what it is expected to bring."""

    by: "ChoiceOf"
    change_rate: Optional[float]
    freshness: Optional[float]


class RankChange(TypedDict, total=False):
    """A page with different ranks. Rank 1 is fetched first."""

    other_rank: int
    other_score: Optional[float]
    rank: int
    score: Optional[float]
    url: str


class Recent(TypedDict):
    """The last hour or so, as points of equal distance."""

    every_ms: int
    points: List["RecentPoint"]
    points_max: int


class RecentPoint(TypedDict, total=False):
    """What the crawl did in one interval."""

    answers: "Answers"
    at: int
    bytes: int
    median_ms: Optional[float]
    ms: int
    p95_ms: Optional[float]


class Answers(TypedDict):
    """Requests for pages by answer."""

    client_error: int
    failed: int
    not_modified: int
    redirect: int
    server_error: int
    success: int


class Savings(TypedDict, total=False):
    """What plain revisiting would need for the same freshness: the page that waited longest comes first."""

    bytes_a_visit: Optional[float]
    cycle: int
    enough: bool
    first_cycle: int
    formula: str
    freshness: Optional["Estimate"]
    groups: int
    last_cycle: int
    missing: List["Missing"]
    pages_a_cycle: float
    plain: Optional["PlainBudget"]
    population: int
    sample_pages: int
    state: "ReadyState"


class Missing(TypedDict):
    """Too few of something."""

    needed: int
    there: int
    what: str


class PlainBudget(TypedDict, total=False):
    """The budget of plain revisiting for the same freshness, as a part of the present one."""

    budget: Optional[float]
    high: Optional[float]
    largest: float
    low: Optional[float]
    pages_saved: float
    smallest: float


class Scored(TypedDict):
    """A formula and its figure."""

    name: str
    value: float


class SearchList(TypedDict):
    """Pages that were found."""

    is_partial: bool
    results: List["SearchResult"]
    total: int


class SearchResult(TypedDict, total=False):
    """A page that was found."""

    fetched_at: int
    snippet: List["SnippetPart"]
    title: Optional[str]
    url: str


class ShadowSoFar(TypedDict, total=False):
    """A shadow run."""

    cycles: int
    gain: Optional["Difference"]
    overlap: Optional[float]


class Difference(TypedDict):
    """An estimated difference of shares with its interval."""

    high: float
    low: float
    pages: int
    value: float


class SnippetPart(TypedDict):
    """A part of a snippet: plain text, whatever it looks like."""

    is_match: bool
    text: str


class Split(TypedDict):
    """A figure of both formulas."""

    candidate: float
    in_force: float


class Status(TypedDict, total=False):
    """Status of the crawl."""

    blocked: int
    budget: Optional["ByteBudget"]
    bytes_free: Optional[int]
    bytes_on_disk: int
    bytes_reserved: int
    conversions: Optional["ConversionFigures"]
    cycle: Optional["CycleNow"]
    cycles_done: int
    cycles_failed: int
    data_dir: str
    deliver: List["CopyFigures"]
    early_requests: int
    failing_seed_hosts: List[str]
    fleet: Optional["FleetFigures"]
    focus: Optional["FocusFigures"]
    formula: "FormulaText"
    freshness: Optional["Freshness"]
    generation: int
    gone: int
    health: "CrawlHealth"
    hosts: int
    idle_cycles: int
    idle_ms: int
    last: Optional["CycleDone"]
    log_lines_lost: int
    memory_bytes: Optional[int]
    needs_contact: bool
    next_cycle_at: Optional[int]
    next_round: Optional["NextRound"]
    notify: List["TargetFigures"]
    now: int
    pages: int
    paused_hosts: int
    pings: Optional["PingFigures"]
    promises: Optional["PromiseFigures"]
    reason: Optional[str]
    seeds_refused: Optional["SeedsRefused"]
    seeds_waiting: int
    stall_ms: int
    started: int
    state: "State"
    totals: "Counts"
    vault: Optional["VaultFigures"]
    version: str
    visited: int


class ByteBudget(TypedDict):
    """A byte budget."""

    limit: int
    spent: int


class ConversionFigures(TypedDict):
    """Documents that commands convert, since the process started."""

    converted: int
    error: str
    failed: int
    failed_in_a_row: int
    seconds: float


class CopyFigures(TypedDict, total=False):
    """The copy that a target of `[[deliver]]` holds."""

    delivered: int
    delivered_at: Optional[int]
    error: Optional[str]
    failing_since: Optional[int]
    name: str
    refused: int
    waiting: int


class Counts(TypedDict):
    """Counts by outcome; see docs/outcomes.md."""

    asked_again: int
    bytes: int
    changed: int
    failed: int
    fetched: int
    first_visits: int
    links_seen: int
    not_found: int
    not_modified: int
    refused: int
    robots_denied: int
    robots_unreachable: int
    skipped: int
    unchanged: int


class CrawlHealth(TypedDict, total=False):
    """Health of the crawl."""

    also: List[str]
    at: Optional[int]
    level: "HealthLevel"
    reason: str


class CycleDone(TypedDict, total=False):
    """Summary of a committed cycle; the full report is in `/api/v1/cycles`."""

    asked_again: int
    bursts: int
    bytes: int
    change_rate: Optional[float]
    changed: int
    cycle: int
    ended: int
    failed: int
    fetched: int
    first_visits: int
    links_seen: int
    not_found: int
    not_modified: int
    promise: Optional["Promise"]
    refused: int
    robots_denied: int
    robots_unreachable: int
    scheduled: int
    seconds: float
    skipped: int
    unchanged: int


class CycleNow(TypedDict, total=False):
    """The running cycle."""

    asked_again: int
    backed_off: int
    bytes: int
    change_rate: Optional[float]
    changed: int
    cycle: int
    deadline: Optional[int]
    done: int
    ends_by: Optional[int]
    failed: int
    fetched: int
    fetching: List["Fetching"]
    first_visits: int
    in_flight: int
    kind: str
    links_seen: int
    not_found: int
    not_modified: int
    open_hosts: int
    passed: int
    promise: Optional["Promise"]
    refused: int
    robots_denied: int
    robots_unreachable: int
    round: int
    scheduled: int
    seconds_left: Optional[float]
    skipped: int
    slowest: List["HostNow"]
    stage: "CycleStage"
    started: int
    to_pass: int
    unchanged: int


class Fetching(TypedDict):
    """A page that is being fetched."""

    host: str
    since: int
    url: str


class FleetFigures(TypedDict, total=False):
    """The fleet that the crawl is a partition of, as this process last saw it."""

    address: str
    clock_bound_ms: Optional[int]
    error: Optional[str]
    hosts_waiting: int
    lease_ms: int
    map: int
    nodes: List["NodeFigures"]
    partition: int
    partitions: List["PartitionFigures"]
    store_age_ms: int
    turns_begin_ms: Optional[int]
    turns_unknown_ms: int
    waiting: Optional[str]


class FocusFigures(TypedDict, total=False):
    """What a focused crawl found, as of the last cycle. Intervals are of 90 %."""

    discovered: int
    explored: int
    harvest_high: Optional[float]
    harvest_low: Optional[float]
    harvest_rate: Optional[float]
    recall_estimate: Optional[float]
    recall_high: Optional[float]
    recall_low: Optional[float]
    relevant_found: int
    relevant_known: int
    sites_exhausted: int


class Freshness(TypedDict, total=False):
    """Freshness: share of the pages due for a revisit whose copy was current."""

    answered: int
    basis: str
    effective: float
    high: float
    low: float
    population: Optional[int]
    share: float
    unanswered: int


class HostNow(TypedDict, total=False):
    """A host of the running cycle."""

    delay_ms: int
    done: int
    failures: int
    host: str
    latency_ms: Optional[int]
    queue: int
    state: "HostState"


class NextRound(TypedDict, total=False):
    """The next round."""

    at: Optional[int]
    kind: str
    why: str


class NodeFigures(TypedDict, total=False):
    """A process of a fleet."""

    age_ms: int
    console: str
    is_silent: bool
    name: str
    partition: Optional[int]
    version: str


class PartitionFigures(TypedDict, total=False):
    """A partition of a fleet."""

    begins: Optional[str]
    cycle: int
    epoch: int
    owner: Optional[str]
    partition: int
    unowned_ms: int
    unshipped: int
    untaken_runs: int


class PingFigures(TypedDict, total=False):
    """Figures of pings."""

    checking: int
    results: Dict[str, int]
    subscriptions: Optional["SubscriptionFigures"]
    trusted: int
    waiting: int


class Promise(TypedDict, total=False):
    """Expected ChangeRate and its basis."""

    basis: str
    change_rate: float
    high: Optional[float]
    low: Optional[float]


class PromiseFigures(TypedDict):
    """Promises to visit pages in time (`[[promises]]`), as counted when the last cycle began."""

    broken: int
    limited: int
    made: int


class SeedsRefused(TypedDict):
    """Seeds that were refused."""

    at: int
    first: str
    seeds: int


class SubscriptionFigures(TypedDict):
    """Figures of subscriptions to feeds."""

    active: int
    failed: int
    wanted: int


class TargetFigures(TypedDict, total=False):
    """What a target of `[[notify]]` was told."""

    delivered: int
    error: Optional[str]
    failing_since: Optional[int]
    given_up: int
    lost_at: Optional[int]
    name: str
    rounds_behind: int
    rounds_lost: int
    waiting: int


class TrialSoFar(TypedDict, total=False):
    """A trial."""

    arms: List["Arms"]
    candidate_from: int
    effect: Optional["Difference"]
    measured_from: int
    pages_needed: Optional[int]
    part: float
    phase: Optional["TrialPhase"]


class Arms(TypedDict, total=False):
    """Freshness in the arms before the visits of a cycle."""

    candidate: Optional["Estimate"]
    control: Optional["Estimate"]
    cycle: int


class VaultFigures(TypedDict, total=False):
    """How far the vault is (`storage.vault`)."""

    address: str
    error: Optional[str]
    failures: int
    is_waited_for: bool
    ship_ms: int
    shipped_at: Optional[int]
    unshipped: int
    waiting_since: Optional[int]


class Version(TypedDict, total=False):
    """An archived response."""

    bytes: int
    content_type: Optional[str]
    digest: Optional[str]
    number: int
    status: int
    time: int
    warc_file: int
    warc_offset: int
    words_changed: Optional[bool]


class VersionContent(TypedDict, total=False):
    """What the archive has of one version."""

    difference: Dict[str, Any]
    headers: str
    no_text: Optional["NoVersion"]
    text: Optional[str]
    text_is_cut: bool
    url: str
    version: "Version"


class NoVersion(TypedDict):
    """Why something is not there."""

    none: str
    why: str


class VersionList(TypedDict, total=False):
    """A part of the list of a page's archived versions."""

    missing: Optional["NoVersion"]
    next: Optional[str]
    url: str
    versions: List["Version"]


class WaitingPage(TypedDict, total=False):
    """A page that somebody asked for and that cannot be requested yet."""

    until: Optional[int]
    url: str
    why: str


class Watch(TypedDict, total=False):
    """What was measured. Cycles are pooled, at most 28."""

    audit: "FoundBeside"
    cycles: int
    drift: "DriftWatch"
    freshness: Optional["Estimate"]
    last: int
    pages: int
    pages_for_two_points: Optional[int]
    pages_needed: int
    pooled: int
    population: "PopulationWatch"
    score: "FoundBeside"


class DriftWatch(TypedDict, total=False):
    """A two-sided CUSUM of changes by score."""

    above: float
    alarm: Optional["DriftAlarm"]
    below: float
    cycles_wanted: int
    limit: float


class DriftAlarm(TypedDict):
    """An alarm."""

    changes: "MoreOrFewer"
    cycle: int


class FoundBeside(TypedDict):
    """Visits beside what was expected of them."""

    changed: int
    expected: float
    visits: int


class PopulationWatch(TypedDict, total=False):
    """How the pages that compete by score are distributed, against 28 cycles before."""

    change_rate: Optional["Stability"]
    cycles_needed: int
    depth: Optional["Stability"]
    has_moved: Optional[bool]


class Stability(TypedDict):
    """A population stability index."""

    index: float
    limit: float


class WhatIf(TypedDict, total=False):
    """What other budgets would bring."""

    cycle: int
    enough: bool
    first_cycle: int
    forecasts: List["BudgetForecast"]
    formula: str
    freshness: Optional["Estimate"]
    groups: int
    last_cycle: int
    missing: List["Missing"]
    pages_a_cycle: float
    population: int
    sample_pages: int
    state: "ReadyState"


class BudgetForecast(TypedDict):
    """The freshness that a budget would bring."""

    budget: float
    high: float
    low: float
    pages_a_cycle: float
    share: float


CandidateState = Literal["waiting", "tried", "quarantined", "past"]
ComputingState = Literal["computing"]
Effect = Literal["done", "already", "next_round", "next_cycle"]
ErrorGroup = Literal["failure", "rule", "postponed"]
HostState = Literal["asking", "waiting", "idle", "backed_off", "blocked", "paused"]
ImproveMode = Literal["off", "watch", "propose", "promote"]
AskedFor = Literal["promote", "roll_back"]
LoopEventKind = Literal["refused", "shadowed", "proposed", "trial_began", "rejected", "promoted", "rolled_back", "kept", "operator_chose", "held", "released", "alarm"]
LoopStep = Literal["idle", "shadow", "proposed", "trial", "guard"]
Name = str
ChoiceOf = Literal["in_force", "candidate", "best", "random"]
ReadyState = Literal["ready"]
CycleStage = Literal["planning", "fetching", "merging", "waiting"]
HealthLevel = Literal["green", "amber", "red"]
State = Literal["starting", "crawling", "waiting", "paused", "stopping", "failed"]
TrialPhase = Literal["before", "settling", "measured"]
MoreOrFewer = Literal["more", "fewer"]
