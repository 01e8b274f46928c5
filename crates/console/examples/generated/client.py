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

    # METHODS


# TYPES
