"""The tool `web_search`: one query of a model, asked of the endpoint that benchlake.yaml names.

The collector asks, outside of any sandbox, and tells apart whose failure it is: an endpoint that
cannot be reached, is overloaded or answers with anything but results is our infrastructure's
failure, never the model's. A search is tried at most twice. It carries no key and no cookie, and
follows no redirect. What is dropped (`blocked`) is part of the trace; the model is not told, not
even how much it was, since that would tell it where to look.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import orjson
from pydantic import JsonValue

from collect.config.endpoints import host_of, is_loopback
from collect.config.tools.web_search import answer_problem, search_url, unresponsive
from collect.http_client import needs_proxy
from collect.http_client.errors import words_of_error
from collect.runners.tools.base import (
    MAX_SHOWN_BYTES,
    ToolContext,
    ToolResult,
    ToolServices,
)
from collect.runners.tools.blocked import Blocklist
from schemas.config.tools import WebSearchSettings
from schemas.redact import redact

if TYPE_CHECKING:
    import httpx

MAX_QUERY_CHARS = 400

MAX_RESULT_BYTES = MAX_SHOWN_BYTES - 100
"""Of the JSON text of what is found, beside its envelope; the last results are left out."""

MAX_TITLE_CHARS = 300
MAX_URL_CHARS = 2_000
"""A result with a longer address is passed over: half an address leads nowhere."""

MAX_SNIPPET_CHARS = 1_000

MAX_ERROR_CHARS = 300

MAX_ANSWER_BYTES = 2_000_000
"""Bytes of an answer, unpacked; SearXNG's are some ten thousand."""

MAX_HITS = 100
"""Results of an answer that are looked at."""

PAUSE_S = 1.0
"""Before the second try."""

PACKINGS = frozenset({"", "identity", "gzip", "deflate"})
"""Of an answer; others could turn the few bytes that are read at once into gigabytes."""

NO_QUERY = "the query is empty"
CUT = f"the query was cut to {MAX_QUERY_CHARS} characters"
BANG = "a word that begins with `!!` asks for a redirect to another site, which is not followed"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A result that the model sees; plain text of bounded length."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class DroppedHit:
    """A result that the model does not see."""

    url: str
    names: str
    """The blocked word, phrase or host, as it was written."""


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What came of one search."""

    query: str
    """As it was sent."""
    results: tuple[SearchHit, ...] = ()
    dropped: tuple[DroppedHit, ...] = ()
    error: str | None = None
    is_outage: bool = False
    """The failure is our infrastructure's, and the trial says nothing of the model."""
    note: str | None = None
    """What the model is told besides."""
    unresponsive: tuple[str, ...] = ()
    """Search engines behind the endpoint that gave it no answer."""
    tries: int = 0
    ms: int = 0
    """Wall clock of all tries and the pause between them."""

    def traced(self) -> dict[str, JsonValue]:
        """Return all of it, for the trace."""
        data: dict[str, JsonValue] = orjson.loads(orjson.dumps(self))
        return data

    def shown(self) -> dict[str, JsonValue]:
        """Return what the model gets: nothing of what was dropped, or that anything was."""
        data = self.traced()
        names = ["query", "results"] if self.error is None else ["query", "error"]
        return {name: data[name] for name in names + ["note"] * (self.note is not None)}


class WebSearchTool:
    """Searches for the calls of a run."""

    def __init__(self, services: ToolServices) -> None:
        assert services.search is not None  # a case that offers it is refused without
        self._search = WebSearch(services.search, services.blocked)

    async def call(
        self,
        arguments: Mapping[str, JsonValue],
        context: ToolContext,  # noqa: ARG002 - searches leave nothing behind
    ) -> ToolResult:
        """Return what was found, as much of it as a model reads."""
        outcome = await self._search.search(str(arguments["query"]))
        traced, shown = outcome.traced(), outcome.shown()
        results = shown.get("results")
        while isinstance(results, list) and len(orjson.dumps(shown)) > MAX_RESULT_BYTES:
            results.pop()
        return ToolResult(
            output=shown,
            is_error=outcome.error is not None,
            produced_bytes=len(orjson.dumps(traced)),
            is_cut=isinstance(results, list) and len(results) < len(outcome.results),
            raw=traced,
            outage=f"web_search: {outcome.error}" if outcome.is_outage else None,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._search.aclose()


class WebSearch:
    """Searches for all trials of a run, over one set of connections."""

    def __init__(self, settings: WebSearchSettings, blocked: Sequence[str]) -> None:
        """Load httpx, a third of a second, before anything is measured; ask nothing yet.

        Args:
            settings: whose host was found to be allowed.
            blocked: what is dropped beside what the settings name, such as the suite's own name.
        """
        import httpx  # noqa: PLC0415 - runs without the tool do not pay for it

        self._settings = settings
        self._blocklist = Blocklist((*settings.blocked, *blocked))
        self._client: httpx.AsyncClient | None = None
        self._why_not = ""
        proxied = not is_loopback(host_of(settings.url)) and needs_proxy(settings.url)
        try:
            self._client = httpx.AsyncClient(
                timeout=settings.timeout_seconds,
                follow_redirects=False,
                trust_env=proxied,
                # a cookie would make an answer depend on who searched before
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                headers={
                    "User-Agent": "benchlake",
                    "Accept": "application/json",
                    "Accept-Encoding": "gzip, deflate",
                },
            )
        except (ImportError, ValueError, httpx.InvalidURL) as exc:  # the proxy's address or kind
            self._why_not = f"the proxy that the environment names cannot be used: {exc}"

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def search(self, query: str) -> SearchOutcome:
        """Return what a query brings; never raises for the other side."""
        began = time.perf_counter()
        words = redact(" ".join(query.encode(errors="replace").decode().split()))
        note = CUT if len(words) > MAX_QUERY_CHARS else None
        outcome = SearchOutcome(words[:MAX_QUERY_CHARS].rstrip(), note=note)
        if not outcome.query:
            return replace(outcome, error=NO_QUERY)
        if self._client is None:
            return replace(outcome, error=self._why_not, is_outage=True)
        seconds = self._settings.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                for pause_s in (0.0, PAUSE_S):
                    await asyncio.sleep(pause_s)
                    outcome = replace(outcome, tries=outcome.tries + 1)
                    outcome, is_final = await self._try(self._client, outcome)
                    if is_final:
                        break
        except TimeoutError:
            first = "" if outcome.error is None else f"{outcome.error}, then "
            error = f"{first}no whole answer within {seconds:g} s"
            outcome = replace(outcome, error=error, is_outage=True)
        return replace(outcome, ms=round((time.perf_counter() - began) * 1000))

    async def _try(
        self, client: httpx.AsyncClient, begun: SearchOutcome
    ) -> tuple[SearchOutcome, bool]:
        """Return what came of one request, and whether another one would change nothing."""
        import httpx  # noqa: PLC0415 - loaded before

        tried = replace(begun, error=None, is_outage=False)
        try:
            status, body = await _get(client, search_url(self._settings.url, tried.query))
        except _UnreadableError as exc:
            return replace(tried, error=str(exc), is_outage=True), True
        except httpx.TimeoutException as exc:
            raise TimeoutError from exc
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as exc:
            words = _cut(words_of_error(exc), MAX_ERROR_CHARS)
            error = f"the search endpoint cannot be reached: {words}"
            return replace(tried, error=error, is_outage=True), False
        if 300 <= status <= 399 and any(word.startswith("!!") for word in tried.query.split()):
            return replace(tried, error=BANG), True
        data = _json(body)
        if problem := answer_problem(status, data):
            error = f"the search endpoint answers: {problem}"
            is_final = 300 <= status <= 499 and status != 429
            return replace(tried, error=error, is_outage=True), is_final
        return self._sifted(tried, data), True

    def _sifted(self, tried: SearchOutcome, data: JsonValue) -> SearchOutcome:
        """Return the results to be shown, and those that are dropped."""
        results: list[SearchHit] = []
        dropped: list[DroppedHit] = []
        rows = data["results"] if isinstance(data, dict) else None
        for row in rows[:MAX_HITS] if isinstance(rows, list) else ():
            title, url, snippet = (_text(row, name) for name in ("title", "url", "content"))
            if not url.lower().startswith(("http://", "https://")) or len(url) > MAX_URL_CHARS:
                continue
            if (names := self._blocklist.named_in(title, url, snippet)) is not None:
                dropped.append(DroppedHit(url, names))
            elif len(results) < self._settings.max_results:
                hit = SearchHit(_cut(title, MAX_TITLE_CHARS), url, _cut(snippet, MAX_SNIPPET_CHARS))
                results.append(hit)
        return replace(
            tried,
            results=tuple(results),
            dropped=tuple(dropped),
            unresponsive=unresponsive(data),
        )


class _UnreadableError(Exception):
    """An answer that is not read to its end, nor asked for again."""


async def _get(client: httpx.AsyncClient, url: str) -> tuple[int, bytes]:
    """Return the status and the unpacked body of an answer."""
    async with client.stream("GET", url) as response:
        if (
            packing := response.headers.get("content-encoding", "").strip().lower()
        ) not in PACKINGS:
            what = f"the search endpoint packs its answer as `{packing[:40]}`, unasked"
            raise _UnreadableError(what)
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                what = f"the search endpoint's answer is larger than {MAX_ANSWER_BYTES:,} bytes"
                raise _UnreadableError(what)
        return response.status_code, bytes(body)


def _json(body: bytes) -> JsonValue:
    """Return a body as JSON; None where it is none, such as a web page, NaN or 2,000 levels."""
    try:
        data: JsonValue = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return data


def _text(row: JsonValue, name: str) -> str:
    """Return a text of a result on one line; empty where there is none."""
    value = row.get(name) if isinstance(row, dict) else None
    return " ".join(value.split()) if isinstance(value, str) else ""


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text; half a key would be none that a trace is cleaned of."""
    safe = redact(text)
    return safe if len(safe) <= most else safe[: most - 1] + "…"
