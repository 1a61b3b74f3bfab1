"""Checks of addresses: does each answer, as what, and does it take the key, or find anything?

For the suite file that `collect init` writes, also which model servers answer on this machine: only
their list of models is requested, with a short time limit, since no answer is a result too.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin

from collect.config.endpoints import PROVIDERS, host_of, is_loopback
from collect.config.tools.web_search import (
    answer_problem,
    offers_search,
    place_problems,
    search_url,
)
from collect.doctor.context import Details, Finding, Scene, and_more, words_of
from collect.doctor.http_get import GetResult, ProbeClient, Trouble
from collect.doctor.probe import Address, Visit, usual_places, visit
from schemas.base import slugify
from schemas.errors import counted
from schemas.output.doctor import State

TROUBLES: Mapping[Trouble, tuple[str, str]] = {
    "refused": (
        "nobody listens there (connection refused)",
        "start the server{start}, or name another address with `base_url`",
    ),
    "dns": (
        "no such host",
        "check the spelling in `base_url`, and the name server of this machine",
    ),
    "tls": (
        "no TLS",
        "a server without TLS has an address that begins with http://; the certificate of a "
        "private authority is taken from SSL_CERT_FILE",
    ),
    "timeout": ("no answer", "is it behind a VPN or a firewall? curl -v {url}"),
    "proxy": (
        "the proxy that the environment names does not help",
        "check HTTPS_PROXY and NO_PROXY",
    ),
    "network": ("cannot be reached", "curl -v {url}"),
    "protocol": ("does not speak HTTP", "check port and scheme (http or https) in `base_url`"),
    "too_large": ("the list of models does not end", "check `base_url`"),
}
"""What keeps an answer from coming, and what to do."""

AUTH = frozenset({401, 403})

LOCKED_LISTS = frozenset({"OpenAI", "Anthropic"})
"""Servers that show their list of models only to those with a key."""

OTHER_PORTS = (8080, 1234, 8000)
"""Of llama.cpp, LM Studio and vLLM, as they come."""

LOOK_S = 0.8
"""A server of this machine answers within milliseconds."""

MAX_NAMED_MODELS = 20
"""Named in a suite file; of more, only how many there are."""

PROBE_QUERY = "test"
"""Asked of a search endpoint: every engine finds something."""

CORRECT_URL = "start the server, or correct `tools.web_search.url` of benchlake.yaml"

NOT_CHAT = ("embed", "rerank", "whisper")
"""In the names of models that answer no question."""


async def check_endpoints(scene: Scene) -> list[Finding]:
    """Return findings for each address that a model is asked at, in the order of the suites."""
    of_models, of_searches = await asyncio.gather(_of_models(scene), _of_searches(scene))
    return [*of_models, *of_searches]


async def _of_models(scene: Scene) -> list[Finding]:
    visits = await asyncio.gather(*(scene.visit_of(place) for place in scene.visits))
    if not scene.models():
        return [_unasked(visit) for visit in visits]
    if not visits:
        return [Finding("–", "ok", "a run serves every model itself")]
    return [_endpoint(visit, scene) for visit in visits]


def _endpoint(visit: Visit, scene: Scene) -> Finding:
    place, result = visit.address, visit.listing
    users = scene.users(lambda model: model.embedded is None and Address.of(model) == place)
    details: Details = {
        "ms": round(result.ms, 1),
        "status": result.status,
        "server": visit.kind,
        "version": visit.version,
        "models": list(users),
    }

    def finding(state: State, text: str, advice: str | None = None) -> Finding:
        text += "" if state == "ok" else f"; asked by {and_more(users)}"
        return Finding(place.base_url, state, text, advice, details=details)

    if result.trouble is not None:
        ways = {model.provider.partition("_")[0] for _, model in scene.models()}
        text, advice = _trouble(place, result, result.trouble, needs_ollama="ollama" in ways)
        return finding("fail", text, advice)
    status = result.status or 0
    if status in AUTH:
        return finding(*_locked(place, result))
    if 300 <= status <= 399:
        text = f"sends every request elsewhere: HTTP {status} to {_target(result)}"
        advice = "no redirect is followed; write the final address as `base_url`"
        return finding("fail", text, advice)
    if visit.below_v1:
        text = f"its API lies below {place.base_url}/v1"
        return finding("fail", text, f"write `base_url: {place.base_url}/v1`")
    if visit.entries is None:
        return finding(*_no_list(place, result))
    if visit.about_key is not None and visit.about_key.status in AUTH:
        text = f"answers, but not with this key: HTTP {visit.about_key.status}"
        return finding("fail", text, f"put the right key into {place.api_key_env}")
    details["listed"] = len(visit.entries)
    text = f"{_name(visit)} answers in {result.ms:,.0f} ms, {counted(len(visit.entries), 'model')}"
    proof = visit.about_key or (visit.listing if visit.kind in LOCKED_LISTS else None)
    if place.sends_key and proof is not None and proof.is_good:
        text += ", takes the key"
    left = _remaining_usd(visit)
    if left is not None:
        details["usd_left"] = left
        if left <= 0:
            advice = "add credit, or raise the limit of the key"
            return finding("warn", f"{text}, which has no credit left", advice)
        text += f", {left:,.2f} USD left"
    return finding("ok", text)


def _unasked(visit: Visit) -> Finding:
    """Return a finding on an address that no suite names: nothing is wrong when it is silent."""
    url = visit.address.base_url
    if visit.entries is None:
        advice = (
            "a suite needs a server only if its models are asked there; `collect demo` brings one"
        )
        return Finding(url, "skip", "no Ollama answers there", advice)
    names = and_more(visit.names) or "no model yet"
    text = f"{_name(visit)} answers in {visit.listing.ms:,.0f} ms: {names}"
    return Finding(url, "ok", text, details={"listed": len(visit.entries)})


def _target(result: GetResult) -> str:
    location = result.headers.get("location", "")
    try:
        return urljoin(result.url, location)
    except ValueError:
        return location


def _remaining_usd(visit: Visit) -> float | None:
    """Return how many US dollars a key of OpenRouter may still spend; None: no limit is known."""
    page = visit.about_key.data if visit.about_key is not None else None
    about = page.get("data") if isinstance(page, dict) else None
    left = about.get("limit_remaining") if isinstance(about, dict) else None
    return float(left) if isinstance(left, int | float) else None


def _name(visit: Visit) -> str:
    if visit.kind is None:
        return "a server"
    return f"{visit.kind} {visit.version}" if visit.version else visit.kind


def _trouble(
    slot: Address, result: GetResult, kind: Trouble, *, needs_ollama: bool
) -> tuple[str, str]:
    if kind == "refused":
        return refused(slot.base_url, needs_ollama=needs_ollama)
    what, advice = TROUBLES[kind]
    more = f" within {result.ms / 1000:.0f} s" if kind == "timeout" else f": {result.error}"
    return what + more, advice.format(url=result.url)


def refused(base_url: str, *, needs_ollama: bool) -> tuple[str, str]:
    """Return what it means that nobody listens at an address, and what to do."""
    is_ollama = needs_ollama and base_url.endswith(("11434", "11434/v1"))
    what, advice = TROUBLES["refused"]
    return what, advice.format(start=" with `ollama serve`" if is_ollama else "")


def _locked(slot: Address, result: GetResult) -> tuple[State, str, str | None]:
    """Return what it means that a server wants another key, or a key at all."""
    words = words_of(result.body, result.headers, slot.secrets)
    if slot.sends_key:
        text = f"answers, but not with this key: HTTP {result.status}, {words}"
        return "fail", text, f"put the right key into {slot.api_key_env}"
    if slot.key:
        return "ok", f"answers in {result.ms:,.0f} ms; only the CLI may use this token", None
    text = f"answers in {result.ms:,.0f} ms and wants a key: HTTP {result.status}"
    if slot.api_key_env is None:
        return "fail", text, "name the variable that holds it with `api_key_env`"
    return "fail", text, f"set {slot.api_key_env}"


def _no_list(slot: Address, result: GetResult) -> tuple[State, str, str | None]:
    """Return what it means that something answered that is no list of models."""
    words = words_of(result.body, result.headers, slot.secrets)
    status, url = result.status or 0, result.url
    if status >= 500:
        text = f"answers HTTP {status}, {words}"
        return "fail", text, "wait until the server is up, or look into its log"
    if status == 429:
        return "warn", f"answers HTTP 429, {words}", "wait; a run would be slowed down, too"
    ends = ("/chat/completions", "/responses", "/messages", "/models")
    tail = next((end for end in ends if slot.base_url.endswith(end)), None)
    if tail is not None:
        advice = f"write `base_url: {slot.base_url.removesuffix(tail)}`"
        return "fail", f"HTTP {status} at {url}", advice
    if status == 404 and host_of(slot.base_url):
        text = f"answers, but has no list of models: HTTP 404 at {url}"
        return "warn", text, "check `base_url`: most end in /v1; some servers have no such list"
    if 200 <= status <= 299:
        advice = "check `base_url`: most end in /v1"
        return "fail", f"answers at {url} with {words}, not with a list of models", advice
    return "warn", f"answers HTTP {status} at {url}, {words}", "check `base_url`"


async def _of_searches(scene: Scene) -> list[Finding]:
    """Return a finding on where `web_search` asks, if benchlake.yaml names an address."""
    if (settings := scene.project.web_search) is None:
        return []
    url = settings.url
    users = [case.case_id for suite in scene.suites for case in suite.cases if offers_search(case)]
    offered = f"offered by {and_more(users)}" if users else "no case offers it"

    def finding(text: str, advice: str, details: Details | None = None) -> list[Finding]:
        state: State = "fail" if users else "warn"
        return [Finding(subject, state, f"web_search: {text}; {offered}", advice, details or {})]

    subject = host_of(url)
    if problems := place_problems(scene.project, scene.allowed_hosts):
        return finding(problems[0].what, problems[0].advice or CORRECT_URL)
    subject = url
    client = ProbeClient(url, is_loopback=is_loopback(host_of(url)))
    try:
        result = await client.get(search_url(url, PROBE_QUERY), {})
    finally:
        await client.aclose()
    details: Details = {"ms": round(result.ms, 1), "status": result.status}
    if result.trouble is not None:
        late = f"none within {result.ms / 1000:.0f} s"
        error = late if result.trouble == "timeout" else result.error
        return finding(f"no answer that can be read: {error}", CORRECT_URL, details)
    if problem := answer_problem(result.status or 0, result.data):
        return finding(f"answers: {problem}", f"try it: curl -i {shlex.quote(result.url)}", details)
    rows = result.data["results"] if isinstance(result.data, dict) else None
    details["results"] = n_results = len(rows) if isinstance(rows, list) else 0
    many = counted(n_results, "result")
    text = f"web_search: answers in {result.ms:,.0f} ms, {many} for `{PROBE_QUERY}`"
    return [Finding(subject, "ok", text, details=details)]


@dataclass(frozen=True, slots=True)
class Nearby:
    """A server that answers, with its models."""

    base_url: str
    kind: str
    """What answers, such as `Ollama`."""
    models: tuple[str, ...]

    @property
    def summary(self) -> str:
        """Return one line about it for people."""
        return f"{self.kind} at {self.base_url}, {counted(len(self.models), 'model')}"


def servers_nearby() -> tuple[Nearby, ...]:
    """Return the servers of this machine that answer in about a second; never raises for them."""
    places = [place for place in usual_places() if is_loopback(host_of(place.base_url))]
    for port in OTHER_PORTS:
        url = f"http://127.0.0.1:{port}/v1"
        places.append(Address(url, is_anthropic=False, api_key_env=None, key=""))
    try:
        return asyncio.run(_look(places))
    except OSError:  # no sockets, no network at all
        return ()


async def _look(places: Sequence[Address]) -> tuple[Nearby, ...]:
    if not places:
        return ()
    tasks = [asyncio.create_task(visit(place)) for place in places]
    await asyncio.wait(tasks, timeout=LOOK_S)
    found = []
    for place, task in zip(places, tasks, strict=True):
        if not task.done():
            task.cancel()
            continue
        if task.exception() is None and (names := _chat_models(task.result().names)):
            found.append(Nearby(place.base_url, task.result().kind or "a server", names))
    await asyncio.gather(*tasks, return_exceptions=True)
    return tuple(found)


def _chat_models(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(name for name in names if not any(word in name.lower() for word in NOT_CHAT))
    )


def commented_models(servers: Iterable[Nearby]) -> str:
    """Return the servers' models as lines of a suite file, ready to be uncommented."""
    lines: list[str] = []
    taken = Counter[str]()
    for server in servers:
        lines.append(f"  # Answered when this file was written: {server.summary}.")
        for name in server.models[:MAX_NAMED_MODELS]:
            slug = slugify(name)
            taken[slug] += 1
            model_id = slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
            lines += [f"  # {line}" for line in _model(server, name, model_id)]
        if more := len(server.models) - MAX_NAMED_MODELS:
            lines += [f"  # and {more:,} more"] * (more > 0)
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _model(server: Nearby, name: str, model_id: str) -> list[str]:
    """Return a model of a server; its names in quotes, so that they say nothing else in YAML."""
    is_ollama = server.kind in {"Ollama", "llama.cpp"}
    lines = [
        f"- model_id: {model_id}",
        f"  provider: {'ollama_openai' if is_ollama else 'openai_chat'}",
        f"  requested_model: {json.dumps(name)}",
    ]
    if not is_ollama or server.base_url != PROVIDERS["ollama_openai"].default_base_url:
        lines.append(f"  base_url: {json.dumps(server.base_url)}")
    return lines
