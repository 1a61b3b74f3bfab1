"""`web_search` as it is configured: who offers it, may its host be asked, what is an answer.

Queries of models go to one endpoint of the user's choice, in the dialect of SearXNG: `q` and
`format=json` in, `results` out. Nothing secret is ever sent there. The host must be allowed like
one that gets a key (D-H4), since what a model was told may stand in what it asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode, urlsplit

from pydantic import JsonValue

from collect.config.endpoints import host_of, is_loopback, shown_url, url_problem
from collect.config.project_files import problem_at
from collect.config.resolved import LoadedCase
from schemas.config.project import NAME, LoadedProject
from schemas.errors import Problem
from schemas.io.yaml import KeyPath, read_yaml

URL_KEY: KeyPath = ("tools", "web_search", "url")
TOOLS_KEY: KeyPath = ("input", "context", "llm_probe", "tools")

LINES = "tools: {web_search: {url: http://127.0.0.1:8888/search}}"
"""What is written where a SearXNG of this machine is to be asked."""

REFUSALS = {
    403: "SearXNG answers so until `search.formats` of its settings.yml lists `json`",
    429: "SearXNG answers so beyond a few searches an hour while `server.limiter` of its "
    "settings.yml is on",
}
"""What a status usually means there."""

REDIRECT = "no redirect is followed; `url` is the final address, which mostly ends in /search"


def offers_search(case: LoadedCase) -> bool:
    """Return whether a model may call `web_search` in trials of a case."""
    return case.runner_type == "llm_probe" and "web_search" in case.context.llm_probe.tools


def web_search_problems(
    project: LoadedProject, hosts: frozenset[str], cases: Sequence[LoadedCase]
) -> list[Problem]:
    """Return what keeps a suite's cases from searching, each with its place.

    An address that cannot be used is a problem of benchlake.yaml in any case; a host that is not
    allowed only where it would be asked.

    Args:
        project: what holds for the run.
        hosts: those that the project or the command line allows, in lower case.
        cases: those that the suite selects; one whose trials are not made asks nothing.
    """
    offering = [case for case in cases if offers_search(case) and case.unavailable is None]
    if project.web_search is None:
        return [_unconfigured(project, case) for case in offering]
    return place_problems(project, hosts) if offering else address_problems(project)


def place_problems(project: LoadedProject, hosts: frozenset[str]) -> list[Problem]:
    """Return why nothing may be asked there."""
    return address_problems(project) or _host_problems(project, hosts)


def address_problems(project: LoadedProject) -> list[Problem]:
    """Return what is wrong with the address itself; it is repeated only where it holds no key."""
    if project.web_search is None:
        return []
    url = project.web_search.url
    if what := url_problem(url):
        return [_at_url(project, what)]
    if urlsplit(url).scheme != "https" and not is_loopback(host := host_of(url)):
        return [_at_url(project, f"`{host}` is asked over https only")]
    return []


def _host_problems(project: LoadedProject, hosts: frozenset[str]) -> list[Problem]:
    """Return why the host may not be asked, where it is neither this machine nor allowed."""
    if project.web_search is None:
        return []
    host = host_of(project.web_search.url)
    if is_loopback(host) or host in hosts:
        return []
    advice = f"add it to `allowed_hosts` of {NAME}, or pass `--allow-host {host}`"
    return [_at_url(project, f"`{host}` may not be asked yet", advice)]


def _at_url(project: LoadedProject, what: str, advice: str | None = None) -> Problem:
    assert project.web_search is not None
    found = shown_url(project.web_search.url)
    if project.path is None:
        return Problem(None, what, ".".join(map(str, URL_KEY)), found=found, advice=advice)
    return problem_at(read_yaml(project.path), URL_KEY, what, found=found, advice=advice)


def _unconfigured(project: LoadedProject, case: LoadedCase) -> Problem:
    """Return the problem of a case that offers a tool which nothing is configured for."""
    what = f"`web_search` is offered, and no {NAME} says where to search"
    advice = f"add to {NAME} beside `configs`: schema_version: 1, and {LINES}"
    if project.path is not None:
        what = f"`web_search` is offered, and {NAME} does not say where to search"
        advice = f"add to {NAME}: {LINES}"
    if case.folder is None:
        return Problem(None, f"case `{case.case_id}`: {what}", advice=advice)
    source = read_yaml(case.folder / "test.yaml")
    return problem_at(source, TOOLS_KEY, what, advice=advice)


def search_url(url: str, query: str) -> str:
    """Return the address of one search; `query` holds no half of a character pair."""
    return f"{url}?{urlencode({'q': query, 'format': 'json'}, quote_via=quote)}"


def answer_problem(status: int, data: JsonValue) -> str | None:
    """Return why an answer is no list of results, or None.

    Args:
        status: of HTTP.
        data: its body as JSON; None when it is none.
    """
    if not 200 <= status <= 299:
        why = REDIRECT if 300 <= status <= 399 else REFUSALS.get(status)
        return f"HTTP {status}" + (f": {why}" if why else "")
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return "no JSON with a list of `results`"
    if not data["results"] and unresponsive(data):
        return f"no results, and these engines failed: {', '.join(unresponsive(data))}"
    return None


MAX_ENGINES = 20
MAX_ENGINE_CHARS = 60


def unresponsive(data: JsonValue) -> tuple[str, ...]:
    """Return the engines that gave SearXNG no answer, each with its reason: `google (timeout)`."""
    rows = data.get("unresponsive_engines") if isinstance(data, dict) else None
    found = []
    for row in rows[:MAX_ENGINES] if isinstance(rows, list) else ():
        words = [word for word in row if isinstance(word, str)] if isinstance(row, list) else []
        if words:
            name = words[0] + (f" ({words[1]})" if len(words) > 1 else "")
            found.append(name[:MAX_ENGINE_CHARS])
    return tuple(found)
